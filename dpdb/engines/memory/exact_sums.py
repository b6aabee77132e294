"""Exact integer sums, whatever the order of the rows and the size of the values."""

from __future__ import annotations

from typing import Any

import numpy as np

from dpdb.engines.protocol import representation
from dpdb.vectors.vector import Array

_LIMB = 36
"""Bits of a limb: a block of 2^17 of them, added as doubles, stays exact below 2^53."""
_CACHED = 2**16
"""Terms that are made at a time: their copies stay in the cache."""
_FOLDS = 16
"""So many terms are added in 32 bits at most: more would take as long."""


def total(
    values: Array, largest: int, mask: Array | None = None, *, centre: int = 0, power: int = 1
) -> int:
    """Σ (values - centre)^power where the mask is set, no term beyond ±`largest`."""
    result = 0
    for start in range(0, len(values), _CACHED):
        rows = slice(start, start + _CACHED)
        terms = _terms(values[rows], centre, power, largest)
        result += _sum(terms if mask is None else terms * mask[rows], largest)
    return result


def grouped_total(
    groups: Array, values: Array, cells: int, largest: int, *, centre: int = 0, power: int = 1
) -> Array:
    """Σ (values - centre)^power for each group, no term beyond ±`largest`.

    In blocks, for two reasons: the wider copies that bincount makes stay in the
    cache, and sums of so few are exact as doubles for values of up to _LIMB bits.
    """
    kind = representation(largest)
    result: Array = np.zeros(cells, dtype=kind)
    block = min(max(_CACHED, cells), 2 ** (53 - _LIMB))
    for start in range(0, len(groups), block):
        rows = slice(start, start + block)
        terms = _terms(values[rows], centre, power, largest)
        result += _block_total(groups[rows].astype(np.intp), terms, cells, largest, kind)
    return result


def _terms(values: Array, centre: int, power: int, largest: int) -> Array:
    """(values - centre)^power, in half as many bits where they suffice: that is twice as fast."""
    if power == 1 and centre == 0:
        return values
    terms: Array = values.astype(np.int32 if largest + abs(centre) < 2**31 else np.int64)
    terms -= centre
    return terms if power == 1 else terms * terms


def _sum(terms: Array, largest: int) -> int:
    """The sum of a block."""
    if largest * _CACHED < 2**31:
        return int(terms.sum(dtype=np.int32))
    if largest < 2**30:
        return _folded_sum(terms, min((2**31 - 1) // max(largest, 1), _FOLDS))
    if largest * _CACHED < 2**63:
        return int(terms.sum(dtype=np.int64))
    high = int((terms >> 32).sum(dtype=np.int64))
    return (high << 32) + int((terms & 0xFFFFFFFF).sum(dtype=np.int64))


def _folded_sum(terms: Array, folds: int) -> int:
    """The sum of terms, of which so many add up in 32 bits: making 64 of all takes longer."""
    even = len(terms) // folds * folds
    folded = terms[:even].reshape(folds, -1).sum(axis=0, dtype=np.int32)
    return int(folded.sum(dtype=np.int64)) + int(terms[even:].sum(dtype=np.int64))


def _block_total(
    groups: Array, values: Array, cells: int, largest: int, kind: np.dtype[Any]
) -> Array:
    """The sums of a block, limb by limb, as doubles hold no more of a value exactly."""
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
