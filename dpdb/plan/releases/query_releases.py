"""The groups and releases of a query, and how its aggregates are computed from the releases."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field
from fractions import Fraction
from itertools import islice

from dpdb.errors import TooLarge
from dpdb.plan.expressions.expressions import Expr
from dpdb.plan.logical.query import FoundKeys, Query
from dpdb.plan.physical.box_lowering import lower_together
from dpdb.plan.physical.context import NO_SHARE, PlanningContext
from dpdb.plan.physical.lowering import AggregateLowering
from dpdb.plan.physical.moments import Combination, Estimate, GroupMoments, Moments, value
from dpdb.plan.physical.release import Release, ReleasedGroup, ReleaseFamily
from dpdb.plan.ranges.group_keys import key_values, leaves_no_null
from dpdb.plan.ranges.intervals import Interval
from dpdb.plan.ranges.ranges import Environment
from dpdb.plan.releases import quantiles
from dpdb.plan.releases.count_groups import CountGroup
from dpdb.plan.releases.key_selection import key_release, key_share, selects_keys, told_by_keys
from dpdb.plan.releases.release_groups import ReleaseGroup
from dpdb.plan.releases.shared_moments import combined, has_noise_of, moments_for
from dpdb.plan.releases.sharing import Sharing, beside, recalled
from dpdb.policy.catalog import Value
from dpdb.privacy.accounting.accountants import BudgetShare
from dpdb.records import dataclass

MAX_GROUPS = 100_000
"""The most groups of one SELECT, and the most noisy values of it."""


@dataclass
class QueryReleases:
    """The releases of a query's own aggregates, and how each aggregate is computed from them."""

    query: Query
    context: PlanningContext
    known: Environment
    group_count: int
    """The most groups there can be."""
    declared_groups: int
    """Number of groups that the declared keys make, for each combination of found keys."""
    shown: Callable[[], Mapping[int, float]]
    """Returns the confidences of the intervals that are shown, by the index of the aggregate.

    Called for quantiles only.
    """
    shares: dict[int, BudgetShare] = field(default_factory=dict)
    """The share of each group, by its first aggregate."""
    lowerings: dict[int, AggregateLowering] = field(default_factory=dict)
    """The lowering of each group, by its first aggregate."""
    releases: list[Release] = field(default_factory=list)
    groups: list[tuple[int, ReleasedGroup]] = field(default_factory=list)
    """The groups of moments, each with the index of its first release."""
    reused: tuple[ReleasedGroup, ...] = ()
    estimates: dict[int, Estimate] = field(default_factory=dict)
    parallel: tuple[ReleaseFamily, ...] = ()
    """Releases that compose in parallel."""
    by_share: tuple[tuple[int, ...], ...] = ()
    """The indices of the releases that have each share; none where families share theirs."""

    def recall(self) -> None:
        """Take the aggregates that remembered groups answer.

        If several groups tell the number of rows, their values are combined.
        """
        before = recalled(self.query, self.context)
        more = beside(before, self.query, self.context)
        self.reused = (*dict.fromkeys(before.values()), *more)
        reads, owners = list[GroupMoments](), list[ReleasedGroup]()
        series: list[str | None] = []
        for group in self.reused:
            reads += [each.moved(len(self.releases)) for each in group.reads]
            owners += [group] * len(group.reads)
            self.releases += group.releases
            series += group.series or [None] * len(group.releases)
        shared = list(zip(owners, combined(reads, self.releases, series), strict=True))
        for index, group in before.items():
            own = [each for owner, each in shared if owner == group]
            self.estimates[index] = _estimate(index, self._lowering(index), own)

    def draw_all(self, shared: Sharing, shares: Iterator[BudgetShare]) -> None:
        """Add the releases of all groups: each takes the next share, or a part of its family's.

        Keys that are found in the data come first, with the counts that they tell.
        """
        if shared.keys:
            share = next(shares)
            share = share if self.query.top else key_share(share, self.context)
            self.releases.append(key_release(self.query, self.context, share))
            own = len(self.releases) - 1
            for index in told_by_keys(self.query, self.context):
                self._add_count(index, own, value(own))
        # The next shares are equal, and a family has so many of them as one.
        of_families = {
            family: next(islice(shares, family.shares - 1, None)).part(Fraction(family.shares))
            for family in shared.families
        }
        filters = dict.fromkeys(range(len(shared.groups)), 1)
        for place, group in enumerate(shared.groups):
            if place in shared.family_of:
                family, beside = shared.family_of[place]
                self.shares[group.aggregate] = of_families[family].part(Fraction(1, beside))
                filters[place] = len(family.members)
            else:
                self.shares[group.aggregate] = next(shares)
        places: dict[int, tuple[int, ...]] = {}
        for place, group in enumerate(shared.groups):
            first = len(self.releases)
            self._draw(group, self.shares[group.aggregate], filters[place])
            places[place] = tuple(range(first, len(self.releases)))
        if not (shared.families or shared.keys):
            self.by_share = tuple(places.values())
        self.parallel = tuple(
            tuple(tuple(r for place in members for r in places[place]) for members in each.members)
            for each in shared.families
        )

    def _draw(self, group: ReleaseGroup, share: BudgetShare, filters: int = 1) -> None:
        """Add the releases of a group, whose filter is one of `filters` that exclude each other."""
        lowering, first = self._lowering(group.aggregate, share, filters), len(self.releases)
        self.lowerings[group.aggregate] = lowering
        if group.counts is not None:
            self.releases.append(_of_counts(group.counts, lowering))
            for member, segments in zip(group.counts.members, group.counts.added, strict=True):
                places = (0,) if segments is None else segments
                added = Combination.of({(first, place): Fraction(1) for place in places})
                self._add_count(member, first, added, segments)
        elif group.box:
            of = [self._lowering(each, share, filters) for each in group.box]
            release, moments = lower_together([each.moments for each in of], group.needed)
            self.lowerings |= zip(group.box, of, strict=True)
            read, *more = (
                GroupMoments(each.aggregate.argument, each.aggregate.where, own)
                for each, own in zip(of, moments, strict=True)
            )
            self.releases.append(release)
            self.groups.append((first, ReleasedGroup(read, (release,), more=tuple(more))))
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
        elif group.aggregate not in self.estimates:
            self._select(lowering, group.aggregate)
        if sum(release.size for release in self.releases) * self.declared_groups > MAX_GROUPS:
            raise TooLarge(f"GROUP BY makes more than {MAX_GROUPS} noisy values")

    def _select(self, lowering: AggregateLowering, index: int) -> None:
        """Add the releases of one aggregate, or of all quantiles that are selected with it."""
        first, shown = len(self.releases), self.shown()
        members = quantiles.together(self.query, self.context).get(index, ())
        joint = quantiles.lower_together(
            [self._lowering(each, self.shares[each]) for each in members],
            [shown.get(each) for each in members],
        )
        if joint is None:
            lowered = quantiles.lower(lowering, shown.get(index))
            own = tuple(range(first, first + len(lowered.releases)))
            self.releases += lowered.releases
            rows = lowered.public_rows
            self.estimates[index] = Estimate(lowering.aggregate, own, lowered.range, rows)
            return
        self.releases += joint.releases
        for column, (each, bracket) in enumerate(zip(members, joint.brackets, strict=True)):
            own = (first,) if bracket is None else (first, first + bracket)
            aggregate = self.query.aggregates[each]
            self.estimates[each] = Estimate(aggregate, own, joint.range, column=column)

    def all_estimates(self) -> tuple[Estimate, ...]:
        """The estimates of all aggregates, in their order."""
        drawn = [(first, group, each) for first, group in self.groups for each in group.reads]
        shared = combined([each.moved(first) for first, _, each in drawn], self.releases)

        def estimate(index: int) -> Estimate:
            kind = self.context.options.kind_for(self.query.aggregates[index].function)
            own = [
                each
                for each, (_, group, _) in zip(shared, drawn, strict=True)
                if has_noise_of(kind, group.releases)
            ]
            # The range is known already of a lowering that releases were made with.
            return _estimate(index, self.lowerings.get(index) or self._lowering(index), own)

        each = range(len(self.query.aggregates))
        return tuple(self.estimates.get(index) or estimate(index) for index in each)

    def _add_count(
        self, index: int, release: int, number: Combination, segments: tuple[int, ...] | None = None
    ) -> None:
        """Add the estimate of a count, a number that is read from one release."""
        self.estimates[index] = Estimate(
            self.query.aggregates[index],
            (release,),
            Interval(),
            segments=segments,
            moments=Moments(rows=number, count=number),
        )

    def _lowering(
        self, index: int, share: BudgetShare = NO_SHARE, filters: int = 1
    ) -> AggregateLowering:
        aggregate, cells = self.query.aggregates[index], self.group_count * filters
        return AggregateLowering(
            self.context, self.query, aggregate, self.known, cells, share, filters
        )


