"""The columns of a file: which are read, what its header says, and files that cannot be read."""

from __future__ import annotations

import os
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pytest

from dpdb.engines.sources.cells import records
from dpdb.engines.sources.csv_source import CsvSource
from dpdb.errors import DataFileError
from dpdb.policy.catalog import Column, Kind, Table
from dpdb.policy.csv.csv_format import CsvFormat
from dpdb.policy.csv.csv_header import read_header
from dpdb.vectors.columns import Numbers
from tests.support.csv_files import integer, loaded, plain


def test_only_declared_columns_are_read_in_any_case_and_order(path):
    content = "Name,AGE,age,zip\nx,1,2,3\n"
    path.write_text(content.replace("AGE", "Ages"))
    table = Table("t", path, (Column("ZIP", Kind.INTEGER), Column("age", Kind.INTEGER)))
    found = CsvSource(table).load(["age", "ZIP"])
    columns, rows = found.columns, found.rows
    assert list(columns) == ["ZIP", "age"]
    assert plain(columns["ZIP"]) == [3]
    assert plain(columns["age"]) == [2]
    assert rows == 1


def test_a_table_without_declared_columns_counts_rows(path):
    assert loaded(path, "a,b\n1,2\n3\n") == ({}, 2)


def test_a_declared_column_must_be_there(path):
    with pytest.raises(DataFileError, match="line 1: there is no column incme") as caught:
        loaded(path, "name,income\n", Column("incme", Kind.TEXT))
    assert caught.value.hint == "did you mean income?"
    with pytest.raises(DataFileError, match="no column AGE"):
        loaded(path, "age,b\n", Column("age", Kind.TEXT), Column("AGE", Kind.TEXT))


def test_a_file_without_rows(path):
    columns, rows = loaded(path, "x,y", integer(0, 5), Column("y", Kind.TEXT))
    assert rows == 0
    assert columns["x"].units.dtype == np.int8
    assert len(columns["x"].null) == 0
    assert [*columns["y"].values] == []
    assert len(columns["y"].codes) == 0


@pytest.mark.parametrize("first", ["1", '1"', "oops", "1,2"])
def test_progress_goes_to_the_end(path, first):
    path.write_text(f"x\n{first}\n" + "1\n" * 1000)
    seen = []
    with patch.object(records, "BLOCK", 300):
        CsvSource(Table("t", path, (integer(),))).load(["x"], seen.append)
    assert len(seen) > 3
    assert seen == sorted(seen)
    assert seen[-1] == 1.0


def test_blocks_are_no_larger_where_no_threads_share_their_columns(path):
    """Whoever asks for blocks has little memory, however many columns are read."""
    path.write_text("x,y,z\n" + "1,1,1\n" * 1000)
    source = CsvSource(Table("t", path, tuple(Column(name, Kind.INTEGER) for name in "xyz")))
    with patch.object(records, "BLOCK", 300):
        assert max(block.rows for block in source.blocks(["x", "y", "z"])) * len("1,1,1\n") <= 300


def test_values_are_not_shown(path):
    columns, _ = loaded(path, "x,y\n31337,canary\n", integer(), Column("y", Kind.TEXT))
    assert isinstance(columns["x"], Numbers)
    assert repr(columns) == "{'x': Numbers(...), 'y': Codes(...)}"


def test_header_names_are_kept_but_for_the_space_around_them(path):
    path.write_bytes('\ufeff\n Name,"a,""b""",É\x1b]0;x\x07\r\n1,2,3\n'.encode())
    assert read_header(path).names == ("Name", 'a,"b"', "É\x1b]0;x\x07")


def test_rows_begin_after_the_header(path):
    for content in ('\ufeff"x, 1",y\n2,3\n', "\n\nx,y\r2,3\r", '"x","y"\r\n2,3'):
        path.write_bytes(content.encode())
        name = read_header(path).names[0]
        table = Table("t", path, (Column(name, Kind.TEXT), Column("y", Kind.TEXT)))
        found = CsvSource(table).load([name, "y"])
        assert (plain(found.columns[name]), plain(found.columns["y"])) == (["2"], ["3"])
        assert found.rows == 1


