"""Bytes into records: quotes, line ends, long cells and odd ones, however the file is cut."""

from __future__ import annotations

import csv
import io

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpdb.policy.catalog import Column, Kind
from dpdb.vectors import grammar
from tests.support.csv_files import BLOCKS, anywhere, integer, loaded, plain, read


def test_records_of_any_length_are_one_row(path):
    content = "a,b,c\n1,2,3\n4\n5,6\n7,8,9,10,11\n,,\n\n\r\n12,13,14,\n"
    for block in BLOCKS:
        columns, rows = loaded(
            path, content, Column("a", Kind.TEXT), Column("c", Kind.TEXT), block=block
        )
        assert rows == 6
        assert plain(columns["a"]) == ["1", "4", "5", "7", None, "12"]
        assert plain(columns["c"]) == ["3", None, None, "9", None, "14"]


def test_a_file_of_one_column(path):
    content = 'a\n1\n\n""\n \n,\n2,3\n'
    for block in BLOCKS:
        columns, rows = loaded(path, content, Column("a", Kind.TEXT), block=block)
        assert rows == 6
        assert plain(columns["a"]) == ["1", None, None, " ", None, "2"]


@pytest.mark.parametrize("text", ["", "x,1\n", '5" pipe\n', "1\r"])
def test_a_blank_line_is_a_record_where_there_is_one_column(path, text):
    # Of a row whose only cell is missing nothing else is left, and its number is public.
    for block in BLOCKS:
        for ending in ("\n", "\r\n", "\r"):
            _, before = loaded(path, f"a\n{text}x{ending}", block=block)
            _, rows = loaded(path, f"a\n{text}x{ending}{ending}", block=block)
            assert rows == before + 1
        assert loaded(path, "a,b\n1,2\n\n\r\n3,4\n", block=block) == ({}, 2)


@pytest.mark.parametrize(
    ("body", "wanted"),
    [
        (b"x,1\r\ny,2\r\n", ["x", "y"]),
        (b"x,1\ny,2", ["x", "y"]),
        (b"x,1\ry,2\r", ["x", "y"]),
        (b'"x\n\ny",1\nz,2\n', ["x\n\ny", "z"]),
        (b'"x\ry",1\nz,2\n', ["x\ry", "z"]),
        (b'"say ""hi""",1\n""""\n', ['say "hi"', '"']),
        (b'"a,b",1\n"",2\n', ["a,b", None]),
        (b'5" pipe,1\n6" pipe,2\n"ok",3\n', ['5" pipe', '6" pipe', "ok"]),
        (b'"a"b,1\nc,2\n', ["ab", "c"]),
        (b'x,1\n"never closed,2\ny,3\n', ["x", "never closed,2\ny,3\n"]),
        (b'"', [None]),
        (b"a\xffb,1\nc\xc3,2\n\xc3\xa9,3\n", ["a\ufffdb", "c\ufffd", "é"]),
        (b"a\0b,1\n\0,2\nc,3\n", ["a\ufffdb", "\ufffd", "c"]),
        ("\ufeffx,1\n\ufeff\"y\",2\n".encode(), ["\ufeffx", '\ufeff"y"']),
        (b"", []),
        (b"\n\r\n\n", []),
        (b"# x,1\n'a',2\n\\,3\n", ["# x", "'a'", "\\"]),
    ],
)  # fmt: skip
def test_odd_records(path, body, wanted):
    for block in BLOCKS:
        columns, rows = loaded(path, b"a,b\n" + body, Column("a", Kind.TEXT), block=block)
        assert plain(columns["a"]) == wanted
        assert rows == len(wanted)


def test_a_long_cell_is_missing(path):
    # Longer than a cell may be, than the limit of the csv module, and than several blocks.
    text = "é," * 200_000
    for body in (f'"{text}",1\nb,2\n', f'"{text}"x,1\nb,2\n'):
        columns, _ = loaded(path, "a,b\n" + body, Column("a", Kind.TEXT), block=1 << 16)
        assert plain(columns["a"]) == [None, "b"]


@pytest.mark.parametrize("column", [Column("x", Kind.TEXT), integer(0, 9)])
def test_the_longest_cell(path, column):
    longest = "0" * (grammar.LONGEST - 2)
    for block in BLOCKS[1:]:
        kept, missing = plain(read(path, [longest, longest + "0"], column, block))
        assert kept == (longest if column.kind is Kind.TEXT else 0)
        assert missing is None


def test_a_row_with_many_surplus_cells(path):
    body = "1,2\n" + "3," * 100_000 + "\n4,5\n"
    columns, rows = loaded(path, "a,b\n" + body, Column("b", Kind.TEXT))
    assert rows == 3
    assert plain(columns["b"]) == ["2", "3", "5"]


BYTES = st.lists(
    st.sampled_from(
        [b"a", b"1", b"-4.5", b",", b",", b",", b'"', b'""', b"\n", b"\n", b"\r\n", b"\r", b"\0",
         b"\xff", b"\xc3", b"\xc3\xa9", b" ", b"\xef\xbb\xbf", b"true", b"NA",
         b'"x,y"', b'"l\n\nm"', b'"5"']
    ),
    max_size=60,
).map(b"".join)  # fmt: skip


@settings(anywhere, max_examples=60)
@given(BYTES, st.integers(1, 4), st.sampled_from(BLOCKS))
def test_records_are_those_of_the_csv_module(path, body, width, block):
    lines = io.StringIO(body.decode("utf-8", "replace").replace("\0", "\ufffd"), newline="")
    records = [(row + [""] * width)[:width] for row in csv.reader(lines) if row or width == 1]
    names = "abcd"[:width]
    declared = [Column(name, Kind.TEXT if name < "c" else Kind.NUMBER) for name in names]
    columns, rows = loaded(path, ",".join(names).encode() + b"\n" + body, *declared, block=block)
    assert rows == len(records)
    for at, name in enumerate(names):
        texts = [record[at] for record in records]
        wanted = [t or None for t in texts] if name < "c" else list(map(grammar.number, texts))
        assert plain(columns[name]) == wanted
