"""Exact integer sums, whatever the order of the rows and the size of the values."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

MAX_ROWS = 2**31
_LIMB = 21
"""Bits of a limb: MAX_ROWS of them, added as doubles, stay exact below 2^53."""
_BLOCK = 2**22


def total(values: Array, largest: int) -> int:
    """Σ values, none of them beyond ±`largest`."""
    if largest * MAX_ROWS < 2**63:
        return int(values.sum(dtype=np.int64))
    high = int((values >> 32).sum(dtype=np.int64))
    return (high << 32) + int((values & 0xFFFFFFFF).sum(dtype=np.int64))


def total_squares(values: Array, largest: int) -> int:
    """Σ values², none of the values beyond ±`largest`, at most 2^20."""
    assert largest <= 2**20
    result = 0
    for start in range(0, len(values), _BLOCK):
        block = values[start : start + _BLOCK].astype(np.int64)
        result += int(np.dot(block, block))
    return result


def grouped_total(groups: Array, values: Array, cells: int, largest: int) -> Array:
    """Σ values for each group; 64-bit integers where they always suffice."""
    if largest < 2**_LIMB:
        return _add_up(groups, values, cells).astype(np.int64)
    result: Array = np.zeros(cells, dtype=object)
    rest = values.astype(np.int64)
    shift = 0
    while largest >> shift >= 2**_LIMB:
        limb = (rest >> shift) & (2**_LIMB - 1)
        result += _add_up(groups, limb, cells).astype(np.int64).astype(object) << shift
        shift += _LIMB
    result += _add_up(groups, rest >> shift, cells).astype(np.int64).astype(object) << shift
    return result.astype(np.int64) if largest * MAX_ROWS < 2**62 else result


def _add_up(groups: Array, values: Array, cells: int) -> Array:
    """Sums as doubles, exact because every partial sum is below 2^53."""
    return np.bincount(groups, weights=values, minlength=cells + 1)[:cells]
