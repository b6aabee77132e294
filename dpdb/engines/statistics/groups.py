"""The group of every row, values by group, and columns with one value for each unit of a group."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction

import numpy as np

from dpdb.engines.relations.row_groups import RowGroups
from dpdb.engines.units.keys import translated
from dpdb.engines.values.coded_values import coded
from dpdb.engines.values.grid_values import mask, parts
from dpdb.plan.expressions.expressions import ColumnRef, Expr
from dpdb.plan.expressions.single_values import SingleValue, UnitValue, single_value
from dpdb.plan.logical.query import Aggregate, Function
from dpdb.plan.physical.plan import Plan
from dpdb.policy.catalog import Kind, Value
from dpdb.records import dataclass
from dpdb.vectors.columns import Codes, Numbers
from dpdb.vectors.evaluate import Frame, evaluate
from dpdb.vectors.keys import sorted_groups, whole
from dpdb.vectors.vector import AnyVector, Array, Bools, TextVector, Vector, array


def group_codes(plan: Plan, frame: Frame, rows: int) -> Array:
    """For every row the index of its cell; rows outside all cells get one past the last."""
    declared = declared_codes(plan, frame, rows)
    if plan.found is None:
        return declared
    shown, number = _shown_codes(plan, frame, rows), plan.declared_groups
    outside = (shown == len(plan.found.shown or ())) | (declared == number)
    return np.where(outside, plan.cells, shown * number + declared)


def declared_codes(plan: Plan, frame: Frame, rows: int) -> Array:
    """For every row the index of its group by the declared keys, or their number."""
    undeclared = () if plan.found is None else plan.found.places
    declared = [
        # NULL can be the last of the values: its index is that of rows without any of the others.
        (key, tuple(value for value in values if value is not None), len(values))
        for place, (key, values) in enumerate(zip(plan.keys, plan.key_values, strict=True))
        if place not in undeclared
    ]
    places = [
        places_among(frame.columns[key.column.name], values)
        if isinstance(key, ColumnRef) and _is_stored(key, values)
        else _places_of(key, values, frame, rows)
        for key, values, _ in declared
    ]
    if len(places) == 1:
        return places[0]
    group = np.zeros(rows, dtype=np.int64)
    outside = np.zeros(rows, dtype=bool)
    for place, (_, _, number) in zip(places, declared, strict=True):
        group = group * number + place
        outside |= place == number
    return np.where(outside, plan.declared_groups, group)


def _shown_codes(plan: Plan, frame: Frame, rows: int) -> Array:
    """For each row the place of its keys among those shown, or their number if they are none.

    Column by column the combinations so far that are shown get numbers. A row has the number of its
    own, and is outside once none that is shown begins like it.
    """
    assert plan.found is not None
    shown = plan.found.shown or ()
    prefixes = np.zeros(len(shown), dtype=np.int64)
    codes, outside = np.zeros(rows, dtype=np.int64), np.zeros(rows, dtype=np.bool_)
    for column, place in enumerate(plan.found.places):
        key, values = plan.keys[place], [row[column] for row in shown]
        known = tuple(sorted({value for value in values if value is not None}))
        vector = whole(evaluate(key, frame), rows)
        own = _indices(vector, known, key.kind)
        if vector.null is not None:
            own = np.where(vector.null, len(known) + 1, own)
        index = {value: at for at, value in enumerate(known)}
        own_shown = np.array([len(known) + 1 if v is None else index[v] for v in values])
        width = len(known) + 2
        different, prefixes = np.unique(prefixes * width + own_shown, return_inverse=True)
        pairs = codes * width + own
        codes = np.searchsorted(different, pairs).clip(max=len(different) - 1)
        outside |= different[codes] != pairs
    return np.where(outside, len(shown), codes)


def _is_stored(key: ColumnRef, values: tuple[Value, ...]) -> bool:
    """Whether a column is held as codes, or its values are all whole numbers of a range."""
    if not key.kind.ordinal or key.column.values is not None:
        return True
    if not key.kind.whole:
        return False
    step = int(key.column.step)
    return list(values) == list(range(int(values[0]), int(values[0]) + len(values) * step, step))


def places_among(column: Numbers | Codes, values: tuple[Value, ...]) -> Array:
    """For every row the index of its value among `values`, or their number if none of them."""
    if isinstance(column, Codes):
        return translated(column, values)
    # Whole numbers are grouped over a whole range, in order.
    assert column.step is not None
    place = column.units.astype(np.int64) - int(Fraction(values[0]) / column.step)
    # Without a sign, places before the first are past the last.
    place = np.minimum(place.view(np.uint64), np.uint64(len(values))).view(np.int64)
    if column.null is not None:
        np.copyto(place, len(values), where=column.null)
    return place


def _places_of(key: Expr, values: tuple[Value, ...], frame: Frame, rows: int) -> Array:
    """For every row the index of an expression's value among `values`, or their number."""
    places = np.empty(rows, dtype=np.int64)
    for block, part in parts(key, frame, rows):
        places[block] = _indices(evaluate(key, part), values, key.kind)
    return places


