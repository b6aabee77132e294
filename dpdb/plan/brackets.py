"""The intervals of quantiles: which are shown, how sure they are to be, and what pays for them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction

from dpdb.plan.expressions import slots
from dpdb.plan.lowering import AggregateLowering, Lowered, contribution_of
from dpdb.plan.mechanism_choice import MechanismChoice
from dpdb.plan.plan import Release, at_once
from dpdb.plan.query import Function, Query
from dpdb.plan.statistics import Ranks

INTERVAL_PART = Fraction(1, 5)
"""The part of a quantile's share that is for its interval."""


def shown_confidences(
    query: Query, role: str, confidence: float | None, competing: int
) -> Mapping[int, float]:
    """The confidence that the interval of each aggregate or subquery needs, where it is shown.

    An interval that is made of several, in rows among which noise chooses, needs more of each
    (see `answers.confidence_intervals`). Without a `confidence` nothing is shown.
    """
    found: dict[int, float] = {}
    for expression in query.measured if confidence is not None else ():
        parts = sum(len(slots(expression, each)) for each in ("aggregate", "subquery"))
        for index in slots(expression, role):
            each = at_once(confidence or 0.0, parts * competing)
            found[index] = max(each, found.get(index, 0.0))
    return found


def lower(lowering: AggregateLowering, confidence: float | None) -> Lowered:
    """The releases of an aggregate, those of a quantile with the bracket of its interval.

    The greatest and the least value have no bracket: how far the rows reach beyond what is
    found cannot be told. Neither has a quantile that is not shown, for which `confidence` is None.
    """
    aggregate = lowering.aggregate
    if (
        confidence is None
        or lowering.context.options.interval != "on"
        or aggregate.function is not Function.QUANTILE
        or aggregate.fraction in (0, 1)
    ):
        return lowering.lower()
    whole = lowering.lower()
    statistic = whole.releases[0].statistic
    assert isinstance(statistic, Ranks)
    contribution = contribution_of(
        aggregate, lowering.query, lowering.context.policy, lowering.group_count
    )
    choice = MechanismChoice(lowering.context.options, contribution, aggregate.place)
    bracket = choice.for_bracket(statistic, lowering.share.part(INTERVAL_PART), confidence)
    if bracket is None:
        return whole
    value = replace(lowering, share=lowering.share.part(1 - INTERVAL_PART)).lower()
    return value._replace(releases=[*value.releases, Release("interval", statistic, bracket)])
