"""The group of every row, and values by group."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from dpdb.engines.units.keys import translated
from dpdb.engines.values.row_blocks import parts
from dpdb.plan.expressions.expressions import ColumnRef, Expr
from dpdb.plan.physical.plan import Plan
from dpdb.policy.catalog import Kind, Value
from dpdb.vectors.columns import Codes, Numbers
from dpdb.vectors.evaluate import Frame, evaluate
from dpdb.vectors.relational.keys import whole
from dpdb.vectors.vector import AnyVector, Array, TextVector, array


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
        (key, values)
        for place, (key, values) in enumerate(zip(plan.keys, plan.key_values, strict=True))
        if place not in undeclared
    ]
    places = [
        places_among(frame.columns[key.column.name], values)
        if isinstance(key, ColumnRef) and _is_stored(key, values)
        else _places_of(key, values, frame, rows)
        for key, values in declared
    ]
    if len(places) == 1:
        return places[0]
    group = np.zeros(rows, dtype=np.int64)
    outside = np.zeros(rows, dtype=bool)
    for place, (_, values) in zip(places, declared, strict=True):
        group = group * len(values) + place
        outside |= place == len(values)
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