@pytest.mark.parametrize("rows", ["", "\n", "\n1,2\n", '\n1",2\n', '\r1\r"",""\r', '\n",\0\n'])
def test_a_header_whose_quote_is_open_is_refused_whatever_the_rows_are(path, rows):
    """Otherwise cells up to the next quote would be the name of a column, which all may see."""
    path.write_text('a,"b' + rows)
    with pytest.raises(DataFileError) as caught:
        read_header(path)
    assert str(caught.value) == (
        f"{path}, line 1: the header is not CSV: a quote is not closed on its line"
    )


@pytest.mark.parametrize(
    ("form", "names", "rows"),
    [
        (CsvFormat(quote=""), ("a", '"b'), [None, "2"]),
        (CsvFormat(header=False), "ab", ["b\nc", "2"]),
    ],
)
def test_a_policy_can_say_how_such_a_file_is_to_be_read(path, form, names, rows):
    path.write_text('a,"b\nc"\n1,2\n')
    table = Table("t", path, tuple(Column(name, Kind.TEXT) for name in names), csv=form)
    found = CsvSource(table).load(names)
    assert plain(found.columns[names[1]])[-2:] == rows


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is empty"),
        (b"\n\r\n\n", "is empty"),
        (b"\xef\xbb\xbf", "is empty"),
        (b"\xef\xbb\xbfa,caf\xe9\n1,2\n", "line 1: the header is not utf-8"),
        (b"\nno,\x81,cp1252\n1,2\n", "line 2: the header is neither UTF-8 nor cp1252"),
        (b"\xff\xfea\0,", "line 1: the header is not utf-16-le"),
        (b"PK\x03\x04\x14\0,", "is a zip archive or a workbook"),
        (b"\x1f\x8b\x08", "is compressed by gzip"),
        ("a,b\n".encode("utf-16-le"), "line 1: the header holds a NUL"),
        (b"a,b\0c\n", "line 1: the header holds a NUL"),
        (b'\n"a"b,c\n1,2\n', "line 2: the header is not CSV: ',' expected after"),
        (b"a," * (1 << 20), "line 1: the header is over"),
    ],
)
def test_a_bad_header(path, content, message):
    path.write_bytes(content)
    with pytest.raises(DataFileError, match=message):
        read_header(path)
    with pytest.raises(DataFileError, match=message):
        CsvSource(Table("t", path, ())).load(())


@pytest.mark.parametrize(
    ("name", "message"),
    [("absent.csv", "No such file"), (".", "is a directory"), ("pipe", "not a regular file"),
     ("nul\0", "cannot read"), ("x" * 300, "cannot read")],
)  # fmt: skip
def test_a_file_that_is_none(tmp_path, name, message):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(DataFileError, match=message):
        read_header(tmp_path / name)


def test_a_file_that_may_not_be_read(path):
    path.write_text("a\n")
    failure = PermissionError(13, "Permission denied")
    with (
        patch("builtins.open", side_effect=failure),
        pytest.raises(DataFileError, match="Permission denied"),
    ):
        read_header(path)


@pytest.mark.skipif(not Path("/proc/self/mem").exists(), reason="no file here that fails")
@pytest.mark.parametrize("header", [True, False])
def test_a_disk_that_fails(header):
    table = Table("t", Path("/proc/self/mem"), (), csv=CsvFormat(header=header))
    with pytest.raises(DataFileError, match="cannot read /proc/self/mem: Input/output error"):
        CsvSource(table).load(())


@pytest.mark.parametrize("nullable", [True, False])
@pytest.mark.parametrize("block", [16, 1 << 22])
def test_a_text_of_more_bytes_than_its_column_has_is_missing(path, nullable, block):
    """Bytes are those of the value: two for an umlaut, three for one that is replaced."""
    content = 'a\nabc\nabcd\n"abc"\n"a""b"\näb\näbc\n""\nabc\n'.encode() + b"\xff\n\xffa\n"
    column = Column("a", Kind.TEXT, nullable=nullable, length=3)
    columns, _ = loaded(path, content, column, block=block)
    lost = None if nullable else ""
    expected = ["abc", lost, "abc", 'a"b', "äb", lost, lost, "abc", "\N{REPLACEMENT CHARACTER}"]
    assert plain(columns["a"]) == [*expected, lost]
