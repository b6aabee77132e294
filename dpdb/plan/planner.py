"""The planner turns a query and a policy into a plan: statistics, noise and their price.

The planner sees no rows. Under the neighbour relation `replace` the number of rows of a table is
public, and the planner asks for it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from dpdb.errors import TooLarge
from dpdb.plan.allocation import allocate, competing_rows
from dpdb.plan.expressions import Slot
from dpdb.plan.group_keys import key_values
from dpdb.plan.intervals import Interval
from dpdb.plan.lowering import NO_SHARE, AggregateLowering, PlanningContext, RowCount
from dpdb.plan.moments import GroupMoments
from dpdb.plan.plan import Estimate, Plan, Release, ReleasedGroup
from dpdb.plan.query import Query
from dpdb.plan.ranges import Environment
from dpdb.plan.release_groups import recalled, release_groups
from dpdb.plan.shared_moments import combined, moments_for
from dpdb.policy.catalog import Policy, Value
from dpdb.privacy.accounting.accountants import BudgetShare

MAX_GROUPS = 100_000
"""The most groups of one SELECT, and the most noisy values of it."""


def plan(
    query: Query,
    policy: Policy,
    share: BudgetShare,
    rows: RowCount,
    remembered: tuple[ReleasedGroup, ...] = (),
) -> Plan:
    """The plan for `query`, with `share` divided among its release groups.

    What follows from the `remembered` groups, which were drawn over the same rows, is not drawn
    again.

    A query with an error goal has what the goal needs instead, which may be more than `share`.
    `rows` gives the number of rows of a table, where that number is public. Raises TooLarge for
    more than MAX_GROUPS groups or noisy values.
    """
    context = PlanningContext(policy, rows, query.options, share, remembered)
    # Subqueries are planned first, but their answers do not change the number of groups.
    group_count = _number(_key_values(query, {})) if query.options.has_accuracy_goal else 1
    shares = allocate(query, group_count, share, context)
    return _plan_within(query, context, shares)


def outline(query: Query, policy: Policy) -> Plan:
    """The plan for `query` without releases: for teaching, where nothing is protected."""
    subplans = tuple(outline(subquery, policy) for subquery in query.subqueries)
    values = _key_values(query, {})
    estimates = tuple(Estimate(aggregate, (), Interval()) for aggregate in query.aggregates)
    return _assembled(query, values, (), estimates, subplans, policy=policy)


def _plan_within(query: Query, context: PlanningContext, shares: Iterator[BudgetShare]) -> Plan:
    """The plan for `query`: every noisy aggregate takes the next of `shares`, subqueries first."""
    subplans = tuple(_plan_within(subquery, context, shares) for subquery in query.subqueries)
    known: Environment = {
        Slot("subquery", index, subplan.outputs[0].expression.kind): subplan.interval_of(
            subplan.outputs[0]
        )
        for index, subplan in enumerate(subplans)
    }
    values = _key_values(query, known)
    group_count = _number(values)
    releases: list[Release] = []
    groups: list[GroupMoments] = []
    drawn: list[tuple[int, ReleasedGroup]] = []
    estimates: dict[int, Estimate] = {}

    def lowering_of(index: int, share: BudgetShare) -> AggregateLowering:
        return AggregateLowering(context, query, query.aggregates[index], known, group_count, share)

    before = recalled(query, context)
    reused = tuple(dict.fromkeys(before.values()))
    for known_group in reused:
        read = known_group.read.moved(len(releases))
        releases += known_group.releases
        for index in (index for index, group in before.items() if group is known_group):
            estimates[index] = _estimate(index, lowering_of(index, NO_SHARE), [read])
    for group in release_groups(query, context):
        lowering, at = lowering_of(group.aggregate, next(shares)), len(releases)
        lowered = lowering.lower_moments(group.needed) if group.needed else lowering.lower()
        releases += lowered.releases
        aggregate = lowering.aggregate
        if group.needed:
            one = GroupMoments(aggregate.argument, aggregate.where, lowered.moments)
            groups.append(one.moved(at))
            if context.options.has_accuracy_goal:
                estimates[group.aggregate] = _estimate(group.aggregate, lowering, groups[-1:])
            else:
                drawn.append((at, ReleasedGroup(one, tuple(lowered.releases))))
        else:
            estimates[group.aggregate] = Estimate(aggregate, (at,), lowered.range)
        if sum(len(release.parts) for release in releases) * group_count > MAX_GROUPS:
            raise TooLarge(f"GROUP BY makes more than {MAX_GROUPS} noisy values")
    shared = combined(groups, releases)
    for index in range(len(query.aggregates)):
        if index not in estimates:
            estimates[index] = _estimate(index, lowering_of(index, NO_SHARE), shared)
    return _assembled(
        query,
        values,
        tuple(releases),
        tuple(estimates[index] for index in range(len(query.aggregates))),
        subplans,
        policy=context.policy,
        competing=competing_rows(query, group_count, context),
        groups=tuple(drawn),
        reused=reused,
    )


def _estimate(index: int, lowering: AggregateLowering, groups: Sequence[GroupMoments]) -> Estimate:
    """The estimate of an aggregate from the moments of release groups, or from what is public."""
    aggregate, obstacle = lowering.aggregate, lowering.query.obstacles[index]
    if obstacle is not None:
        return Estimate(aggregate, (), Interval(), obstacle=obstacle)
    moments = moments_for(aggregate, groups)
    if moments is None:
        return Estimate(aggregate, (), Interval(), lowering.public_rows)
    return Estimate(
        aggregate,
        moments.releases_for(aggregate),
        lowering.range,
        lowering.public_rows,
        moments=moments,
    )


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
    groups: tuple[tuple[int, ReleasedGroup], ...] = (),
    reused: tuple[ReleasedGroup, ...] = (),
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
        groups=groups,
        remembered=reused,
    )
