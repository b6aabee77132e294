"""Hashes that stand for texts where only it matters which of them are the same.

A text is cut into pieces of 32 bytes, and a piece into words of 32 bits, the last of which are
filled up with zeros. These and the size of the piece are multiplied by random factors and added up
modulo 2^64, to which a random number is added. The upper halves of two such sums, from factors of
their own, are the hash of the piece. The hashes of several pieces are hashed in the same way,
with further factors, until one is left.

Two different pieces have the same half with a probability of 2^-32 ([Tho15] section 3), and so two
different texts the same hash with one of 2^-64 for each time that they are hashed, which is once
for texts of one piece and six times at most. Among a million short texts there are two with the
same hash with a probability below 2^-25, whatever the texts are, as nobody knows the factors.
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpdb.engines.sources.cell_words import Words
from dpdb.engines.sources.csv_records import Places, runs
from dpdb.vectors.grammar import LONGEST

PIECE = 32
"""The bytes of a piece. So many must follow the last text, whatever they are."""
_SIZE = PIECE // 4
"""The place of the factor of the size, after those of the words; that of 1 comes last."""
_BLOCK = 2**14
"""Pieces whose words stay in the cache."""
_MASKS = np.tril(np.full((PIECE + 1, PIECE), 0xFF, dtype=np.uint8), -1).view(f"V{PIECE}").ravel()
"""For each size of a piece the bits of its bytes."""


def _times() -> int:
    """How often the longest text is hashed."""
    size, times = LONGEST, 1
    while size > PIECE:
        size, times = 8 * -(-size // PIECE), times + 1
    return times


def random_factors() -> Words:
    """Factors for each time that a text is hashed, and for both halves of its hash."""
    shape = (_times(), _SIZE + 2, 2)
    return np.frombuffer(os.urandom(8 * int(np.prod(shape))), "<u8").reshape(shape)


def hashes(raw: NDArray[np.uint8], starts: Places, sizes: Places, factors: Words) -> Words:
    """The hash of each text, which is so many bytes from its start on."""
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
    """The same bytes and those that must follow the last text, in whole words."""
    room = np.zeros((len(raw) + 7 >> 3 << 3) + PIECE, dtype=np.uint8)
    room[: len(raw)] = raw
    return room


def _of_pieces(raw: NDArray[np.uint8], places: Places, sizes: Places, factors: Words) -> Words:
    """The hash of each piece, which is so many bytes at its place."""
    every: NDArray[Any] = np.ndarray(len(raw) - PIECE + 1, f"V{PIECE}", raw, strides=(1,))
    of_sizes = np.arange(PIECE + 1, dtype=np.uint64)[:, np.newaxis] * factors[_SIZE] + factors[-1]
    found = np.empty(len(places), dtype=np.uint64)
    for first in range(0, len(places), _BLOCK):
        block = slice(first, first + _BLOCK)
        bits = every[places[block]].view(np.uint64)
        bits &= _MASKS.take(sizes[block]).view(np.uint64)
        words = bits.view("<u4").reshape(-1, _SIZE).astype(np.uint64)
        sums = words @ factors[:_SIZE]
        sums += of_sizes.take(sizes[block], axis=0)
        found[block] = np.ascontiguousarray(sums.view("<u4")[:, 1::2]).view("<u8")[:, 0]
    return found
