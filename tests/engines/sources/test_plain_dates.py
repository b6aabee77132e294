"""Dates that are read many at a time are those of the grammar."""

from __future__ import annotations

from itertools import product
from unittest.mock import patch

from hypothesis import given, settings
from hypothesis import strategies as st

from dpdb.engines.sources.cells.plain import plain_dates
from dpdb.policy.catalog import Column, Kind
from dpdb.vectors import grammar
from tests.support.csv_files import cells_of, plain, read

YEARS = (0, 1, 4, 1582, 1900, 1969, 1970, 2000, 2023, 2024, 9999)


def test_all_days_of_some_years():
    raws = [b"%04d-%02d-%02d" % day for day in product(YEARS, range(14), range(33))]
    days, known = plain_dates(cells_of(raws))
    wanted = [grammar.date(raw.decode()) for raw in raws]
    found = [int(day) if there else None for day, there in zip(days, known, strict=True)]
    assert found == wanted


DATES = st.dates().map(lambda day: day.isoformat().encode())
SPOILT = st.tuples(DATES, st.integers(0, 9), st.integers(0, 255)).map(
    lambda case: case[0][: case[1]] + bytes([case[2]]) + case[0][case[1] + 1 :]
)


@settings(max_examples=30, deadline=None)
@given(st.lists(DATES | SPOILT | st.binary(max_size=12), min_size=20, max_size=20))
def test_what_is_plain_is_what_the_grammar_says(raws):
    for raw, day, known in zip(raws, *plain_dates(cells_of(raws)), strict=True):
        wanted = grammar.date(grammar.text(raw))
        assert not known or day == wanted
        assert known or wanted is None or raw.startswith(b'"')


def test_dates_are_read_many_at_a_time(tmp_path):
    with patch.object(grammar, "date", side_effect=AssertionError):
        column = read(tmp_path / "t.csv", ["1970-01-02", "2024-02-29"], Column("x", Kind.DATE))
    assert plain(column) == [1, 19782]
