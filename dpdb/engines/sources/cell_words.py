"""Cells as words of eight bytes, so that numpy reads eight of their bytes at once.

Bytes stand in a word in the order of the file, the last of them highest.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpdb.engines.sources.csv_records import Cells, Places

Words = NDArray[np.uint64]
Bools = NDArray[np.bool_]

_ONES = 0x0101_0101_0101_0101
HIGH_BITS = np.uint64(0x80 * _ONES)
"""Those of all bytes."""


def alike(byte: int) -> np.uint64:
    """A word of eight times the same byte."""
    return np.uint64(byte * _ONES)


def words_before(cells: Cells, places: Places) -> Words:
    """The eight bytes before each place in the cells' text."""
    words: Words = np.ndarray(len(cells.text) - 7, "<u8", cells.text, strides=(1,))
    return words[places - 8]


def keep_last(words: Words, counts: NDArray[Any]) -> None:
    """Make all but the last so many bytes of each word zero, in place; eight or more are all."""
    gone = 64 - 8 * np.minimum(counts, 8).astype(np.uint64)
    words >>= gone
    words <<= gone
