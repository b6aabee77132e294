"""Windows over the rows of each unit: ranks, values of other rows, and running totals."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dpdb.engines.memory.coded_values import coded, identities
from dpdb.engines.memory.contribution_bounds import Units
from dpdb.engines.memory.grid_values import on_grid
from dpdb.engines.memory.made_columns import made_column, rescaled, with_nulls
from dpdb.engines.memory.owners import Owners
from dpdb.engines.memory.row_blocks import mask, null_mask
from dpdb.engines.memory.window_frames import OrderedRows, Ranges, greatest, sums
from dpdb.engines.protocol import representation
from dpdb.plan.derived import Window
from dpdb.plan.expressions import ColumnRef, Expr, Literal
from dpdb.plan.per_unit import argument_grid
from dpdb.plan.query import Ordering
from dpdb.plan.row_windows import PICKS, RANKINGS, WindowedRows
from dpdb.policy.catalog import Column
from dpdb.vectors.columns import Codes, Numbers
from dpdb.vectors.evaluate import Frame, evaluate
from dpdb.vectors.vector import Array, Bools, Vector


@dataclass(frozen=True, repr=False)
class RowsOfUnits:
    """The rows of a table, and whose they are."""

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
        """For each row its place among the rows of its unit by a hash of its values."""
        assert self.table.rows is not None
        units = Units.of(self.table.rows, self.columns, self.owners, self.table.sample_key)
        places = np.empty(self._rows, dtype=np.int64)
        places[units.order(np.arange(self._rows))] = np.arange(self._rows)
        return places

    def _column(self, column: Column, window: Window) -> Numbers | Codes:
        # The owner is one more key, so that no row is seen from those of another unit.
        within = [self.owners.numbers, *self._partition(window)]
        by = [key for each in window.order for key in self._keys(each)]
        rows = OrderedRows.of(within, by, self._tie_breaks)
        back = np.empty(self._rows, dtype=np.int64)
        back[rows.order] = rows.places
        if window.function in RANKINGS:
            return made_column(column, rows.ranks(window.function)[back], None)
        if window.function in PICKS:
            return self._picked(window, rows, back)
        return self._total(column, window, rows, back)

    def _picked(self, window: Window, rows: OrderedRows, back: Array) -> Numbers | Codes:
        """The value of another row, NULL where there is no such row."""
        value = window.arguments[0]
        assert isinstance(value, ColumnRef)
        source, inside = _sources(window, rows)
        chosen = rows.order[np.where(inside, source, 0)] if self._rows else rows.order
        picked = self.columns[value.column.name].taken(chosen[back])
        return with_nulls(picked, ~inside[back])

    def _total(self, column: Column, window: Window, rows: OrderedRows, back: Array) -> Numbers:
        """COUNT, SUM, AVG, MIN or MAX of the rows in the frame, clamped to the column's bounds."""
        counted, ranges = self._counted(window)[rows.order], rows.frames(window)
        number = sums(counted.astype(np.int64), ranges)
        if window.function == "count":
            return made_column(column, number[back], None)
        missing, argument = (number == 0)[back], window.arguments[0]
        grid = argument_grid(argument, window.where)
        if grid is None:
            vector = evaluate(argument, self._frame)
            assert isinstance(vector, Vector)
            values = np.broadcast_to(vector.values, self._rows)[rows.order]
            totals = _extremes(window, values, counted, ranges, np.inf)
            return made_column(column, np.where(number == 0, 0.0, totals)[back], missing)
        steps = on_grid(argument, grid, self._frame, self._rows)
        values = np.broadcast_to(steps.values, self._rows)[rows.order].astype(np.int64)
        largest = max(abs(grid.lower), abs(grid.upper))
        if window.function in ("min", "max"):
            totals = _extremes(window, values, counted, ranges, largest + 1)
        else:
            totals = sums(np.where(counted, values, 0).astype(representation(largest)), ranges)
        if window.function == "avg":
            totals = totals.astype(np.float64) / np.maximum(number, 1)
        return made_column(column, rescaled(totals, grid, column)[back], missing)

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
        """What the rows of a partition have in common, as numbers; NULL is a value of its own."""
        arrays: list[Array] = []
        for each in window.partition:
            values = coded(each, self._frame)
            arrays += [values.codes, *([] if values.null is None else [values.null])]
        return [np.broadcast_to(each, self._rows) for each in arrays]

    def _keys(self, ordering: Ordering) -> list[Array]:
        """What rows are sorted by, as ascending numbers: whether there is NULL, and the value."""
        vector = evaluate(ordering.expression, self._frame)
        values = identities(vector).astype(np.float64)
        null = np.zeros(1, dtype=np.bool_) if vector.null is None else vector.null
        values = np.where(null, 0.0, -values if ordering.descending else values)
        keys = (null != ordering.nulls_first, values)
        return [np.broadcast_to(key, self._rows) for key in keys]


def _sources(window: Window, rows: OrderedRows) -> tuple[Array, Bools]:
    """The place of the row whose value each row has, and whether there is one."""
    begin, end = rows.first, rows.after
    match window.function:
        case "lag":
            source = rows.places - _literal(window.arguments[1])
        case "lead":
            source = rows.places + _literal(window.arguments[1])
        case "first_value":
            begin, end = rows.frames(window)
            source = begin
        case "last_value":
            begin, end = rows.frames(window)
            source = end - 1
        case _:
            begin, end = rows.frames(window)
            source = begin + _literal(window.arguments[1]) - 1
    return source, (begin <= source) & (source < end)


def _literal(argument: Expr) -> int:
    """A constant whole number."""
    assert isinstance(argument, Literal)
    assert isinstance(argument.value, int)
    return argument.value


def _extremes(
    window: Window, values: Array, counted: Bools, ranges: Ranges, beyond: float
) -> Array:
    """The least or greatest counted value of each frame."""
    sign = -1 if window.function == "min" else 1
    chosen = np.where(counted, sign * values, -beyond).astype(values.dtype)
    return sign * greatest(chosen, ranges, -beyond)
