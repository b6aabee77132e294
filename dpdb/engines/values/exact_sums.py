"""Exact sums and counts, whatever the order of the rows and the size of the values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dpdb.engines.protocol import representation
from dpdb.engines.values.grid_values import BLOCK, row_blocks
from dpdb.plan.ranges.statistics import Histogram
from dpdb.vectors.vector import Array, Bools

_LIMB = 36
"""Bits of a limb: a block of 2^17 of them, added as doubles, stays exact below 2^53."""
_CACHED = 2**16
"""The terms that are made at a time, so that their copies stay in the cache."""
_FOLDS = 16
"""The most terms that are added in 32 bits: more would take as long."""


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
    """The sum of terms, of which `folds` fit 32 bits together: 64 bits for all take longer."""
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


_BYTES = 2**8
"""The number of different bytes."""
_PAIRED = 2**17
"""The bytes that are counted at a time, more than there are different pairs."""


def count_codes(codes: Array, number: int) -> Array:
    """The number of rows with each code below `number`; all codes are.

    Rows are counted in blocks, so that the wider copies that bincount makes stay in the cache.
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
    """The number of rows with each byte: pairs of bytes are counted, in half as many steps."""
    even = len(codes) // 2 * 2
    pairs = codes[:even].view(np.uint16)
    # One byte of a pair counts `number` rather than 256, so that there are fewer pairs.
    pairs = pairs - (pairs >> 8) * (_BYTES - number)
    counts = np.bincount(pairs, minlength=number**2).reshape(number, number)
    last = np.bincount(codes[even:], minlength=number)
    return np.asarray(counts.sum(axis=0) + counts.sum(axis=1) + last)


def segment_counts(
    histogram: Histogram, masks: Sequence[Bools], groups: Array | None, cells: int | None
) -> Array:
    """counts[cell, segment]: the number of rows of that cell in the segment.

    `masks` says where each condition is true.
    """
    codes, width = _segment_codes(histogram, masks), len(histogram.segments)
    if groups is None or cells is None:
        return count_codes(codes, width + 1)[:width].reshape(1, width)
    places = groups.astype(np.int64) * width + codes
    outside = (codes == width) * np.int64(cells * width)
    counts = count_codes(np.maximum(places, outside), (cells + 1) * width + 1)
    return counts[: cells * width].reshape(cells, width)


def _segment_codes(histogram: Histogram, masks: Sequence[Bools]) -> Array:
    """The index of each row's segment, or the number of segments if the row is in none.

    Each condition narrows the segments that a row may be in. All rows take the same steps.
    """
    codes = np.zeros(len(masks[0]), dtype=np.int16)
    begun: list[tuple[bool, ...]] = [()]
    for number, mask in enumerate(masks, 1):
        longer = sorted({segment[:number] for segment in histogram.segments})
        index = {prefix: place for place, prefix in enumerate(longer)}
        steps = [
            index.get((*prefix, true), len(longer)) for prefix in begun for true in (False, True)
        ]
        in_none = [len(longer)] * 2
        codes = np.array(steps + in_none, dtype=np.int16)[2 * codes + mask]
        begun = longer
    return codes


def tallies(groups: Array | None, places: Array, width: int, cells: int) -> list[Array]:
    """For each cell the number of rows with each place below `width`."""
    flat = (0 if groups is None else groups.astype(np.int64)) * width + places.astype(np.int64)
    counts = np.bincount(flat, minlength=(cells + 1) * width)[: cells * width]
    return list(counts.reshape(cells, width))
