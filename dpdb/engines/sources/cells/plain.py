"""Cells as nearly every file writes them, read many at a time: numbers, dates, timestamps.

Eight digits at once are read by three multiplications in a 64-bit word ([Lem21] section 3). A
decimal of at most 15 digits is a whole number below 2^53 divided by a power of ten below 10^23.
Both are exact, so the one division rounds correctly ([Cli90] section 3).
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpdb.engines.sources.cells.records import Cells, Places
from dpdb.engines.sources.cells.words import (
    HIGH_BITS,
    PackedCells,
    Words,
    alike,
    keep_last,
    words_before,
)
from dpdb.policy.csv.csv_format import ORDINARY, Punctuation
from dpdb.policy.timestamps import DAY, HOUR, MINUTE, SECOND, TIMESTAMPS
from dpdb.vectors.vector import Bools


def unquoted(cells: Cells, quote: bytes) -> Cells:
    """The cells without the quotes around them; those within are not looked at."""
    return unquoted_with_first(cells, quote)[0]


def unquoted_with_first(cells: Cells, quote: bytes) -> tuple[Cells, NDArray[np.uint8]]:
    """The cells without the quotes around them, and the byte that each then begins with."""
    raw = np.frombuffer(cells.text, np.uint8)
    first = raw[cells.starts]
    if not quote:
        return cells, first
    quoted = np.flatnonzero(first == ord(quote))
    quoted = quoted[cells.ends[quoted] - cells.starts[quoted] >= 2]
    quoted = quoted[raw[cells.ends[quoted] - 1] == ord(quote)]
    if not len(quoted):
        return cells, first
    starts, ends = cells.starts.copy(), cells.ends.copy()
    starts[quoted] += 1
    ends[quoted] -= 1
    first[quoted] = raw[starts[quoted]]
    return Cells(cells.text, starts, ends), first


def within_quotes(cells: Cells, quote: bytes) -> Cells:
    """The cells, without the quotes of those that have no other quote between two.

    Each still has the same text, as quotes have no part in what is between them.
    """
    if not quote:
        return cells
    inner = unquoted(cells, quote)
    changed = np.flatnonzero(inner.starts != cells.starts)
    others = changed[PackedCells.of(inner.among(changed)).having(ord(quote))]
    starts, ends = inner.starts.copy(), inner.ends.copy()
    starts[others], ends[others] = cells.starts[others], cells.ends[others]
    return Cells(cells.text, starts, ends)


_MOST_DIGITS = 15
_MINUS, _ZERO = b"-0"
_ZEROS, _ONES, _OVER_NINE = alike(_ZERO), alike(1), alike(0x76)
_BYTE_BITS, _WORD_BITS = np.uint64(8), np.uint64(64)
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
    left[pointed] = _BYTE_BITS
    shift = left[long]
    low[long] |= high >> (_WORD_BITS - shift)
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
    digits[rows] = (word & ~upto) | ((word & (upto >> _BYTE_BITS)) << _BYTE_BITS)
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


_DATE = len("YYYY-MM-DD")
_DIGIT, _SAME = 0x76, 0x7F
"""Added to a byte below 128 they set its high bit if it is over 9, and if it is over 0."""
_BYTE = np.uint64(0xFF)


def _word(text: bytes) -> np.uint64:
    return np.uint64(int.from_bytes(text, "little"))


_FORM, _OVER = _word(b"0000-00-"), _word(bytes([_DIGIT] * 4 + [_SAME] + [_DIGIT] * 2 + [_SAME]))
_DAY_FORM, _DAY_OVER = _word(b"00"), _word(bytes([_DIGIT] * 2))


def plain_dates(cells: Cells, quote: bytes = b'"') -> tuple[NDArray[np.float64], Bools]:
    """The days from 1970-01-01 to the cells' dates, and which cells are plain.

    A plain cell is, maybe within quotes, a date of the calendar written YYYY-MM-DD. What stands
    for another cell means nothing.
    """
    cells = unquoted(cells, quote)
    plain = cells.ends - cells.starts == _DATE
    year_month = words_before(cells, cells.ends - 2) ^ _FORM
    day = (words_before(cells, cells.ends) >> np.uint64(48)) ^ _DAY_FORM
    plain &= _fits(year_month, _OVER) & _fits(day, _DAY_OVER)
    # Each byte becomes the number that it and the next write.
    pairs = year_month * np.uint64(10) + (year_month >> np.uint64(8))
    year = (pairs & _BYTE) * np.uint64(100) + ((pairs >> np.uint64(16)) & _BYTE)
    month = (pairs >> np.uint64(40)) & _BYTE
    number = (day & _BYTE) * np.uint64(10) + (day >> np.uint64(8))
    days, dated = days_of_dates(
        year.astype(np.int64), month.astype(np.int64), number.astype(np.int64)
    )
    return days.astype(np.float64), plain & dated


def days_of_dates(
    year: NDArray[np.int64], month: NDArray[np.int64], day: NDArray[np.int64]
) -> tuple[NDArray[np.int64], Bools]:
    """The days from 1970-01-01 to dates, and which of them are in the calendar."""
    first_days = _first_days()
    dated = (year >= 1) & (year <= 9999) & (month >= 1) & (month <= 12)
    place = np.where(dated, year * 12 + month - 1, 0)
    days = first_days[place] + day - 1
    return days, dated & (day >= 1) & (days < first_days[place + 1])


def _fits(digits: Words, over: np.uint64) -> Bools:
    """Where no byte is over what it may be."""
    return np.asarray(((digits + over) | digits) & HIGH_BITS == 0)


@cache
def _first_days() -> NDArray[np.int64]:
    """The first days of all months from that of the year 0, in days from 1970-01-01."""
    months = np.arange("0000-01", "10000-02", dtype="datetime64[M]")
    return months.astype("datetime64[D]").astype(np.int64)


_CLOCK = len(" HH:MM:SS")
_DIGITS, _COLONS = [1, 2, 4, 5, 7, 8], [3, 6]
"""The places in a clock time, the first of which is a space or a T."""
_COLON, _POINT = b":."
_DECIMALS = 6
_TENS = 10 ** np.arange(_DECIMALS - 1, -1, -1)


def plain_timestamps(cells: Cells, quote: bytes = b'"') -> tuple[NDArray[np.float64], Bools]:
    """The cells' timestamps, and which cells are plain.

    A plain cell is, maybe within quotes, `YYYY-MM-DD HH:MM:SS` or the same with a T, with up to
    six decimals or none. What stands for another cell means nothing.
    """
    cells = unquoted(cells, quote)
    decimals = cells.ends - cells.starts - _DATE - _CLOCK
    long = np.flatnonzero((decimals >= 0) & (decimals <= 1 + _DECIMALS))
    starts = cells.starts[long]
    raw = np.frombuffer(cells.text, np.uint8)
    days, dated = plain_dates(Cells(cells.text, starts, starts + _DATE), b"")
    seconds, timed = _seconds(raw[(starts + _DATE)[:, None] + np.arange(_CLOCK)])
    microseconds, fits = _microseconds(raw, starts + _DATE + _CLOCK, decimals[long])
    moments = days * DAY + (seconds * SECOND + microseconds)
    found, plain = np.zeros(len(cells)), np.zeros(len(cells), dtype=np.bool_)
    found[long] = moments
    plain[long] = dated & timed & fits & (TIMESTAMPS[0] <= moments) & (moments <= TIMESTAMPS[1])
    return found, plain


def _seconds(clocks: NDArray[np.uint8]) -> tuple[NDArray[np.int64], Bools]:
    """Clock times of nine bytes each as seconds, and which of them are such."""
    digits = clocks[:, _DIGITS] - np.uint8(_ZERO)
    good = (digits <= 9).all(axis=1) & (clocks[:, _COLONS] == _COLON).all(axis=1)
    good &= (clocks[:, 0] == ord(" ")) | (clocks[:, 0] == ord("T"))
    hour, minute, second = (digits[:, ::2].astype(np.int64) * 10 + digits[:, 1::2]).T
    good &= (hour <= 23) & (minute <= 59) & (second <= 59)
    return (hour * HOUR + minute * MINUTE) // SECOND + second, good


def _microseconds(
    raw: NDArray[np.uint8], starts: NDArray[Any], sizes: NDArray[Any]
) -> tuple[NDArray[np.int64], Bools]:
    """The microseconds that a point and the digits after it write, and where there are such."""
    places = np.arange(1 + _DECIMALS)
    inside = places < sizes[:, None]
    read = raw[np.where(inside, starts[:, None] + places, 0)]
    digits = read[:, 1:] - np.uint8(_ZERO)
    good = (sizes == 0) | ((sizes >= 2) & (read[:, 0] == _POINT))
    good &= ((digits <= 9) | ~inside[:, 1:]).all(axis=1)
    value = (np.where(inside[:, 1:], digits, 0).astype(np.int64) * _TENS).sum(axis=1)
    return value, good
