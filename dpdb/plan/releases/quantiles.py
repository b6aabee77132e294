"""Quantiles that are selected together, and their confidence intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import reduce
from operator import add
from typing import NamedTuple

from dpdb.plan.expressions.expressions import slots
from dpdb.plan.logical.query import Function, Query
from dpdb.plan.physical.context import PlanningContext
from dpdb.plan.physical.lowering import AggregateLowering, Lowered
from dpdb.plan.physical.moments import NO_MOMENTS, Estimate, GroupMoments
from dpdb.plan.physical.plan import Plan
from dpdb.plan.physical.release import CONFIDENCE, Release, ReleasedGroup, at_once
from dpdb.plan.ranges.intervals import Interval
from dpdb.plan.ranges.statistics import JointRanks, Ranks
from dpdb.privacy.accounting.accountants import BudgetShare
from dpdb.privacy.mechanisms.mechanism import IntervalSelection

INTERVAL_PART = Fraction(1, 5)
"""The part of a quantile's share that is for its interval."""


def shown_confidences(
    query: Query, role: str, confidence: float | None, competing: int
) -> Mapping[int, float]:
    """The confidence that the interval of each aggregate or subquery needs, where it is shown.

    An interval that is made of several, in rows among which noise chooses, needs more of each
    (see `answers.intervals.confidence_intervals`). Without a `confidence` only the ends that the
    query itself reads are shown, as DP_INTERVAL_LOW does.
    """
    confidences: dict[int, float] = {}
    for expression in query.ends_read if confidence is None else query.measured:
        parts = sum(len(slots(expression, each)) for each in ("aggregate", "subquery"))
        for index in slots(expression, role):
            each = at_once(confidence or CONFIDENCE, parts * competing, independent=False)
            confidences[index] = max(each, confidences.get(index, 0.0))
    return confidences


def together(query: Query, context: PlanningContext) -> dict[int, tuple[int, ...]]:
    """The indices of the quantiles selected together, for the index of each of them.

    Such quantiles have the same argument and filter; their indices are ordered by fraction.
    """
    options = context.options
    if options.sensitivity == "smooth" or options.has_accuracy_goal:
        return {}
    alike: dict[object, list[int]] = {}
    for index, (each, contradiction) in enumerate(
        zip(query.aggregates, query.contradictions, strict=True)
    ):
        if each.function is Function.QUANTILE and each.fraction not in (0, 1) and not contradiction:
            alike.setdefault((each.argument, each.where), []).append(index)
    together_with: dict[int, tuple[int, ...]] = {}
    for indices in alike.values():
        if len(indices) > 1:
            rising = sorted(indices, key=lambda index: query.aggregates[index].fraction or 0)
            together_with |= dict.fromkeys(indices, tuple(rising))
    return together_with


class LoweredTogether(NamedTuple):
    """Several quantiles lowered at once."""

    releases: list[Release]
    range: Interval
    brackets: tuple[int | None, ...]
    """For each quantile the index of the release that is its bracket, where it has one."""


def lower_together(
    lowerings: Sequence[AggregateLowering], confidences: Sequence[float | None]
) -> LoweredTogether | None:
    """The releases of quantiles of the same values, in the order of their fractions.

    None where each by itself is better, or where there are none.
    """
    if not lowerings:
        return None
    first = lowerings[0]
    whole = first.lower()
    statistic = whole.releases[0].statistic
    assert isinstance(statistic, Ranks)
    fractions = tuple(each.aggregate.fraction or Fraction(0) for each in lowerings)
    shares: list[BudgetShare] = []
    brackets: list[Release] = []
    places: list[int | None] = []
    for column, (lowering, confidence) in enumerate(zip(lowerings, confidences, strict=True)):
        own = replace(statistic, fraction=fractions[column])
        bracket = _bracket(lowering, own, confidence)
        shares.append(lowering.share.part(1 - INTERVAL_PART) if bracket else lowering.share)
        places.append(None if bracket is None else 1 + len(brackets))
        if bracket is not None:
            brackets.append(Release("interval", own, bracket, column=column))
    halves = first.choice.for_quantiles(fractions, reduce(add, shares))
    if halves is None:
        return None
    joint = JointRanks(
        statistic.argument, statistic.where, statistic.grid, halves.middle, fractions
    )
    values = Release("quantiles", joint, halves)
    return LoweredTogether([values, *brackets], whole.range, tuple(places))


def _bracket(
    lowering: AggregateLowering, statistic: Ranks, confidence: float | None
) -> IntervalSelection | None:
    """The bracket around a quantile, for a part of its share; None if no interval is shown."""
    if confidence is None:
        return None
    share = lowering.share.part(INTERVAL_PART)
    return lowering.choice.for_bracket(statistic, share, confidence)


def lower(lowering: AggregateLowering, confidence: float | None) -> Lowered:
    """The releases of an aggregate, those of a quantile with the bracket of its interval.

    The greatest and the least value have no bracket: how far the rows reach beyond what is
    found cannot be told. Neither has a quantile that is not shown, for which `confidence` is None.
    """
    aggregate, whole = lowering.aggregate, lowering.lower()
    if aggregate.function is not Function.QUANTILE or aggregate.fraction in (0, 1):
        return whole
    statistic = whole.releases[0].statistic
    assert isinstance(statistic, Ranks)
    bracket = _bracket(lowering, statistic, confidence)
    if bracket is None:
        return whole
    value = replace(lowering, share=lowering.share.part(1 - INTERVAL_PART)).lower()
    return value._replace(releases=[*value.releases, Release("interval", statistic, bracket)])


def with_intervals(shown: Plan, told: Plan) -> Plan:
    """The plan of the intervals in `shown`, around the values of `told`, which has none.

    Both are plans of one query. All values of `told` are recalled, so that the intervals alone are
    drawn and paid for.
    """
    values = ReleasedGroup(GroupMoments(None, None, NO_MOMENTS), told.releases)
    releases, estimates = list(told.releases), list[Estimate]()
    for known, estimate in zip(told.estimates, shown.estimates, strict=True):
        own = shown.releases[estimate.releases[-1]] if estimate.releases else None
        around = own is not None and isinstance(own.mechanism, IntervalSelection)
        read = (*known.releases, len(releases)) if around else known.releases
        estimates.append(replace(known, releases=read))
        releases += [own] if own is not None and around else []
    return replace(
        told,
        releases=tuple(releases),
        estimates=tuple(estimates),
        remembered=(values,),
        groups=(),
        parallel=(),
    )
