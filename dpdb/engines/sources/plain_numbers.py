"""Numbers as nearly every cell writes them, read many at a time.

Eight digits at once are read by three multiplications in a 64-bit word ([Lem21] section 3). A
decimal of at most 15 digits is a whole number below 2^53 divided by a power of ten below 10^23.
Both are exact, so the one division rounds correctly ([Cli90] section 3).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpdb.engines.sources.cell_words import HIGH_BITS, Words, alike, keep_last, words_before
from dpdb.engines.sources.csv_records import Cells, Places
from dpdb.engines.sources.quoted_cells import unquoted_with_first
from dpdb.policy.csv_format import ORDINARY, Punctuation
from dpdb.vectors.vector import Bools

_MOST_DIGITS = 15
_MINUS, _ZERO = b"-0"
_ZEROS, _ONES, _OVER_NINE = alike(_ZERO), alike(1), alike(0x76)
_BYTE, _WORD = np.uint64(8), np.uint64(64)
_POWERS = 10.0 ** np.arange(8)


def plain_numbers(
    cells: Cells, punctuation: Punctuation = ORDINARY
) -> tuple[NDArray[np.float64], Bools, Bools]:
    """The cells' numbers, which cells are plain, and which of those have no point.

    A plain cell is, maybe within quotes, a minus or none, and then one to fifteen
    digits, among which there may be one point with at most seven digits after it. The
    point and the quotes are those of the file.
    What stands for a cell that is not plain means nothing.
    """
    cells, first = unquoted_with_first(cells, punctuation.quote)
    negative = first == _MINUS
    size = cells.ends - cells.starts
    size -= negative
    low = _digits(cells, cells.ends, size)
    pointed, decimals = _without_point(low, ord(punctuation.decimal))
    long = np.flatnonzero(size > 8)
    high = _digits(cells, cells.ends[long] - 8, size[long] - 8)
    # The byte that the point leaves is that of the digit before it.
    left = np.zeros(len(size), dtype=np.uint64)
    left[pointed] = _BYTE
    shift = left[long]
    low[long] |= high >> (_WORD - shift)
    high <<= shift

    mantissa, plain = _eight_digits(low)
    above, good = _eight_digits(high)
    mantissa[long] += above * np.uint64(10**8)
    plain[long] &= good
    whole = left == 0
    size -= ~whole
    plain &= (size >= 1) & (size <= _MOST_DIGITS)
    numbers = mantissa.astype(np.float64)
    numbers[pointed] /= _POWERS[decimals]
    below = np.flatnonzero(negative)
    # Zero minus zero is the same zero as 0.0.
    numbers[below] = 0.0 - numbers[below]
    return numbers, plain, whole


def _digits(cells: Cells, places: Places, size: Places) -> Words:
    """The last eight of so many bytes before each place, as digits; zeros before them."""
    words = words_before(cells, places)
    words ^= _ZEROS
    keep_last(words, size)
    return words


def _without_point(digits: Words, point: int) -> tuple[Places, NDArray[np.uint8]]:
    """The rows whose word has a point, and how many bytes follow its first. It is taken out.

    The bytes before it take its place, so that the first byte is a zero.
    """
    # A point becomes a byte of zeros, and the lowest high bit that stays set marks the first
    # of those (H. Warren, Hacker's Delight, 2nd edition, section 6-1).
    other = digits ^ (_ZEROS ^ alike(point))
    zeros = other - _ONES
    zeros &= ~other
    zeros &= HIGH_BITS
    rows = np.flatnonzero(zeros != 0)
    mark = zeros[rows]
    # All bits up to those of the point's byte.
    upto = ((mark & -mark) << np.uint64(1)) - np.uint64(1)
    word = digits[rows]
    digits[rows] = (word & ~upto) | ((word & (upto >> _BYTE)) << _BYTE)
    return rows, np.bitwise_count(~upto) >> np.uint8(3)


def _eight_digits(digits: Words) -> tuple[Words, Bools]:
    """The number that the bytes of each word make, in its place, and where all are digits."""
    # Adding 0x76 sets the high bit of a byte from 10 to 127.
    wrong = digits + _OVER_NINE
    wrong |= digits
    wrong &= HIGH_BITS
    for factor, width, mask in _STEPS:
        digits *= factor
        digits >>= width
        digits &= mask
    return digits, wrong == 0


_STEPS = (
    (np.uint64(1 + (10 << 8)), np.uint64(8), np.uint64(0x00FF_00FF_00FF_00FF)),
    (np.uint64(1 + (100 << 16)), np.uint64(16), np.uint64(0x0000_FFFF_0000_FFFF)),
    (np.uint64(1 + (10_000 << 32)), np.uint64(32), np.uint64(0x0000_0000_FFFF_FFFF)),
)
"""Digits into pairs, pairs into fours, and fours into eight."""
