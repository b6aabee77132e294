"""Statements that were answered before without the intervals of their quantiles, or with them.

Asked for with an interval, an answer that has none keeps its values, and the intervals are drawn
around them: a fifth of ε that was not paid for before. Asked for without, an answer with intervals
is repeated, though its values had four fifths of ε alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from dpdb.plan.logical.query import Function, Query
from dpdb.plan.physical.plan import Plan
from dpdb.plan.physical.release import ReleasedGroup
from dpdb.plan.releases.quantiles import with_intervals
from dpdb.session.purchases.kept_answers import Chosen, KeptAnswer
from dpdb.session.purchases.query_plans import Plans, key_of

if TYPE_CHECKING:
    from dpdb.answers.estimates import Draws


PlansOf = Callable[[Query, tuple[ReleasedGroup, ...]], tuple[Plans, ...]]
"""Gives the plans of a query that recalls some groups."""
Known = Callable[[str, Plan, Query], "KeptAnswer | None"]
"""Gives the answer that is kept under a key, for a plan of a query."""
Recall = Callable[[Plan, "Draws"], None]
"""Takes note of the noisy values that a plan recalls."""


def answered_otherwise(
    query: Query, possible: Sequence[Plans], plans_of: PlansOf, known: Known, recall: Recall
) -> Chosen | None:
    """The plans of a query that was answered with the other setting of `interval`.

    None where it was not, or where it has no quantile of its own to be shown with an interval.
    """
    quantiles = any(each.function is Function.QUANTILE for each in query.aggregates)
    if not quantiles or query.subqueries:
        return None
    shown = query.options.interval == "on"
    options = replace(query.options, interval="off" if shown else "on")
    other = replace(query, options=options)
    others = plans_of(other, ())
    for place, plans in enumerate(others if len(others) == len(possible) else ()):
        if plans[-1].found or len(plans) > 1:
            continue
        key = key_of(plans[-1], options)
        kept = known(key, plans[-1], other)
        if kept is None:
            continue
        (plan,) = plans_of(other, kept.remembered)[place]
        before = kept.answering(plan)
        if before is None:
            continue
        if not shown:
            return Chosen((plan,), key, before)
        wanted = possible[place][-1]
        key, plan = key_of(wanted, query.options), with_intervals(wanted, plan)
        recall(plan, before.result.noisy.draws)
        drawn = known(key, wanted, query)
        return Chosen((plan,), key, None if drawn is None else drawn.answering(plan))
    return None
