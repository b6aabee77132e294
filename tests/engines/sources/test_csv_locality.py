"""A cell is read alike in any company: a function of its own bytes and of its column alone."""

import csv
import io
import sys
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from itertools import chain, product

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from dpdb.engines.sources.cells import records
from dpdb.engines.sources.cells.plain import plain_numbers, plain_timestamps
from dpdb.engines.sources.csv_source import CsvSource
from dpdb.policy.catalog import Column, Kind, Table
from dpdb.policy.timestamps import read_timestamp
from dpdb.vectors import grammar
from tests.support.csv_files import as_read, cells_of, ends_open, loaded, plain

BLOCKS = (16, 17, 40, 1000, 1 << 20)
COLUMNS = (
    Column("a", Kind.NUMBER),
    Column("b", Kind.INTEGER, Fraction(-1000), Fraction(1000)),
    Column("c", Kind.NUMBER, Fraction(0), Fraction(10**6), Fraction(1, 100)),
    Column("d", Kind.TEXT),
    Column("e", Kind.DATE),
    Column("f", Kind.BOOLEAN),
    Column("g", Kind.INTEGER, Fraction(1), Fraction(7), values=(1, 7), nullable=False),
    Column("h", Kind.TIMESTAMP),
)

MOMENTS = st.from_regex(
    rb"\A(19|20)[0-9]{2}-[0-3][0-9]-[0-3][0-9][ T][0-2][0-9]:[0-6][0-9](:[0-6][0-9](\.[0-9]{1,8})?)?"
    rb"(Z|\+0[0-9]:00)?\Z"
)
SPACES = st.sampled_from([b"", b"", b"", b" ", b"\t", b"  "])
DIGITS = st.integers(0, 10**20).map(lambda n: str(n).encode())
NUMBERS = st.tuples(
    SPACES,
    st.sampled_from([b"", b"", b"-", b"+"]),
    DIGITS | st.just(b""),
    st.just(b"") | st.tuples(st.just(b"."), DIGITS | st.just(b"")).map(b"".join),
    st.sampled_from([b"", b"", b"", b"e5", b"E-7", b"e+300", b"e400", b"e 5", b" 5"]),
    SPACES,
).map(b"".join)
OTHERS = st.sampled_from(
    [b"", b"n.v.", b"NA", b"-", b".", b"?", b"inf", b"-Infinity", b"nan", b"1_000", b"0x1F", b"1,0",
     b"+1e 5", b"-0", b"0.5", b"1.115", b"99.995", b"\0", b"7\0", b"\xff", b"Jos\xe9", b"Jos\xe8",
     b"\xc3", "é".encode(), "٣".encode(), b"\xef\xbb\xbf5", b"2024-02-29", b"2023-02-29", b"TRUE",
     b"no", b"9007199254740993", b"9223372036854775808", b"2.2250738585072011e-308",
     b'5" pipe', b'a"b"', b"'7'", b"12345678", b"123456789", b"1234567.1234567", b"1" * 10_001]
)  # fmt: skip
QUOTED = st.sampled_from(
    [b'""', b'"7"', b'"-7.50"', b'"a,b"', b'"a\nb"', b'"a\r\nb"', b'"a\rb"', b'"say ""hi"""',
     b'"7"7', b'"a"b"c"', b'" 7 "', b'"""7"""', b'"7" ']
)  # fmt: skip
CELLS = NUMBERS | MOMENTS | st.floats().map(lambda x: repr(x).encode()) | OTHERS | QUOTED
RECORDS = st.tuples(
    st.lists(CELLS, min_size=1, max_size=9).map(b",".join),
    st.sampled_from([b"\n", b"\n", b"\r\n", b"\r"]),
).map(b"".join)

anywhere = settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=30, deadline=None
)


def rows_of(path, content, columns=COLUMNS, block=1 << 20, unit=None):
    """The rows as Python values, written so that -0.0 and 0.0 differ; None for NULL."""
    header = b",".join(column.name.encode() for column in columns) + b"\n"
    found, _ = loaded(path, header + content, *columns, block=block, unit=unit)
    return list(zip(*(map(_shown, plain(held)) for held in found.values()), strict=True))


def _shown(cell):
    return repr(cell) if isinstance(cell, float | int) and not isinstance(cell, bool) else cell


