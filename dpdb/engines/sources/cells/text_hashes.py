"""Hashes that stand for texts where only it matters which of them are the same.

A text is cut into pieces of 128 bytes, and a piece into words of 32 bits, the last of which are
filled up with zeros: texts that differ still do, as none has a NUL. The words are multiplied by
random factors of 64 bits and added up modulo 2^64. The upper halves of two such sums, which have
factors of their own, are the hash of the piece. The hashes of several pieces are hashed in the same
way, with further factors, until one is left.

Let two pieces differ in a word, by d = 2^k·u for an odd u and k < 32. Whatever the other factors
are, the difference of two sums is a·d + c for the factor a of that word: any number that is c
modulo 2^k, all with the same probability. Where upper halves are the same, it is less than 2^32
away from 0. So they are the same with a probability of at most 2^-31, and both halves with one of
2^-62 for each time that two texts are hashed, which is once for those of one piece and three times
at most. Among a million short texts, whatever they are, two have the same hash with a probability
below 2^-23, as nobody knows the factors. That multiplications and shifts suffice is due to
[DHKP97] section 2.
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpdb.engines.sources.cells.records import Places, runs
from dpdb.engines.sources.cells.words import Words
from dpdb.vectors.grammar import LONGEST

PIECE = 128
"""The bytes of a piece. So many must follow the last text, whatever they are."""
_PART = 32
"""The bytes of a piece that are worked on at once: most texts have no more."""
_WORDS = _PART // 4
_BLOCK = 2**13
"""Pieces whose words stay in the cache."""
_MASKS = np.tril(np.full((_PART + 1, _PART), 0xFF, dtype=np.uint8), -1).view(f"V{_PART}").ravel()
"""For each number of bytes the bits of so many."""


def _times() -> int:
    """How often the longest text is hashed, each of whose bytes stands for U+FFFD."""
    size, times = LONGEST * len("\N{REPLACEMENT CHARACTER}".encode()), 1
    while size > PIECE:
        size, times = 8 * -(-size // PIECE), times + 1
    return times


def random_factors() -> Words:
    """Factors that nobody knows, for texts of cells."""
    return factors_of(os.urandom(_times() * 2 * 8 * PIECE // 4))


def factors_of(drawn: bytes) -> Words:
    """Two factors for each word, for each time that a text is hashed."""
    return np.frombuffer(drawn, "<u8").reshape(-1, PIECE // 4, 2)


def hashes(raw: NDArray[np.uint8], starts: Places, sizes: Places, factors: Words) -> Words:
    """The hash of each text, which is so many bytes from its start on, of which none is NUL."""
    found = _of_pieces(raw, starts, np.minimum(sizes, PIECE), factors[0])
    long = np.flatnonzero(sizes > PIECE)
    if len(long):
        counts = -(-sizes[long] // PIECE)
        places = runs(starts[long], counts, PIECE)
        left = np.repeat(starts[long] + sizes[long], counts) - places
        pieces = _of_pieces(raw, places, np.minimum(left, PIECE), factors[0])
        before = np.cumsum(counts) - counts
        found[long] = hashes(followed(pieces.view(np.uint8)), 8 * before, 8 * counts, factors[1:])
    return found


def followed(raw: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """The bytes of texts with the zeros that must follow the last one, in whole words."""
    room = np.zeros((len(raw) + 7 >> 3 << 3) + PIECE, dtype=np.uint8)
    room[: len(raw)] = raw
    return room


def _of_pieces(raw: NDArray[np.uint8], places: Places, sizes: Places, factors: Words) -> Words:
    """The hash of each piece, which is so many bytes at its place."""
    found = np.empty(len(places), dtype=np.uint64)
    for first in range(0, len(places), _BLOCK):
        block = slice(first, first + _BLOCK)
        sums = _of_parts(raw, places[block], sizes[block], factors)
        for start in range(_PART, PIECE, _PART):
            rows = np.flatnonzero(sizes[block] > start)
            if not len(rows):
                break
            at, left = places[block][rows] + start, sizes[block][rows] - start
            sums[rows] += _of_parts(raw, at, left, factors[start // 4 :])
        found[block] = np.ascontiguousarray(sums.view("<u4")[:, 1::2]).view("<u8")[:, 0]
    return found


def _of_parts(raw: NDArray[np.uint8], places: Places, sizes: Places, factors: Words) -> Words:
    """The two sums of the first bytes at each place, where there are so many."""
    every: NDArray[Any] = np.ndarray(len(raw) - _PART + 1, f"V{_PART}", raw, strides=(1,))
    bits = every[places].view(np.uint64)
    bits &= _MASKS.take(sizes, mode="clip").view(np.uint64)
    words = bits.view("<u4").reshape(-1, _WORDS).astype(np.uint64)
    return np.asarray(words @ factors[:_WORDS])
