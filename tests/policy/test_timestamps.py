"""Timestamps: one grammar for cells, constants and bounds."""

from __future__ import annotations

import datetime
from datetime import UTC

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpdb.policy.numbers import MAGNITUDE_LIMIT
from dpdb.policy.timestamps import (
    DAY,
    FIRST_YEAR,
    LAST_YEAR,
    TIMESTAMPS,
    iso_timestamp,
    read_timestamp,
    timestamp_of,
)

EPOCH = datetime.datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND = datetime.timedelta(microseconds=1)
MOMENTS = st.datetimes(
    datetime.datetime(FIRST_YEAR, 1, 2),
    datetime.datetime(LAST_YEAR, 12, 30),
    timezones=st.just(UTC),
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1970-01-01 00:00:00", 0),
        ("1970-01-01T00:00:01Z", 1_000_000),
        ("1970-01-01 00:00", 0),
        ("1970-01-02", DAY),
        ("1969-12-31 23:59:59.999999", -1),
        ("1970-01-01 00:00:00.5", 500_000),
        ("1970-01-01 00:00:00,25", 250_000),
        ("1970-01-01 00:00:00.000001999", 1),
        ("1970-01-01 00:00:00 UTC", 0),
        ("1970-01-01 02:00:00+02:00", 0),
        ("1970-01-01 02:00:00+02", 0),
        ("1969-12-31T18:30-0530", 0),
        ("1970-01-01 00:00:01 +00:00", 1_000_000),
    ],
)
def test_what_a_text_says(text: str, expected: int) -> None:
    assert read_timestamp(text) == expected


@pytest.mark.parametrize(
    "text",
    ["", "noon", "1970", "1970-01", "1970-1-1", "1970-02-30 00:00", "1970-01-01 24:00:00",
     "1970-01-01 00:60", "1970-01-01 00:00:60", "1970-01-01 0:00", "1970-01-01  00:00",
     " 1970-01-01", "1970-01-01 ", "1970-01-01 00", "1970-01-01Z", "1970-01-01 00:00:00.",
     "1970-01-01 00:00:00.1234567890", "1970-01-01 00:00:00 Europe/Berlin", "1970-01-01 00:00+24:00",
     "1970-01-01 00:00:00+1:00", "1970-01-01 00:00 PM", "0", "1700000000", "١٩٧٠-01-01 00:00",
     "1699-12-31 23:59:59.999999", "2200-01-01", "1700-01-01 00:00+00:01", "9999-12-31 00:00:00"],
)  # fmt: skip
def test_what_is_no_timestamp(text: str) -> None:
    assert read_timestamp(text) is None


@given(MOMENTS, st.sampled_from(" T"), st.integers(-23 * 60, 23 * 60))
def test_every_timestamp_is_read_back(moment: datetime.datetime, between: str, offset: int) -> None:
    """In whatever time zone it is written, and as dpdb itself writes it."""
    zone = datetime.timezone(datetime.timedelta(minutes=offset))
    microseconds = (moment - EPOCH) // MICROSECOND
    assert read_timestamp(moment.astimezone(zone).isoformat(between)) == microseconds
    assert timestamp_of(moment.astimezone(zone)) == microseconds
    assert read_timestamp(iso_timestamp(microseconds)) == microseconds


def test_doubles_hold_every_microsecond() -> None:
    assert max(map(abs, TIMESTAMPS)) <= MAGNITUDE_LIMIT


@pytest.mark.parametrize("end", TIMESTAMPS)
def test_the_ends_are_written_and_nothing_beyond(end: int) -> None:
    assert read_timestamp(iso_timestamp(end)) == end
    beyond = end + (1 if end > 0 else -1)
    with pytest.raises(OverflowError):
        iso_timestamp(beyond)
