"""Which group every row is in, and values by group."""

from __future__ import annotations

import numpy as np

from dpdb.engines.memory.row_blocks import row_blocks
from dpdb.plan.plan import Plan
from dpdb.policy.catalog import Value
from dpdb.vectors.columns import Codes, Numbers
from dpdb.vectors.evaluate import Frame
from dpdb.vectors.vector import Array


def group_codes(plan: Plan, frame: Frame, rows: int) -> Array:
    """For every row the index of its cell; rows outside all cells get one past the last."""
    places = [
        places_among(frame.columns[key.column.name], values)
        for key, values in zip(plan.keys, plan.key_values, strict=True)
    ]
    if len(places) == 1:
        return places[0]
    group = np.zeros(rows, dtype=np.int64)
    outside = np.zeros(rows, dtype=bool)
    for place, values in zip(places, plan.key_values, strict=True):
        group = group * len(values) + place
        outside |= place == len(values)
    return np.where(outside, plan.cells, group)


def places_among(column: Numbers | Codes, values: tuple[Value, ...]) -> Array:
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


def count_codes(codes: Array, number: int) -> Array:
    """How often each code below `number` is there; the copies for that stay in the cache."""
    counts = np.zeros(number, dtype=np.int64)
    for block in row_blocks(len(codes)):
        counts += np.bincount(codes[block], minlength=number)[:number]
    return counts


def sorted_by_group(groups: Array | None, values: Array, cells: int | None) -> list[Array]:
    """The values of each cell, sorted."""
    if groups is None or cells is None:
        return [np.sort(values)]
    order = np.lexsort((values, groups))
    ends = np.searchsorted(groups[order], np.arange(cells), side="right")
    ordered = values[order]
    return [ordered[a:b] for a, b in zip([0, *ends[:-1]], ends, strict=True)]
