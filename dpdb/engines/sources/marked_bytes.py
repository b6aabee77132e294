"""Marked bytes, counted up to many places at once: the work is the same whichever are marked.

A mark is a bit of a word, and of each word it is known how many marks are before it. To these are
added, for a place within the word, the marks on the lower bits.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpdb.engines.sources.cell_words import Bools, Words
from dpdb.engines.sources.csv_records import Places

_WORD = 6
"""A word has two to this power of bits."""
_ONE = np.uint64(1)


@dataclass(frozen=True, repr=False)
class MarkedBytes:
    """Which of some bytes that follow each other are marked."""

    words: Words
    """A bit for each byte, and one more at least, from the lowest of the first word on."""
    sums: Places
    """How many are marked before each word."""

    @classmethod
    def of(cls, marks: Bools) -> MarkedBytes:
        """The bytes with these marks."""
        words: Words = np.zeros((len(marks) >> _WORD) + 1, dtype="<u8")
        bits = np.packbits(marks, bitorder="little")
        words.view(np.uint8)[: len(bits)] = bits
        sums = np.zeros(len(words), dtype=np.intp)
        np.cumsum(np.bitwise_count(words[:-1]), out=sums[1:])
        return cls(words, sums)

    def before(self, places: Places) -> Places:
        """How many are marked before each place, which may be that after the last byte."""
        at = places >> _WORD
        below = (_ONE << (places & 2**_WORD - 1).astype(np.uint64)) - _ONE
        below &= self.words[at]
        return np.asarray(self.sums[at] + np.bitwise_count(below))


def places_with(marks: Bools, bounds: Places) -> Places:
    """The texts with a mark, of which each begins where the one before it ends."""
    return np.flatnonzero(np.diff(MarkedBytes.of(marks).before(bounds)))


def begins_with(part: bytes, raw: NDArray[np.uint8]) -> Bools:
    """Where the part begins among the bytes; it has one byte at least."""
    begins = np.zeros(len(raw), dtype=np.bool_)
    if len(part) > len(raw):
        return begins
    inner = begins[: len(raw) - len(part) + 1]
    inner[:] = True
    for at, byte in enumerate(part):
        inner &= raw[at : at + len(inner)] == byte
    return begins
