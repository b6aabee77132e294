"""The plans of a query: one, or several of rising ε where it asks for a relative error."""

from __future__ import annotations

from dataclasses import replace

from dpdb.plan.candidates import check_candidates
from dpdb.plan.lowering import RowCount
from dpdb.plan.plan import CONFIDENCE, Plan, ReleasedGroup, at_once
from dpdb.plan.planner import plan
from dpdb.plan.query import Options, Query
from dpdb.policy.catalog import Policy
from dpdb.privacy.accounting.accountants import BudgetShare
from dpdb.privacy.gradual_release import levels


def plans_of(
    query: Query,
    policy: Policy,
    share: BudgetShare,
    rows: RowCount,
    remembered: tuple[ReleasedGroup, ...] = (),
) -> tuple[Plan, ...]:
    """The plans to be carried out one after the other, until an answer is as asked.

    `share` is what the query may spend; `rows` gives the number of rows of a table, where that is
    public; what follows from the `remembered` groups is not drawn again.
    """
    shares = [share]
    if query.options.relative_error is not None:
        shares = [replace(share, epsilon=epsilon) for epsilon in levels(share.epsilon)]
    more = (remembered,) if remembered else ()
    plans = tuple(plan(query, policy, each, rows, *more) for each in shares)
    for each in plans:
        check_candidates(each)
    return plans


def identity(planned: Plan, options: Options) -> object:
    """Equal for queries that are answered with the same draws: asking again is free."""
    if options.relative_error is None:
        return planned.identity
    confidence = at_once(float(options.confidence or CONFIDENCE), planned.competing_rows)
    return planned.identity, options.relative_error, confidence
