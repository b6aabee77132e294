"""Timestamps: whole microseconds since 1970-01-01 00:00 UTC, how they are read and written."""

from __future__ import annotations

import datetime
import re

from dpdb.policy.catalog import Kind
from dpdb.policy.numbers import days_of, iso_date

SECOND = 1_000_000
MINUTE = 60 * SECOND
HOUR = 60 * MINUTE
DAY = 24 * HOUR
FIRST_YEAR, LAST_YEAR = 1700, 2199
TIMESTAMPS = (
    days_of(datetime.date(FIRST_YEAR, 1, 1)) * DAY,
    days_of(datetime.date(LAST_YEAR + 1, 1, 1)) * DAY - 1,
)
"""The first and the last timestamp there is: doubles hold every microsecond between them."""

# All repetitions are possessive: no part of a text is read twice, however long it is.
_TIMESTAMP = re.compile(
    r"(?P<date>[0-9]{4}-[0-9]{2}-[0-9]{2})"
    r"(?:[ Tt](?P<hour>[0-9]{2}):(?P<minute>[0-9]{2})"
    r"(?::(?P<second>[0-9]{2})(?:[.,](?P<fraction>[0-9]{1,9}+))?+)?+"
    r"(?P<zone>[Zz]| ?UTC| ?(?P<sign>[+-])(?P<hours>[0-9]{2})(?::?(?P<minutes>[0-9]{2}))?+)?+)?+"
)


def read_timestamp(text: str) -> int | None:
    """The timestamp that `text` writes in ISO 8601; None for other texts.

    A date alone is its midnight. What has no offset from UTC is in UTC. Digits after the sixth
    decimal of a second are cut off.
    """
    written = _read(text)
    return None if written is None else _within(written[0] * DAY + written[1])


def read_day(text: str) -> int | None:
    """The date of a timestamp as `text` writes it, whatever its offset is; None for other texts.

    It is in days from 1970-01-01.
    """
    written = _read(text)
    return None if written is None else written[0]


def _read(text: str) -> tuple[int, int] | None:
    """The days from 1970-01-01 that a timestamp writes, and the microseconds from then, in UTC."""
    parts = _TIMESTAMP.fullmatch(text)
    if parts is None:
        return None
    hour, minute, second, hours, minutes = (
        int(parts[name] or 0) for name in ("hour", "minute", "second", "hours", "minutes")
    )
    if hour > 23 or minute > 59 or second > 59 or hours > 23 or minutes > 59:
        return None
    try:
        day = datetime.date.fromisoformat(parts["date"])
    except ValueError:  # 30 February
        return None
    fraction = int((parts["fraction"] or "").ljust(6, "0")[:6])
    offset = (hours * HOUR + minutes * MINUTE) * (-1 if parts["sign"] == "-" else 1)
    return days_of(day), hour * HOUR + minute * MINUTE + second * SECOND + fraction - offset


def names_zone(text: str) -> bool:
    """Whether `text` is a timestamp that says how far from UTC it is."""
    parts = _TIMESTAMP.fullmatch(text)
    return parts is not None and parts["zone"] is not None


def timestamp_of(moment: datetime.date) -> int | None:
    """The timestamp of a `datetime`, or of a date's midnight; None where there is none.

    A `datetime` without a time zone is in UTC.
    """
    return read_timestamp(moment.isoformat())


def _within(moment: int) -> int | None:
    first, last = TIMESTAMPS
    return moment if first <= moment <= last else None


def iso_timestamp(moment: int) -> str:
    """A timestamp as `YYYY-MM-DD HH:MM:SS`, with decimals of a second where it has some.

    Raises OverflowError for one that is outside `TIMESTAMPS`.
    """
    if _within(moment) is None:
        raise OverflowError
    days, time = divmod(moment, DAY)
    seconds, fraction = divmod(time, SECOND)
    clock = f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"
    decimals = f".{fraction:06}".rstrip("0") if fraction else ""
    return f"{iso_date(days)} {clock}{decimals}"


def iso_text(value: int, kind: Kind) -> str:
    """A date or a timestamp as text; raises OverflowError outside the years 1 to 9999."""
    return iso_timestamp(value) if kind is Kind.TIMESTAMP else iso_date(value)