def _estimate(index: int, lowering: AggregateLowering, groups: Sequence[GroupMoments]) -> Estimate:
    """The estimate of an aggregate from the moments of release groups, or from what is public."""
    aggregate, contradiction = lowering.aggregate, lowering.query.contradictions[index]
    if contradiction is not None:
        return Estimate(aggregate, (), Interval(), contradiction=contradiction)
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
    """The release of counts that are drawn together; `lowering` is that of one of them.

    The segments of a histogram are groups of rows, as those of GROUP BY are.
    """
    if group.histogram is None:
        return lowering.lower().releases[0]
    noise = lowering.divided(group.size).choice.for_total(1, 1, lowering.share)
    return Release("count", group.histogram, noise)


KeyValues = tuple[tuple[Value | None, ...], ...]
"""The possible values of each key; an empty tuple for a key found in the data."""


def values_of_keys(query: Query, known: Environment) -> KeyValues:
    """The values that the keys can have; each combination of them is a group."""
    found = query.found_places
    values = tuple(
        () if place in found else values_with_null(query, key, known)
        for place, key in enumerate(query.keys)
    )
    if declared_groups(values) > MAX_GROUPS:
        raise TooLarge(f"GROUP BY makes {declared_groups(values)} groups, {MAX_GROUPS} are allowed")
    return values


def values_with_null(query: Query, key: Expr, known: Environment) -> tuple[Value | None, ...]:
    """The values that a key can have, with NULL last in a level of a cube that has such rows."""
    null = query.cube and not leaves_no_null(key, query.where)
    return (*key_values(key, query.where, known), *([None] if null else []))


def declared_groups(values: KeyValues) -> int:
    """The number of groups that declared keys make."""
    return math.prod(len(each) for each in values if each)


def most_groups(query: Query, values: KeyValues) -> int:
    """The most groups there can be.

    How many keys are found depends on the rows; a number as large as this stands for it, which is
    more than two units can have.
    """
    if query.top or not query.found_places:
        return query.top or declared_groups(values)
    return max(MAX_GROUPS, 2 * query.table.rows_per_unit)


def found_keys(query: Query) -> FoundKeys | None:
    """The keys that are found in the data, none of them shown if no row can pass WHERE."""
    places = query.found_places
    if not places:
        return None
    most = most_groups(query, ())
    among = tuple(key_values(key, query.where, {}) for key in query.keys if query.top)
    return FoundKeys(places, most, among, None if selects_keys(query) else ())
