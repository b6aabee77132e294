"""The functions of numbers, texts and dates for one row, in Python's own words."""

from __future__ import annotations

import calendar
import datetime
import math
import re
from fractions import Fraction
from typing import Any

from dpdb.policy.numbers import CALENDAR
from dpdb.policy.timestamps import TIMESTAMPS

_EPOCH = datetime.date(1970, 1, 1)
_REAL = {
    "sqrt": math.sqrt, "cbrt": math.cbrt, "exp": math.exp, "ln": math.log, "log2": math.log2,
    "log10": math.log10, "sin": math.sin, "cos": math.cos, "tan": math.tan, "asin": math.asin,
    "acos": math.acos, "atan": math.atan, "atan2": math.atan2, "power": math.pow,
}  # fmt: skip


def called(name: str, arguments: list[Any]) -> Any:
    """The value of a call whose arguments are not NULL; AssertionError for an unknown name."""
    if name in _REAL:
        try:
            value = _REAL[name](*arguments)
        except (ValueError, OverflowError):
            return None
        return value + 0.0 if math.isfinite(value) else None
    first, *rest = arguments
    match name:
        case "sign":
            return float((first > 0) - (first < 0))
        case "trunc":
            return math.trunc(first) + 0.0
        case "date_trunc":
            return _days(_start, rest[0], first)
        case "months_later":
            return _days(_later, first, int(rest[0]))
        case "midnight":
            return _known(_EPOCH_MOMENT + datetime.timedelta(days=int(first)))
        case "timestamp_trunc":
            return _moments(_moment_start, rest[0], first)
        case "timestamp_months_later":
            return _moments(_moment_later, first, int(rest[0]))
        case "elapsed":
            ends = [_moments(_itself, each) for each in rest]
            unit = datetime.timedelta(**{f"{first}s": 1}) // datetime.timedelta(microseconds=1)
            return (
                None if None in ends else float(math.trunc(Fraction(int(ends[1] - ends[0]), unit)))
            )
        case "position":
            return float(first.find(rest[0]) + 1)
        case "starts_with":
            return first[: len(rest[0])] == rest[0]
        case "ends_with":
            return first[len(first) - len(rest[0]) :] == rest[0] and len(rest[0]) <= len(first)
        case "regexp_contains":
            return re.search(rest[0].replace("$", r"\Z"), first, re.ASCII) is not None
        case "contains":
            return rest[0] in first
        case "trim":
            return first.strip(*(rest or " "))
        case "ltrim":
            return first.lstrip(*(rest or " "))
        case "rtrim":
            return first.rstrip(*(rest or " "))
        case "left":
            return first[: int(rest[0])]
        case "right":
            number = int(rest[0])
            return first[-number:] if number else ""
        case "replace":
            changed = first.replace(*rest) if rest[0] else first
            return changed if len(changed) <= max(1_000, len(first)) else None
        case "split_part":
            parts, number = first.split(rest[0]), int(rest[1])
            inside = 1 <= abs(number) <= len(parts)
            return parts[number - (number > 0)] if inside else ""
    if name in _OF_MOMENTS:
        return _moments(_OF_MOMENTS[name], first)
    return _days(_part, first, name)


_EPOCH_MOMENT = datetime.datetime(1970, 1, 1)
_MICROSECOND = datetime.timedelta(microseconds=1)
_OF_MOMENTS = {
    "day_of": lambda moment: (moment.date() - _EPOCH).days,
    "hour": lambda moment: moment.hour,
    "minute": lambda moment: moment.minute,
    "second": lambda moment: moment.second,
    **{f"{unit}_index": lambda moment, unit=unit:
       (moment - _EPOCH_MOMENT) // datetime.timedelta(**{f"{unit}s": 1})
       for unit in ("hour", "minute", "second", "millisecond", "microsecond")},
}  # fmt: skip
"""What each part of a timestamp is."""


def _moments(function: Any, microseconds: float, *details: Any) -> float | None:
    """A function of the timestamp, which is NULL outside the years of timestamps."""
    if not TIMESTAMPS[0] <= microseconds <= TIMESTAMPS[1]:
        return None
    found = function(_EPOCH_MOMENT + datetime.timedelta(microseconds=int(microseconds)), *details)
    if isinstance(found, datetime.datetime):
        return float((found - _EPOCH_MOMENT) // _MICROSECOND)
    return None if found is None else float(found)


def _known(moment: datetime.datetime) -> float | None:
    """A timestamp as microseconds, if there is such a one."""
    microseconds = (moment - _EPOCH_MOMENT) // _MICROSECOND
    return float(microseconds) if TIMESTAMPS[0] <= microseconds <= TIMESTAMPS[1] else None


def _itself(moment: datetime.datetime) -> datetime.datetime:
    return moment


def _moment_start(moment: datetime.datetime, unit: str) -> datetime.datetime:
    if unit in ("year", "quarter", "month", "week"):
        return datetime.datetime.combine(_start(moment.date(), unit), datetime.time())
    if unit == "millisecond":
        return moment.replace(microsecond=moment.microsecond // 1000 * 1000)
    smaller = {"day": "hour", "hour": "minute", "minute": "second", "second": "microsecond"}
    while unit in smaller:
        unit = smaller[unit]
        moment = moment.replace(**{unit: 0})
    return moment


def _moment_later(moment: datetime.datetime, months: int) -> float | None:
    days = _later(moment.date(), months)
    assert isinstance(days, int)
    if not TIMESTAMPS[0] <= days * 86_400_000_000 <= TIMESTAMPS[1]:
        return None
    time = moment - datetime.datetime.combine(moment.date(), datetime.time())
    return float(days * 86_400_000_000 + time // _MICROSECOND)


def _days(function: Any, days: float, detail: Any) -> float | None:
    """A function of the date, which is NULL outside the calendar."""
    if not CALENDAR[0] <= days <= CALENDAR[1]:
        return None
    found = function(_EPOCH + datetime.timedelta(days=int(days)), detail)
    return float((found - _EPOCH).days if isinstance(found, datetime.date) else found)


def _part(date: datetime.date, name: str) -> int:
    months = date.year * 12 + date.month - 1
    return {
        "year": date.year,
        "quarter": math.ceil(date.month / 3),
        "month": date.month,
        "week": date.isocalendar().week,
        "day": date.day,
        "dayofweek": date.isoweekday() % 7,
        "isodow": date.isoweekday(),
        "dayofyear": date.timetuple().tm_yday,
        "quarter_index": months // 3,
        "month_index": months,
        "week_index": (date - datetime.date(1969, 12, 29)).days // 7,
    }[name]


def _start(date: datetime.date, unit: str) -> datetime.date:
    match unit:
        case "year":
            return date.replace(month=1, day=1)
        case "quarter":
            return date.replace(month=(date.month - 1) // 3 * 3 + 1, day=1)
        case "month":
            return date.replace(day=1)
    return date - datetime.timedelta(days=date.weekday())


def _later(date: datetime.date, months: int) -> datetime.date | int:
    """It may leave the calendar of `datetime`, whose years repeat after 400."""
    eras, index = divmod(date.year * 12 + date.month - 1 + months, 4_800)
    year, month = 2_000 + index // 12, index % 12 + 1
    day = min(date.day, calendar.monthrange(year, month)[1])
    return (datetime.date(year, month, day) - _EPOCH).days + (eras - 5) * 146_097
