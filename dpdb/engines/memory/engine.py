"""The engine over numpy: plans into exact statistics."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from dpdb.engines.memory import exact_sums
from dpdb.engines.memory.contribution_bounds import Units
from dpdb.engines.memory.csv_loader import Loaded, load, load_more
from dpdb.engines.protocol import WORD, Exact, OpenEngine, Progress, representation
from dpdb.plan.expressions import ColumnRef, Expr, Literal, Slot, columns_of
from dpdb.plan.plan import Plan
from dpdb.plan.query import Aggregate, Function
from dpdb.plan.statistics import Count, Distinct, Grid, Ranks, Statistic, Tally, Total
from dpdb.policy.catalog import Column, Kind, Table, Value
from dpdb.vectors.columns import Codes, Numbers
from dpdb.vectors.evaluate import Frame, evaluate, holds, public_dictionary
from dpdb.vectors.vector import AnyVector, TextVector, Vector

Array = npt.NDArray[Any]
_BLOCK = 2**16
"""Rows for which computed expressions are worked out at a time."""
_SHORT = _BLOCK // 64
"""Values in a dictionary that may be worked through for every block."""


@dataclass
class MemoryEngine(OpenEngine):
    """Holds in memory the columns that it was asked about."""

    progress: Progress | None = None
    _tables: dict[str, Loaded] = field(default_factory=dict, repr=False)
    _units: dict[str, Units | None] = field(default_factory=dict, repr=False)

    def rows(self, table: Table) -> int:
        """The number of rows: public under `replace`, otherwise nobody's business."""
        return self._loaded(table, frozenset()).rows

    # numpy's warnings about overflow and the like would tell of rows.
    @np.errstate(all="ignore")
    def exact(self, plan: Plan, slots: Mapping[Slot, AnyVector]) -> tuple[Exact, ...]:
        """The exact result of each of the plan's own releases, in order."""
        select = self._select(plan, slots)
        return tuple(Exact(select.statistic(release.statistic)) for release in plan.releases)

    @np.errstate(all="ignore")
    def values(self, plan: Plan, slots: Mapping[Slot, AnyVector]) -> list[list[Array]]:
        """For teaching: for each aggregate the sorted values counted in each cell."""
        select = self._select(plan, slots)
        return [select.counted_values(estimate.aggregate) for estimate in plan.estimates]

    def _select(self, plan: Plan, slots: Mapping[Slot, AnyVector]) -> _Statistics:
        table, names = plan.table, plan.column_names
        if table.unit is not None:
            # Which of a unit's rows count hangs on all declared columns.
            names = frozenset(column.name for column in table.columns)
        loaded = self._loaded(table, names)
        if table.name not in self._units:
            self._units[table.name] = Units.of(table, loaded.columns)
        frame = Frame(loaded.columns, slots)
        return _Statistics(plan, frame, loaded.rows, self._units[table.name])

    def _loaded(self, table: Table, names: frozenset[str]) -> Loaded:
        """The table with at least these columns; those not yet there are read now."""
        before = self._tables.get(table.name)
        if before is None:
            self._tables[table.name] = load(table, names, self.progress)
        else:
            self._tables[table.name] = load_more(table, before, names, self.progress)
        return self._tables[table.name]


@dataclass(frozen=True, repr=False)
class _Counted:
    """The rows that a statistic counts: their groups, and their values where it has any."""

    groups: Array | None
    values: Array
    number: int


