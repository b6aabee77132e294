"""Numbers as nearly every cell writes them, read many at a time.

Eight digits at once are read by three multiplications in a 64-bit word ([Lem21] section 3). A
decimal of at most 15 digits is a whole number below 2^53 divided by a power of ten below 10^23.
Both are exact, so the one division rounds correctly ([Cli90] section 3).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpdb.engines.sources.csv_records import Cells
from dpdb.policy.csv_format import ORDINARY, Punctuation

Words = NDArray[np.uint64]
Bools = NDArray[np.bool_]

_MOST_DIGITS = 15
_MINUS, _ZERO = b"-0"
_ALL = np.uint64(0xFFFF_FFFF_FFFF_FFFF)
_ONES = np.uint64(0x0101_0101_0101_0101)
_HIGH_BITS = np.uint64(0x8080_8080_8080_8080)
_LAST_BYTES = np.array([0, *(2**64 - 2 ** (64 - 8 * n) for n in range(1, 9))], dtype=np.uint64)
"""For n from 0 to 8 the bits of the last n of eight bytes, which are the highest."""
_POWERS = 10 ** np.arange(8, dtype=np.uint64)


def plain_numbers(
    cells: Cells, punctuation: Punctuation = ORDINARY
) -> tuple[NDArray[np.float64], Bools, Bools]:
    """The cells' numbers, which cells are plain, and which of those have no point.

    A plain cell is, maybe within quotes, a minus or none, and then one to fifteen
    digits, among which there may be one point with at most seven digits after it. The
    point and the quotes are those of the file.
    What stands for a cell that is not plain means nothing.
    """
    raw = np.frombuffer(cells.text, np.uint8)
    starts, ends, first = cells.starts.copy(), cells.ends.copy(), raw[cells.starts]
    if punctuation.quote:
        quote = ord(punctuation.quote)
        quoted = np.flatnonzero((first == quote) & (ends - starts >= 2))
        quoted = quoted[raw[ends[quoted] - 1] == quote]
        starts[quoted] += 1
        ends[quoted] -= 1
        first[quoted] = raw[starts[quoted]]
    negative = first == _MINUS
    starts += negative

    words: Words = np.ndarray(len(raw) - 7, "<u8", cells.text, strides=(1,))
    size = np.maximum(ends - starts, 0)
    final = words[ends - 8]
    decimals = _digits_after_point(final, size, ord(punctuation.decimal))
    pointed = np.flatnonzero(decimals >= 0)
    ends[pointed] -= decimals[pointed] + 1
    final[pointed], fraction = words[ends[pointed] - 8], final[pointed]
    whole = ends - starts
    digits = whole + np.maximum(decimals, 0)
    mantissa, plain = _eight_digits(final, np.clip(whole, 0, 8))
    long = np.flatnonzero(whole > 8)
    high, good = _eight_digits(words[ends[long] - 16], np.minimum(whole[long] - 8, 8))
    mantissa[long] += high * np.uint64(10**8)
    plain[long] &= good
    scale = _POWERS[decimals[pointed]]
    low, good = _eight_digits(fraction, decimals[pointed])
    mantissa[pointed] = mantissa[pointed] * scale + low
    plain[pointed] &= good
    plain &= (digits >= 1) & (digits <= _MOST_DIGITS)

    numbers = mantissa.astype(np.float64)
    numbers[pointed] /= scale.astype(np.float64)
    # Adding zero makes -0.0 the same zero as 0.0.
    return np.where(negative, -numbers, numbers) + 0.0, plain, decimals < 0


def _digits_after_point(final: Words, size: NDArray[Any], point: int) -> NDArray[Any]:
    """How many bytes follow the first point within the cell's last eight; -1 without a point."""
    inside = _LAST_BYTES[np.minimum(size, 8)]
    # A point becomes a byte of zeros, and the lowest high bit that stays set marks the first
    # of those (H. Warren, Hacker's Delight, 2nd edition, section 6-1).
    other = (final ^ (_ONES * np.uint64(point))) | (_ALL ^ inside)
    zeros = (other - _ONES) & ~other & _HIGH_BITS
    below = np.bitwise_count((zeros & (~zeros + np.uint64(1))) - np.uint64(1))
    return np.asarray(7 - (below >> 3).astype(np.intp))


def _eight_digits(word: Words, count: NDArray[Any]) -> tuple[Words, Bools]:
    """The number that the last `count` bytes of each word write, and where all are digits."""
    digits = (word ^ (_ONES * np.uint64(_ZERO))) & _LAST_BYTES[count]
    # Adding 0x76 sets the high bit of a byte from 10 to 127.
    wrong = ((digits + _ONES * np.uint64(0x76)) | digits) & _HIGH_BITS
    pairs = (digits * np.uint64(10) + (digits >> np.uint64(8))) & np.uint64(0x00FF_00FF_00FF_00FF)
    fours = (pairs * np.uint64(100) + (pairs >> np.uint64(16))) & np.uint64(0x0000_FFFF_0000_FFFF)
    eight = (fours * np.uint64(10_000) + (fours >> np.uint64(32))) & np.uint64(0xFFFF_FFFF)
    return eight, wrong == 0
