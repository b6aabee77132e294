"""The functions of numbers, texts and dates for one row, in Python's own words."""

from __future__ import annotations

import calendar
import datetime
import math
import re
from typing import Any

from dpdb.policy.numbers import CALENDAR

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
    return _days(_part, first, name)


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
