"""Other separators, quotes and decimal marks, other encodings and gzip: the same rows."""

from __future__ import annotations

import csv
import gzip
import io
import zipfile
from fractions import Fraction
from unittest.mock import patch

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from dpdb.engines.sources.cells import records
from dpdb.engines.sources.cells.plain import plain_numbers
from dpdb.engines.sources.csv_source import CsvSource
from dpdb.errors import DataFileError
from dpdb.policy.catalog import Column, Kind, Table
from dpdb.policy.csv import packing
from dpdb.policy.csv.csv_format import Punctuation
from dpdb.policy.schemas.table_files import undeclared_tables
from dpdb.vectors import grammar
from tests.support.csv_files import (
    BLOCKS,
    anywhere,
    cells_of,
    ends_open,
    integer,
    loaded,
    ordinal,
    plain,
)

X, Y = Column("x", Kind.TEXT), Column("y", Kind.TEXT)


def read(path, content, *columns, **form):
    """The rows of a file that is written like this."""
    found, _ = loaded(path, content, *columns, **form)
    return list(zip(*map(plain, found.values()), strict=True))


PIECES = st.lists(
    st.sampled_from(["a", "1", ",", ";", "\t", "|", "'", "''", '"', '""', "\n", "\r\n", " ", "é", "'x;y'"]),
    max_size=40,
).map("".join)  # fmt: skip


@anywhere
@given(PIECES, st.sampled_from([",", ";", "\t", "|", ":", "a"]), st.sampled_from(['"', "'", ""]),
       st.sampled_from(BLOCKS))  # fmt: skip
@example("'a;''b';c\nd;e", ";", "'", 1)
def test_records_are_those_of_the_csv_module(path, body, separator, quote, block):
    form = {"delimiter": separator, "quotechar": quote or None,
            "quoting": csv.QUOTE_MINIMAL if quote else csv.QUOTE_NONE}  # fmt: skip
    # A quote that is never closed is text here, and takes the rest of the file there.
    body += quote * ends_open(body, **form)
    reader = csv.reader(io.StringIO(body, newline=""), **form)
    wanted = [tuple(text or None for text in [*row, "", ""][:2]) for row in reader if row]
    content = f"x{separator}y\n{body}".encode()
    assert read(path, content, X, Y, block=block, separator=separator, quote=quote) == wanted


@pytest.mark.parametrize(
    ("cell", "value"),
    [("12,5", 12.5), ("-0,25", -0.25), ("7", 7), ('"1,5"', 1.5), (" 2,5 ", 2.5), ("1e2", 100), (",5", 0.5),
     ("1.234,5", None), ("1.5", None), ("1,2,3", None), ("1.234", None)],
)  # fmt: skip
def test_a_decimal_comma(path, cell, value):
    column = ordinal(Kind.NUMBER, -1000, 1000, step=Fraction(1, 100))
    content = f"x;y\n{cell};7\n".encode()
    [(found, _)] = read(path, content, column, Y, separator=";", decimal=",")
    assert found == (None if value is None else value * 100)
    # A comma in quotes is a decimal mark where commas are separators, too.
    content = f'x,y\n"{cell.strip(chr(34))}",7\n'.encode()
    [(found, _)] = read(path, content, column, Y, decimal=",")
    assert found == (None if value is None else value * 100)


@settings(max_examples=30)
@given(st.from_regex(rb"\A'?-?[0-9]{0,9}([.,][0-9]{0,8})?'?\Z"))
def test_a_plain_number_is_that_of_the_grammar(raw):
    for quote in (b"'", b'"', b""):
        for decimal in (b".", b","):
            [number], [plainly], _ = plain_numbers(
                cells_of([raw]), Punctuation(b";", quote, decimal)
            )
            written = grammar.with_point(grammar.text(raw, quote), decimal.decode())
            assert not plainly or number == grammar.number(written)


def test_without_a_header_every_line_is_a_row(path):
    content = b"1,a\n2,b\n\n3\n4,d,surplus\n"
    rows = read(path, content, integer(0, 9), Y, header=False)
    assert rows == [(1, "a"), (2, "b"), (3, None), (4, "d")]
    assert read(path, b"", X, Y, header=False) == []
    assert read(path, b"1\n\n2", integer(0, 9), header=False) == [(1,), (None,), (2,)]


def test_without_a_header_a_mark_is_of_the_first_row_unless_declared(path):
    content = b"\xef\xbb\xbf5,x\n"
    assert read(path, content, integer(0, 9), Y, header=False) == [(None, "x")]
    assert read(path, content, integer(0, 9), Y, header=False, encoding="utf-8-sig") == [(5, "x")]
    twice = b"\xef\xbb\xbf" + content
    assert read(path, twice, integer(0, 9), Y, header=False, encoding="utf-8-sig") == [(None, "x")]


