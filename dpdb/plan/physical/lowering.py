"""The lowering of one aggregate into the releases behind it: statistics, grids and mechanisms."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import NamedTuple, assert_never

from dpdb.errors import TooLarge, Unsupported
from dpdb.plan.expressions.expressions import Cast, ColumnRef, Expr, Slot
from dpdb.plan.expressions.single_values import DistinctValue, UnitValue, single_value
from dpdb.plan.logical.per_unit import number_of_values
from dpdb.plan.logical.query import Aggregate, Function, Query
from dpdb.plan.logical.shared_queries import rooms_of
from dpdb.plan.physical.bounds import missing_bounds
from dpdb.plan.physical.caps import CappedValue, capped_value
from dpdb.plan.physical.context import PlanningContext
from dpdb.plan.physical.mechanism_choice import MechanismChoice
from dpdb.plan.physical.moment_lowering import SQUARES_LIMIT, MomentLowering
from dpdb.plan.physical.moments import NO_MOMENTS, Moment, Moments, moments_of
from dpdb.plan.physical.release import Release
from dpdb.plan.ranges.grids import Grid, fit_grid, reach_of, step_of
from dpdb.plan.ranges.group_keys import key_values
from dpdb.plan.ranges.intervals import Interval
from dpdb.plan.ranges.ranges import Environment, interval, narrow, nullable
from dpdb.plan.ranges.statistics import (
    Count,
    Distinct,
    FilledLadder,
    LimitedDistinct,
    Ranks,
    Tally,
    Total,
)
from dpdb.plan.relations.privacy_ids import names_unit
from dpdb.plan.relations.relations import Joined
from dpdb.policy.catalog import Policy, Table
from dpdb.policy.numbers import MAGNITUDE_LIMIT
from dpdb.privacy.accounting.accountants import BudgetShare
from dpdb.privacy.sensitivity import Contribution
from dpdb.records import dataclass

MAX_MAGNITUDE = 10**100
"""The largest magnitude of a value: its squares and their sums are far from overflow in doubles."""

_COUNTED = Fraction(1, 10)
"""The part of the share of APPROX_BOUNDS that counts the values: of few, bounds are not told."""


def contribution_of(
    aggregate: Aggregate, query: Query, policy: Policy, group_count: int = 1, parts: int = 1
) -> Contribution:
    """The contribution of one privacy unit to an aggregate, split over `group_count` groups.

    Each group of the query's GROUP BY is divided into `parts` of these groups.
    """
    argument = aggregate.argument
    optional = (
        query.where is not None
        or aggregate.where is not None
        or bool(query.keys)
        # A row may find no other to be joined with.
        or isinstance(query.table, Joined)
        # A unit may have fewer rows than its cap.
        or query.table.unit is not None
        or any(map(nullable, aggregate.arguments))
    )
    table, most = query.table, query.groups_per_unit
    groups = None if most is None or not query.keys else most * parts
    value, rows = single_value(argument), table.rows_per_unit
    if isinstance(value, DistinctValue):
        rows = int(min(rows, group_count * number_of_values(value)))
    by_unit = isinstance(value, UnitValue)
    rooms = rooms_of(query)
    return Contribution(policy.neighbors, optional, group_count, rows, groups, by_unit, rooms)


class Lowered(NamedTuple):
    """The result of lowering one aggregate."""

    releases: list[Release]
    range: Interval
    """The interval that holds the exact answer in any data."""
    public_rows: int | None
    """The number of rows that are counted, where it is public."""
    moments: Moments = NO_MOMENTS
    """The moments that estimates of COUNT, SUM, AVG and VARIANCE read from the releases."""


@dataclass(frozen=True)
class AggregateLowering:
    """An aggregate with all that decides its releases."""

    context: PlanningContext
    query: Query
    aggregate: Aggregate
    known: Environment
    group_count: int
    share: BudgetShare
    parts: int = 1
    """Number of filters that divide each group of GROUP BY into groups of their own."""

    def lower(self) -> Lowered:
        """The releases, the range of the answer, and the row count where it is public."""
        aggregate = self.aggregate
        match aggregate.function:
            case Function.COUNT_DISTINCT:
                return Lowered([self._distinct()], Interval(), None)
            case Function.MIN:
                return self._quantile(Fraction(0), self._extremes_grid())
            case Function.MAX:
                return self._quantile(Fraction(1), self._extremes_grid())
            case Function.QUANTILE:
                assert aggregate.fraction is not None
                found = self.context.options.bounds in ("find", "found")
                grid = self._extremes_grid() if found else self._grid
                return self._quantile(aggregate.fraction, grid)
            case Function.MODE:
                return self._mode()
            case Function.APPROX_BOUNDS:
                return self._approx_bounds()
            case (
                Function.COUNT
                | Function.SUM
                | Function.AVG
                | Function.VAR_POP
                | Function.VAR_SAMP
                | Function.STDDEV_POP
                | Function.STDDEV_SAMP
            ):
                return self.lower_moments(moments_of(aggregate))
            case other:
                assert_never(other)

    def _distinct(self) -> Release:
        """The number of units, or of different values, at a limit for each unit if it is of use."""
        argument, where, choice = self._argument, self.aggregate.where, self.choice
        statistic = Distinct(argument, where)
        if names_unit(argument, self.query.table):
            return Release("count_distinct", statistic, choice.for_units(self.share))
        found = choice.for_limited_distinct(self.share)
        if found is None:
            return Release("count_distinct", statistic, choice.for_distinct(self.share))
        limited = LimitedDistinct(argument, where, found.passes)
        return Release("count_distinct", limited, found)

    def lower_moments(self, needed: frozenset[Moment]) -> Lowered:
        """Releases of the `needed` moments, which may serve other aggregates as well."""
        releases, moments = self.moments.lower(needed)
        return Lowered(releases, self.range, self.public_rows, moments)

    @property
    def public_rows(self) -> int | None:
        """The number of rows that are counted, where it is public and of use."""
        public = self._contribution.fixed and self.aggregate.function is not Function.SUM
        return self._row_count() if public else None

    @property
    def moments(self) -> MomentLowering:
        """The lowering of the argument's moments, from which COUNT, SUM and the like are computed.

        Not cached: the result refers to this object, and a reference cycle would keep rows alive.
        """
        argument = self.aggregate.argument
        return MomentLowering(
            argument,
            self.aggregate.where,
            argument is not None and nullable(argument),
            lambda squared: self._coarse_grid if squared else self._grid,
            self.choice,
            self.share,
            self._row_count if self._contribution.fixed else None,
        )

    def _row_count(self) -> int:
        assert isinstance(self.query.table, Table)
        return self.context.rows(self.query.table)

    @cached_property
    def range(self) -> Interval:
        """The interval that holds the exact answer in any data."""
        match self.aggregate.function:
            case Function.COUNT | Function.SUM:
                return Interval()
            case Function.AVG:
                return self._range(self._grid)
        grid = self._coarse_grid
        half = max(grid.upper - grid.centre, grid.centre - grid.lower) * grid.step
        # A sample of two rows, each `half` from the centre, has twice the population's variance.
        widest = {
            Function.VAR_POP: half**2,
            Function.VAR_SAMP: 2 * half**2,
            Function.STDDEV_POP: half,
            Function.STDDEV_SAMP: Fraction(3, 2) * half,
        }
        return Interval(Fraction(0), widest[self.aggregate.function])

    @property
    def _argument(self) -> Expr:
        assert self.aggregate.argument is not None
        return self.aggregate.argument

    @cached_property
    def _contribution(self) -> Contribution:
        policy, cells = self.context.policy, self.group_count
        return contribution_of(self.aggregate, self.query, policy, cells, self.parts)

    @cached_property
    def choice(self) -> MechanismChoice:
        """The choice of a mechanism for the aggregate."""
        options = self.context.options
        if options.mechanism:
            options = replace(options, mechanism=options.kind_for(self.aggregate.function))
        return MechanismChoice(options, self._contribution, self.aggregate.place)

    def _quantile(self, fraction: Fraction, grid: Grid) -> Lowered:
        statistic = Ranks(self._argument, self.aggregate.where, grid, fraction)
        mechanism = self.choice.for_quantile(statistic, self.share)
        return Lowered([Release("quantile", statistic, mechanism)], self._range(grid), None)

    def _mode(self) -> Lowered:
        if not isinstance(self._argument, ColumnRef):
            raise Unsupported("MODE takes a column", place=self.aggregate.place)
        values = key_values(self._argument, None, {})
        weight = self._weight
        statistic = Tally(self._argument, self.aggregate.where, values, weight)
        mechanism = self.choice.for_mode(*statistic.bounds, self.share)
        name, unit = (
            ("mode", Fraction(1)) if weight is None else ("weighted_mode", weight.grid.step)
        )
        release = Release(name, statistic, mechanism, unit)
        return Lowered([release], interval(self._argument, {}), None)

    @property
    def _weight(self) -> Total | None:
        """The total of the weights of a MODE, which are clamped as a SUM of them would be."""
        aggregate, weight = self.aggregate, self.aggregate.weight
        if weight is None:
            return None
        summed = Aggregate(Function.SUM, weight, aggregate.where, place=aggregate.place)
        return Total(weight, aggregate.where, replace(self, aggregate=summed)._grid)

    def _approx_bounds(self) -> Lowered:
        cap = capped_value(self._argument)
        if cap is not None and cap.caps == "room":
            return self._found_room(cap)
        if self.query.keys:
            raise Unsupported("APPROX_BOUNDS is of the whole table", place=self.aggregate.place)
        aggregate, choice, share = self.aggregate, self.choice, self.share
        statistic = Ranks(self._argument, aggregate.where, self._extremes_grid(), Fraction(1, 2))
        if cap is not None:
            farthest = max(statistic.grid.upper, -statistic.grid.lower)
            caps = choice.for_caps(share, farthest, of_averages=cap.caps == "averages")
            return Lowered([Release("cap", statistic, caps)], Interval(), None)
        counted = replace(aggregate, function=Function.COUNT)
        counting = replace(self, aggregate=counted, share=share.part(_COUNTED)).lower()
        if self.context.options.bounds == "alone":  # the answer tells how many there are
            return Lowered([Release("bounds", statistic, choice.for_ends(share))], Interval(), None)
        ends = choice.for_ends(share.part(1 - _COUNTED) if counting.releases else share)
        releases = [Release("bounds", statistic, ends), *counting.releases]
        return Lowered(releases, Interval(), counting.public_rows)

    def _found_room(self, cap: CappedValue) -> Lowered:
        """The selection of a room by a count, or by a total of numbers that are not below 0."""
        rooms = (1,) * len(self.query.table.kinds)
        filled: Count | Total = Count(cap.argument, cap.where, rooms=rooms)
        if cap.function == Function.SUM.value and cap.argument is not None:
            summed = Aggregate(Function.SUM, cap.argument, cap.where, place=self.aggregate.place)
            grid = replace(self, aggregate=summed)._grid
            total = Total(cap.argument, cap.where, grid, rooms=rooms)
            filled = total if total.bounds[0] >= 0 else filled
        ladder = FilledLadder(filled, ())
        mechanism = self.choice.for_room(self.share, ladder.largest)
        ladder = replace(ladder, rungs=mechanism.rungs)
        return Lowered([Release("cap", ladder, mechanism)], Interval(), None)

    def divided(self, segments: int) -> AggregateLowering:
        """The lowering for a histogram, which divides each group into segments."""
        return replace(self, group_count=self.group_count * segments, parts=self.parts * segments)

    def _extremes_grid(self) -> Grid:
        """The grid of a MIN or MAX, which a walk finds without bounds for the same ε.

        So does a quantile that is to find bounds: each gap weighs its length times e^-ε for each
        rank, and the outermost ones are many ranks away, however wide they are. Without bounds the
        grid reaches as far as doubles are exact, or dates go, and what is beyond counts as its
        ends.
        """
        bounds = self._bounds
        if bounds.bounded or self.context.options.sensitivity == "smooth":
            return self._grid
        step, reach = reach_of(self._argument)
        return fit_grid(step, *self._ends_of(bounds.meet(reach)), MAGNITUDE_LIMIT)

    def _ends_of(self, bounds: Interval) -> tuple[Fraction, Fraction]:
        """The ends of the argument's bounds; raises MissingBounds where one is infinite."""
        if isinstance(bounds.lower, Fraction) and isinstance(bounds.upper, Fraction):
            return bounds.lower, bounds.upper
        found, options = not self.query.table.kinds, self.context.options
        raise missing_bounds(self.aggregate, self.known, options, found=found)

    @cached_property
    def _bounds(self) -> Interval:
        """The interval of the argument's values in the rows that count."""
        narrowed = narrow(self.aggregate.where, _narrowed(self.query.where, *self.known.items()))
        bounds = interval(self._argument, narrowed)
        # Where the conditions exclude each other, no row will be counted.
        return interval(self._argument, self.known) if bounds.empty else bounds

    @cached_property
    def _grid(self) -> Grid:
        """The public grid of the argument, from its bounds, with steps as fine as may be."""
        return self._grid_within(MAGNITUDE_LIMIT)

    @cached_property
    def _coarse_grid(self) -> Grid:
        """The grid of values that are squared, which are fewer."""
        return self._grid_within(SQUARES_LIMIT)

    def _grid_within(self, limit: int) -> Grid:
        """The public grid of the argument, from its bounds, with at most `limit` steps a side."""
        lower, upper = self._ends_of(self._bounds)
        if max(abs(lower), abs(upper)) > MAX_MAGNITUDE:
            raise TooLarge(
                "the values can be too large to be aggregated",
                hint="narrow the bounds, for instance with CLAMP",
                place=self.aggregate.place,
            )
        return fit_grid(step_of(self._argument, lower, upper), lower, upper, limit)

    def _range(self, grid: Grid) -> Interval:
        return Interval(grid.lower * grid.step, grid.upper * grid.step)


@lru_cache(maxsize=16)
def _narrowed(where: Expr | None, *known: tuple[str | Slot | Cast, Interval]) -> Environment:
    """The intervals of the columns under WHERE, cached for all aggregates of a query."""
    return narrow(where, dict(known))
