"""The clock: hours, minutes and seconds of timestamps, as arithmetic on whole numbers.

Timestamps are microseconds since 1970-01-01 00:00 UTC. As in the calendar, the operators mean the
same for Python's integers and for whole arrays of integers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dpdb.plan.calendar import STARTS, months_later
from dpdb.policy.timestamps import DAY, HOUR, MINUTE, SECOND

Instants = Any
"""A whole number of microseconds, or an array of them."""

UNITS = {
    "day": DAY,
    "hour": HOUR,
    "minute": MINUTE,
    "second": SECOND,
    "millisecond": SECOND // 1000,
    "microsecond": 1,
}
"""The microseconds of the units of time that are all equally long."""

CLOCK: dict[str, Callable[[Instants], Instants]] = {
    "hour": lambda instants: instants % DAY // HOUR,
    "minute": lambda instants: instants % HOUR // MINUTE,
    "second": lambda instants: instants % MINUTE // SECOND,
    "hour_index": lambda instants: instants // HOUR,
    "minute_index": lambda instants: instants // MINUTE,
    "second_index": lambda instants: instants // SECOND,
    "millisecond_index": lambda instants: instants // UNITS["millisecond"],
    "microsecond_index": lambda instants: instants,
}
"""The number that each part of a timestamp is; an index counts on from 1970-01-01 00:00."""

CLOCK_CYCLES = {"hour": (0, 23), "minute": (0, 59), "second": (0, 59)}
"""The least and the greatest number of the parts that begin again; the others never fall."""


def unit_start(unit: str, instants: Instants) -> Instants:
    """When the unit of time began that a timestamp is in."""
    if unit in UNITS:
        return instants // UNITS[unit] * UNITS[unit]
    return STARTS[unit](instants // DAY) * DAY


def days_months_later(instants: Instants, months: int) -> Instants:
    """The day so many months after that of a timestamp."""
    return months_later(instants // DAY, months)


def elapsed(unit: str, start: Instants, end: Instants) -> Instants:
    """How many whole units of time there are from one timestamp to another; below 0 backwards."""
    passed = end - start
    sign = (passed > 0) * 2 - 1
    return sign * (sign * passed // UNITS[unit])
