"""The shares of a SELECT, and the aggregates that need none.

An aggregate that follows from remembered releases is recalled and costs nothing. Releases over
filters that no row can pass together compose in parallel ([McS09] Theorem 4), as the groups of a
GROUP BY do. Noise is planned for that many groups: under `replace` a row can leave one filter and
enter another, and each row of a unit can be in another one. The filters follow from the text and
the policy alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cached_property

from dpdb.errors import MissingBounds, TooLarge
from dpdb.plan.expressions.expressions import Expr, Logic, conjunction
from dpdb.plan.expressions.single_values import single_value
from dpdb.plan.logical.query import Function, Query
from dpdb.plan.physical.context import PlanningContext
from dpdb.plan.physical.lowering import AggregateLowering
from dpdb.plan.physical.moments import Moment, moments_of
from dpdb.plan.physical.release import ReleasedGroup
from dpdb.plan.relations.regions import Region, region
from dpdb.plan.releases.count_groups import counted
from dpdb.plan.releases.key_selection import selects_keys
from dpdb.plan.releases.release_groups import ReleaseGroup, release_groups
from dpdb.plan.releases.shared_moments import covariance, has_noise_of, moments_for
from dpdb.policy.budget import Neighbors
from dpdb.privacy.accounting.accountants import BudgetShare
from dpdb.privacy.mechanisms.kinds import NoiseKind
from dpdb.privacy.mechanisms.mechanism import VectorNoise
from dpdb.records import dataclass


@dataclass(frozen=True)
class Family:
    """Release groups over filters that exclude each other."""

    members: tuple[tuple[int, ...], ...]
    """The indices of the groups of each filter."""

    @property
    def shares(self) -> int:
        """The number of shares that all filters have together: as many as one filter alone has."""
        return max(map(len, self.members))

    @property
    def saved(self) -> int:
        """The number of shares less than they would have alone."""
        return sum(map(len, self.members)) - self.shares


def families(query: Query, filters: Mapping[int, Expr | None]) -> list[Family]:
    """The families of release groups with these filters; none of those over a single filter."""
    by_filter: dict[Expr | None, list[int]] = {}
    for place, where in filters.items():
        by_filter.setdefault(where, []).append(place)
    groups: list[list[tuple[Region, tuple[int, ...]]]] = []
    for where, members in by_filter.items():
        own = region(query.table, conjunction(query.where, where))
        family = next((f for f in groups if all(own.excludes(other) for other, _ in f)), None)
        if family is None:
            groups.append(family := [])
        family.append((own, tuple(members)))
    return [Family(tuple(m for _, m in family)) for family in groups if len(family) > 1]


MOST_BESIDE = 4
"""The most groups that are read for the number of rows only."""


def recalled(query: Query, context: PlanningContext) -> dict[int, ReleasedGroup]:
    """The remembered group that answers an aggregate, by the aggregate's index.

    A group serves if it had noise of the same kind, and at least the loss that the aggregate's own
    would have. If it adds up noises, or if rows have two owners, it must be no noisier than the
    aggregate's own: of rows with two owners both parts of an average have rooms of their own. All
    aggregates share one group among those that follow from other groups, as two could have the
    same noise in them.
    """
    if not context.remembered or context.options.has_accuracy_goal:
        return {}
    number = len(release_groups(query, context, boxed=False))
    share = context.share.part(Fraction(1, max(number, 1)))
    cells = 2 if query.keys else 1  # all numbers of cells but one are alike
    groups_by_index: dict[int, ReleasedGroup] = {}
    derived: ReleasedGroup | None = None
    for index, aggregate in enumerate(query.aggregates):
        own = AggregateLowering(context, query, aggregate, {}, cells, share)
        for group in context.remembered:
            kind = context.options.kind_for(aggregate.function)
            if not (has_noise_of(kind, group.releases) and moments_for(aggregate, group.reads)):
                continue
            enough = group.linear or _is_enough(group, share, kind)
            if group.source is not None:
                enough &= derived in (None, group)
            if group.source is not None or query.table.kinds:
                enough = enough and _is_as_good(group, own)
            if enough:
                derived = derived if group.source is None else group
                groups_by_index[index] = group
                break
    return groups_by_index


def finest(groups: Sequence[ReleasedGroup]) -> tuple[ReleasedGroup, ...]:
    """The groups but those whose releases all have a finer level in another group.

    A coarser level of a series tells nothing that the finest does not (`privacy.levels`).
    """
    return tuple(each for each in groups if not any(_is_coarser(each, other) for other in groups))


def _is_coarser(group: ReleasedGroup, other: ReleasedGroup) -> bool:
    """Whether a group is read as another one is, whose releases are finer levels of its series."""
    if group.read != other.read or not group.series or group.series != other.series:
        return False
    pairs = zip(group.releases, other.releases, strict=True)
    return None not in group.series and all(
        one.mechanism.loss.epsilon < finer.mechanism.loss.epsilon for one, finer in pairs
    )


def may_serve(query: Query, groups: Iterable[ReleasedGroup]) -> bool:
    """Whether a group tells the moments of an aggregate; otherwise none is recalled."""
    return any(moments_for(each, g.reads) is not None for g in groups for each in query.aggregates)


def beside(
    before: Mapping[int, ReleasedGroup], query: Query, context: PlanningContext
) -> tuple[ReleasedGroup, ...]:
    """More remembered groups that tell the number of rows, which counts and sums gain from.

    Of groups that follow from others there is one at most, as two could have the same noise in
    them. Levels of one series are told apart by `shared_moments.combined`.
    """
    linear = (Function.COUNT, Function.SUM)
    gaining = [
        index
        for index, group in before.items()
        if query.aggregates[index].function in linear and not _is_one_draw(group)
    ]
    wheres = {query.aggregates[index].where for index in gaining}
    kinds = set[NoiseKind]().union(*map(_kinds, before.values()))
    derived = any(group.source is not None for group in before.values())
    chosen: list[ReleasedGroup] = []
    for group in context.remembered:
        alike = _kinds(group) == kinds
        tells = group.read.where in wheres and group.read.tells(Moment.ROWS)
        own = any(isinstance(each.mechanism, VectorNoise) for each in group.releases)
        if (
            alike
            and tells
            and not own
            and group not in before.values()
            and not (derived and group.source)
        ):
            derived = derived or group.source is not None
            chosen.append(group)
    return tuple(chosen[:MOST_BESIDE])


def _is_one_draw(group: ReleasedGroup) -> bool:
    """Whether the noise is that of a vector, whose parts are not combined with others."""
    return any(isinstance(each.mechanism, VectorNoise) for each in group.releases)


def _kinds(group: ReleasedGroup) -> set[NoiseKind]:
    """The kinds of noise on the values of a group."""
    return {each.noise.kind for each in group.releases if each.noise is not None}


def _is_enough(group: ReleasedGroup, share: BudgetShare, kind: NoiseKind) -> bool:
    """Whether a loss is at least what a share would be spent on, but for the rounding of roots.

    Other noise than Gaussian spends no δ. A box must have no more noise than a pair of sums with
    the share.
    """
    loss = group.loss
    if any(not each.mechanism.is_as_pair(share.epsilon) for each in group.releases
           if isinstance(each.mechanism, VectorNoise)):  # fmt: skip
        return False
    if share.concentrated:
        return loss.rho >= share.epsilon**2 / 2 * (1 - Fraction(1, 2**60))
    if kind.is_euclidean and loss.delta < share.delta:
        return False
    return loss.epsilon >= share.epsilon


def _is_as_good(group: ReleasedGroup, own: AggregateLowering) -> bool:
    """Whether a group tells what an aggregate needs as its own would.

    The group must be on the same grid and, if noises are added up or rows have two owners, have no
    more noise.
    """
    known = moments_for(own.aggregate, group.reads)
    linear = own.aggregate.function in (Function.COUNT, Function.SUM)
    if known is None or (group.linear and not linear):
        return False
    needed = moments_of(own.aggregate)
    try:
        releases, fresh = own.moments.lower(needed)
    except (MissingBounds, TooLarge):
        return False
    if Moment.TOTAL in needed and fresh.step != known.step:
        return False
    if not group.linear and not own.query.table.kinds:
        return True
    pairs = [(known.of(moment), fresh.of(moment)) for moment in needed]
    return all(
        one is not None
        and other is not None
        and covariance(one, one, group.releases) <= covariance(other, other, releases)
        for one, other in pairs
    )


@dataclass(frozen=True)
class Sharing:
    """The release groups of a query, and those whose filters exclude each other."""

    groups: tuple[ReleaseGroup, ...]
    families: tuple[Family, ...] = ()
    """Families of groups, by index in `groups`."""
    keys: bool = False
    """Whether a share is for the keys, which are found in the data."""
    subqueries: tuple[Sharing, ...] = ()
    """The sharing of each subquery."""

    @property
    def shares(self) -> int:
        """The number of equal parts of ε that these groups have."""
        return len(self.groups) + self.keys - sum(family.saved for family in self.families)

    @property
    def all_shares(self) -> int:
        """The number of equal parts of ε, those of subqueries included."""
        return self.shares + sum(each.all_shares for each in self.subqueries)

    @cached_property
    def family_of(self) -> Mapping[int, tuple[Family, int]]:
        """The family of each group in one, and the number of groups over the group's filter."""
        return {
            place: (family, len(members))
            for family in self.families
            for members in family.members
            for place in members
        }


