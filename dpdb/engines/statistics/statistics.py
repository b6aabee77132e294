"""The exact statistics of one SELECT."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from dpdb.engines.protocol import WORD, CountedValues, representation
from dpdb.engines.statistics.filled_sums import FilledSums
from dpdb.engines.statistics.groups import (
    CellRows,
    group_codes,
    places_among,
    single_values,
    sorted_by_group,
)
from dpdb.engines.statistics.limited_distinct import UnitValues, hashed_argument
from dpdb.engines.units.caps import PlanRows
from dpdb.engines.values import exact_sums, grid_values
from dpdb.engines.values.coded_values import (
    FEW,
    DifferentValues,
    coded,
    different,
    different_among_few,
    stored_texts,
)
from dpdb.engines.values.exact_sums import count_codes, segment_counts, tallies
from dpdb.engines.values.grid_values import Steps, on_grid
from dpdb.plan.expressions.expressions import ColumnRef, Expr, Literal
from dpdb.plan.logical.query import Aggregate
from dpdb.plan.physical.plan import Plan
from dpdb.plan.ranges.grids import Grid
from dpdb.plan.ranges.statistics import (
    Count,
    Distinct,
    FilledLadder,
    Histogram,
    Joint,
    KeyUnits,
    LimitedDistinct,
    Ranks,
    Statistic,
    Tally,
    Total,
)
from dpdb.policy.catalog import Kind
from dpdb.vectors.evaluate import evaluate
from dpdb.vectors.keys import ranks
from dpdb.vectors.vector import Array, Bools


class Statistics:
    """The statistics of one SELECT; its filter and groups are evaluated once."""

    def __init__(self, plan: Plan, of: PlanRows):
        frame, rows = of.frame, of.rows
        self._rows = rows
        self._owners, self._sample_key = of.owners, plan.sample_key
        self._cells = plan.cells if plan.keys else None
        self._masks: dict[Expr | None, Bools | None] = {None: of.counted(plan)}
        self._groups = group_codes(plan, frame, rows) if plan.keys else None
        self._sums_of_two = (
            None if of.shared is None else FilledSums(of.shared, self._groups, self._cells or 1)
        )
        counted = CellRows(frame, rows, self._masks[None], self._groups, plan.cells, of.owners)
        alone = () if of.shared is not None else single_values(plan)
        single = {value.name: counted.column(value) for value in alone}
        self._frame = replace(frame, columns={**frame.columns, **single}) if single else frame
        self._sorted: dict[tuple[Expr, Expr | None, Grid], list[Array]] = {}
        self._steps: dict[tuple[Expr, Grid], Steps] = {}
        self._sums: dict[tuple[Expr, Expr | None, Grid, int, int], tuple[Array, Array]] = {}

    def statistic(self, statistic: Statistic) -> Array | list[Array]:
        """A number for each cell, and in a vector for each part; or an array for each cell."""
        filled = self._sums_of_two
        if filled is not None and isinstance(statistic, Count | Total):
            return self._filled(filled, statistic)
        assert filled is None or isinstance(statistic, Joint | FilledLadder)
        match statistic:
            case Count():
                return self._count(statistic)
            case Histogram():
                return self._histogram(statistic)
            case Total():
                return self._total(statistic)
            case Joint():
                return self._joint(statistic)
            case FilledLadder(sums=sums):
                assert filled is not None
                return np.stack([self._filled(filled, each) for each in sums], axis=1)
            case LimitedDistinct(limits=limits):
                return self.unit_values(statistic).per_cell(limits, self._cells or 1)
            case Distinct():
                return self.different(statistic).per_cell()
            case Ranks():
                return self._ranks(statistic)
            case Tally():
                return self._tally(statistic)
            case KeyUnits():
                raise AssertionError("keys are counted by themselves")

    def counted_values(self, aggregate: Aggregate) -> CountedValues:
        """The values an aggregate counts in each cell, sorted, as doubles."""
        argument = Literal(1, Kind.INTEGER) if aggregate.argument is None else aggregate.argument
        vector = evaluate(argument, self._frame)
        numbers = np.broadcast_to(ranks(vector).astype(np.float64), self._rows)
        counted = self._counted(numbers, vector.null, aggregate.where)
        known = numbers if vector.null is None else numbers[self._known(vector.null)]
        return CountedValues(
            sorted_by_group(*counted, self._cells), float(known.mean()) if len(known) else 0.0
        )

    def _where_also(self, condition: Expr | None) -> Bools | None:
        """Where the filter holds and `condition` does; None where all rows count."""
        if condition is not None and condition not in self._masks:
            where, own = self._masks[None], grid_values.mask(condition, self._frame, self._rows)
            self._masks[condition] = own if where is None else where & own
        return self._masks[condition]

    def _selected(self, where: Expr | None, null: Bools | None) -> Bools | None:
        """The rows counted, or None where all are."""
        mask = self._where_also(where)
        if null is None:
            return mask
        # What is greater than a NULL's mask is true, and not NULL.
        return self._known(null) if mask is None else np.asarray(mask > null)

    def _known(self, null: Bools) -> Bools:
        """The rows that are not NULL; a constant's mask is one row."""
        return np.broadcast_to(~null, self._rows)

    def _counted(
        self, values: Array, null: Bools | None, where: Expr | None
    ) -> tuple[Array | None, Array]:
        """The rows that a statistic counts: their groups and their values."""
        mask = self._selected(where, null)
        spread = np.broadcast_to(values, self._rows)
        if mask is None:
            return self._groups, spread
        return None if self._groups is None else self._groups[mask], spread[mask]

    def _count(self, statistic: Count) -> Array:
        if statistic.nulls:
            every = self._count(Count(None, statistic.where))
            return every - self._count(Count(statistic.argument, statistic.where))
        null = self._null(statistic.argument)
        if self._groups is not None:
            return self._per_cell(self._groups_within(self._selected(statistic.where, null)))
        if self._where_also(statistic.where) is None and null is not None:
            return np.array([self._rows - self._number(null)], dtype=np.int64)
        return np.array([self._number(self._selected(statistic.where, null))], dtype=np.int64)

    def _histogram(self, statistic: Histogram) -> Array:
        """For each cell the numbers of rows in its segments, or weighted sums of them."""
        conditions = map(self._where_also, statistic.conditions)
        masks = [np.broadcast_to(np.True_ if m is None else m, self._rows) for m in conditions]
        counts = segment_counts(statistic, masks, self._groups, self._cells)
        return counts @ np.array(statistic.rows).T if statistic.rows else counts

    def _filled(self, filled: FilledSums, statistic: Count | Total) -> Array:
        """The filled sum of each cell, over rows of two owners."""
        if isinstance(statistic, Total):
            steps = self._on_grid(statistic.argument, statistic.grid)
            counted = self._selected(statistic.where, steps.null)
            assert counted is not None
            return filled.total(counted, steps.values, statistic)
        null = self._null(statistic.argument)
        if statistic.nulls:
            null = np.ones(self._rows, np.bool_) if null is None else ~null
        counted = self._selected(statistic.where, null)
        assert counted is not None
        return filled.count(counted, statistic.rooms)

    def _number(self, mask: Bools | None) -> int:
        return self._rows if mask is None else int(np.count_nonzero(mask))

    def _null(self, argument: Expr | None) -> Bools | None:
        """Where the argument is NULL; a column knows it without its values."""
        if argument is None:
            return None
        if isinstance(argument, ColumnRef):
            return self._frame.columns[argument.column.name].null
        return grid_values.null_mask(argument, self._frame, self._rows)

    def _per_cell(self, groups: Array) -> Array:
        assert self._cells is not None
        return count_codes(groups, self._cells + 1)[: self._cells]

    def _groups_within(self, mask: Bools | None) -> Array:
        """Every row's cell; rows not counted are in the one past the last."""
        assert self._groups is not None
        assert self._cells is not None
        if mask is None:
            return self._groups
        outside = ~mask * self._groups.dtype.type(self._cells)
        return np.asarray(np.maximum(self._groups, outside))

    def _total(self, statistic: Total) -> Array:
        """Σ p(x - c) = p₀·number + p₁·(Σ x - c·number) + p₂·Σ (x - c)², for the centre c.

        Statistics that differ in p and c have the sums on the right in common.
        """
        constant, linear, square = (*statistic.coefficients, 0, 0)[:3]
        grid, centre = statistic.grid, statistic.centre
        farthest = max(abs(grid.lower), abs(grid.upper))
        # On the way to the result, the parts of the sum must fit, too.
        most = abs(constant) + abs(linear) * (farthest + abs(centre))
        most += abs(square) * (farthest + abs(centre)) ** 2
        held, wide = representation(max(map(abs, statistic.bounds))), representation(most)
        sums, numbers = self._power_sums(statistic, 0, 1)
        result = (constant - linear * centre) * numbers.astype(wide) + linear * sums.astype(wide)
        if square:
            result = result + square * self._power_sums(statistic, centre, 2)[0].astype(wide)
        return np.asarray(result).astype(held)

    def _joint(self, statistic: Joint) -> Array:
        """For each cell a number for each part of a vector: `weight` times the part's own."""
        held = representation(statistic.largest)
        numbers = ((part.weight, self.statistic(part.statistic)) for part in statistic.parts)
        return np.stack([weight * np.asarray(own).astype(held) for weight, own in numbers], axis=1)

    def _power_sums(self, total: Total, centre: int, power: int) -> tuple[Array, Array]:
        """For each cell Σ (x - centre)^power over the counted rows of a total, and their number."""
        key = (total.argument, total.where, total.grid, centre, power)
        sums = self._sums.get(key)
        if sums is None:
            sums = self._sums[key] = self._plain_sums(total, centre, power)
        return sums

    def _plain_sums(self, total: Total, centre: int, power: int) -> tuple[Array, Array]:
        """The sums and numbers of `_power_sums`, worked out.

        Rows that are not counted are multiplied by zero, or put into the group past
        the last: that takes the same time however many there are, and a fraction of
        the time of picking out the others where those are about half.
        """
        steps, grid = self._on_grid(total.argument, total.grid), total.grid
        largest = int(max(abs(grid.lower - centre), abs(grid.upper - centre)) ** power)
        held = representation(largest)
        if self._groups is not None:
            assert self._cells is not None
            groups = self._groups_within(self._selected(total.where, steps.null))
            sums = exact_sums.grouped_total(
                groups, steps.values, self._cells, largest, centre=centre, power=power
            )
            return sums, self._per_cell(groups)
        mask = self._where_also(total.where)
        if mask is None and steps.null is not None and steps.filler is not None:
            # All rows that are NULL add the same public number, so the sum needs no mask.
            nulls = self._number(steps.null)
            number = self._rows - nulls
            surplus = nulls * (steps.filler - centre) ** power
        else:
            mask = self._selected(total.where, steps.null)
            number, surplus = self._number(mask), 0
        whole = exact_sums.total(steps.values, largest, mask, centre=centre, power=power)
        return np.array([whole - surplus], dtype=held), np.array([number], dtype=np.int64)

    def _on_grid(self, argument: Expr, grid: Grid) -> Steps:
        key = (argument, grid)
        steps = self._steps.get(key)
        if steps is None:
            steps = self._steps[key] = on_grid(argument, grid, self._frame, self._rows)
        return steps

    def different(self, statistic: Distinct) -> DifferentValues:
        """The values that there are in each cell, each once."""
        values = coded(statistic.argument, self._frame)
        cells = 1 if self._cells is None else self._cells
        if values.range is not None:
            low, high = values.range
            if (high - low + 1) * (cells + 1) <= FEW:
                counted = self._selected(statistic.where, values.null)
                return different_among_few(values, self._groups, counted, cells)
        those = self._counted(values.codes, values.null, statistic.where)
        return different(*those, cells, values.texts)

    def unit_values(self, statistic: LimitedDistinct) -> UnitValues:
        """The different values of each unit in each cell."""
        assert self._owners is not None
        values = hashed_argument(statistic.argument, self._frame, self._rows, self._sample_key)
        counted = self._selected(statistic.where, values.column.null)
        inside = np.True_ if self._groups is None else self._groups < self._cells
        rows = np.flatnonzero(np.broadcast_to(
            inside if counted is None else counted & inside, self._rows
        ))  # fmt: skip
        groups = None if self._groups is None else self._groups[rows]
        return UnitValues.of(self._owners[rows], groups, values.terms(rows))

    def hashes(self, statistic: Distinct, factors: Array) -> tuple[Array | None, Array] | None:
        """The groups of the rows that count, and the hashes of their texts.

        None where the values are no texts as a source has them.
        """
        held = stored_texts(statistic.argument, self._frame)
        if held is None:
            return None
        return self._counted(held.hashes(factors), held.null, statistic.where)

    def all_steps(self, statistic: Ranks) -> tuple[Array | None, Array, Bools | None]:
        """The groups of all rows, their values in steps of the grid, and which of them count.

        Where there are groups, rows that do not count are in the one past the last.
        """
        steps = self._on_grid(statistic.argument, statistic.grid)
        counted = self._selected(statistic.where, steps.null)
        values = np.broadcast_to(steps.values, self._rows)
        if self._groups is None:
            return None, values, counted
        return self._groups_within(counted), values, None

    def counted_steps(self, statistic: Ranks) -> tuple[Array | None, Array]:
        """The groups of the rows that count, and their values in steps of the grid."""
        steps = self._on_grid(statistic.argument, statistic.grid)
        return self._counted(steps.values, steps.null, statistic.where)

    def _ranks(self, statistic: Ranks) -> list[Array]:
        key = (statistic.argument, statistic.where, statistic.grid)
        if key not in self._sorted:
            cells = sorted_by_group(*self.counted_steps(statistic), self._cells)
            self._sorted[key] = [values.astype(WORD, copy=False) for values in cells]
        return self._sorted[key]

    def _tally(self, statistic: Tally) -> list[Array]:
        places = places_among(self._frame.columns[statistic.argument.column.name], statistic.values)
        cells, width = 1 if self._cells is None else self._cells, len(statistic.values)
        if statistic.weight is not None:
            return list(self._weighed(statistic.weight, places, width, cells))
        counted = self._counted(places, places == width, statistic.where)
        return tallies(*counted, width, cells)

    def _weighed(self, weight: Total, places: Array, width: int, cells: int) -> Array:
        """For each cell the total of the weights of the rows at each place below `width`.

        Rows that are not counted are in the group past the last.
        """
        steps, outside = self._on_grid(weight.argument, weight.grid), places == width
        null = outside if steps.null is None else outside | steps.null
        counted = self._selected(weight.where, null)
        assert counted is not None
        groups = np.int64(0) if self._groups is None else self._groups.astype(np.int64)
        past = cells * width
        flat = np.where(counted, np.minimum(groups * width + places, past), past)
        values = np.broadcast_to(steps.values, self._rows)
        largest = max(map(abs, weight.bounds))
        return exact_sums.grouped_total(flat, values, past, largest).reshape(cells, width)