@anywhere
@given(st.lists(RECORDS, min_size=1, max_size=8), st.sampled_from(BLOCKS))
@example([b"0.1,1\n", b"+1e 5,2\n", b"n.v.,3\n"], 1 << 20)
@example([b" +0.3066101993807095\n", b"n.v.\n"], 1 << 20)
@example([b"1,2\n", b'5" pipe\n', b'"a\nb",3\n'], 16)
def test_a_line_is_read_alike_alone_and_among_others(path, lines, block):
    alone = [rows_of(path, line) for line in lines]
    assert rows_of(path, b"".join(lines), block=block) == list(chain(*alone))
    assert rows_of(path, b"".join(lines[::-1])) == list(chain(*alone[::-1]))


@anywhere
@given(st.lists(RECORDS, min_size=1, max_size=8).map(b"".join))
def test_a_cell_means_what_the_grammar_says(path, content):
    """The csv module finds the cells, and each is read by itself."""
    lines = io.StringIO(content.decode("utf-8", "replace").replace("\0", "\ufffd"), newline="")
    texts = [row[0] for row in csv.reader(lines) if row]
    wanted = [None if len(text) > grammar.LONGEST else grammar.number(text) for text in texts]
    found = [row[0] for row in rows_of(path, content)]
    assert found == [None if value is None else repr(value) for value in wanted]


def plainly(*raws):
    """What each cell is read as among others, whether it is plain, and whether it is whole."""
    found = plain_numbers(cells_of(raws))
    return list(zip(*(each.tolist() for each in found), strict=True))


@settings(max_examples=30, deadline=None)
@given(
    st.lists(
        CELLS | st.from_regex(rb"\A-?[0-9]{0,16}(\.[0-9]{0,8})?\Z") | st.binary(max_size=20),
        min_size=20,
        max_size=20,
    )
)
@example([b"", b".", b"-", b'"', b"1.2.3", b"999999999999999", b"99999999.9999999"])
def test_plain_numbers_are_those_of_the_grammar(raws):
    for raw, (number, is_plain, whole) in zip(raws, plainly(*raws), strict=True):
        if is_plain:
            assert repr(number) == repr(grammar.number(grammar.text(raw)))
            assert whole == (b"." not in raw)


@settings(max_examples=30, deadline=None)
@given(st.lists(MOMENTS | OTHERS | QUOTED, min_size=20, max_size=20))
@example([b"1700-01-01 00:00:00", b"2199-12-31T23:59:59.999999", b"1699-12-31 23:59:59", b"2200"])
def test_plain_timestamps_are_those_of_the_grammar(raws):
    found = plain_timestamps(cells_of([*raws, *(b'"%b"' % raw for raw in raws)]))
    found = (each.tolist() for each in found)
    for raw, moment, is_plain in zip([*raws, *raws], *found, strict=True):
        if is_plain:
            assert moment == read_timestamp(grammar.text(raw))


@pytest.mark.parametrize(
    "raw", [b"2024-02-29 23:59:59", b"2024-02-29T00:00:00", b"1969-12-31 23:59:59.999999",
            b"2024-02-29 00:00:00.5"]
)  # fmt: skip
def test_usual_timestamps_are_plain(raw):
    _, plain = plain_timestamps(cells_of([raw, b'"%b"' % raw]))
    assert plain.all()


@given(st.integers(-(10**15) + 1, 10**15 - 1), st.integers(0, 7))
def test_decimals_of_fifteen_digits_are_plain(mantissa, decimals):
    sign, digits = "-" * (mantissa < 0), str(abs(mantissa)).zfill(decimals)
    whole, fraction = digits[: len(digits) - decimals], digits[len(digits) - decimals :]
    text = f"{sign}{whole}.{fraction}" if decimals else f"{sign}{whole}"
    for number, is_plain, _ in plainly(text.encode(), f'"{text}"'.encode()):
        assert (number, is_plain) == (grammar.number(text), True)


def test_no_number_is_the_negative_zero(path):
    for text in (b"-0", b"-0.0", b"-00.000", b" -0", b"-1e-400", b'"-0"'):
        assert rows_of(path, text + b"\n", COLUMNS[:1]) == [("0.0",)]


def test_what_is_nullable_follows_from_the_policy(path):
    path.write_bytes(b"x\n1\n2\n")
    for nullable in (True, False):
        for column in (Column("x", Kind.NUMBER, nullable=nullable), Column("x", Kind.INTEGER)):
            declared = replace(column, nullable=nullable)
            held = CsvSource(Table("t", path, (declared,))).load(["x"]).columns["x"]
            assert (held.null is not None) == nullable