def sharing(query: Query, context: PlanningContext) -> Sharing:
    """The release groups of a query and of its subqueries."""
    own = _own_sharing(query, context)
    if not query.subqueries:
        return own
    return replace(own, subqueries=tuple(sharing(each, context) for each in query.subqueries))


def _own_sharing(query: Query, context: PlanningContext) -> Sharing:
    """The release groups of a query alone; no family where the size of the noise is given.

    Families are made of sums and counts, to which each row of a unit adds by itself, with noise
    whose loss is in proportion: of staircase noise one row of three can lose all. A filter may
    exclude another only where an argument is not NULL, as `x IS NULL` excludes AVG(x); by that
    fewer groups may have their filter in common. So the least number of shares is looked for.
    """
    groups = release_groups(query, context, recalled(query, context))
    options, keys = context.options, selects_keys(query)
    alone = Sharing(groups, keys=keys)
    if len(groups) < 2 or options.has_accuracy_goal or not options.kind.draws_vectors:
        return alone
    if query.table.kinds:  # each sum is filled by itself, whichever rows others count
        return alone
    added = {
        place: group
        for place, group in enumerate(groups)
        if (group.needed or group.counts)
        and single_value(query.aggregates[group.aggregate].argument) is None
    }
    filters = [
        {p: query.aggregates[g.aggregate].where for p, g in added.items() if not g.counts},
        {place: _moving(group, query) for place, group in added.items()},
    ]
    ways = [Sharing(groups, tuple(families(query, each)), keys) for each in filters]
    better = [each for each in ways if _is_better(each, query, context)]
    return min(better, key=lambda way: way.shares, default=alone)


def _moving(group: ReleaseGroup, query: Query) -> Expr | None:
    """The condition on the rows that move the releases of a group."""
    aggregate = query.aggregates[group.aggregate]
    if group.counts is not None:
        first, *more = dict.fromkeys(group.counts.conditions)
        return Logic("or", (first, *more)) if more else first
    return aggregate.where if Moment.ROWS in group.needed else counted(aggregate)


def _is_better(shared: Sharing, query: Query, context: PlanningContext) -> bool:
    """Whether no aggregate is noisier with the families than alone.

    Under `replace` noise for several groups is up to twice as large as noise for a single one.
    """
    doubled = context.policy.neighbors is Neighbors.REPLACE and not query.keys
    factor = (4 if context.concentrated else 2) if doubled else 1
    return factor * shared.shares <= len(shared.groups) + shared.keys
