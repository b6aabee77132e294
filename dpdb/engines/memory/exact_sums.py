"""Exact integer sums, whatever the order of the rows and the size of the values."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from dpdb.engines.protocol import MAX_ROWS

Array = npt.NDArray[Any]
_LIMB = 36
"""Bits of a limb: a block of 2^17 of them, added as doubles, stays exact below 2^53."""
_BLOCK = 2**22
_CACHED = 2**16


def total(values: Array, largest: int) -> int:
    """Σ values, none of them beyond ±`largest`."""
    if largest * MAX_ROWS < 2**63:
        return int(values.sum(dtype=np.int64))
    high = int((values >> 32).sum(dtype=np.int64))
    return (high << 32) + int((values & 0xFFFFFFFF).sum(dtype=np.int64))


def total_squares(values: Array, mask: Array | None, centre: int, largest: int) -> int:
    """Σ (values - centre)² where the mask is set, no distance from the centre beyond `largest`."""
    assert largest <= 2**20
    result = 0
    for start in range(0, len(values), _CACHED):
        rows = slice(start, start + _CACHED)
        block = values[rows].astype(np.int64) - centre
        if mask is not None:
            block *= mask[rows]
        result += int(np.dot(block, block))
    return result


def grouped_total(groups: Array, values: Array, cells: int, largest: int) -> Array:
    """Σ values for each group; 64-bit integers where they always suffice.

    In blocks, for two reasons: the wider copies that bincount makes stay in the
    cache, and sums of so few are exact as doubles for values of up to _LIMB bits.
    """
    kind = np.dtype(np.int64 if largest * MAX_ROWS < 2**62 else object)
    result: Array = np.zeros(cells, dtype=kind)
    block = max(_CACHED, cells)
    assert block <= 2 ** (53 - _LIMB)
    for start in range(0, len(groups), block):
        rows = slice(start, start + block)
        result += _block_total(groups[rows].astype(np.intp), values[rows], cells, largest, kind)
    return result


def _block_total(
    groups: Array, values: Array, cells: int, largest: int, kind: np.dtype[Any]
) -> Array:
    result: Array = np.zeros(cells, dtype=kind)
    shift = 0
    while largest >> shift >= 2**_LIMB:
        limb = (values >> shift) & (2**_LIMB - 1)
        result += _add_up(groups, limb, cells).astype(kind) << shift
        shift += _LIMB
    result += _add_up(groups, values >> shift, cells).astype(kind) << shift
    return result


def _add_up(groups: Array, values: Array, cells: int) -> Array:
    """Sums as doubles, exact because every partial sum is below 2^53."""
    return np.bincount(groups, weights=values, minlength=cells + 1)[:cells].astype(np.int64)
