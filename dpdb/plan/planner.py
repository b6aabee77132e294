"""The planner turns a query and a policy into a plan: statistics, noise and their price.

The planner sees no rows. Under the neighbour relation `replace` the number of rows of a table is
public, and the planner asks for it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import islice

from dpdb.errors import TooLarge
from dpdb.plan import brackets
from dpdb.plan.allocation import allocate, competing_rows
from dpdb.plan.count_groups import CountGroup
from dpdb.plan.expressions import Slot
from dpdb.plan.group_keys import key_values
from dpdb.plan.intervals import Interval
from dpdb.plan.lowering import (
    NO_SHARE,
    AggregateLowering,
    PlanningContext,
    RowCount,
    contribution_of,
)
from dpdb.plan.mechanism_choice import MechanismChoice
from dpdb.plan.moments import GroupMoments, Moments, Reading, value
from dpdb.plan.plan import (
    CONFIDENCE,
    Estimate,
    Plan,
    Release,
    ReleasedGroup,
    ReleaseFamily,
)
from dpdb.plan.query import Query
from dpdb.plan.ranges import Environment
from dpdb.plan.release_groups import ReleaseGroup, recalled
from dpdb.plan.shared_moments import combined, moments_for
from dpdb.plan.sharing import Sharing, sharing
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
    drawing = _Drawing(query, context, known, group_count, shown)
    drawing.recall()
    drawing.draw_all(sharing(query, context), shares)
    return _assembled(
        query,
        values,
        tuple(drawing.releases),
        drawing.all_estimates(),
        subplans,
        policy=context.policy,
        competing=competing,
        groups=tuple(drawing.groups),
        reused=drawing.reused,
        parallel=drawing.parallel,
    )


@dataclass
class _Drawing:
    """The releases of a query's own aggregates, and how each aggregate is computed from them."""

    query: Query
    context: PlanningContext
    known: Environment
    group_count: int
    shown: Mapping[int, float]
    """The confidences of the intervals that are shown, by the index of the aggregate."""
    releases: list[Release] = field(default_factory=list)
    groups: list[tuple[int, ReleasedGroup]] = field(default_factory=list)
    """The groups of moments, each with the index of its first release."""
    reused: tuple[ReleasedGroup, ...] = ()
    estimates: dict[int, Estimate] = field(default_factory=dict)
    parallel: tuple[ReleaseFamily, ...] = ()
    """Releases that compose in parallel."""

    def recall(self) -> None:
        """Take what follows from remembered groups."""
        before = recalled(self.query, self.context)
        self.reused = tuple(dict.fromkeys(before.values()))
        for group in self.reused:
            read = group.read.moved(len(self.releases))
            self.releases += group.releases
            for index in (index for index, own in before.items() if own is group):
                self.estimates[index] = _estimate(index, self._lowering(index), [read])

    def draw_all(self, shared: Sharing, shares: Iterator[BudgetShare]) -> None:
        """Add the releases of all groups: each takes the next share, or a part of its family's."""
        of_families = {family: _together(shares, family.shares) for family in shared.families}
        places: dict[int, tuple[int, ...]] = {}
        for place, group in enumerate(shared.groups):
            first = len(self.releases)
            if place in shared.family_of:
                family, beside = shared.family_of[place]
                share = of_families[family].part(Fraction(1, beside))
                self._draw(group, share, len(family.members))
            else:
                self._draw(group, next(shares))
            places[place] = tuple(range(first, len(self.releases)))
        self.parallel = tuple(
            tuple(tuple(r for place in members for r in places[place]) for members in each.members)
            for each in shared.families
        )

    def _draw(self, group: ReleaseGroup, share: BudgetShare, filters: int = 1) -> None:
        """Add the releases of a group, which is over one of so many filters."""
        lowering, first = self._lowering(group.aggregate, share, filters), len(self.releases)
        if group.counts is not None:
            self.releases.append(_of_counts(group.counts, lowering))
            self._add_counts(group.counts, first)
        elif group.needed:
            lowered = lowering.lower_moments(group.needed)
            self.releases += lowered.releases
            aggregate = lowering.aggregate
            read = GroupMoments(aggregate.argument, aggregate.where, lowered.moments)
            if self.context.options.has_accuracy_goal:
                own = [read.moved(first)]
                self.estimates[group.aggregate] = _estimate(group.aggregate, lowering, own)
            else:
                self.groups.append((first, ReleasedGroup(read, tuple(lowered.releases))))
        else:
            lowered = brackets.lower(lowering, self.shown.get(group.aggregate))
            self.releases += lowered.releases
            places = tuple(range(first, len(self.releases)))
            self.estimates[group.aggregate] = Estimate(lowering.aggregate, places, lowered.range)
        if sum(release.size for release in self.releases) * self.group_count > MAX_GROUPS:
            raise TooLarge(f"GROUP BY makes more than {MAX_GROUPS} noisy values")

    def all_estimates(self) -> tuple[Estimate, ...]:
        """The estimates of all aggregates, in their order."""
        read = [group.read.moved(first) for first, group in self.groups]
        shared = combined(read, self.releases)
        return tuple(
            self.estimates.get(index) or _estimate(index, self._lowering(index), shared)
            for index in range(len(self.query.aggregates))
        )

    def _add_counts(self, group: CountGroup, release: int) -> None:
        """The estimates of counts that are drawn together."""
        for member, added in zip(group.members, group.added, strict=True):
            parts = (0,) if added is None else added
            number = sum((value(release, part) for part in parts), Reading())
            self.estimates[member] = Estimate(
                self.query.aggregates[member],
                (release,),
                Interval(),
                atoms=added,
                moments=Moments(rows=number, count=number),
            )

    def _lowering(
        self, index: int, share: BudgetShare = NO_SHARE, filters: int = 1
    ) -> AggregateLowering:
        aggregate, cells = self.query.aggregates[index], self.group_count * filters
        return AggregateLowering(self.context, self.query, aggregate, self.known, cells, share)


def _together(shares: Iterator[BudgetShare], number: int) -> BudgetShare:
    """The next shares, which are equal, as one."""
    first, *_ = islice(shares, number)
    return first.part(Fraction(number))


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
    groups: tuple[tuple[int, ReleasedGroup], ...] = (),
    reused: tuple[ReleasedGroup, ...] = (),
    parallel: tuple[ReleaseFamily, ...] = (),
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
        parallel=parallel,
    )
