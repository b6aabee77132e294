"""How a query's share of the budget is split over its aggregates."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction

from dpdb.errors import InvalidOption, TooLarge
from dpdb.plan.expressions import Expr, Slot, conjunction, slots
from dpdb.plan.lowering import AggregateLowering, PlanningContext, exposure
from dpdb.plan.obstacles import obstacle
from dpdb.plan.plan import CONFIDENCE, Release, at_once
from dpdb.plan.query import Aggregate, Function, Query
from dpdb.policy.budget import LARGEST_EPSILON, SMALLEST_EPSILON, Composition
from dpdb.privacy.accounting.accountants import BudgetShare
from dpdb.privacy.mechanisms import Gaussian, Laplace

_DIGITS = 6
"""Decimal digits to which the least ε for an error is worked out."""


def allocate(
    query: Query, cells: int, share: BudgetShare, terms: PlanningContext
) -> Iterator[BudgetShare]:
    """What each noisy aggregate may spend, in the order they are planned."""
    options = terms.options
    number = _number_of_shares(query, terms)
    if not options.has_accuracy_goal:
        return iter([share.part(Fraction(1, number))] * number if number else [])
    if _is_settled(query):
        return iter([])
    if query.subqueries:
        raise InvalidOption("an error, or a noise_index, cannot be kept with a subquery")
    if options.noise_index is None and any(_made_of_noise(o.expression) for o in query.outputs):
        raise InvalidOption(
            "an error is kept of COUNT and SUM themselves, not of what is made of them",
            hint="ask for the COUNT or SUM, and compute the rest from its answer",
        )
    noisy = [a for a in query.aggregates if not is_public(a, query, terms)]
    alone = [AggregateLowering(terms, query, aggregate, {}, cells, share) for aggregate in noisy]
    if options.error is not None:
        confidence = float(options.confidence or CONFIDENCE)
        each_row = at_once(confidence, candidates(query, cells, terms))
        return iter([least_for_error(each, options.error, number, each_row) for each in alone])
    if options.noise_index is not None:
        return iter(by_noise_index(alone, options.noise_index))
    if terms.policy.budget.composition is not Composition.PURE:
        raise InvalidOption(
            "relative_error needs a budget of composition = pure",
            hint="what is charged in the end depends on the answers, and only sums allow that",
        )
    match [_only_release(each, "relative_error") for each in alone]:
        # Of an average what is released is how far it is from the middle of its bounds.
        case [Release(aggregate=name, mechanism=Laplace(sensitivity=change))]:
            if change and name != "avg":
                return iter([share])
    raise InvalidOption("relative_error is for one COUNT or SUM, with Laplace noise")


def _made_of_noise(output: Expr) -> bool:
    """Whether a column of the answer is computed from aggregates."""
    return not isinstance(output, Slot) and bool(slots(output, "aggregate"))


def _number_of_shares(query: Query, terms: PlanningContext) -> int:
    """The number of aggregates that have a share, subqueries' too."""
    own = sum(not is_public(aggregate, query, terms) for aggregate in query.aggregates)
    return own + sum(_number_of_shares(subquery, terms) for subquery in query.subqueries)


def is_public(aggregate: Aggregate, query: Query, terms: PlanningContext) -> bool:
    """Whether everybody knows an aggregate: a number of rows, or what no row has a part in."""
    counts = aggregate.function is Function.COUNT
    if counts and exposure(aggregate, query, terms.policy).fixed:
        return True
    return _is_never(aggregate, query)


def _is_settled(query: Query) -> bool:
    """Whether the policy alone answers it: any error is kept, as there is no noise."""
    return not query.subqueries and all(_is_never(each, query) for each in query.aggregates)


def _is_never(aggregate: Aggregate, query: Query) -> bool:
    """Whether no row can have a part in an aggregate."""
    return obstacle(query.table, conjunction(query.where, aggregate.where)) is not None


