"""Dates as nearly every cell writes them, read many at a time."""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray

from dpdb.engines.sources.cell_words import HIGH_BITS, Words, words_before
from dpdb.engines.sources.csv_records import Cells
from dpdb.engines.sources.quoted_cells import unquoted
from dpdb.vectors.vector import Bools

_LENGTH = len("YYYY-MM-DD")
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
    plain = cells.ends - cells.starts == _LENGTH
    year_month = words_before(cells, cells.ends - 2) ^ _FORM
    day = (words_before(cells, cells.ends) >> np.uint64(48)) ^ _DAY_FORM
    plain &= _fits(year_month, _OVER) & _fits(day, _DAY_OVER)
    # Each byte becomes the number that it and the next write.
    pairs = year_month * np.uint64(10) + (year_month >> np.uint64(8))
    year = (pairs & _BYTE) * np.uint64(100) + ((pairs >> np.uint64(16)) & _BYTE)
    month = (pairs >> np.uint64(40)) & _BYTE
    plain &= (year >= 1) & (month >= 1) & (month <= 12)
    number = (day & _BYTE) * np.uint64(10) + (day >> np.uint64(8))
    first_days = _first_days()
    place = np.where(plain, year * np.uint64(12) + month - np.uint64(1), 0).astype(np.intp)
    days = first_days[place] + number.astype(np.intp) - 1
    plain &= (number >= 1) & (days < first_days[place + 1])
    return days.astype(np.float64), plain


def _fits(digits: Words, over: np.uint64) -> Bools:
    """Where no byte is over what it may be."""
    return np.asarray(((digits + over) | digits) & HIGH_BITS == 0)


@cache
def _first_days() -> NDArray[np.int64]:
    """The first days of all months from that of the year 0, in days from 1970-01-01."""
    months = np.arange("0000-01", "10000-02", dtype="datetime64[M]")
    return months.astype("datetime64[D]").astype(np.int64)
