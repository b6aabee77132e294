"""Cells into columns: what each type makes of a text, alone or in company."""

from __future__ import annotations

import math
from datetime import date
from fractions import Fraction
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from dpdb.policy.catalog import Column, Kind
from dpdb.policy.numbers import MAGNITUDE_LIMIT
from dpdb.vectors import grammar
from dpdb.vectors.columns import Codes
from tests.support.csv_files import BLOCKS, anywhere, integer, ordinal, plain, read
from tests.support.texts import CHARACTERS


def test_integers_are_rounded_and_clamped(path):
    texts = [
        "18",
        "17",
        "-1e300",
        "65",
        "66",
        "99999999999999999999",
        "3e1",
        "40.5",
        "41.5",
        "40.51",
    ]
    column = read(path, texts, integer(18, 65))
    assert plain(column) == [18, 18, 18, 65, 65, 65, 30, 40, 42, 41]
    assert column.step == 1
    assert not column.null.any()


def test_what_is_no_number_is_null(path):
    texts = ["20", "", "1_0", "1,0", "٢٠", "inf", "nan", "NA", "0x20", "true", "1e400", " 21 "]
    column = read(path, texts, integer(0, 65))
    assert plain(column) == [20, *[None] * 10, 21]
    assert column.null.dtype == bool


@pytest.mark.parametrize("words", [["true", "", "False"], ["inf", "-inf"], ["nan", "NaN"], ["NA"]])
def test_a_column_of_words_only_is_null(path, words):
    assert plain(read(path, words, integer(-5, 5))) == [None] * len(words)
    assert plain(read(path, words, ordinal(Kind.NUMBER))) == [None] * len(words)


def test_integers_without_bounds_saturate(path):
    limit = MAGNITUDE_LIMIT
    texts = [
        str(limit - 1),
        str(limit + 1),
        "1e30",
        f"-{limit}",
        str(-(2**63)),
        str(2**64),
        "9" * 30,
    ]
    column = read(path, texts, integer())
    assert plain(column) == [limit - 1, limit, limit, -limit, -limit, limit, limit]
    assert column.units.dtype == np.int64


def test_the_least_int64_is_a_number_beside_a_missing_one(path):
    # It is what some readers mark a missing integer with.
    texts = [str(-(2**63)), "", str(2**64 - 1)]
    assert plain(read(path, texts, integer(-7, 7))) == [-7, None, 7]


def test_numbers_are_multiples_of_the_step(path):
    column = read(
        path,
        ["0.1", "1234.56", "-1", "1e9", "0.005", "0.015"],
        ordinal(Kind.NUMBER, 0, 2000, "0.01"),
    )
    # As doubles 0.005 and 0.015 are not halves of a cent: one is above, one below.
    assert plain(column) == [10, 123456, 0, 200000, 1, 1]
    assert column.step == Fraction(1, 100)


def test_units_stay_on_the_grid_within_the_bounds(path):
    column = read(path, ["0", "2", "99", "10.9"], ordinal(Kind.NUMBER, "0.7", 11, 2))
    # Rounded alone, the bounds themselves would be 0 and 6 steps of 2.
    assert plain(column) == [1, 1, 5, 5]


@anywhere
@given(
    st.lists(
        st.decimals(-(10**6), 10**6, places=4).map(str)
        | st.floats(-1e7, 1e7).map(repr)
        | st.integers(-(10**8), 10**8).map(lambda n: str(n / 8)),
        max_size=40,
    ),
    st.sampled_from(["1", "0.01", "0.25", "0.3", "2", "1000", "1/3", "1/1048576", "1e-9"]),
)
def test_rounding_is_that_of_fractions(path, texts, step):
    step = Fraction(step)
    lower, upper = Fraction(-999_999), Fraction(1_000_000)
    column = read(path, texts, ordinal(Kind.NUMBER, lower, upper, step))
    wanted = [
        max(math.ceil(lower / step), min(math.floor(upper / step), round(clamped / step)))
        for clamped in (max(lower, min(upper, Fraction(float(text)))) for text in texts)
    ]
    assert plain(column) == wanted


def test_a_number_far_out_of_bounds_does_not_overflow(path):
    column = read(path, ["1e308", "-1e308", "7"], ordinal(Kind.NUMBER, 0, 9, "0.01"))
    assert plain(column) == [900, 0, 700]


def test_a_tie_is_one_only_if_it_is_exact(path):
    # 1.115 as a double is less than 1.115, but a hundred times it is rounded to 111.5.
    assert 1.115 * 100 >= 111.5
    column = read(path, ["1.115", "0.125", "0.375"], ordinal(Kind.NUMBER, 0, 9, "0.01"))
    assert plain(column) == [111, 12, 38]


