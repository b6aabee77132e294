"""Marked bytes, counted up to many places at once: the work is the same whichever are marked.

A word stands for 32 bytes. Its lower half has their marks, a bit for each, and its upper half how
many marks are before them. So one look-up finds all that counts for a place: that number, and the
bits below its own.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpdb.engines.sources.cell_words import Words
from dpdb.engines.sources.csv_records import Places
from dpdb.vectors.vector import Bools

_HALF = np.uint64(32)
_ONE = np.uint64(1)
_WORD = 5
"""A word stands for two to this power of bytes."""


@dataclass(frozen=True, repr=False)
class MarkedBytes:
    """Which of some bytes that follow each other are marked."""

    words: Words

    @classmethod
    def of(cls, marks: Bools) -> MarkedBytes:
        """The bytes with these marks."""
        bits = np.zeros((len(marks) >> _WORD) + 1, dtype="<u4")
        packed = np.packbits(marks, bitorder="little")
        bits.view(np.uint8)[: len(packed)] = packed
        sums = np.zeros(len(bits), dtype=np.uint64)
        np.cumsum(np.bitwise_count(bits[:-1]), out=sums[1:])
        return cls((sums << _HALF) | bits)

    def before(self, places: Places) -> Words:
        """How many are marked before each place, which may be that after the last byte.

        It is the number modulo 2^32, which is more than a text has bytes.
        """
        found: Words = self.words[places >> _WORD]
        below = (_ONE << (places & 2**_WORD - 1).astype(np.uint64)) - _ONE
        below &= found
        found >>= _HALF
        found += np.bitwise_count(below)
        return found


def places_with(marks: Bools, bounds: Places) -> Places:
    """The texts with a mark, of which each begins where the one before it ends."""
    return np.flatnonzero(np.diff(MarkedBytes.of(marks).before(bounds)))


def begins_with(part: bytes, raw: NDArray[np.uint8]) -> Bools:
    """Where the part begins among the bytes; it has one byte at least."""
    begins = np.zeros(len(raw), dtype=np.bool_)
    if len(part) > len(raw):
        return begins
    inner = begins[: len(raw) - len(part) + 1]
    np.equal(raw[: len(inner)], part[0], out=inner)
    for at, byte in enumerate(part[1:], 1):
        inner &= raw[at : at + len(inner)] == byte
    return begins