class _Statistics:
    """The statistics of one SELECT; its filter and groups are evaluated once."""

    def __init__(self, plan: Plan, frame: Frame, rows: int, units: Units | None):
        self._frame = frame
        self._rows = rows
        self._cells = len(plan.groups) if plan.keys else None
        self._where = self._mask(plan.where)
        if units is not None:
            # After the filter and before all else, so that all aggregates see the same rows.
            limit = plan.table.rows_per_unit
            self._where = units.capped(self._where, limit, plan.sample_key)
        self._groups = self._group_codes(plan) if plan.keys else None
        self._memory: dict[tuple[object, ...], _Counted] = {}
        self._clamps: dict[tuple[object, ...], tuple[Array, Array | None]] = {}

    def statistic(self, statistic: Statistic) -> Array | list[Array]:
        match statistic:
            case Count():
                return self._count(statistic)
            case Total():
                return self._total(statistic)
            case Distinct():
                return self._distinct(statistic)
            case Ranks():
                return self._ranks(statistic)
            case Tally():
                return self._tally(statistic)

    def counted_values(self, aggregate: Aggregate) -> list[Array]:
        """The values an aggregate counts in each cell, sorted, as doubles.

        Where there are none, all but a count gets the mean of the column: the
        rule of [EGS] for a query that no row matches.
        """
        argument = Literal(1, Kind.INTEGER) if aggregate.argument is None else aggregate.argument
        vector = evaluate(argument, self._frame)
        numbers = np.broadcast_to(_identities(vector).astype(np.float64), self._rows)
        counted = self._counted(numbers, vector.null, aggregate.where)
        cells = _by_cell(counted.groups, counted.values, self._cells)
        if aggregate.function in (Function.COUNT, Function.COUNT_DISTINCT):
            return cells
        known = numbers if vector.null is None else numbers[self._known(vector.null)]
        mean = np.array([known.mean() if len(known) else 0.0])
        return [values if len(values) else mean for values in cells]

    def _mask(self, condition: Expr | None) -> Array | None:
        if condition is None:
            return None
        return np.broadcast_to(holds(condition, self._frame), self._rows)

    def _group_codes(self, plan: Plan) -> Array:
        """For every row the index of its cell; rows outside all cells get one past the last."""
        distinct = [
            tuple(dict.fromkeys(cell[i] for cell in plan.groups)) for i in range(len(plan.keys))
        ]
        places = [
            _key_codes(self._frame.columns[key.column.name], values)
            for key, values in zip(plan.keys, distinct, strict=True)
        ]
        if len(places) == 1:
            return places[0]
        group = np.zeros(self._rows, dtype=np.int64)
        outside = np.zeros(self._rows, dtype=bool)
        for place, values in zip(places, distinct, strict=True):
            group = group * len(values) + place
            outside |= place == len(values)
        return np.where(outside, len(plan.groups), group)

    def _selected(self, where: Expr | None, null: Array | None) -> Array | None:
        """The rows counted, or None where all are."""
        mask = self._where
        own = self._mask(where)
        if own is not None:
            mask = own if mask is None else mask & own
        if null is not None:
            known = self._known(null)
            mask = known if mask is None else mask & known
        return mask

    def _known(self, null: Array) -> Array:
        """The rows that are not NULL; a constant's mask is one row."""
        return np.broadcast_to(~null, self._rows)

    def _counted(self, values: Array, null: Array | None, where: Expr | None) -> _Counted:
        mask = self._selected(where, null)
        spread = np.broadcast_to(values, self._rows)
        if mask is None:
            return _Counted(self._groups, spread, self._rows)
        chosen = spread[mask]
        groups = None if self._groups is None else self._groups[mask]
        return _Counted(groups, chosen, len(chosen))

    def _count(self, statistic: Count) -> Array:
        mask = self._selected(statistic.where, self._null(statistic.argument))
        if self._groups is not None:
            return self._per_cell(self._groups_within(mask))
        return np.array([self._rows if mask is None else np.count_nonzero(mask)], dtype=np.int64)

    def _null(self, argument: Expr | None) -> Array | None:
        """Where the argument is NULL; of a column that is known without its values."""
        if argument is None:
            return None
        if isinstance(argument, ColumnRef):
            column = self._frame.columns[argument.column.name]
            if isinstance(column, Numbers):
                return column.null
        return evaluate(argument, self._frame).null

    def _per_cell(self, groups: Array) -> Array:
        assert self._cells is not None
        return np.bincount(groups, minlength=self._cells + 1)[: self._cells].astype(np.int64)

    def _on_grid(self, argument: Expr, where: Expr | None, grid: Grid) -> _Counted:
        """The counted values in steps of the grid, clamped to it."""
        key = (argument, where, grid)
        if key not in self._memory:
            values, null = self._clamped(argument, grid)
            self._memory[key] = self._counted(values, null, where)
        return self._memory[key]

    def _units(self, argument: Expr, grid: Grid) -> tuple[Array, Array | None]:
        if isinstance(argument, ColumnRef):
            column = self._frame.columns[argument.column.name]
            if isinstance(column, Numbers) and column.step == grid.step:
                return column.units, column.null
        units = np.empty(self._rows, dtype=np.int64)
        null: Array | None = None
        # In blocks: every step of the way makes a copy, and those should stay in the cache.
        # What is worked out for a whole dictionary should not be so for every block.
        long = any(map(_has_long_dictionary, columns_of(argument).values()))
        block = max(self._rows, 1) if long else _BLOCK
        for start in range(0, self._rows, block):
            rows = slice(start, min(start + block, self._rows))
            found = evaluate(argument, self._frame.within(rows))
            assert isinstance(found, Vector)
            units[rows] = _steps(found.values, grid)
            if found.null is not None:
                null = np.zeros(self._rows, dtype=bool) if null is None else null
                null[rows] = found.null
        return units, null

    def _total(self, statistic: Total) -> Array:
        """The sum over the counted rows.

        Rows that are not counted are multiplied by zero, or put into the group past
        the last: that takes the same time however many there are, and a fraction of
        the time of picking out the others where those are about half.
        """
        grid, shift = statistic.grid, statistic.centre
        values, null = self._clamped(statistic.argument, grid)
        mask = self._selected(statistic.where, null)
        largest = max(abs(grid.lower), abs(grid.upper))
        held = representation(max(abs(end) for end in statistic.bounds))
        if statistic.power == 2:
            half = max(grid.upper - shift, shift - grid.lower)
            if self._groups is None:
                result = self._total_squares(values, mask, shift, half, statistic.offset)
                return np.array([result], dtype=held)
            largest, values = half**2, (values.astype(np.int64) - shift) ** 2
            shift = statistic.offset
        if self._groups is not None:
            assert self._cells is not None
            groups = self._groups_within(mask)
            # On the way to the result, the parts of the difference must fit, too.
            counts = self._per_cell(groups).astype(representation(largest + abs(shift)))
            total = exact_sums.grouped_total(groups, values, self._cells, largest)
            return np.asarray(total - shift * counts).astype(held)
        number = self._rows if mask is None else int(np.count_nonzero(mask))
        result = (
            exact_sums.total(values if mask is None else values * mask, largest) - shift * number
        )
        return np.array([result], dtype=held)

    def _total_squares(
        self, values: Array, mask: Array | None, centre: int, half: int, offset: int
    ) -> int:
        """The sum of squared distances from the centre; they lie `offset` around zero."""
        number = self._rows if mask is None else int(np.count_nonzero(mask))
        return exact_sums.total_squares(values, mask, centre, half) - offset * number

    def _clamped(self, argument: Expr, grid: Grid) -> tuple[Array, Array | None]:
        """All rows' values in steps of the grid, clamped to it, and where they are NULL."""
        key = (argument, grid)
        if key not in self._clamps:
            values, null = self._units(argument, grid)
            values = np.broadcast_to(values, self._rows)
            # A grid narrowed to nothing can lie outside a narrow column's type.
            held = np.iinfo(values.dtype)
            if not held.min <= grid.lower <= grid.upper <= held.max:
                values = values.astype(np.int64)
            self._clamps[key] = np.clip(values, grid.lower, grid.upper), null
        return self._clamps[key]

    def _groups_within(self, mask: Array | None) -> Array:
        """Every row's cell; rows not counted are in the one past the last."""
        assert self._groups is not None
        assert self._cells is not None
        if mask is None:
            return self._groups
        outside = ~mask * self._groups.dtype.type(self._cells)
        return np.asarray(np.maximum(self._groups, outside))

    def _distinct(self, statistic: Distinct) -> Array:
        counted = self._counted(*self._told_apart(statistic.argument), statistic.where)
        if counted.groups is None:
            return np.array([len(np.unique(counted.values))], dtype=np.int64)
        order = np.lexsort((counted.values, counted.groups))
        groups, values = counted.groups[order], counted.values[order]
        new = np.ones(len(order), dtype=bool)
        new[1:] = (groups[1:] != groups[:-1]) | (values[1:] != values[:-1])
        return self._per_cell(groups[new])

    def _told_apart(self, argument: Expr) -> tuple[Array, Array | None]:
        """A number for every row, equal where the values are, and where they are NULL."""
        if isinstance(argument, ColumnRef):
            held = self._frame.columns[argument.column.name]
            if isinstance(held, Numbers):
                return held.units, held.null
            return held.codes, held.codes == len(held.values)
        vector = evaluate(argument, self._frame)
        return _identities(vector), vector.null

    def _ranks(self, statistic: Ranks) -> list[Array]:
        counted = self._on_grid(statistic.argument, statistic.where, statistic.grid)
        cells = _by_cell(counted.groups, counted.values, self._cells)
        return [values.astype(WORD, copy=False) for values in cells]

    def _tally(self, statistic: Tally) -> list[Array]:
        places = _key_codes(self._frame.columns[statistic.argument.column.name], statistic.values)
        counted = self._counted(places, places == len(statistic.values), statistic.where)
        width, cells = len(statistic.values), self._cells if self._cells is not None else 1
        groups = 0 if counted.groups is None else counted.groups.astype(np.int64)
        flat = groups * width + counted.values.astype(np.int64)
        counts = np.bincount(flat, minlength=(cells + 1) * width)[: cells * width]
        return list(counts.reshape(cells, width))


