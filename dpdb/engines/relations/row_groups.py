"""GROUP BY and windows over the rows of each unit, in whole steps of a grid, or in doubles."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property

import numpy as np

from dpdb.engines.protocol import representation
from dpdb.engines.sources.cells.grids import grid_of
from dpdb.engines.units.caps import Units
from dpdb.engines.units.keys import Owners
from dpdb.engines.values.coded_values import coded, different
from dpdb.engines.values.grid_values import made_column, mask, null_mask, on_grid, rescaled
from dpdb.plan.expressions.expressions import ColumnRef, Expr, conjunction
from dpdb.plan.logical.derived import Window
from dpdb.plan.logical.per_unit import PerUnit, argument_grid
from dpdb.plan.logical.query import Aggregate, Function
from dpdb.plan.logical.row_tables import PICKS, RANKINGS, WindowedRows
from dpdb.plan.ranges.grids import Grid
from dpdb.policy.catalog import Column
from dpdb.records import dataclass
from dpdb.vectors.columns import Codes, Numbers
from dpdb.vectors.evaluate import Frame, evaluate
from dpdb.vectors.keys import sort_keys, sorted_groups, spread
from dpdb.vectors.vector import Array, Bools, Vector
from dpdb.vectors.windows import FrameTotals, OrderedRows


@dataclass(frozen=True, repr=False)
class RowGroups:
    """Rows in groups of one row or more."""

    frame: Frame
    rows: int
    """The number of rows of the frame."""
    order: Array
    """The rows of all groups, group by group."""
    starts: Array
    """The start of each group in the order."""
    where: Expr | None
    """A condition that all the rows pass."""

    def aggregated(self, column: Column, aggregate: Aggregate) -> Numbers:
        """An aggregate of every group, clamped to the bounds of its column."""
        counted, values, grid = self._counted(aggregate)
        number = self._sums(counted.astype(np.int64), len(self.order))
        if aggregate.function is Function.COUNT:
            return made_column(column, number, None)
        if aggregate.function is Function.COUNT_DISTINCT:
            return made_column(column, self._different(aggregate, counted), None)
        missing = number == 0
        if grid is None:
            sums = self._of_doubles(aggregate.function, values, counted, number)
            missing |= np.isnan(sums)
            return made_column(column, _on_own_grid(np.where(missing, 0.0, sums), column), missing)
        largest = max(abs(grid.lower), abs(grid.upper))
        steps = self._of_steps(aggregate.function, values, counted, number, largest)
        return made_column(column, rescaled(steps, grid, column), missing)

    def _counted(self, aggregate: Aggregate) -> tuple[Bools, Array, Grid | None]:
        """Whether each row counts, its value, and the values' grid, in the order of the groups."""
        counted = np.ones(self.rows, dtype=np.bool_)
        if aggregate.where is not None:
            counted &= mask(aggregate.where, self.frame, self.rows)
        values, null, grid = self._values(aggregate)
        if null is not None:
            counted &= ~null
        return counted[self.order], np.broadcast_to(values, self.rows)[self.order], grid

    def _values(self, aggregate: Aggregate) -> tuple[Array, Bools | None, Grid | None]:
        """The values of an aggregate's argument, where they are NULL, and their grid.

        For a count the values are zeros.
        """
        argument, zero = aggregate.argument, np.zeros(1)
        if argument is None:
            return zero, None, None
        if aggregate.function in (Function.COUNT, Function.COUNT_DISTINCT):
            return zero, evaluate(argument, self.frame).null, None
        grid = argument_grid(argument, conjunction(self.where, aggregate.where))
        if grid is not None:
            steps = on_grid(argument, grid, self.frame, self.rows)
            return steps.values, steps.null, grid
        vector = evaluate(argument, self.frame)
        assert isinstance(vector, Vector)
        return vector.values, vector.null, None

    def _sums(self, values: Array, largest: int) -> Array:
        """The sum of each group."""
        held = values.astype(representation(largest))
        return np.add.reduceat(held, self.starts) if len(self.starts) else held[:0]

    def _of_steps(
        self, function: Function, values: Array, counted: Bools, number: Array, largest: int
    ) -> Array:
        """SUM, MIN or MAX of whole steps, or their mean in doubles."""
        whole = values.astype(np.int64)
        if function in (Function.MIN, Function.MAX):
            return self._extreme(function, whole, counted, largest + 1)
        sums = self._sums(np.where(counted, whole, 0), largest)
        if function is Function.SUM:
            return sums
        return np.asarray(sums.astype(np.float64) / np.maximum(number, 1))

    def _of_doubles(
        self, function: Function, values: Array, counted: Bools, number: Array
    ) -> Array:
        """SUM, MIN, MAX or the mean of doubles without bounds, added in ascending order."""
        if function in (Function.MIN, Function.MAX):
            return self._extreme(function, values, counted, np.inf)
        ascending = np.where(counted, values, 0.0)[np.lexsort((values, self._groups))]
        sums = np.add.reduceat(ascending, self.starts) if len(self.starts) else ascending[:0]
        return sums if function is Function.SUM else np.asarray(sums / np.maximum(number, 1))

    def _extreme(self, function: Function, values: Array, counted: Bools, beyond: float) -> Array:
        """The least or greatest counted value of each group; ±`beyond` without any."""
        if not len(self.starts):
            return values[:0]
        least = function is Function.MIN
        chosen = np.where(counted, values, beyond if least else -beyond)
        pick: Callable[..., Array] = np.minimum.reduceat if least else np.maximum.reduceat
        return np.asarray(pick(chosen, self.starts))

    def _different(self, aggregate: Aggregate, counted: Bools) -> Array:
        """The number of different values of each group."""
        assert aggregate.argument is not None
        codes = np.broadcast_to(coded(aggregate.argument, self.frame).codes, self.rows)
        codes = codes[self.order][counted]
        return different(self._groups[counted], codes, len(self.starts), None).per_cell()

    @property
    def _groups(self) -> Array:
        """The group of each row in the order."""
        return np.repeat(np.arange(len(self.starts)), np.diff([*self.starts, len(self.order)]))