def test_numbers_without_bounds_are_doubles(path):
    column = read(path, ["0.1", "1e300", "-0", "", "-5"], ordinal(Kind.NUMBER))
    assert plain(column) == [0.1, 1e300, 0.0, None, -5.0]
    assert column.units.dtype == np.float64
    assert column.step is None
    assert not np.signbit(column.units[2])


@pytest.mark.parametrize(
    ("lower", "upper", "dtype"),
    [(0, 100, "int8"), (0, 255, "uint8"), (-1, 255, "int16"), (0, 65535, "uint16"),
     (-(2**31), 2**31 - 1, "int32"), (0, 2**32 - 1, "uint32"), (-1, 2**32, "int64"),
     (0, 2**53, "int64")],
)  # fmt: skip
def test_the_narrowest_type_holds_the_bounds(path, lower, upper, dtype):
    column = read(path, ["-1e300", "1e300"], integer(lower, upper))
    assert column.units.dtype == dtype
    assert plain(column) == [lower, upper]


def test_dates(path):
    day = date(2024, 2, 29).toordinal() - date(1970, 1, 1).toordinal()
    texts = ["2024-02-29", "2023-02-29", "29.02.2024", "", "0001-01-01", "9999-12-31", str(day)]
    column = read(path, texts, ordinal(Kind.DATE))
    assert plain(column) == [day, None, None, None, -719162, 2932896, None]
    column = read(path, texts, ordinal(Kind.DATE, day - 1, day + 1))
    assert plain(column) == [day, None, None, None, day - 1, day + 1, None]
    assert column.units.dtype == np.int16


# Texts, booleans, declared values


def test_texts_are_kept_as_they_are(path):
    texts = [
        "b",
        "",
        " a ",
        "007",
        "NA",
        "nan",
        "true",
        "1.50",
        "x\ny",
        'say "hi"',
        "a\r\nb",
        "é",
        "=1+1",
    ]
    column = read(path, texts, Column("x", Kind.TEXT))
    assert plain(column) == [text or None for text in texts]
    assert sorted(column.values) == sorted(set(texts) - {""})
    assert column.codes.dtype == np.uint8


def test_a_guessed_column_is_text(path):
    column = read(path, ["1", "01", "x"], Column("x", Kind.TEXT, guessed=True))
    assert plain(column) == ["1", "01", "x"]


def test_codes_grow_with_the_number_of_texts(path):
    for count, dtype in ((255, np.uint8), (256, np.uint16), (70_000, np.uint32)):
        texts = [f"t{n}" for n in range(count)]
        column = read(path, [*texts, ""], Column("x", Kind.TEXT))
        assert column.codes.dtype == dtype
        assert plain(column) == [*texts, None]


def test_booleans(path):
    texts = ["true", "F", "YES", "0", "", "maybe", "1.0", "TRUE"]
    column = read(path, texts, Column("x", Kind.BOOLEAN))
    assert plain(column) == [True, False, True, False, None, None, None, True]
    assert column.values == (False, True)


@pytest.mark.parametrize(
    ("kind", "values", "texts", "wanted"),
    [
        (Kind.TEXT, ("b", "a"), ["a", "b", "A", " a", "", "c"], ["a", "b", *[None] * 4]),
        (Kind.INTEGER, (7, 3), ["3", "7.0", " 7", "6.8", "5", "8", "", "x"],
         [3, 7, 7, 7, *[None] * 4]),
        (Kind.NUMBER, (Fraction(1, 10), Fraction(-2)), ["0.10", "-2", "0.11", "-3", "x"],
         [Fraction(1, 10), Fraction(-2), None, None, None]),
        (Kind.BOOLEAN, (True,), ["yes", "no", ""], [True, None, None]),
        (Kind.DATE, (1, 0), ["1970-01-01", "1970-01-02", "1970-01-03", "0"], [0, 1, None, None]),
    ],
)  # fmt: skip
def test_declared_values(path, kind, values, texts, wanted):
    numbers = [Fraction(v) for v in values if kind.ordinal]
    bounds = {"lower": min(numbers), "upper": max(numbers)} if numbers else {}
    column = Column("x", kind, values=values, **bounds)
    found = read(path, texts, column)
    assert plain(found) == wanted
    assert found.values == values
    filled = read(path, texts, Column("x", kind, values=values, nullable=False, **bounds))
    assert plain(filled) == [values[0] if cell is None else cell for cell in wanted]


def test_a_column_that_is_not_nullable_has_no_null(path):
    texts = ["7", "", "x", "9999"]
    assert plain(read(path, texts, integer(5, 10, nullable=False))) == [7, 5, 5, 10]
    assert plain(read(path, texts, integer(nullable=False))) == [7, 0, 0, 9999]
    assert plain(read(path, texts, ordinal(Kind.NUMBER, nullable=False))) == [7, 0, 0, 9999]
    assert plain(read(path, texts, ordinal(Kind.DATE, 5, 10, nullable=False))) == [5] * 4
    assert plain(read(path, texts, Column("x", Kind.TEXT, nullable=False))) == texts
    assert plain(read(path, texts, Column("x", Kind.BOOLEAN, nullable=False))) == [False] * 4
    assert read(path, texts, integer(5, 10, nullable=False)).null is None


