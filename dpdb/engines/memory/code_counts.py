"""How often each code is there, in all rows or in each cell of an answer."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dpdb.engines.memory.row_blocks import BLOCK, row_blocks
from dpdb.plan.statistics import Histogram
from dpdb.vectors.vector import Array, Bools

_BYTES = 2**8
"""The number of different bytes."""
_PAIRED = 2**17
"""Bytes that are counted at a time: there are fewer different pairs of them."""


def count_codes(codes: Array, number: int) -> Array:
    """How often each code is there, all of which are below `number`.

    They are counted in blocks, so that the wider copies that bincount makes stay in the cache.
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


def tallies(groups: Array | None, places: Array, width: int, cells: int) -> list[Array]:
    """For each cell how often each place below `width` is there."""
    flat = (0 if groups is None else groups.astype(np.int64)) * width + places.astype(np.int64)
    counts = np.bincount(flat, minlength=(cells + 1) * width)[: cells * width]
    return list(counts.reshape(cells, width))
