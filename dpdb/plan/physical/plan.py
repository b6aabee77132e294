"""The plan of a query: its releases in groups, and how its output follows from them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction
from functools import cached_property

from dpdb.plan.expressions.expressions import Expr, Slot, columns_of, conjunction, slots
from dpdb.plan.expressions.single_values import stored_columns
from dpdb.plan.identity import identity
from dpdb.plan.logical.derived import Derived, noisy_columns
from dpdb.plan.logical.query import FoundKeys, Ordering, Output, Query, are_sought
from dpdb.plan.logical.shared_queries import check_filled
from dpdb.plan.physical.cubes import Cube
from dpdb.plan.physical.moments import Estimate
from dpdb.plan.physical.release import Release, ReleasedGroup, ReleaseFamily
from dpdb.plan.ranges.intervals import Interval
from dpdb.plan.ranges.ranges import Environment, interval
from dpdb.plan.ranges.statistics import Histogram, Joint, KeyUnits, Total, filters_of
from dpdb.plan.relations.regions import Region, region
from dpdb.plan.relations.relations import Joined, Source
from dpdb.plan.unit_work import NO_WORK, UnitWork
from dpdb.policy.catalog import Column, Value
from dpdb.privacy.accounting.accountants import BudgetShare
from dpdb.privacy.accounting.composition import ComposedLoss
from dpdb.privacy.accounting.loss import Loss, added, largest_loss
from dpdb.privacy.mechanisms.mechanism import IntervalSelection
from dpdb.records import dataclass


@dataclass(frozen=True)
class Sought:
    """The query of a plan whose subplan finds bounds first; its own releases stand for others.

    They have the widest bounds that can be found, and the loss of those that are drawn.
    """

    query: Query
    share: BudgetShare
    """The budget share of the answer, beside that of the bounds."""
    arguments: tuple[Expr, ...]
    """The arguments whose bounds are found, in the order of the subplan's releases; or the number
    of each unit of which a cap is.
    """
    widest: tuple[Expr, ...]
    """Each argument as the plan's own releases read it; empty where a cap on all is found."""


@dataclass(frozen=True)
class DrawnCube:
    """The levels of a cube among the subplans of a plan, whose values add up when they are shown.

    Some levels may not be drawn: their values are sums of those of others.
    """

    cube: Cube
    places: tuple[int, ...]
    """The index of each level's subplan."""
    shown: tuple[Plan, ...]
    """The plan of each level as its values are shown, with the noise that they have then."""
    parts: tuple[Fraction, ...]
    """The part of ε that each level has, or of ρ."""
    nonnegative: bool = False
    """Whether counts are shown as whole numbers of at least 0."""