# One cell, whatever its company


CELLS = st.lists(
    st.sampled_from(
        ["", "0", "7", "-3.7", "+5", " 5 ", "\t8", "1e3", ".5", "5.", "-0", "0.1", "1e400",
         "1e-400", "inf", "-Infinity", "nan", "NA", "None", "null", "-", "true",
         "True", "FALSE", "yes", "t", "1_000", "1,000", "0x1F", "1 2", "٣", "１",
         "5\0", "\0", "\ufeff5", "5\u00a0",
         "-9223372036854775808", "9007199254740993", "-9007199254740993", "9223372036854775807",
         "9223372036854775808", "18446744073709551615", "18446744073709551616",
         "123456789012345678901234567890", "2024-02-29", "1970-01-01", "x", "a b",
         'q"q', "l\nl", "c\rc", "#", "0.30000000000000004"]
    )
    | st.floats().map(repr)
    | st.integers().map(str)
    | st.decimals(-1000, 1000, places=3).map(str)
    | st.text(CHARACTERS, max_size=5),
    min_size=1,
    max_size=15,
)  # fmt: skip
COLUMNS = [
    integer(),
    integer(-10, 300),
    integer(0, 9, values=(0, 5, 7, 9)),
    ordinal(Kind.NUMBER),
    ordinal(Kind.NUMBER, -500, 500, "0.01"),
    ordinal(Kind.NUMBER, -500, 500, "0.01", nullable=False),
    ordinal(Kind.DATE),
    Column("x", Kind.TEXT),
    Column("x", Kind.TEXT, values=("x", "7", "true")),
    Column("x", Kind.BOOLEAN),
]


@settings(anywhere, max_examples=30)
@given(CELLS, st.sampled_from(COLUMNS), st.sampled_from(BLOCKS))
@example(["true", "True"], integer(-10, 300), 1 << 22)
@example(["true", "5"], integer(-10, 300), 1 << 22)
@example(["\ufeff5", "5"], integer(-10, 300), 1)
@example(["-9223372036854775808", ""], integer(), 1 << 22)
@example(["-0", "0.5", "x"], ordinal(Kind.NUMBER), 1)
def test_a_cell_is_read_alike_in_any_company(path, texts, column, block):
    alone = [plain(read(path, [text], column))[0] for text in texts]
    together = read(path, texts, column, block)
    assert list(map(repr, plain(together))) == list(map(repr, alone))
    backwards = read(path, texts[::-1], column)
    assert list(map(repr, plain(backwards))) == list(map(repr, alone[::-1]))
    if isinstance(together, Codes):
        assert {*together.values} == {*backwards.values}


NUMERIC_TEXTS = st.text(
    st.sampled_from("0123456789+-.eE \t_xinfatrueNFlsy,'%٣１\u00a0"), max_size=6
)


NUMBERS = NUMERIC_TEXTS | st.floats().map(repr) | st.decimals(allow_nan=False).map(str)


@settings(anywhere, max_examples=30)
@given(st.lists(NUMBERS, min_size=10, max_size=10))
@example(
    [
        "0.3066101993807095471566981359501369297504425048828125",
        "2.22507385850720113605740979670913197593481954635164564e-308",
        "9007199254740993",
        "9007199254740992.99999999999999999999999",
        "1" * 400,
        "0." + "0" * 400 + "1",
    ]
)
def test_a_number_is_that_of_the_grammar(path, texts):
    column = read(path, texts, ordinal(Kind.NUMBER))
    assert plain(column) == [grammar.number(text) for text in texts]


def test_plain_numbers_are_read_many_at_a_time(path):
    """So that the tests above compare them with the grammar, not the grammar with itself."""
    texts = ["0.1", "-7", "5.", ".5", "-0", "123456789012345", "12345678.1234567", "00.50"]
    with patch.object(grammar, "number", side_effect=AssertionError):
        column = read(path, texts, ordinal(Kind.NUMBER))
    assert plain(column) == list(map(float, texts))
    assert not np.signbit(column.units[4])


@anywhere
@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=50))
def test_doubles_are_read_back_beside_a_bad_cell_or_not(path, values):
    texts = [repr(value) for value in values]
    clean = read(path, texts, ordinal(Kind.NUMBER))
    spoilt = read(path, [*texts, "unknown"], ordinal(Kind.NUMBER))
    assert plain(clean) == values
    assert plain(spoilt) == [*values, None]