def candidates(query: Query, cells: int, terms: PlanningContext) -> int:
    """Among how many rows noise decides which are shown: 1 where it decides nothing.

    HAVING can decide so, and ORDER BY where LIMIT or OFFSET leaves rows out.
    """
    cut = bool(query.offset) or (query.limit is not None and query.limit < cells)
    deciding = [query.having] if query.having else []
    deciding += [ordering.expression for ordering in query.order if cut]
    return cells if any(_is_noisy(each, query, terms) for each in deciding) else 1


def _is_noisy(expression: Expr, query: Query, terms: PlanningContext) -> bool:
    """Whether noise has a part in an expression over the answer."""
    return any(
        not is_public(query.aggregates[index], query, terms)
        for index in slots(expression, "aggregate")
    ) or any(
        _number_of_shares(query.subqueries[index], terms) for index in slots(expression, "subquery")
    )


def by_noise_index(
    alone: Sequence[AggregateLowering], index: Sequence[Fraction]
) -> list[BudgetShare]:
    """DIFF: noise of scales λᵢ = α·γᵢ, in proportion to a query index γ.

    Shoaran, Thomo, Weber, section 6: εᵢ = Δᵢ/λᵢ, and α = Σ(Δᵢ/γᵢ)/ε (equation 8) makes
    them add up to ε. Where it is squares of ε that add up, so do these.
    """
    if len(index) != len(alone):
        raise InvalidOption(
            f"noise_index is a number for each noisy aggregate: {len(alone)}, not {len(index)}"
        )
    weights = []
    for drawing, gamma in zip(alone, index, strict=True):
        release = _only_release(drawing, "noise_index")
        if not isinstance(release.mechanism, Laplace):
            raise InvalidOption("noise_index is for Laplace noise")
        weight = release.mechanism.sensitivity * release.unit / gamma
        weights.append(weight**2 if drawing.share.concentrated else weight)
    if not all(weights):
        raise InvalidOption("noise_index is for aggregates that a row can change")
    return [d.share.part(w / sum(weights)) for d, w in zip(alone, weights, strict=True)]


def least_for_error(
    drawing: AggregateLowering, error: Fraction, number: int, confidence: float
) -> BudgetShare:
    """The least ε whose noise is within ± `error`, with this confidence."""
    share = replace(drawing.share, delta=drawing.share.delta / number)

    def near(units: int, exponent: int) -> bool:
        tried = replace(share, epsilon=units * Fraction(10) ** exponent)
        try:
            release = _only_release(replace(drawing, share=tried), "error")
        except TooLarge:
            return False
        assert isinstance(release.mechanism, Laplace | Gaussian)
        return Fraction(release.mechanism.quantile(confidence)) * release.unit <= error

    low, high = (round(math.log10(end)) for end in (SMALLEST_EPSILON, LARGEST_EPSILON))
    magnitude = next((e for e in range(low + 1, high + 1) if near(1, e)), None)
    if magnitude is None:
        raise InvalidOption(
            "no epsilon is large enough for an error this small",
            hint=f"epsilon is at most {LARGEST_EPSILON}",
            place=drawing.aggregate.place,
        )
    exponent = magnitude - _DIGITS
    below, enough = 10 ** (_DIGITS - 1), 10**_DIGITS
    while enough - below > 1:
        middle = (below + enough) // 2
        below, enough = (below, middle) if near(middle, exponent) else (middle, enough)
    return replace(share, epsilon=enough * Fraction(10) ** exponent)


def _only_release(drawing: AggregateLowering, option: str) -> Release:
    """The one release, with noise of a known scale, behind an aggregate."""
    drawn, _, _ = drawing.lower()
    if len(drawn) == 1 and isinstance(drawn[0].mechanism, Laplace | Gaussian):
        return drawn[0]
    raise InvalidOption(
        f"{option} is for COUNT and SUM: how noisy others are depends on the rows",
        hint="ask for SUM(x) and COUNT(*)",
        place=drawing.aggregate.place,
    )