def _indices(vector: AnyVector, values: tuple[Value, ...], kind: Kind) -> Array:
    """The index of each value found; where it is NULL, or none of the `values`, their number."""
    if isinstance(vector, TextVector):
        index = {value: place for place, value in enumerate(values)}
        known = [index.get(text, len(values)) for text in vector.dictionary]
        return np.array([*known, len(values)])[vector.codes]
    if not values:
        return np.zeros(len(vector.values), dtype=np.int64)
    listed = array(values, kind)
    order = np.argsort(listed)
    near = np.searchsorted(listed[order], vector.values).clip(max=len(listed) - 1)
    places = order[near]
    outside = listed[places] != vector.values
    return np.where(outside if vector.null is None else outside | vector.null, len(values), places)


def sorted_by_group(groups: Array | None, values: Array, cells: int | None) -> list[Array]:
    """The values of each cell, sorted."""
    if groups is None or cells is None:
        return [np.sort(values)]
    order = np.lexsort((values, groups))
    ends = np.searchsorted(groups[order], np.arange(cells), side="right")
    ordered = values[order]
    return [ordered[a:b] for a, b in zip([0, *ends[:-1]], ends, strict=True)]


def single_values(plan: Plan) -> Iterable[SingleValue]:
    """The columns of this kind that a plan reads, each once."""
    read = (single_value(estimate.aggregate.argument) for estimate in plan.estimates)
    return dict.fromkeys(column for column in read if column is not None)


@dataclass(frozen=True, repr=False)
class CellRows:
    """The rows that count for a plan, and in which cells they do."""

    frame: Frame
    rows: int
    """The number of all rows."""
    counted: Bools | None
    """Mask of the rows that count; None if all do."""
    groups: Array | None
    """The cell of each row, or one past the last; None where there is one cell of all rows."""
    cells: int
    owners: Array | None
    """The number of each row's unit; None where each row is one."""

    def column(self, value: SingleValue) -> Numbers | Codes:
        """The column, NULL in all rows on which no value stands."""
        return self._of_units(value) if isinstance(value, UnitValue) else self._different(value)

    def _of_units(self, value: UnitValue) -> Numbers:
        passed = self._passed(value.where)
        assert self.owners is not None
        order, starts = self._in_order(passed, self.owners[passed])
        aggregate = Aggregate(Function(value.function), value.argument, value.where)
        groups = RowGroups(self.frame, self.rows, order, starts, None)
        aggregated, first = groups.aggregated(value, aggregate), order[starts]
        null = np.ones(self.rows, dtype=np.bool_)
        null[first] = np.False_ if aggregated.null is None else aggregated.null
        units = np.full(self.rows, aggregated.filler, dtype=np.int64)
        units[first] = aggregated.units
        return Numbers(units, aggregated.step, null, aggregated.filler, aggregated.held)

    def _different(self, value: SingleValue) -> Numbers | Codes:
        assert value.argument is not None
        values = coded(value.argument, self.frame)
        passed = self._passed(value.where)
        if values.null is not None:
            passed = passed[~np.broadcast_to(values.null, self.rows)[passed]]
        codes = np.broadcast_to(values.codes, self.rows)
        order, starts = self._in_order(passed, codes[passed])
        null = np.ones(self.rows, dtype=np.bool_)
        null[order[starts]] = False
        return self._with_nulls(value.argument, null)

    def _with_nulls(self, argument: Expr, null: Bools) -> Numbers | Codes:
        """The values of an argument as a column holds them, with NULL in these rows."""
        if isinstance(argument, ColumnRef):
            return self.frame.columns[argument.column.name].with_nulls(null)
        vector = evaluate(argument, self.frame)
        assert isinstance(vector, Vector)
        return Numbers(np.where(null, 0.0, vector.values), None, null, 0)

    def _passed(self, condition: Expr | None) -> Array:
        """The rows that count in some cell and pass a condition, too."""
        kept = np.ones(self.rows, dtype=np.bool_) if self.counted is None else self.counted.copy()
        if condition is not None:
            kept &= mask(condition, self.frame, self.rows)
        if self.groups is not None:
            kept &= self.groups < self.cells
        return np.flatnonzero(kept)

    def _in_order(self, rows: Array, keys: Array) -> tuple[Array, Array]:
        """The rows by cell and key, and where in this order each pair of these begins."""
        cells = np.zeros(len(rows), dtype=np.int64) if self.groups is None else self.groups[rows]
        order, starts = sorted_groups(cells, keys)
        return rows[order], starts
