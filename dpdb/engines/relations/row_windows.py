"""Windows over the rows of each unit, whose values are whole steps of a grid, or doubles."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

import numpy as np

from dpdb.engines.protocol import representation
from dpdb.engines.units.caps import Units
from dpdb.engines.units.owners import Owners
from dpdb.engines.values.coded_values import coded
from dpdb.engines.values.grid_values import made_column, on_grid, rescaled
from dpdb.engines.values.row_blocks import mask, null_mask
from dpdb.plan.expressions.expressions import ColumnRef
from dpdb.plan.logical.derived import Window
from dpdb.plan.logical.per_unit import argument_grid
from dpdb.plan.logical.row_tables import PICKS, RANKINGS, WindowedRows
from dpdb.policy.catalog import Column
from dpdb.records import dataclass
from dpdb.vectors.columns import Codes, Numbers
from dpdb.vectors.evaluate import Frame, evaluate
from dpdb.vectors.relational.keys import sort_keys, spread
from dpdb.vectors.relational.windows import FrameTotals, OrderedRows
from dpdb.vectors.vector import Array, Bools, Vector


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
