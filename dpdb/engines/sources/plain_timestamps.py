"""Timestamps as nearly every cell writes them, read many at a time."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpdb.engines.sources.csv_records import Cells
from dpdb.plan.calendar import civil, days_from_civil
from dpdb.policy.csv_format import ORDINARY, Punctuation
from dpdb.policy.timestamps import DAY, HOUR, MINUTE, SECOND, TIMESTAMPS

Bools = NDArray[np.bool_]
_LAYOUT = b"0000-00-00 00:00:00"
_DIGITS = [place for place, byte in enumerate(_LAYOUT) if byte == ord("0")]
_MARKS = [place for place in range(len(_LAYOUT)) if place not in _DIGITS and place != 10]
_ZERO, _POINT = b"0."
_DECIMALS = 6
_TENS = 10 ** np.arange(_DECIMALS, -1, -1)


def plain_timestamps(
    cells: Cells, punctuation: Punctuation = ORDINARY
) -> tuple[NDArray[np.float64], Bools]:
    """The cells' timestamps, and which cells are plain.

    A plain cell is, maybe within the file's quotes, `YYYY-MM-DD HH:MM:SS` or the same with a T,
    with up to six decimals or none. What stands for a cell that is not plain means nothing.
    """
    raw = np.frombuffer(cells.text, np.uint8)
    starts, ends = cells.starts.copy(), cells.ends.copy()
    if punctuation.quote:
        quote = ord(punctuation.quote)
        quoted = np.flatnonzero((raw[starts] == quote) & (ends - starts >= 2))
        quoted = quoted[raw[ends[quoted] - 1] == quote]
        starts[quoted] += 1
        ends[quoted] -= 1
    sizes = ends - starts
    found, plain = np.zeros(len(starts)), np.zeros(len(starts), dtype=np.bool_)
    long = np.flatnonzero((sizes >= len(_LAYOUT)) & (sizes <= len(_LAYOUT) + 1 + _DECIMALS))
    whole, good = _whole_seconds(raw[starts[long][:, None] + np.arange(len(_LAYOUT))])
    decimals, fits = _decimals(raw, starts[long] + len(_LAYOUT), sizes[long] - len(_LAYOUT))
    moments = whole + decimals
    found[long] = moments
    plain[long] = good & fits & (TIMESTAMPS[0] <= moments) & (moments <= TIMESTAMPS[1])
    return found, plain


def _whole_seconds(cells: NDArray[np.uint8]) -> tuple[NDArray[np.int64], Bools]:
    """Rows of nineteen bytes as timestamps, and which of them are such."""
    digits = cells[:, _DIGITS] - np.uint8(_ZERO)
    layout = np.frombuffer(_LAYOUT, np.uint8)
    good = (digits <= 9).all(axis=1) & (cells[:, _MARKS] == layout[_MARKS]).all(axis=1)
    good &= (cells[:, 10] == ord(" ")) | (cells[:, 10] == ord("T"))
    pairs = digits[:, ::2].astype(np.int64) * 10 + digits[:, 1::2]
    century, of_century, month, day, hour, minute, second = pairs.T
    year = century * 100 + of_century
    days = days_from_civil(year, month, day)
    # There is no 30 February: the day so many after the last of January is in March.
    same = [found == part for found, part in zip(civil(days), (year, month, day), strict=True)]
    good &= same[0] & same[1] & same[2] & (hour <= 23) & (minute <= 59) & (second <= 59)
    return days * DAY + hour * HOUR + minute * MINUTE + second * SECOND, good


def _decimals(
    raw: NDArray[np.uint8], starts: NDArray[Any], sizes: NDArray[Any]
) -> tuple[NDArray[np.int64], Bools]:
    """The microseconds that a point and the digits after it write, where there are such."""
    places = np.arange(1 + _DECIMALS)
    inside = places < sizes[:, None]
    read = raw[np.where(inside, starts[:, None] + places, 0)]
    digits = read[:, 1:] - np.uint8(_ZERO)
    good = (sizes == 0) | ((sizes >= 2) & (read[:, 0] == _POINT))
    good &= ((digits <= 9) | ~inside[:, 1:]).all(axis=1)
    value = (np.where(inside[:, 1:], digits, 0).astype(np.int64) * _TENS[1:]).sum(axis=1)
    return value, good
