"""The calendar and the clock: days, months and seconds as whole numbers.

Dates are days from 1970-01-01 of the proleptic Gregorian calendar. The operators used here mean the
same for Python's integers, as in the ranges of a plan, and for whole arrays of integers, as in the
evaluator: so one place knows the calendar. The algorithm is that of [Hin13]: it counts years from
1 March, so that the day added in leap years comes last.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dpdb.policy.timestamps import DAY, HOUR, MINUTE, SECOND

Days = Any
"""A whole number, or an array of them."""

_ERA = 146_097
"""The days of 400 years, after which the calendar repeats."""
_SHIFT = 719_468
"""The days from 0000-03-01 to 1970-01-01."""


def _civil(days: Days) -> tuple[Days, Days, Days]:
    """The year, the month from 1 and the day from 1 of a date."""
    era, day = divmod(days + _SHIFT, _ERA)
    year = (day - day // 1_460 + day // 36_524 - day // 146_096) // 365
    day = day - (365 * year + year // 4 - year // 100)
    since_march = (5 * day + 2) // 153
    month = (since_march + 2) % 12 + 1
    return year + era * 400 + (month <= 2), month, day - (153 * since_march + 2) // 5 + 1


def _days_from_civil(year: Days, month: Days, day: Days) -> Days:
    """The date of a year, a month and a day."""
    era, year = divmod(year - (month <= 2), 400)
    since_march = (month + 9) % 12
    day = (153 * since_march + 2) // 5 + day - 1
    return era * _ERA + year * 365 + year // 4 - year // 100 + day - _SHIFT


def _year(days: Days) -> Days:
    return _civil(days)[0]


def _month(days: Days) -> Days:
    return _civil(days)[1]


def _month_index(days: Days) -> Days:
    year, month, _ = _civil(days)
    return year * 12 + month - 1


def _week(days: Days) -> Days:
    """The week of ISO 8601: the year's first Thursday is in week 1."""
    thursday = _monday(days) + 3
    return (thursday - _days_from_civil(_year(thursday), 1, 1)) // 7 + 1


def _monday(days: Days) -> Days:
    """The Monday on the date or before it; 1970-01-01 was a Thursday."""
    return days - (days + 3) % 7


PARTS: dict[str, Callable[[Days], Days]] = {
    "year": _year,
    "quarter": lambda days: (_month(days) + 2) // 3,
    "month": _month,
    "week": _week,
    "day": lambda days: _civil(days)[2],
    "dayofweek": lambda days: (days + 4) % 7,
    "isodow": lambda days: (days + 3) % 7 + 1,
    "dayofyear": lambda days: days - _days_from_civil(_year(days), 1, 1) + 1,
    "quarter_index": lambda days: _month_index(days) // 3,
    "month_index": _month_index,
    "week_index": lambda days: (days + 3) // 7,
}
"""The number that each part of a date is; an index counts on from year to year."""

CYCLES = {
    "quarter": (1, 4),
    "month": (1, 12),
    "week": (1, 53),
    "day": (1, 31),
    "dayofweek": (0, 6),
    "isodow": (1, 7),
    "dayofyear": (1, 366),
}
"""The least and the greatest number of the parts that begin again; the others never fall."""

STARTS: dict[str, Callable[[Days], Days]] = {
    "year": lambda days: _days_from_civil(_year(days), 1, 1),
    "quarter": lambda days: _days_from_civil(_year(days), (_month(days) - 1) // 3 * 3 + 1, 1),
    "month": lambda days: _days_from_civil(_year(days), _month(days), 1),
    "week": _monday,
}
"""The first day of the year, quarter, month or week that a date is in."""


def months_later(days: Days, months: int) -> Days:
    """The date so many months later, or earlier; the last day of a month that is shorter."""
    year, month, day = _civil(days)
    year, month = _split(year * 12 + month - 1 + months)
    following, next_month = _split(year * 12 + month)
    longest = _days_from_civil(following, next_month, 1) - _days_from_civil(year, month, 1)
    beyond = (day - longest) * (day > longest)
    return _days_from_civil(year, month, day - beyond)


def _split(index: Days) -> tuple[Days, Days]:
    """The year and the month of the index of a month."""
    return index // 12, index % 12 + 1


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
    """The number of whole units of time from one timestamp to another; below 0 backwards."""
    passed = end - start
    sign = (passed > 0) * 2 - 1
    return sign * (sign * passed // UNITS[unit])