def _has_long_dictionary(column: Column) -> bool:
    """Whether there may be many values to work through: how many a file holds is private."""
    if column.kind is Kind.TEXT and not public_dictionary(column):
        return True
    return len(column.values or ()) > _SHORT


def _steps(values: Array, grid: Grid) -> Array:
    """Numbers in whole steps of the grid, clamped to it."""
    scaled = values * float(grid.step.denominator) / float(grid.step.numerator)
    return np.asarray(np.rint(np.clip(scaled, float(grid.lower), float(grid.upper))))


def _by_cell(groups: Array | None, values: Array, cells: int | None) -> list[Array]:
    """The values of each cell, sorted."""
    if groups is None or cells is None:
        return [np.sort(values)]
    order = np.lexsort((values, groups))
    ends = np.searchsorted(groups[order], np.arange(cells), side="right")
    return [values[order][a:b] for a, b in zip([0, *ends[:-1]], ends, strict=True)]


def _key_codes(column: Numbers | Codes, values: tuple[Value, ...]) -> Array:
    """For every row the index of its value among `values`, or their number if none of them."""
    if isinstance(column, Codes):
        if column.values == values:
            return column.codes
        index = {value: i for i, value in enumerate(values)}
        table = np.array([*(index.get(v, len(values)) for v in column.values), len(values)])
        return np.asarray(table[column.codes])
    # Integers and dates are grouped over a whole range, in order.
    place = column.units.astype(np.int64) - int(values[0])
    outside = (place < 0) | (place >= len(values))
    if column.null is not None:
        outside = outside | column.null
    return np.where(outside, len(values), place)


def _identities(vector: AnyVector) -> Array:
    """A number for every row, equal where the values are."""
    if isinstance(vector, TextVector):
        _, same = np.unique(np.array([*vector.dictionary, ""], dtype=object), return_inverse=True)
        return np.asarray(same[vector.codes])
    return vector.values
