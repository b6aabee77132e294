"""At most so many rows of each privacy unit: what bounds a person's influence."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from dpdb.engines.columns import Codes, Numbers

Column = Numbers | Codes


def cap_units(
    columns: Mapping[str, Column], rows: int, unit: str, limit: int
) -> tuple[dict[str, Column], int]:
    """The columns with at most `limit` rows that share a value of `unit`.

    Which rows stay is decided by what is in them, not by where they stand, so
    that one unit's rows have no say in which of another's are kept. Rows
    without a unit count as one unit.
    """
    owner = _sort_key(columns[unit])
    order = np.lexsort([*(_sort_key(column) for column in columns.values()), owner])
    first = np.ones(rows, dtype=bool)
    first[1:] = owner[order][1:] != owner[order][:-1]
    starts = np.flatnonzero(first)
    within = np.arange(rows) - starts[np.cumsum(first) - 1] if rows else np.arange(0)
    kept = np.sort(order[within < limit])
    return {name: _take(column, kept) for name, column in columns.items()}, len(kept)


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
