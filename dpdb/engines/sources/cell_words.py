"""Cells as words of eight bytes, so that numpy reads eight of their bytes at once.

Bytes stand in a word in the order of the file, the last of them highest.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpdb.engines.sources.csv_records import Cells, Places

Words = NDArray[np.uint64]

_ONES = 0x0101_0101_0101_0101
HIGH_BITS = np.uint64(0x80 * _ONES)
"""The high bits of all bytes."""
_LAST_BYTES = np.array([2**64 - 2 ** (64 - 8 * n) for n in range(9)], dtype=np.uint64)
"""For n from 0 to 8 the bits of the last n of eight bytes, which are the highest."""


def alike(byte: int) -> np.uint64:
    """A word of eight times the same byte."""
    return np.uint64(byte * _ONES)


def words_before(cells: Cells, places: Places) -> Words:
    """The eight bytes before each place in the cells' text."""
    words: Words = np.ndarray(len(cells.text) - 7, "<u8", cells.text, strides=(1,))
    return words[places - 8]


def rows_before(cells: Cells, places: Places) -> Words:
    """The four words before each place in the cells' text."""
    rows: NDArray[Any] = np.ndarray(len(cells.text) - 31, "V32", cells.text, strides=(1,))
    return rows[places - 32].view("<u8").reshape(-1, 4)


def keep_last(words: Words, counts: NDArray[Any]) -> None:
    """Make all but the last so many bytes of each word zero, in place; eight or more are all."""
    words &= _LAST_BYTES.take(counts, mode="clip")


def fill_up(words: Words, counts: NDArray[Any]) -> Words:
    """The words with ones instead of the zeros before their last so many bytes."""
    return words | (~_LAST_BYTES.take(counts, mode="clip") & alike(1))