def _on_own_grid(values: Array, column: Column) -> Array:
    """Doubles as a column holds them, in steps of its grid if it has one."""
    grid = grid_of(column)
    return values if grid is None else grid.units(values)


def unit_groups(
    table: PerUnit, frame: Frame, owners: Array
) -> tuple[Array, dict[str, Numbers | Codes]]:
    """The first row of each group of one owner and one value of each key, and a table's columns."""
    held = [frame.columns[key.column.name] for key in table.keys]
    # Sorting takes the last key first.
    numbers = (each for column in reversed(held) for each in _numbers(column))
    order, starts = sorted_groups(owners, *numbers)
    groups, first = RowGroups(frame, len(owners), order, starts, table.where), order[starts]
    columns = {
        column.name: keys.taken(first) for column, keys in zip(table.key_columns, held, strict=True)
    }
    for column, aggregate in zip(table.aggregate_columns, table.aggregates, strict=True):
        columns[column.name] = groups.aggregated(column, aggregate)
    return first, columns


def _numbers(column: Numbers | Codes) -> list[Array]:
    """Numbers that are equal where the cells are; NULL is a value of its own."""
    if isinstance(column, Codes):
        return [column.codes]
    return [column.units] if column.null is None else [column.null, column.units]


@dataclass(frozen=True, repr=False)
class RowsOfUnits:
    """The rows of a table, and their owners."""

    table: WindowedRows
    columns: Mapping[str, Numbers | Codes]
    owners: Owners

    def windows(self) -> dict[str, Numbers | Codes]:
        """The columns of the windows."""
        pairs = zip(self.table.window_columns, self.table.windows, strict=True)
        return {column.name: self._column(column, window) for column, window in pairs}

    @property
    def _rows(self) -> int:
        return len(self.owners.numbers)

    @cached_property
    def _frame(self) -> Frame:
        return Frame(self.columns)

    @cached_property
    def _tie_breaks(self) -> Array:
        """The place of each row among those of its unit, by a hash of its values."""
        assert self.table.rows is not None
        units = Units.of(self.table.rows, self.columns, self.owners, self.table.sample_key)
        places = np.empty(self._rows, dtype=np.int64)
        places[units.order(np.arange(self._rows))] = np.arange(self._rows)
        return places

    def _column(self, column: Column, window: Window) -> Numbers | Codes:
        # The owner is one more key, so that no row is seen from those of another unit.
        within = [self.owners.numbers, *self._partition(window)]
        by = [
            key
            for each in window.order
            for key in sort_keys(evaluate(each.expression, self._frame), self._rows, each)
        ]
        rows = OrderedRows.of(within, by, self._tie_breaks)
        if window.function in RANKINGS:
            return made_column(column, rows.ranked(window), None)
        if window.function in PICKS:
            value = window.arguments[0]
            assert isinstance(value, ColumnRef)
            chosen, there = rows.picked(window)
            return self.columns[value.column.name].taken(chosen).with_nulls(~there)
        return self._total(column, window, FrameTotals(rows, window, self._counted(window)))

    def _total(self, column: Column, window: Window, totals: FrameTotals) -> Numbers:
        """COUNT, SUM, AVG, MIN or MAX of the rows in the frame, clamped to the column's bounds."""
        if window.function == "count":
            return made_column(column, totals.number, None)
        missing, argument = totals.number == 0, window.arguments[0]
        grid = argument_grid(argument, window.where)
        if grid is None:
            vector = evaluate(argument, self._frame)
            assert isinstance(vector, Vector)
            found = totals.of(spread(vector.values, self._rows), np.inf)
            return made_column(column, np.where(missing, 0.0, found), missing)
        steps = spread(on_grid(argument, grid, self._frame, self._rows).values, self._rows)
        largest = max(abs(grid.lower), abs(grid.upper))
        held = np.int64 if window.function in ("min", "max") else representation(largest)
        found = totals.of(steps.astype(np.int64).astype(held), largest + 1)
        return made_column(column, rescaled(found, grid, column), missing)

    def _counted(self, window: Window) -> Bools:
        """The rows that an aggregate counts: its FILTER holds, and its argument is not NULL."""
        counted: Bools = np.ones(self._rows, dtype=np.bool_)
        if window.where is not None:
            counted &= mask(window.where, self._frame, self._rows)
        for argument in window.arguments:
            if (null := null_mask(argument, self._frame, self._rows)) is not None:
                counted &= ~null
        return counted

    def _partition(self, window: Window) -> list[Array]:
        """The keys of PARTITION BY as numbers; NULL is a value of its own."""
        arrays: list[Array] = []
        for each in window.partition:
            values = coded(each, self._frame)
            arrays += [values.codes, *([] if values.null is None else [values.null])]
        return [np.broadcast_to(each, self._rows) for each in arrays]
