"""The allocation of a query's share of the budget to its aggregates."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction

from dpdb.errors import InvalidOption, TooLarge
from dpdb.plan.expressions.expressions import Expr, IntervalEnd, Slot, slots
from dpdb.plan.logical.derived import DerivedQuery
from dpdb.plan.logical.query import Query
from dpdb.plan.physical.context import PlanningContext
from dpdb.plan.physical.lowering import AggregateLowering
from dpdb.plan.physical.release import CONFIDENCE, Release, at_once
from dpdb.plan.ranges.statistics import Histogram, Joint
from dpdb.plan.releases.key_selection import check_no_goal
from dpdb.plan.releases.release_groups import is_public
from dpdb.plan.releases.sharing import sharing
from dpdb.policy.budget import LARGEST_EPSILON, SMALLEST_EPSILON, Composition
from dpdb.privacy.accounting.accountants import BudgetShare
from dpdb.privacy.mechanisms.mechanism import Additive

_DIGITS = 6
"""The number of decimal digits to which the least ε for an error is computed."""


def allocate(
    query: Query, number: int, group_count: int, share: BudgetShare, context: PlanningContext
) -> Iterator[BudgetShare]:
    """The share of each of a `number` of release groups, in the order in which they are planned."""
    options = context.options
    if not options.has_accuracy_goal:
        if len(context.weights) == number:
            whole = sum(context.weights)
            return iter([share.part(each / whole) for each in context.weights])
        return iter([share.part(Fraction(1, number))] * number if number else [])
    check_no_goal(query)
    if query.settled:
        return iter([])
    if isinstance(query, DerivedQuery):
        raise InvalidOption(
            "an error, or a noise_index, is kept of one SELECT over tables: not of ROLLUP, CUBE, "
            "GROUPING SETS, UNION, a window or an answer that another SELECT reads",
            hint="ask for the COUNT or SUM by itself, and compute the rest from its answer",
        )
    if query.subqueries:
        raise InvalidOption("an error, or a noise_index, cannot be kept with a subquery")
    outputs = (output.expression for output in query.outputs)
    computed = (each for each in outputs if not isinstance(each, Slot | IntervalEnd))
    if options.noise_index is None and any(slots(each, "aggregate") for each in computed):
        raise InvalidOption(
            "an error is kept of COUNT and SUM themselves, not of what is made of them",
            hint="ask for the COUNT or SUM, and compute the rest from its answer",
        )
    alone = [
        AggregateLowering(context, query, aggregate, {}, group_count, share)
        for index, aggregate in enumerate(query.aggregates)
        if not is_public(index, query, context)
    ]
    if options.error is not None:
        confidence = float(options.confidence or CONFIDENCE)
        each_row = at_once(confidence, competing_rows(query, group_count, context))
        return iter([_least_for_error(each, options.error, number, each_row) for each in alone])
    if options.noise_index is not None:
        return iter(_by_noise_index(alone, options.noise_index))
    if context.policy.budget.composition is not Composition.PURE:
        raise InvalidOption(
            "relative_error needs a budget of composition = pure",
            hint="the cost then depends on the answers, and only sums allow that",
        )
    match [_only_release(each, "relative_error") for each in alone]:
        # The release of an average is its distance from the middle of the bounds, so a relative
        # error of the release is not one of the average.
        case [(Release(aggregate=name), noise)]:
            if noise.is_gradual and noise.sensitivity and name != "avg":
                return iter([share])
    raise InvalidOption("relative_error is for one COUNT or SUM, with Laplace noise")


def competing_rows(query: Query, group_count: int, context: PlanningContext) -> int:
    """The number of rows among which noise decides which are shown; 1 where it decides nothing.

    Noise decides through HAVING, and through ORDER BY where LIMIT or OFFSET leaves rows out. The
    intervals of all these rows must hold at once, or the rows that noise favours would be the
    ones whose intervals fail.
    """
    cut = bool(query.offset) or (query.limit is not None and query.limit < group_count)
    deciding = [query.having] if query.having else []
    deciding += [ordering.expression for ordering in query.order if cut]
    return group_count if any(_is_noisy(each, query, context) for each in deciding) else 1


def _is_noisy(expression: Expr, query: Query, context: PlanningContext) -> bool:
    """Whether an expression over the answer uses a noisy aggregate or subquery."""
    return any(
        not is_public(index, query, context) for index in slots(expression, "aggregate")
    ) or any(
        sharing(query.subqueries[index], context).all_shares
        for index in slots(expression, "subquery")
    )


def _by_noise_index(
    alone: Sequence[AggregateLowering], index: Sequence[Fraction]
) -> list[BudgetShare]:
    """The shares of aggregates whose noise scales are λᵢ = α·γᵢ, for a query index γ (DIFF).

    [STW] section 6: εᵢ = Δᵢ/λᵢ, and the εᵢ add up to ε for α = Σ(Δᵢ/γᵢ)/ε (equation 8). Under
    concentrated privacy the squares of the εᵢ add up to ε², so the weights are squared.
    """
    if len(index) != len(alone):
        raise InvalidOption(
            f"noise_index is a number for each noisy aggregate: {len(alone)}, not {len(index)}"
        )
    weights = []
    for lowering, gamma in zip(alone, index, strict=True):
        release, noise = _only_release(lowering, "noise_index")
        if not noise.is_inverse:
            raise InvalidOption("noise_index is for Laplace noise")
        weight = noise.sensitivity * release.unit / gamma
        weights.append(weight**2 if lowering.share.concentrated else weight)
    if not all(weights):
        raise InvalidOption("noise_index is for aggregates that a row can change")
    return [d.share.part(w / sum(weights)) for d, w in zip(alone, weights, strict=True)]


def _least_for_error(
    lowering: AggregateLowering, error: Fraction, number: int, confidence: float
) -> BudgetShare:
    """The share with the least ε whose noise is within ± `error` with probability `confidence`.

    δ is divided evenly among the `number` of noisy aggregates.
    """
    share = replace(lowering.share, delta=lowering.share.delta / number)

    def near(units: int, exponent: int) -> bool:
        trial = replace(share, epsilon=units * Fraction(10) ** exponent)
        try:
            release, noise = _only_release(replace(lowering, share=trial), "error")
        except TooLarge:
            return False
        return Fraction(noise.quantile(confidence)) * release.unit <= error

    low, high = (round(math.log10(end)) for end in (SMALLEST_EPSILON, LARGEST_EPSILON))
    magnitude = next((e for e in range(low + 1, high + 1) if near(1, e)), None)
    if magnitude is None:
        raise InvalidOption(
            "no epsilon is large enough for an error this small",
            hint=f"epsilon is at most {LARGEST_EPSILON}",
            place=lowering.aggregate.place,
        )
    exponent = magnitude - _DIGITS
    below, enough = 10 ** (_DIGITS - 1), 10**_DIGITS
    while enough - below > 1:
        middle = (below + enough) // 2
        below, enough = (below, middle) if near(middle, exponent) else (middle, enough)
    return replace(share, epsilon=enough * Fraction(10) ** exponent)


def _only_release(lowering: AggregateLowering, option: str) -> tuple[Release, Additive]:
    """The release behind an aggregate that has just one, and its noise of a known scale."""
    match lowering.lower().releases:
        case [Release(statistic=statistic, noise=noise) as only] if isinstance(noise, Additive):
            if not isinstance(statistic, Joint | Histogram):
                return only, noise
    raise InvalidOption(
        f"{option} is for COUNT and SUM: how noisy others are depends on the rows",
        hint="ask for SUM(x) and COUNT(*)",
        place=lowering.aggregate.place,
    )
