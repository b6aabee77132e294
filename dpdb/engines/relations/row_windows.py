"""Windows over the rows of each unit: ranks, values of other rows, and running totals."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

import numpy as np

from dpdb.engines.protocol import representation
from dpdb.engines.units.caps import Units
from dpdb.engines.units.owners import Owners
from dpdb.engines.values.coded_values import coded, identities
from dpdb.engines.values.grid_values import made_column, on_grid, rescaled, with_nulls
from dpdb.engines.values.row_blocks import changes, mask, null_mask
from dpdb.plan.expressions.expressions import ColumnRef, Expr, Literal
from dpdb.plan.logical.derived import Window
from dpdb.plan.logical.per_unit import argument_grid
from dpdb.plan.logical.query import Ordering
from dpdb.plan.logical.row_windows import PICKS, RANKINGS, WindowedRows
from dpdb.policy.catalog import Column
from dpdb.records import dataclass
from dpdb.vectors.columns import Codes, Numbers
from dpdb.vectors.evaluate import Frame, evaluate
from dpdb.vectors.logic import is_null
from dpdb.vectors.vector import Array, Bools, Vector


@dataclass(frozen=True, repr=False)
class OrderedRows:
    """The rows of a table, partition by partition; the other arrays are in their order."""

    order: Array
    begins: Bools
    """Whether a row is the first of its partition."""
    differs: Bools
    """Whether it is the first, or differs in ORDER BY from the one before."""

    @classmethod
    def of(cls, within: list[Array], by: list[Array], tie_breaks: Array) -> OrderedRows:
        """The rows by the keys of their partition, by those of ORDER BY, and what breaks ties."""
        # The last of the keys is the first to be sorted by.
        order = np.lexsort((tie_breaks, *reversed(by), *reversed(within)))
        begins = changes((key[order] for key in within), len(order))
        return cls(order, begins, begins | changes((key[order] for key in by), len(order)))

    @cached_property
    def places(self) -> Array:
        """The place of each row in the order."""
        return np.arange(len(self.order))

    @cached_property
    def first(self) -> Array:
        """The place of the first row of the partition."""
        return np.maximum.accumulate(np.where(self.begins, self.places, 0))

    @cached_property
    def after(self) -> Array:
        """The place after the last row of the partition."""
        return self._after(self.begins)

    def _after(self, starts: Bools) -> Array:
        ends = np.append(np.flatnonzero(starts)[1:], len(starts))
        return np.asarray(ends[np.cumsum(starts) - 1])

    def ranks(self, function: str) -> Array:
        """ROW_NUMBER, RANK or DENSE_RANK."""
        match function:
            case "row_number":
                return np.asarray(self.places - self.first + 1)
            case "rank":
                peer = np.maximum.accumulate(np.where(self.differs, self.places, 0))
                return np.asarray(peer - self.first + 1)
        number = np.cumsum(self.differs)
        return np.asarray(number - number[self.first] + 1)

    def frames(self, window: Window) -> Ranges:
        """Where the rows that each row reads begin, and where they end, in its partition."""
        frame = window.frame
        if frame is None:
            return self.first, self._after(self.differs)
        begin, end = self.first, self.after
        if frame.first is not None:
            begin = np.clip(self.places + frame.first, self.first, self.after)
        if frame.last is not None:
            end = np.clip(self.places + frame.last + 1, self.first, self.after)
        return begin, np.maximum(end, begin)


Ranges = tuple[Array, Array]
"""Where ranges of rows begin, and where they end: the place after the last."""


def sums(values: Array, ranges: Ranges) -> Array:
    """The sums of whole numbers in ranges, exact whatever stands around them."""
    begin, end = ranges
    before = np.concatenate([np.zeros(1, dtype=values.dtype), np.cumsum(values)])
    return np.asarray(before[end] - before[begin])


def greatest(values: Array, ranges: Ranges, nothing: float) -> Array:
    """The greatest values of ranges, `nothing` of an empty one.

    Each range is covered by two that are a power of two long.
    """
    begin, end = ranges
    lengths, width, level = end - begin, 1, values
    result = np.full(len(begin), nothing, dtype=values.dtype)
    while len(level):
        here = (lengths >= width) & (lengths < 2 * width)
        result[here] = np.maximum(level[begin[here]], level[end[here] - width])
        if 2 * width > len(values):
            break
        level = np.maximum(level[:-width], level[width:])
        width *= 2
    return result


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
        null = is_null(vector).values
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
