import datetime
import math

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dpdb.vectors.grammar import boolean, date, number
from tests.support.texts import CHARACTERS

DIGITS = "0123456789"

NUMBERS = {
    "0": 0.0,
    "007": 7.0,
    "+5": 5.0,
    "-12": -12.0,
    "1.": 1.0,
    ".5": 0.5,
    "-.5e1": -5.0,
    "1.e2": 100.0,
    "1E+05": 100000.0,
    " 42\t": 42.0,
    "\r\n42\v\f": 42.0,
    "9007199254740993": 2.0**53,
    "18446744073709551616": 2.0**64,
    "123456789012345678901234567890": 123456789012345678901234567890.0,
    "0.1": 0.1,
    "2.2250738585072011e-308": 2.2250738585072011e-308,
    "1e-400": 0.0,
    "0e999": 0.0,
    "1.7976931348623157e308": 1.7976931348623157e308,
}
NO_NUMBERS = [
    "", " ", ".", "+", "-", "e5", ".e5", "1e", "1e+", "1e1.5", "--1", "+-1", "1-", "1 2", "1.2.3",
    "- 1", "1 e5", "1_000", "1,000", "1'000", "0x1F", "0b1", "1f", "1j", "1d0", "50%", "$5",
    "inf", "-inf", "Infinity", "nan", "NaN", "NA", "null", "true", "True", "1e400", "-1e400",
    "٣", "１２", "²", "½", "1٠", "\u00a05", "5\u2003", "\ufeff5", "−5", "5\x1c", "5\x85", "5\0",
]  # fmt: skip


@pytest.mark.parametrize(("text", "value"), NUMBERS.items())
def test_a_number_is_correctly_rounded(text, value):
    assert number(text) == value


@pytest.mark.parametrize("text", NO_NUMBERS)
def test_what_is_no_number(text):
    assert number(text) is None


def test_there_is_one_zero():
    assert math.copysign(1, number("-0")) == 1


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_every_double_is_read_back(value):
    assert number(repr(value)) == value


@given(
    st.text(st.sampled_from(DIGITS + "+-.eE _xinfaN٣\0"), max_size=12)
    | st.text(CHARACTERS, max_size=8)
)
@example("1" * 5000)
def test_a_number_is_what_python_reads_written_with_few_characters(text):
    stripped = text.strip(" \t\n\v\f\r")
    plain = set(stripped) <= set(DIGITS + "+-.eE")
    try:
        value = float(stripped) if plain else None
    except ValueError:
        value = None
    assert number(text) == (value if value is not None and math.isfinite(value) else None)


def test_a_long_cell_takes_no_longer_than_its_length():
    assert number("1" * 1_000_000 + "x") is None
    assert number(" " * 1_000_000) is None


def test_dates():
    assert date("1970-01-01") == 0
    assert date("1969-12-31") == -1
    assert date("2024-02-29") == 19782
    assert date("0001-01-01") == -719162
    assert date("9999-12-31") == 2932896


@pytest.mark.parametrize(
    "text",
    ["", "2023-02-29", "2024-13-01", "0000-01-01", "2024-1-01", "20240101", "2024-W01-1",
     "24-01-01", "2024-01-01T00:00:00", " 2024-01-01", "2024-01-01\n",
     "01/02/2024", "٢٠٢٤-٠١-٠١", "19782"],
)  # fmt: skip
def test_what_is_no_date(text):
    assert date(text) is None


@given(st.dates())
def test_every_date_is_read_back(day):
    assert date(day.isoformat()) == (day - datetime.date(1970, 1, 1)).days


def test_booleans():
    assert [boolean(text) for text in ("true", "T", "Yes", "Y", "on", "1")] == [True] * 6
    assert [boolean(text) for text in ("false", "F", "n", "No", "OFF", "0")] == [False] * 6
    assert [boolean(text) for text in ("", "ye", "1.0", " true", "falſe", "２")] == [None] * 6
