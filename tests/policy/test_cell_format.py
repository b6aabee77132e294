"""Formats of cells: the text of one cell that the plain grammar then reads."""

from __future__ import annotations

import datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpdb.errors import PolicyError, UsageError
from dpdb.policy.catalog import Kind
from dpdb.policy.cell_format import UNREAD, CellFormat, check_formats, reformatted
from dpdb.policy.reading.reader import read_policy
from dpdb.policy.timestamps import read_timestamp

FORMATS = [
    "%m/%d/%Y", "%d.%m.%y", "%Y%m%d", "%d %b %Y", "%B %d, %Y", "%Y-%j", "%m/%d/%Y %H:%M",
    "%Y-%m-%dT%H:%M:%S.%f", "%d-%b-%y %I:%M:%S %p", "100%% %Y%m%d",
]  # fmt: skip
MOMENTS = st.datetimes(datetime.datetime(1969, 1, 1), datetime.datetime(2068, 12, 31))


@given(MOMENTS, st.sampled_from(FORMATS))
def test_a_format_reads_what_strftime_writes(moment: datetime.datetime, written: str) -> None:
    text = moment.strftime(written)
    read = datetime.datetime.strptime(text, written)
    found = reformatted(text, [written])
    assert found is not None
    assert datetime.datetime.fromisoformat(found) == read


@given(st.text("0123456789/ :-aAmMpP", max_size=12), st.sampled_from(FORMATS))
def test_a_text_that_is_read_is_one_of_a_day(text: str, written: str) -> None:
    """No text raises, and none is read that strptime does not read."""
    found = reformatted(text, [written])
    if found is not None:
        read = datetime.datetime.strptime(text, written)
        assert datetime.datetime.fromisoformat(found) == read


@pytest.mark.parametrize(
    "text",
    [
        *("", "9/30/90", "9/30/19900", "09/30/1990 ", "2/30/1990", "13/1/1990", "0/1/1990"),
        *("9//1990", "9/30/0000", "a/30/1990", "\u0669/30/1990", "9/30/1990/", "1" * 10_000),
    ],
)
def test_texts_that_a_format_does_not_read(text: str) -> None:
    assert reformatted(text, ["%m/%d/%Y"]) is None


@pytest.mark.parametrize("text", ["23:59:60", "24:00:00", "23:60:00", "1:2:3:4", "12"])
def test_times_that_are_none(text: str) -> None:
    form = CellFormat(("%Y-%m-%d %H:%M:%S",))
    assert read_timestamp(form.plain(f"2020-01-02 {text}", Kind.TIMESTAMP)) is None
    assert form.plain(f"2020-01-02 {text}", Kind.DATE) == UNREAD


@pytest.mark.parametrize("zone", ["+24:00", "-00:60", "+2:00", "UTC", ""])
def test_zones_that_are_none(zone: str) -> None:
    assert reformatted(f"2020-01-02 12:00{zone}", ["%Y-%m-%d %H:%M%z"]) is None
    assert reformatted("2020-01-02 12:00+23:59", ["%Y-%m-%d %H:%M%z"]) is not None


def test_the_first_format_that_fits_is_used() -> None:
    formats = ["%m/%d/%Y", "%Y-%m-%d"]
    assert reformatted("9/3/1990", formats) == "1990-09-03"
    assert reformatted("1990-09-03", formats) == "1990-09-03"
    assert reformatted("3 Mar 1990", [*formats, "%d %b %Y"]) == "1990-03-03"
    assert CellFormat(("%m/%d/%Y %H:%M",)).plain("9/3/1990 7:05", Kind.DATE) == "1990-09-03"


@pytest.mark.parametrize(
    ("written", "problem"),
    [
        ("%m/%d", "has a year"), ("%Y", "has %m and %d, or %j"), ("%Y-%m-%d %Y", "says again"),
        ("%Y-%m-%d %w", "%w is no directive"), ("%Y-%m-%d %I", "%I goes with %p"), ("%", "no directive"),
        ("%Y %y-%m-%d", "year twice"), ("%Y-%m-%d %M", "minutes go with hours"), ("%Y-%m-%d-%j", "twice"),
        ("%Y-%m-%d %H:%M.%f", "%f goes with %S"),
    ],
)  # fmt: skip
def test_formats_that_are_none(written: str, problem: str) -> None:
    with pytest.raises(UsageError, match=problem):
        check_formats([written])