@pytest.mark.parametrize(
    "encoding",
    ["latin-1", "cp1252", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "cp850", "utf-8-sig"],
)
@pytest.mark.parametrize("block", BLOCKS)
def test_encodings(path, encoding, block):
    rows = [("Größe", "é,\n"), ("2", 'a"b'), (None, "ü" * 300)]
    buffer = io.StringIO()
    csv.writer(buffer).writerows([("x", "y"), *((x or "", y) for x, y in rows)])
    content = buffer.getvalue().encode(encoding)
    assert read(path, content, X, Y, block=block, encoding=encoding) == rows


def test_bytes_that_an_encoding_lacks_name_no_unit(path):
    content = b"x,y\ncaf\xe9,1\na\x81b,2\na\x8db,3\n"
    assert read(path, content, X, Y, encoding="cp1252") == [
        ("café", "1"), ("a\ufffdb", "2"), ("a\ufffdb", "3"),
    ]  # fmt: skip
    units = read(path, content, X, Y, encoding="cp1252", unit="x")
    assert [unit for unit, _ in units] == ["café", None, None]
    content = "x,y\n日本,1\n".encode("shift_jis") + b"\x81,2\n\x82\n"
    units = read(path, content, X, Y, encoding="shift_jis", unit="x")
    assert units == [("日本", "1"), (None, "2"), (None, None)]


@pytest.mark.parametrize("block", BLOCKS[1:])
def test_gzip(tmp_path, block):
    path = tmp_path / "t.csv.gz"
    content = b"x,y\n" + b"".join(b"%d,\xe9\n" % number for number in range(100))
    rows = read(path, gzip.compress(content), X, Y, block=block, encoding="latin-1")
    assert rows == [(str(number), "é") for number in range(100)]
    # Members that follow one another are one file.
    split = gzip.compress(content[:50]) + gzip.compress(content[50:])
    assert read(path, split, X, Y, block=block, encoding="latin-1") == rows


def zipped(*members: bytes) -> bytes:
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.mkdir("folder")
        archive.writestr("__MACOSX/._0.csv", "more about it")
        for number, member in enumerate(members):
            archive.writestr(f"{number}.csv", member)
    return held.getvalue()


def zstandard(content: bytes) -> bytes:
    return pytest.importorskip("backports.zstd").compress(content)


PACKED = {".gz": gzip.compress, ".zip": zipped, ".zst": zstandard}


@pytest.mark.parametrize("suffix", [".zip", ".zst"])
def test_other_packings(tmp_path, suffix):
    pack = PACKED[suffix]
    content = b"x,y\n" + b"".join(b"%d,\xe9\n" % number for number in range(100))
    path = tmp_path / f"t.csv{suffix}"
    wanted = [(str(number), "é") for number in range(100)]
    assert read(path, pack(content), X, Y, encoding="latin-1") == wanted
    [table] = undeclared_tables(path)
    assert table.name == "t"
    for spoilt in (b"", b"x,y\n1,2\n", pack(content)[:-30]):
        with pytest.raises(DataFileError, match=r"(not a whole zip|not a whole zstd|is empty)"):
            read(path, spoilt, X, Y)


def test_a_zip_of_several_files_is_refused(tmp_path):
    for members in ([b"x,y\n1,2\n"] * 2, []):
        with pytest.raises(DataFileError, match="several files"):
            read(tmp_path / "t.zip", zipped(*members), X, Y)


@pytest.mark.parametrize("suffix", PACKED)
def test_what_a_file_unpacks_to_has_a_limit(tmp_path, suffix, monkeypatch):
    """It is counted while it is read, whatever the file says of its size."""
    monkeypatch.setattr(packing, "MOST_UNPACKED", 1 << 20)
    packed = PACKED[suffix](b"x,y\n" + b"1,2\n" * (1 << 18))
    with pytest.raises(DataFileError, match="unpacks to more than"):
        read(tmp_path / f"t.csv{suffix}", packed, X, Y)


@pytest.mark.parametrize("spoilt", [b"", b"x,y\n1,2\n", gzip.compress(b"x,y\n" * 90, mtime=0)[:-12],
                                    gzip.compress(b"x,y\n", mtime=0) + b"garbage"])  # fmt: skip
def test_what_is_no_whole_gzip_file_is_refused(tmp_path, spoilt):
    with pytest.raises(DataFileError, match=r"t\.csv\.gz is (not a whole gzip file|empty)"):
        read(tmp_path / "t.csv.gz", spoilt, X, Y)


def test_a_file_that_unpacks_to_much_is_read_block_by_block(tmp_path):
    path = tmp_path / "t.csv.gz"
    path.write_bytes(gzip.compress(b"x,y\n" + b"1,2\n" * 1_000_000))
    sizes = []
    scanned = records.scanned

    def recorded(data, *rest, **options):
        sizes.append(len(data))
        return scanned(data, *rest, **options)

    with (
        patch.object(records, "scanned", recorded),
        patch.object(records, "BLOCK", 1 << 16),
    ):
        assert CsvSource(Table("t", path, (X,))).load([]).rows == 1_000_000
    assert max(sizes) < 2 << 16
