"""A query and a policy into a plan: what to compute, what to add, what it costs.

Nothing here has seen a row. Under `replace` the number of rows is public, and
is asked for.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from itertools import product

from dpdb.errors import TooLarge
from dpdb.plan.allocation import allocate, competing_rows, is_public
from dpdb.plan.expressions import Slot, conjunction
from dpdb.plan.group_keys import key_values
from dpdb.plan.lowering import AggregateLowering, PlanningContext, RowCount
from dpdb.plan.obstacles import obstacle
from dpdb.plan.plan import Estimate, Plan, Release
from dpdb.plan.query import Query
from dpdb.plan.ranges import Environment, Interval
from dpdb.policy.catalog import Policy, Value
from dpdb.privacy.accounting.accountants import BudgetShare

MAX_GROUPS = 100_000
NO_SHARE = BudgetShare(Fraction(0))


def plan(query: Query, policy: Policy, share: BudgetShare, rows: RowCount) -> Plan:
    """The plan for `query` at a total of `share`, split over its aggregates."""
    terms = PlanningContext(policy, rows, query.options)
    # Subqueries come first, and how many groups there are does not hang on their answers.
    split = allocate(
        query, len(_groups(query, {})) if query.options.has_accuracy_goal else 1, share, terms
    )
    return _planned(query, terms, split)


def outline(query: Query, policy: Policy) -> Plan:
    """The plan for `query` without releases: for teaching, where nothing is protected."""
    subplans = tuple(outline(subquery, policy) for subquery in query.subqueries)
    cells = _groups(query, {})
    estimates = tuple(Estimate(aggregate, (), Interval()) for aggregate in query.aggregates)
    return _assembled(query, cells, (), estimates, subplans, policy=policy)


def _planned(query: Query, terms: PlanningContext, split: Iterator[BudgetShare]) -> Plan:
    subplans = tuple(_planned(subquery, terms, split) for subquery in query.subqueries)
    known: Environment = {
        Slot("subquery", index, subplan.outputs[0].expression.kind): subplan.interval_of(
            subplan.outputs[0]
        )
        for index, subplan in enumerate(subplans)
    }
    cells = _groups(query, known)
    releases: list[Release] = []
    estimates = []
    for aggregate in query.aggregates:
        known_why = obstacle(query.table, conjunction(query.where, aggregate.where))
        if known_why is not None:
            estimates.append(Estimate(aggregate, (), Interval(), obstacle=known_why))
            continue
        share = NO_SHARE if is_public(aggregate, query, terms) else next(split)
        drawing = AggregateLowering(terms, query, aggregate, known, len(cells), share)
        drawn, bounds, public_rows = drawing.lower()
        indices = tuple(range(len(releases), len(releases) + len(drawn)))
        estimates.append(Estimate(aggregate, indices, bounds, public_rows))
        releases += drawn
        if len(releases) * len(cells) > MAX_GROUPS:
            raise TooLarge(f"GROUP BY makes more than {MAX_GROUPS} noisy values")
    planned = _assembled(
        query, cells, tuple(releases), tuple(estimates), subplans, policy=terms.policy
    )
    return replace(planned, competing_rows=competing_rows(query, len(cells), terms))


Groups = tuple[tuple[Value, ...], ...]


def _groups(query: Query, known: Environment) -> Groups:
    columns = [key_values(key, query.where, known) for key in query.keys]
    number = math.prod(len(values) for values in columns)
    if number > MAX_GROUPS:
        raise TooLarge(f"GROUP BY makes {number} groups, {MAX_GROUPS} are allowed")
    return tuple(product(*columns))


def _assembled(
    query: Query,
    cells: Groups,
    releases: tuple[Release, ...],
    estimates: tuple[Estimate, ...],
    subplans: tuple[Plan, ...],
    *,
    policy: Policy,
) -> Plan:
    return Plan(
        table=query.table,
        where=query.where,
        keys=query.keys,
        groups=cells,
        releases=releases,
        estimates=estimates,
        subplans=subplans,
        outputs=query.outputs,
        having=query.having,
        order=query.order,
        limit=query.limit,
        offset=query.offset,
        sample_key=policy.sample_key,
    )