def test_formats_that_turn_day_and_month_are_refused_together() -> None:
    with pytest.raises(UsageError, match="read the same texts as different dates"):
        check_formats(["%m/%d/%Y", "%d/%m/%Y"])


@pytest.mark.parametrize(
    ("form", "cells"),
    [
        (
            CellFormat(thousands=",", prefix="$"),
            {
                "1,234": "1234", "$1,234.50": "1234.50", "-$5": "-5", "$-5": "-5", "($1,000)": "-1000",
                " 12 ": "12", "1234567": "1234567", "1,23": "?", "1,2345": "?", "12,34,567": "?",
                "(5": "?", "--5": "?", "": "", "$": "?", ".": "?", "1,000e2": "1000e2", ".5": ".5",
                "$ 7.": "7.", "(-5)": "?", "5$": "?", "1,000,00": "?",
            },
        ),
        (CellFormat(percent=True), {"12 %": "12e-2", "12.5%": "12.5e-2", "3": "3e-2", "1e3": "?"}),
        (CellFormat(suffix="kg"), {"12 kg": "12", "12kg": "12", "12": "12", "12 g": "?"}),
        (CellFormat(null=("NA", "-")), {"NA": "", " - ": "", "na": "na", "5": "5"}),
    ],
)  # fmt: skip
def test_numbers(form: CellFormat, cells: dict[str, str]) -> None:
    assert {text: form.plain(text, Kind.NUMBER) for text in cells} == cells


def test_marks_of_other_countries() -> None:
    assert CellFormat(thousands=".").plain("1.234,5", Kind.NUMBER, ",") == "1234.5"
    assert CellFormat(thousands="\u202f").plain("1\u202f234,5", Kind.NUMBER, ",") == "1234.5"


def test_a_text_is_null_as_it_stands() -> None:
    form = CellFormat(null=("NA",))
    assert [form.plain(text, Kind.TEXT) for text in ("NA", " NA", "na")] == ["", " NA", "na"]


POLICY = """
[tables.t]
{table}
[tables.t.columns]
d = {{ type = "date"{date} }}
x = {{ type = "number", bounds = [0, 9]{number} }}
w = {{ type = "text" }}
"""


def test_a_table_gives_its_nulls_to_columns_that_declare_none(tmp_path: Path) -> None:
    path = tmp_path / "t.toml"
    path.write_text(
        POLICY.format(
            table='null = ["NA", "-"]', date=', format = "%d.%m.%Y"', number=', null = ""'
        )
    )
    date, number, word = read_policy(path).tables[0].columns
    assert date.cells == CellFormat(("%d.%m.%Y",), ("NA", "-"))
    assert number.cells == CellFormat()
    assert word.cells == CellFormat(null=("NA", "-"))


@pytest.mark.parametrize(
    ("table", "date", "number", "problem"),
    [
        ("", ', format = "%x"', "", "line 5.*%x is no directive"),
        ("", ', format = ["%m/%d/%Y", "%d/%m/%Y"]', "", "line 5.*different dates"),
        ("", "", ', format = "%Y-%m-%d"', "format goes with a date or a timestamp"),
        ("", ', thousands = ","', "", "thousands goes with a number"),
        ("", "", ', thousands = "x"', "thousands is one of"),
        ('decimal = ","\nseparator = ";"', "", ', thousands = ","', "another mark than decimal"),
        ("", "", ", percent = 1", "percent is true or false"),
        ("", "", ', prefix = "5"', "prefix is a text without digits"),
        ("null = 7", "", "", "null is a list of texts"),
    ],
)  # fmt: skip
def test_mistakes_name_their_line(
    tmp_path: Path, table: str, date: str, number: str, problem: str
) -> None:
    path = tmp_path / "t.toml"
    path.write_text(POLICY.format(table=table, date=date, number=number))
    with pytest.raises(PolicyError, match=problem):
        read_policy(path)