@pytest.mark.parametrize("length", range(7))
def test_wherever_quotes_stand_cells_are_those_of_csv(length):
    """All files of so many characters; of six, those that begin with a quote."""
    start = '"' if length == 6 else ""
    for rest in product('",a\n', repeat=length - len(start)):
        text = start + "".join(rest)
        cells = []
        for block in records.blocks(io.BytesIO(text.encode()), 2):
            columns = [block.column(position).written() for position in range(length + 1)]
            numbers = (block.last - block.first + 1).tolist()
            for row, number in zip(zip(*columns, strict=True), numbers, strict=True):
                cells.append([grammar.text(raw) for raw in row[:number]])
        assert cells == [row for row in as_read(text) if row], text
        if not ends_open(text):
            assert cells == [row for row in csv.reader(io.StringIO(text, newline="")) if row], text


def _steps(lines):
    """How often each line of the reader is gone through."""
    gone: Counter[int] = Counter()

    def within(frame, event, argument):
        gone[frame.f_lineno] += 1
        return within

    def called(frame, event, argument):
        return within if frame.f_code.co_filename == records.__file__ else None

    before = sys.gettrace()
    sys.settrace(called)
    try:
        blocks = list(records.blocks(io.BytesIO(b"".join(lines)), 3))
        found = sum(len(block.column(2)) for block in blocks)
    finally:
        sys.settrace(before)
    assert found == len(lines)
    return gone


@pytest.mark.parametrize(
    "cells", [b'5" pipe,,', b'"a"b,,', b'"5"" pipe",,', b'""",""",,', b'a"",,']
)
def test_the_reader_goes_the_same_way_whatever_one_row_holds(cells):
    """One quote out of its place made it look at each quote of a block by itself."""
    lines = [b'"a","b","c"\n'] * 50
    assert _steps([*lines, cells + b"\n"]) == _steps([*lines, b"a,b,c\n"])


# Cells that name privacy units


@pytest.mark.parametrize(
    ("column", "whole", "lost"),
    [
        (Column("u", Kind.INTEGER), [b"7", b"7.0", b" +7", b'"7"', b"7e0", b"9007199254740992"],
         [b"7.4", b"6.5", b"9007199254740993", b"1e30", b"x", b"", b"7e-1"]),
        (Column("u", Kind.INTEGER, Fraction(1), Fraction(9)), [b"1", b"9"], [b"0", b"10", b"-1"]),
        (Column("u", Kind.INTEGER, Fraction(1), Fraction(9), nullable=False), [b"1"],
         [b"", b"x", b"0"]),
        (Column("u", Kind.INTEGER, Fraction(0), Fraction(9), step=Fraction(2)), [b"2"], [b"3"]),
        (Column("u", Kind.INTEGER, Fraction(7), Fraction(8), values=(7, 8)), [b"7", b"8.0"],
         [b"7.4", b"9"]),
        (Column("u", Kind.NUMBER), [b"0.5", b"7"], [b"0.1", b"9007199254740993"]),
        (Column("u", Kind.NUMBER, Fraction(0), Fraction(99), step=Fraction(1, 100)),
         [b"0.1", b"12.34", b"99.00"], [b"0.001", b"99.01", b"-0.01", b"12.340000000000000001"]),
        (Column("u", Kind.DATE, Fraction(0), Fraction(1)), [b"1970-01-02"], [b"1970-01-03"]),
        (Column("u", Kind.TEXT), ["José".encode(), b'"Abel"'],
         [b"Jos\xe9", b"Jos\xe8", b"a\0", b"", b"x" * 10_001]),
        (Column("u", Kind.TEXT, nullable=False), [b"Abel"], [b"", b"Jos\xe9"]),
        (Column("u", Kind.TEXT, values=("Abel", "Jos\ufffd")), [b"Abel", "Jos\ufffd".encode()],
         [b"Jos\xe9", b"Jos\xe8", b"Jos\0", b"Cain"]),
    ],
)  # fmt: skip
def test_a_cell_that_loses_anything_names_no_unit(path, column, whole, lost):
    content = b"".join(cell + b",\n" for cell in (*whole, *lost))
    other = Column("other", Kind.TEXT)
    found = [row[0] for row in rows_of(path, content, (column, other), unit="u")]
    assert None not in found[: len(whole)]
    assert found[len(whole) :] == [None] * len(lost)
