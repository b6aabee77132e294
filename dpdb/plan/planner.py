"""The planner turns a query and a policy into a plan: statistics, noise and their price.

The planner sees no rows. Under the neighbour relation `replace` the number of rows of a table is
public, and the planner asks for it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from fractions import Fraction

from dpdb.errors import TooLarge
from dpdb.plan import brackets
from dpdb.plan.allocation import allocate, competing_rows, groups_of_counts, is_public_count
from dpdb.plan.count_groups import CountGroup
from dpdb.plan.expressions import Slot
from dpdb.plan.group_keys import key_values
from dpdb.plan.intervals import Interval
from dpdb.plan.lowering import AggregateLowering, PlanningContext, RowCount, contribution_of
from dpdb.plan.mechanism_choice import MechanismChoice
from dpdb.plan.plan import CONFIDENCE, Estimate, Plan, Release
from dpdb.plan.query import Query
from dpdb.plan.ranges import Environment
from dpdb.policy.catalog import Policy, Value
from dpdb.privacy.accounting.accountants import BudgetShare

MAX_GROUPS = 100_000
"""The most groups of one SELECT, and the most noisy values of it."""
NO_SHARE = BudgetShare(Fraction(0))
"""The share of an aggregate that is public and has no noise."""


def plan(query: Query, policy: Policy, share: BudgetShare, rows: RowCount) -> Plan:
    """The plan for `query`, with `share` divided among its aggregates.

    A query with an error goal has what the goal needs instead, which may be more than `share`.
    `rows` gives the number of rows of a table, where that number is public. Raises TooLarge for
    more than MAX_GROUPS groups or noisy values.
    """
    context = PlanningContext(policy, rows, query.options, share.concentrated)
    # Subqueries are planned first, but their answers do not change the number of groups.
    group_count = _number(_key_values(query, {})) if query.options.has_accuracy_goal else 1
    shares = allocate(query, group_count, share, context)
    return _plan_within(query, context, shares, CONFIDENCE)


def outline(query: Query, policy: Policy) -> Plan:
    """The plan for `query` without releases: for teaching, where nothing is protected."""
    subplans = tuple(outline(subquery, policy) for subquery in query.subqueries)
    values = _key_values(query, {})
    estimates = tuple(Estimate(aggregate, (), Interval()) for aggregate in query.aggregates)
    return _assembled(query, values, (), estimates, subplans, policy=policy)


def _plan_within(
    query: Query,
    context: PlanningContext,
    shares: Iterator[BudgetShare],
    confidence: float | None,
) -> Plan:
    """The plan for `query`: every noisy aggregate takes the next of `shares`, subqueries first.

    `confidence` is that of the answer's intervals, None where none is shown.
    """
    # How many groups there are is not known yet, but that is at most the number allowed.
    most = competing_rows(query, MAX_GROUPS, context)
    inner = brackets.shown_confidences(query, "subquery", confidence, most)
    subplans = tuple(
        _plan_within(subquery, context, shares, inner.get(index))
        for index, subquery in enumerate(query.subqueries)
    )
    known: Environment = {
        Slot("subquery", index, subplan.outputs[0].expression.kind): subplan.interval_of(
            subplan.outputs[0]
        )
        for index, subplan in enumerate(subplans)
    }
    values = _key_values(query, known)
    group_count = _number(values)
    competing = competing_rows(query, group_count, context)
    shown = brackets.shown_confidences(query, "aggregate", confidence, competing)
    releases, estimates = _lowered(query, context, shares, known, group_count, shown=shown)
    return _assembled(
        query,
        values,
        releases,
        estimates,
        subplans,
        policy=context.policy,
        competing=competing,
    )


def _lowered(
    query: Query,
    context: PlanningContext,
    shares: Iterator[BudgetShare],
    known: Environment,
    group_count: int,
    *,
    shown: Mapping[int, float],
) -> tuple[tuple[Release, ...], tuple[Estimate, ...]]:
    """The releases of a query's own aggregates, and how each aggregate is computed from them.

    `shown` has the confidences of the intervals that are shown, by the index of the aggregate.
    """
    releases: list[Release] = []
    estimates: dict[int, Estimate] = {}
    groups = {min(group.members): group for group in groups_of_counts(query, context)}
    values = 0
    for number, aggregate in enumerate(query.aggregates):
        obstacle = query.obstacles[number]
        if obstacle is not None:
            estimates[number] = Estimate(aggregate, (), Interval(), obstacle=obstacle)
        if number in estimates:  # or it was drawn together with another count
            continue
        share = NO_SHARE if is_public_count(aggregate, query, context) else next(shares)
        lowering = AggregateLowering(context, query, aggregate, known, group_count, share)
        first, group = len(releases), groups.get(number)
        if group is not None:
            releases.append(_of_counts(group, lowering))
            values += group.size * group_count
            for member, added in zip(group.members, group.added, strict=True):
                counted = query.aggregates[member]
                estimates[member] = Estimate(counted, (first,), Interval(), atoms=added)
        else:
            lowered = brackets.lower(lowering, shown.get(number))
            releases += lowered.releases
            values += len(lowered.releases) * group_count
            indices = tuple(range(first, len(releases)))
            estimates[number] = Estimate(aggregate, indices, lowered.range, lowered.public_rows)
        if values > MAX_GROUPS:
            raise TooLarge(f"GROUP BY makes more than {MAX_GROUPS} noisy values")
    return tuple(releases), tuple(estimates[index] for index in range(len(query.aggregates)))


def _of_counts(group: CountGroup, lowering: AggregateLowering) -> Release:
    """The release of counts that are drawn together, of which that of `lowering` is one.

    The atoms of a histogram are groups of rows, as those of GROUP BY are.
    """
    if group.histogram is None:
        return lowering.lower().releases[0]
    context, aggregate, query = lowering.context, lowering.aggregate, lowering.query
    cells = lowering.group_count * group.size
    contribution = contribution_of(aggregate, query, context.policy, cells)
    choice = MechanismChoice(context.options, contribution, aggregate.place)
    return Release("count", group.histogram, choice.for_total(1, 1, lowering.share))


KeyValues = tuple[tuple[Value, ...], ...]
"""For each key the values that it can have."""


def _key_values(query: Query, known: Environment) -> KeyValues:
    """The values that the keys can have; each combination of them is a group."""
    values = tuple(key_values(key, query.where, known) for key in query.keys)
    if _number(values) > MAX_GROUPS:
        raise TooLarge(f"GROUP BY makes {_number(values)} groups, {MAX_GROUPS} are allowed")
    return values


def _number(values: KeyValues) -> int:
    """The number of groups."""
    return math.prod(map(len, values))


def _assembled(
    query: Query,
    values: KeyValues,
    releases: tuple[Release, ...],
    estimates: tuple[Estimate, ...],
    subplans: tuple[Plan, ...],
    *,
    policy: Policy,
    competing: int = 1,
) -> Plan:
    """The plan with these parts and with the answer's columns, order and limit from the query."""
    return Plan(
        table=query.table,
        where=query.where,
        keys=query.keys,
        key_values=values,
        releases=releases,
        estimates=estimates,
        subplans=subplans,
        outputs=query.outputs,
        having=query.having,
        order=query.order,
        limit=query.limit,
        offset=query.offset,
        sample_key=policy.sample_key,
        competing_rows=competing,
    )
