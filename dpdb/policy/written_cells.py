"""The cells that write values of programs, as a CSV file would have them."""

from __future__ import annotations

import math

from dpdb.policy.numbers import CALENDAR, iso_date
from dpdb.policy.timestamps import DAY, HOUR, MINUTE, SECOND

_WHOLE_DOUBLES = 2**53
"""Whole numbers below this are written without a point, also where a column holds floats."""
_MOST_BITS = 1_100
"""The most bits of an integer that can be a number: doubles have 1,024."""


def bool_cell(value: bool) -> bytes:
    """The cell that writes a boolean."""
    return b"true" if value else b"false"


def int_cell(value: int) -> bytes:
    """The cell that writes an integer."""
    return b"%d" % value if value.bit_length() <= _MOST_BITS else b""


def float_cell(value: float) -> bytes:
    """The cell that writes a number: a whole one as an integer, as one NULL makes floats of all."""
    if not math.isfinite(value):
        return b""
    if abs(value) < _WHOLE_DOUBLES and value == int(value):
        return b"%d" % int(value)
    return repr(value).encode()


def moment_cell(moment: int) -> bytes:
    """The cell that writes microseconds since 1970: midnight is the day alone."""
    days, time = divmod(moment, DAY)
    if not CALENDAR[0] <= days <= CALENDAR[1]:
        return b""
    if not time:
        return iso_date(days).encode()
    clock = f"{time // HOUR:02}:{time // MINUTE % 60:02}:{time // SECOND % 60:02}"
    fraction = f".{time % SECOND:06}".rstrip("0") if time % SECOND else ""
    return f"{iso_date(days)} {clock}{fraction}".encode()
