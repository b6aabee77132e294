"""At most so many rows of each privacy unit: what bounds a person's influence."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from dpdb.engines.columns import Codes, Numbers
from dpdb.policy import MAGNITUDE_LIMIT

Column = Numbers | Codes


def cap_units(
    columns: Mapping[str, Column], rows: int, unit: str, limit: int
) -> tuple[dict[str, Column], int]:
    """The columns with at most `limit` rows that share a value of `unit`.

    Which rows stay is decided by what is in them, not by where they stand, so
    that one unit's rows have no say in which of another's are kept. Rows whose
    unit cannot be told from others' are left out.
    """
    owner = _sort_key(columns[unit])
    order = np.lexsort([*(_sort_key(column) for column in columns.values()), owner])
    order = order[_told_apart(columns[unit])[order]]
    mine = owner[order]
    first = np.ones(len(order), dtype=bool)
    first[1:] = mine[1:] != mine[:-1]
    starts = np.flatnonzero(first)
    within = np.arange(len(order)) - np.repeat(starts, np.diff([*starts, len(order)]))
    kept = np.sort(order[within < limit])
    return {name: _take(column, kept) for name, column in columns.items()}, len(kept)


def _told_apart(column: Column) -> npt.NDArray[np.bool_]:
    """Which rows name their unit: not NULL, and not an integer clamped to the limit."""
    if isinstance(column, Codes):
        return np.asarray(column.codes != len(column.values))
    within = np.abs(column.units.astype(np.float64)) < MAGNITUDE_LIMIT
    return within if column.null is None else within & ~column.null


def _sort_key(column: Column) -> npt.NDArray[Any]:
    """A number for each row, equal for equal values, with NULL apart from them."""
    if isinstance(column, Codes):
        return column.codes
    values = column.units.astype(np.float64)
    return values if column.null is None else np.where(column.null, np.inf, values)


def _take(column: Column, kept: npt.NDArray[np.intp]) -> Column:
    if isinstance(column, Codes):
        return Codes(column.codes[kept], column.values)
    null = None if column.null is None else column.null[kept]
    return Numbers(column.units[kept], column.step, null)