@dataclass(frozen=True)
class Plan:
    """The physical plan of one SELECT: groups, releases, estimates and columns of the answer."""

    table: Source
    where: Expr | None
    keys: tuple[Expr, ...]
    key_values: tuple[tuple[Value | None, ...], ...]
    """The possible values of each key; an empty tuple for a key found in the data.

    In a level of a cube NULL can be the last: rows that have none of the others are there.

    Each combination of values is a group; the values of the last key change fastest.
    """
    releases: tuple[Release, ...]
    estimates: tuple[Estimate, ...]
    subplans: tuple[Plan, ...]
    outputs: tuple[Output, ...]
    having: Expr | None
    order: tuple[Ordering, ...]
    limit: int | None
    offset: int
    sample_key: str
    """The policy's key that decides which rows count of a unit with more rows than its cap."""
    competing_rows: int = 1
    """The number of rows among which noise decides which are shown.

    The intervals of these rows hold at once.
    """
    parallel: tuple[ReleaseFamily, ...] = ()
    """Releases that compose in parallel, as no row is under two filters of one family."""
    by_share: tuple[tuple[int, ...], ...] = ()
    """The indices of the releases that have each part of ε; none where families share theirs."""
    groups: tuple[tuple[int, ReleasedGroup], ...] = ()
    """The groups that are to be drawn, each with the index of its first release."""
    derived: Derived | None = None
    """For a SELECT over answers, the computation on the answers of the subplans."""
    remembered: tuple[ReleasedGroup, ...] = ()
    """Free groups drawn for earlier statements; their releases come first in `releases`."""
    found: FoundKeys | None = None
    """The keys whose values are found in the data, if there are any."""
    sought: Sought | None = None
    """The bounds that are to be found before anything else is drawn."""
    work: UnitWork = NO_WORK
    """The work that one unit can add to the plan and its subqueries."""
    cubes: tuple[DrawnCube, ...] = ()
    """The cubes among the subplans of a SELECT over answers."""

    def __post_init__(self) -> None:
        check_filled(self.table, (each.statistic for each in self.releases))

    @property
    def recalled(self) -> int:
        """The number of releases that are remembered."""
        return sum(len(group.releases) for group in self.remembered)

    @property
    def centres(self) -> Mapping[int, int]:
        """For each release that is a bracket, the release with the values that it is around."""
        return {
            each.releases[-1]: each.releases[0]
            for each in self.estimates
            if len(each.releases) > 1
            and isinstance(self.releases[each.releases[-1]].mechanism, IntervalSelection)
        }

    @property
    def follows(self) -> bool:
        """Whether the whole answer follows from what is remembered."""
        return bool(self.remembered) and not any(self.every_release)

    @property
    def fresh(self) -> tuple[Release, ...]:
        """The releases that are to be drawn for this plan, without those of subqueries."""
        return self.releases[self.recalled :]

    @property
    def exact_releases(self) -> tuple[Release, ...]:
        """The fresh releases that need exact results of an engine: all but the choice of keys."""
        return tuple(each for each in self.fresh if not isinstance(each.statistic, KeyUnits))

    @property
    def cells(self) -> int:
        """The number of groups, and so of rows of the answer before HAVING; 1 without keys."""
        known = None if self.found is None else self.found.shown
        return self.declared_groups * (1 if known is None else len(known))

    @property
    def declared_groups(self) -> int:
        """The number of groups that declared keys make, for each combination of found ones."""
        return math.prod(len(values) for values in self.key_values if values)

    @property
    def every_plan(self) -> Iterator[Plan]:
        """The plans of subqueries and of theirs, which come first, and this one."""
        for subplan in self.subplans:
            yield from subplan.every_plan
        yield self

    @property
    def every_release(self) -> Iterator[Release]:
        """All releases that are drawn, in their order, those of subqueries first."""
        for each in self.every_plan:
            yield from each.fresh

    @property
    def settled(self) -> bool:
        """Whether the policy alone gives the answer, because no row can count for it."""
        drawn = self.subplans or are_sought(self.found)
        return not drawn and all(estimate.contradiction for estimate in self.estimates)

    @property
    def aggregates(self) -> int:
        """The number of aggregates, those of subqueries included."""
        return len(self.estimates) + sum(subplan.aggregates for subplan in self.subplans)

    @cached_property
    def loss(self) -> Loss:
        """The composed loss of all mechanisms that run, those of subqueries included."""
        return self.loss_given({})

    def loss_given(self, losses: Mapping[int, Loss]) -> Loss:
        """The loss with other losses of some releases; families add up by [McS09] Theorem 4."""
        each = [losses.get(i, release.mechanism.loss) for i, release in enumerate(self.releases)]

        def of(releases: Iterable[int]) -> Loss:
            return added(each[index] for index in releases)

        in_families = {index for family in self.parallel for part in family for index in part}
        alone = (i for i in range(self.recalled, len(self.releases)) if i not in in_families)
        families = (largest_loss(map(of, family)) for family in self.parallel)
        return added((*(p.loss for p in self.subplans), of(alone), *families))

    @cached_property
    def composed_loss(self) -> ComposedLoss:
        """The loss, as the composition theorems add it up."""
        return ComposedLoss.of(self.loss)

    @cached_property
    def region(self) -> Region:
        """A region that holds every row that the releases read."""
        subqueries = self.subplans and self.sought is None
        if subqueries or isinstance(self.table, Joined) or self.table.unit is not None:
            # A unit can have rows in several regions, up to its cap in each, so filters that
            # exclude each other may still see the same unit.
            return region(self.table, None)
        filters = frozenset[Expr | None]().union(*(filters_of(r.statistic) for r in self.fresh))
        return region(self.table, conjunction(self.where, *filters if len(filters) == 1 else ()))

    @cached_property
    def identity(self) -> str:
        """Equal for plans that draw the same releases, however they show them."""
        # A computation on the rows of answers draws nothing.
        read = (None if self.derived else (p.derived, p.outputs[0].expression)
                for p in self.subplans)  # fmt: skip
        nested = tuple(
            (p.identity, own, *(e.aggregate for e in p.estimates))
            for p, own in zip(self.subplans, read, strict=True)
        )
        of = self.table, self.where, self.key_values, self.keys
        return identity((*of, self.releases, nested))

    @property
    def column_names(self) -> frozenset[str]:
        """The names of the columns that the plan reads, without those of subqueries."""
        read = [self.where, *self.keys]
        for estimate in self.estimates:
            read += estimate.aggregate.parts
        for statistic in (release.statistic for release in self.releases):
            # The conditions of a histogram and the weight of a tally are those of its aggregates.
            if not isinstance(statistic, Histogram | KeyUnits):
                read += (statistic.argument, statistic.where)
        return frozenset().union(*(stored_columns(each) for each in read if each is not None))

    @property
    def columns_aggregated(self) -> Iterator[Column]:
        """The columns in the arguments and filters of aggregates."""
        for estimate in self.estimates:
            for part in estimate.aggregate.parts:
                yield from columns_of(part).values()

    def waits(self, release: Release) -> bool:
        """Whether a release's noise depends on bounds that are still to be found."""
        statistic = release.statistic
        if self.sought is None:
            return False
        if not self.sought.widest:
            return release.noise is not None
        if not isinstance(statistic, Joint | Total):
            return False
        return statistic.argument in self.sought.widest

    def awaits_bounds(self, output: Output) -> bool:
        """Whether the noise of an output depends on bounds that are still to be found."""
        return any(self.waits(self.releases[index]) for index in self.released_for(output))

    def interval_of(self, output: Output) -> Interval:
        """The interval that holds the exact value of an output in any data."""
        known: Environment = {
            Slot("aggregate", index, each.aggregate.kind): each.interval
            for index, each in enumerate(self.estimates)
        }
        return interval(output.expression, known)

    def released_for(self, output: Output) -> set[int]:
        """The indices of the releases from which an output is computed."""
        used = slots(output.expression, "aggregate")
        return {index for slot in used for index in self.estimates[slot].releases}

    def noisy_subqueries(self, output: Output) -> list[int]:
        """The indices of the subqueries in an output that draw noise."""
        used = slots(output.expression, "subquery")
        return [index for index in sorted(used) if any(self.subplans[index].every_release)]

    def has_noise(self, output: Output) -> bool:
        """Whether an output is computed from anything noisy."""
        if self.derived is not None:
            return noisy_columns(self.derived)[self.outputs.index(output)]
        return bool(self.released_for(output) or self.noisy_subqueries(output))
