"""Timestamps as nearly every cell writes them, read many at a time."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpdb.engines.sources.csv_records import Cells
from dpdb.engines.sources.plain_dates import plain_dates
from dpdb.engines.sources.quoted_cells import unquoted
from dpdb.policy.timestamps import DAY, HOUR, MINUTE, SECOND, TIMESTAMPS
from dpdb.vectors.vector import Bools

_DATE, _CLOCK = len("YYYY-MM-DD"), len(" HH:MM:SS")
_DIGITS, _COLONS = [1, 2, 4, 5, 7, 8], [3, 6]
"""The places in a clock time, the first of which is a space or a T."""
_ZERO, _COLON, _POINT = b"0:."
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
