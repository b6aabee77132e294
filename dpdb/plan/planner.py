"""The planner: turns a query and a policy into a plan of statistics, noise and their price.

The planner sees no rows. Under the neighbour relation `replace` the number of rows of a table is
public, and the planner asks for it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from functools import partial
from itertools import islice
from typing import Any

from dpdb.errors import InvalidOption, TooLarge, Unsupported
from dpdb.plan.expressions.expressions import Expr, Slot
from dpdb.plan.logical.derived import DerivedQuery, has_intervals, most_rows, selects_by_noise
from dpdb.plan.logical.query import Query
from dpdb.plan.logical.shared_queries import check_shared, check_source
from dpdb.plan.physical.bounds import Bounds, clamp, finding, found_part, sought, with_bounds
from dpdb.plan.physical.caps import capped_value, finds_room
from dpdb.plan.physical.context import PlanningContext, RowCount
from dpdb.plan.physical.mechanism_choice import with_usual_noise
from dpdb.plan.physical.moments import Estimate
from dpdb.plan.physical.plan import DrawnCube, Plan, Sought
from dpdb.plan.physical.release import CONFIDENCE, Release, ReleasedGroup
from dpdb.plan.ranges.intervals import Interval
from dpdb.plan.ranges.ranges import Environment
from dpdb.plan.ranges.statistics import FilledLadder, Ranks
from dpdb.plan.releases import cube_plans, quantiles
from dpdb.plan.releases.allocation import allocate, competing_rows
from dpdb.plan.releases.key_selection import number_of_selections, with_top_groups
from dpdb.plan.releases.query_releases import (
    MAX_GROUPS,
    KeyValues,
    QueryReleases,
    declared_groups,
    found_keys,
    most_groups,
    values_of_keys,
    values_with_null,
)
from dpdb.plan.releases.sharing import Sharing, sharing
from dpdb.plan.unit_work import work_of
from dpdb.policy.catalog import Policy
from dpdb.privacy.accounting.accountants import BudgetShare
from dpdb.privacy.mechanisms.mechanism import BoundsSelection

_MOST_NEEDED = 10**6
"""The most rows that bounds may need: ε is then so large that noise fits 64 bits on any grid."""
_WIDEST = (43, 36, 29, 22)
"""Whole numbers are looked for up to 2 to such a power, the first for which ε is large enough."""


def plan(
    query: Query,
    policy: Policy,
    share: BudgetShare,
    rows: RowCount,
    remembered: tuple[ReleasedGroup, ...] = (),
    *,
    weights: tuple[Fraction, ...] = (),
    together: bool = False,
) -> Plan:
    """The plan for `query`, with `share` divided among its release groups, by `weights` if any.

    What follows from the `remembered` groups, which were drawn over the same rows, is not drawn
    again.

    A query with an error goal gets the budget that the goal needs, which may exceed `share`.
    `rows` gives the number of rows of a table, where that number is public. Raises TooLarge for
    more than MAX_GROUPS groups or noisy values.
    """
    if not finds_room(query):
        check_shared(query)
    if arguments := sought(query):
        return _with_bounds_sought(query, arguments, policy, share, rows)
    selections = number_of_selections(query)
    options = with_usual_noise(query.options, share)
    context = PlanningContext(
        policy, rows, options, share, remembered, selections, weights, together
    )
    query = with_top_groups(query, context)
    # Subqueries are planned first, but their answers do not change the number of groups.
    values = values_of_keys(query, {}) if query.options.has_accuracy_goal else ()
    group_count = most_groups(query, values)
    shared = sharing(query, context)
    shares = allocate(query, shared.all_shares, group_count, share, context)
    confidence = CONFIDENCE if options.interval == "on" else None
    planned = _plan_within(query, context, shared, shares, confidence)
    levels = planned.cubes or any(each.cube for each in (query, *query.subqueries))
    if (options.goal or options.nonnegative) and not levels:
        raise InvalidOption(
            "goal and nonnegative are for counts and sums by CUBE, ROLLUP or GROUPING SETS",
            hint="levels of AVG, COUNT and SUM add up where all values of the keys are declared",
        )
    return planned


def _with_bounds_sought(
    query: Query, arguments: tuple[Expr, ...], policy: Policy, share: BudgetShare, rows: RowCount
) -> Plan:
    """The plan of a query whose bounds are found first, with the widest bounds in their place.

    The widest bounds are so narrow that the noise of the answer fits 64 bits, whichever are found.
    """
    part = found_part(arguments)
    own = share.part(1 - part)
    for bits in _WIDEST:
        search = plan(finding(query, arguments, 1 << bits), policy, share.part(part), rows)
        grids = [
            r.statistic.grid
            for r in search.releases
            if isinstance(r.statistic, Ranks | FilledLadder)
        ]
        needed = (each.mechanism for each in search.releases)
        rows_needed = max(e.rows_needed for e in needed if isinstance(e, BoundsSelection))
        if rows_needed > _MOST_NEEDED:
            raise TooLarge(
                f"epsilon is too small to find bounds: {rows_needed:,} rows would be needed",
                hint="ask for more epsilon, or for fewer sums and averages at once",
            )
        widest = {
            argument: (grid.lower * grid.step, grid.upper * grid.step)
            for argument, grid in zip(arguments, grids, strict=True)
        }
        try:
            answer = plan(with_bounds(query, widest, counted=True), policy, own, rows)
        except TooLarge:
            if bits == _WIDEST[-1]:
                raise
            continue
        capped = capped_value(arguments[0]) is not None
        stand_ins = () if capped else tuple(clamp(each, *widest[each]) for each in arguments)
        of = Sought(query, own, arguments, stand_ins)
        work = replace(answer.work, nodes=(*search.work.nodes, *answer.work.nodes))
        return replace(answer, subplans=(search,), sought=of, work=work)
    raise AssertionError("there is a last width")


def with_found_bounds(planned: Plan, bounds: Bounds, policy: Policy, rows: RowCount) -> Plan:
    """The plan of an answer once its bounds are found; its subplan is the search for them."""
    assert planned.sought is not None
    query = with_bounds(planned.sought.query, bounds, counted=True)
    return plan(query, policy, planned.sought.share, rows)


def outline(query: Query, policy: Policy) -> Plan:
    """The plan for `query` without releases: for teaching, where nothing is protected.

    Raises Unsupported for a MODE with a weight, as exact values are those of one argument.
    """
    check_source(query.table)
    for aggregate in query.aggregates:
        if aggregate.weight is not None:
            raise Unsupported(
                "MODE(x, weight) is not answered exactly",
                hint="GROUP BY x, and ORDER BY SUM(weight) DESC",
                place=aggregate.place,
            )
    subplans = tuple(outline(subquery, policy) for subquery in query.subqueries)
    if isinstance(query, DerivedQuery) and query.derived is not None:
        cells = {
            each: math.prod(len(values_with_null(each, key, {})) for key in each.keys)
            for each in query.subqueries
        }
        most_rows(query.derived, cells)
    values = tuple(values_with_null(query, key, {}) for key in query.keys)
    estimates = tuple(Estimate(aggregate, (), Interval()) for aggregate in query.aggregates)
    return _plan_of(query, values, estimates, subplans, policy)


def _plan_within(
    query: Query,
    context: PlanningContext,
    shared: Sharing,
    shares: Iterator[BudgetShare],
    confidence: float | None,
    *,
    candidates: int = 1,
) -> Plan:
    """The plan for `query`: every noisy aggregate takes the next of `shares`, subqueries first.

    `confidence` is that of the intervals of quantiles in the answer, None where none is shown but
    the ends that the query reads. `candidates` are the rows among which noise decides, in the
    SELECT that reads the answer, which are shown.
    """
    subplans, cubes = _subplans(query, context, shared, shares, confidence)
    known: Environment = {
        Slot("subquery", index, subplan.outputs[0].expression.kind): subplan.interval_of(
            subplan.outputs[0]
        )
        for index, subplan in enumerate(subplans)
        if subplan.outputs
    }
    if isinstance(query, DerivedQuery) and query.derived is not None:
        most_rows(query.derived, {each: _most_rows_of(each) for each in query.subqueries})
    values = values_of_keys(query, known)
    group_count = most_groups(query, values)
    competing = max(candidates, competing_rows(query, group_count, context))
    shown = partial(quantiles.shown_confidences, query, "aggregate", confidence, competing)
    own = QueryReleases(query, context, known, group_count, declared_groups(values), shown)
    own.recall()
    own.draw_all(shared, shares)
    return _plan_of(
        query,
        values,
        own.all_estimates(),
        subplans,
        context.policy,
        releases=tuple(own.releases),
        competing_rows=competing,
        groups=tuple(own.groups),
        remembered=own.reused,
        parallel=own.parallel,
        by_share=own.by_share,
        cubes=cubes,
    )


def _subplans(
    query: Query,
    context: PlanningContext,
    shared: Sharing,
    shares: Iterator[BudgetShare],
    confidence: float | None,
) -> tuple[tuple[Plan, ...], tuple[DrawnCube, ...]]:
    """The plans of the subqueries, and the cubes among them, whose levels have unequal shares."""
    inner, read = _inner_confidences(query, context, confidence), _candidates(query)
    of_levels: dict[int, list[BudgetShare]] = {}

    def planned(place: int, shares: Iterator[BudgetShare], context: PlanningContext) -> Plan:
        subquery, own = query.subqueries[place], shared.subqueries[place]
        return _plan_within(subquery, context, own, shares, inner.get(place), candidates=read)

    def level(place: int, factor: Fraction) -> Plan:
        own = (share.part(factor) for share in of_levels[place])
        return planned(place, own, replace(context, options=options))

    options = replace(context.options, mechanism=context.options.kind.of_ratios)
    subplans: dict[int, Plan] = {}
    for place, subquery in enumerate(query.subqueries):
        if subquery.cube:
            of_levels[place] = list(islice(shares, shared.subqueries[place].all_shares))
        else:
            subplans[place] = planned(place, shares, context)
    cubes = list[DrawnCube]()
    for places in cube_plans.members(query.subqueries):
        number = sum(map(bool, (of_levels[place] for place in places)))
        drawn, cube = cube_plans.drawn_together(
            query.subqueries, places, level, number, options, concentrated=context.concentrated
        )
        subplans.update(zip(places, drawn, strict=True))
        cubes += [] if cube is None else [cube]
    return tuple(subplans[place] for place in range(len(subplans))), tuple(cubes)


def _inner_confidences(
    query: Query, context: PlanningContext, confidence: float | None
) -> Mapping[int, float | None]:
    """The confidence of the intervals in the answer to each subquery, where any are shown."""
    if not query.subqueries:
        return {}
    if isinstance(query, DerivedQuery):
        whole = confidence if query.derived and has_intervals(query.derived) else None
        return dict.fromkeys(range(len(query.subqueries)), whole)
    # The number of groups is not known yet; MAX_GROUPS bounds it.
    most = competing_rows(query, MAX_GROUPS, context)
    return quantiles.shown_confidences(query, "subquery", confidence, most)


def _candidates(query: Query) -> int:
    """The number of rows of all answers that a query reads, where noise decides which it shows."""
    derived = query.derived if isinstance(query, DerivedQuery) else None
    if derived is None or not (has_intervals(derived) and selects_by_noise(derived)):
        return 1
    return sum(map(_most_rows_of, query.subqueries))


def _most_rows_of(query: Query) -> int:
    """The most rows that the answer to a query can have, but for HAVING and LIMIT."""
    return most_groups(query, values_of_keys(query, {}))


def _plan_of(
    query: Query,
    values: KeyValues,
    estimates: tuple[Estimate, ...],
    subplans: tuple[Plan, ...],
    policy: Policy,
    *,
    releases: tuple[Release, ...] = (),
    **drawn: Any,  # noqa: ANN401 (other fields of the plan)
) -> Plan:
    """The plan of a query, with these releases."""
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
        derived=query.derived if isinstance(query, DerivedQuery) else None,
        found=found_keys(query),
        work=work_of(query),
        **drawn,
    )
