"""Which group every row is in, and values by group."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from dpdb.engines.memory.key_numbers import whole
from dpdb.engines.memory.keys import translated
from dpdb.engines.memory.row_blocks import BLOCK, parts, row_blocks
from dpdb.plan.expressions import ColumnRef, Expr
from dpdb.plan.plan import Plan
from dpdb.plan.statistics import Histogram
from dpdb.policy.catalog import Kind, Value
from dpdb.vectors.columns import Codes, Numbers
from dpdb.vectors.evaluate import Frame, evaluate
from dpdb.vectors.vector import AnyVector, Array, Bools, TextVector, array

_BYTES = 2**8
"""The number of different bytes."""
_PAIRED = 2**17
"""Bytes that are counted at a time: there are fewer different pairs of them."""


def group_codes(plan: Plan, frame: Frame, rows: int) -> Array:
    """For every row the index of its cell; rows outside all cells get one past the last."""
    declared = declared_codes(plan, frame, rows)
    if plan.found is None:
        return declared
    shown, number = shown_codes(plan, frame, rows), plan.declared_groups
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


def shown_codes(plan: Plan, frame: Frame, rows: int) -> Array:
    """For each row the place of its keys among those shown, or their number if they are none."""
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


def atom_counts(
    histogram: Histogram, masks: Sequence[Bools], groups: Array | None, cells: int | None
) -> Array:
    """For each cell the numbers of rows in its atoms.

    `masks` says where each condition is true.
    """
    codes, width = _atom_codes(histogram, masks), len(histogram.atoms)
    if groups is None or cells is None:
        return count_codes(codes, width + 1)[:width].reshape(1, width)
    places = groups.astype(np.int64) * width + codes
    outside = (codes == width) * np.int64(cells * width)
    counts = count_codes(np.maximum(places, outside), (cells + 1) * width + 1)
    return counts[: cells * width].reshape(cells, width)


def _atom_codes(histogram: Histogram, masks: Sequence[Bools]) -> Array:
    """For every row the index of its atom, or the number of atoms if it is in none.

    Condition by condition a row goes from the atoms that it may be in to those that it still may
    be in. All rows take the same steps.
    """
    codes = np.zeros(len(masks[0]), dtype=np.int16)
    begun: list[tuple[bool, ...]] = [()]
    for number, mask in enumerate(masks, 1):
        longer = sorted({atom[:number] for atom in histogram.atoms})
        index = {prefix: place for place, prefix in enumerate(longer)}
        steps = [
            index.get((*prefix, true), len(longer)) for prefix in begun for true in (False, True)
        ]
        in_none = [len(longer)] * 2
        codes = np.array(steps + in_none, dtype=np.int16)[2 * codes + mask]
        begun = longer
    return codes


def count_codes(codes: Array, number: int) -> Array:
    """How often each code is there, all of which are below `number`.

    The copies for that stay in the cache.
    """
    counts = np.zeros(number, dtype=np.int64)
    narrow = codes.dtype == np.uint8 and number <= _BYTES and len(codes) > number**2
    for block in row_blocks(len(codes), _PAIRED if narrow else BLOCK):
        if narrow:
            counts += _count_bytes(np.ascontiguousarray(codes[block]), number)
        else:
            counts += np.bincount(codes[block], minlength=number)
    return counts


def _count_bytes(codes: Array, number: int) -> Array:
    """How often each byte is there: pairs of them are counted, in half as many steps."""
    even = len(codes) // 2 * 2
    pairs = codes[:even].view(np.uint16)
    # One byte of a pair counts `number` rather than 256, so that there are fewer pairs.
    pairs = pairs - (pairs >> 8) * (_BYTES - number)
    counts = np.bincount(pairs, minlength=number**2).reshape(number, number)
    last = np.bincount(codes[even:], minlength=number)
    return np.asarray(counts.sum(axis=0) + counts.sum(axis=1) + last)


def tallies(groups: Array | None, places: Array, width: int, cells: int) -> list[Array]:
    """For each cell how often each place below `width` is there."""
    flat = (0 if groups is None else groups.astype(np.int64)) * width + places.astype(np.int64)
    counts = np.bincount(flat, minlength=(cells + 1) * width)[: cells * width]
    return list(counts.reshape(cells, width))


def sorted_by_group(groups: Array | None, values: Array, cells: int | None) -> list[Array]:
    """The values of each cell, sorted."""
    if groups is None or cells is None:
        return [np.sort(values)]
    order = np.lexsort((values, groups))
    ends = np.searchsorted(groups[order], np.arange(cells), side="right")
    ordered = values[order]
    return [ordered[a:b] for a, b in zip([0, *ends[:-1]], ends, strict=True)]
