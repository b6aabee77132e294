"""Bytes into records: quotes, line ends, long cells and odd ones, however the file is cut."""

from __future__ import annotations

import csv
import io
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpdb.engines.sources.cells import records
from dpdb.engines.sources.cells.records import WITHIN
from dpdb.policy.catalog import Column, Kind
from dpdb.vectors import grammar
from dpdb.vectors.grammar import LONGEST
from tests.support.csv_files import (
    BLOCKS,
    anywhere,
    as_read,
    ends_open,
    integer,
    loaded,
    plain,
    read,
)


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
        (b'x,1\n"never closed,2\ny,3\n', ["x", '"never closed', "y"]),
        (b'"never ""closed,2\n"""y,3\n', ['never "closed,2\n"y']),
        (b'"', ['"']),
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


@pytest.mark.parametrize("after", ["", "x"])
def test_a_long_cell_is_missing(path, after):
    # Longer than the limit of the csv module, and than several blocks.
    for text, kept in (("é," * 4_000, None), ("é\n" * 5_000, None), ("é," * 200_000, '"é')):
        body = f'"{text}"{after},1\nb,2\n'
        columns, rows = loaded(path, "a,b\n" + body, Column("a", Kind.TEXT), block=1 << 16)
        assert plain(columns["a"]) == [kept, "b"]
        assert rows == 2


@pytest.mark.parametrize("length", [LONGEST - 1, LONGEST, LONGEST + 1])
@pytest.mark.parametrize("written", [b'"%b"', b"%b", b'"%b"w'])
@pytest.mark.parametrize("sign", [b"w", "é".encode(), b'""', b"\n"])
def test_the_longest_text(path, length, written, sign):
    """The limit is on the text, and not on the quotes that are written for it."""
    inner = sign.replace(b'""', b'"')
    if sign in (b"\n", b'""') and written == b"%b":
        return
    signs, rest = divmod(length - written.endswith(b"w"), len(inner))
    cell = written % (sign * signs + b"w" * rest)
    text = (inner * signs + b"w" * (rest + written.endswith(b"w"))).decode()
    body = b"a,b\n" + cell + b",1\nnext,2\n"
    for block in (200, 1 << 14, 1 << 22):
        columns, rows = loaded(path, body, Column("a", Kind.TEXT), block=block)
        assert plain(columns["a"]) == [text if length <= LONGEST else None, "next"]
        assert rows == 2


@pytest.mark.parametrize("column", [Column("x", Kind.TEXT), integer(0, 9)])
def test_the_longest_cell(path, column):
    longest = "0" * LONGEST
    for block in BLOCKS[1:]:
        kept, missing = plain(read(path, [longest, longest + "0"], column, block))
        assert kept == (longest if column.kind is Kind.TEXT else 0)
        assert missing is None


def test_a_lone_quote_takes_few_rows_into_its_cell(path):
    """A thousand rows became 101 where it took all that came after it."""
    rows = [f"{i},{'w' * 90}\n" for i in range(1_000)]
    columns, before = loaded(path, "a,b\n" + "".join(rows), Column("a", Kind.TEXT))
    assert before == 1_000
    names = plain(columns["a"])
    for at in (0, 100, 999):
        torn = [*rows[:at], f'"{rows[at]}', *rows[at + 1 :]]
        for block in (200, 1 << 14, 1 << 22):
            columns, found = loaded(
                path, "a,b\n" + "".join(torn), Column("a", Kind.TEXT), block=block
            )
            assert found == 1_000
            assert plain(columns["a"]) == [*names[:at], f'"{at}', *names[at + 1 :]]


@pytest.mark.parametrize(("near", "wanted"), [(WITHIN, 1), (WITHIN + 1, 3)])
def test_a_quote_is_closed_within_what_a_cell_can_have(path, near, wanted):
    body = b'"' + b"w" * (near - 3) + b"\n" + b"w" + b'",1\n'
    assert body.rindex(b'"') == near
    for block in (200, 1 << 14, 1 << 22):
        assert loaded(path, b"a,b\n" + body, block=block)[1] == wanted - (wanted == 3)


def test_a_quote_ends_with_its_line_where_cells_have_one_line(path):
    body = '"one\n"two, three",1\n"four\nfive",2\n"six""\n"seven""",3\n'
    for block in BLOCKS:
        columns, _ = loaded(
            path,
            "a,b\n" + body,
            Column("a", Kind.TEXT),
            Column("b", Kind.INTEGER),
            block=block,
            multiline=False,
        )
        assert plain(columns["a"]) == ['"one', "two, three", '"four', 'five"', '"six""', 'seven"']
        assert plain(columns["b"]) == [None, 1, None, 2, None, 3]


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


@settings(anywhere, max_examples=150)
@given(
    BYTES,
    st.integers(1, 4),
    st.sampled_from(BLOCKS),
    st.tuples(st.sampled_from([3, 9, WITHIN]), st.booleans()),
)
def test_records_are_those_of_the_rules(path, body, width, block, rules):
    within, multiline = rules
    body = body.replace(b"\xff", b"").replace(b"\xc3\xa9", b"e").replace(b"\xc3", b"")
    body = body.replace(b"\xef\xbb\xbf", b"").replace(b"\0", b"")
    found = as_read(body.decode(), within=within, multiline=multiline)
    wanted = [(row + [""] * width)[:width] for row in found if row or width == 1]
    names = "abcd"[:width]
    declared = [Column(name, Kind.TEXT) for name in names]
    content = ",".join(names).encode() + b"\n" + body
    with patch.object(records, "WITHIN", within):
        columns, rows = loaded(path, content, *declared, block=block, multiline=multiline)
    assert rows == len(wanted)
    for at, name in enumerate(names):
        assert plain(columns[name]) == [record[at] or None for record in wanted]


@settings(anywhere, max_examples=60)
@given(BYTES, st.integers(1, 4), st.sampled_from(BLOCKS))
def test_records_are_those_of_the_csv_module(path, body, width, block):
    # A quote that is never closed is text here, and takes the rest of the file there.
    body += b'"' * ends_open(body.decode("latin-1"))
    lines = io.StringIO(body.decode("utf-8", "replace").replace("\0", "\ufffd"), newline="")
    wanted = [(row + [""] * width)[:width] for row in csv.reader(lines) if row or width == 1]
    names = "abcd"[:width]
    declared = [Column(name, Kind.TEXT if name < "c" else Kind.NUMBER) for name in names]
    columns, rows = loaded(path, ",".join(names).encode() + b"\n" + body, *declared, block=block)
    assert rows == len(wanted)
    for at, name in enumerate(names):
        texts = [record[at] for record in wanted]
        cells = [t or None for t in texts] if name < "c" else list(map(grammar.number, texts))
        assert plain(columns[name]) == cells
