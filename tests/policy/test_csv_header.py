"""What is told of a file before its first row, and the names of its columns."""

from __future__ import annotations

from pathlib import Path

import pytest

from dpdb.engines.sources.opening import open_source
from dpdb.errors import DataFileError, PolicyError
from dpdb.ledger.terms import described, tables_in
from dpdb.policy.catalog import Column, Kind, Policy, Table
from dpdb.policy.csv.csv_format import CsvFormat
from dpdb.policy.csv.csv_header import read_header
from dpdb.policy.reading.reader import read_policy
from dpdb.policy.schemas.table_files import header_of, remarks


def written(folder: Path, content: str | bytes, name: str = "t.csv") -> Path:
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


@pytest.mark.parametrize(
    ("header", "separator", "names"),
    [
        ("a,b;c,d", ",", ("a", "b;c", "d")),
        ("a;b, in EUR;c", ";", ("a", "b, in EUR", "c")),
        ('"a;b";c', ";", ("a;b", "c")),
        ('"a;b;c"', ",", ("a;b;c",)),
        ("a\tb", "\t", ("a", "b")),
        ("a|b|c", "|", ("a", "b", "c")),
        ("a b", ",", ("a b",)),
        ("a,b;c", ",", ("a", "b;c")),
        ("sep=;\na;b,c,d", ";", ("a", "b,c,d")),
        ('"sep=\t"\r\na\tb', "\t", ("a", "b")),
        ("sep=é\na,b", ",", ("sep=é",)),
        ("\r\n\na;b", ";", ("a", "b")),
    ],
)
def test_the_separator_is_told_from_the_header(
    tmp_path: Path, header: str, separator: str, names: tuple[str, ...]
) -> None:
    # The rows are full of others, and of no use.
    for rows in ("", "1,2,3,4,5,6\n1;2;3;4;5\n1\t2\t3\t4\t5\t6\t7|8|9\n" * 9):
        found = read_header(written(tmp_path, f"{header}\n{rows}"))
        assert found.punctuation.separator == separator.encode()
        assert found.names == names


@pytest.mark.parametrize("rows", ["", "1;2\n", '"', '1";2\n', ';;"\n1,2,3'])
def test_rows_have_no_say_where_a_quote_is_left_open(tmp_path: Path, rows: str) -> None:
    found = read_header(written(tmp_path, f'a,b;"c\n{rows}'))
    assert (found.punctuation.separator, found.names) == (b",", ("a", 'b;"c'))


def test_the_name_of_a_file_tells_more_than_its_header(tmp_path: Path) -> None:
    header = "freq,unit,geo\\TIME\t2020\n"
    assert read_header(written(tmp_path, header, "t.tsv")).names == ("freq,unit,geo\\TIME", "2020")
    assert read_header(written(tmp_path, header, "t.TSV")).guesses == ()


def test_what_is_declared_is_not_told(tmp_path: Path) -> None:
    path = written(tmp_path, "a;b;c,d\n")
    assert read_header(path, CsvFormat(separator=",")).names == ("a;b;c", "d")
    with pytest.raises(DataFileError, match="the header is not utf-8"):
        read_header(written(tmp_path, b"caf\xe9\n"), CsvFormat(encoding="utf-8"))
    with pytest.raises(DataFileError, match="does not begin with the mark of utf-16"):
        read_header(path, CsvFormat(encoding="utf-16"))


@pytest.mark.parametrize(
    ("cells", "names"),
    [
        (",a,", ("column_1", "a", "column_3")),
        ("a,A,a", ("a", "A_2", "a_3")),
        ("a,a,a_2", ("a", "a_3", "a_2")),
        ("column_2,,x", ("column_2", "column_2_2", "x")),
        ("straße,STRASSE", ("straße", "STRASSE_2")),
        ("a, ,a ", ("a", "column_2", "a_2")),
        ("geo\\TIME, 2019 ,\u00a02020", ("geo\\TIME", "2019", "2020")),
    ],
)
def test_columns_without_a_name_of_their_own_get_one(
    tmp_path: Path, cells: str, names: tuple[str, ...]
) -> None:
    assert read_header(written(tmp_path, f"{cells}\n1,2,3\n")).names == names


def test_without_a_header_nothing_is_told_from_the_file(tmp_path: Path) -> None:
    columns = (Column("x", Kind.INTEGER), Column("y", Kind.TEXT))
    for content in (
        b"",
        b"\xef\xbb\xbf1;2;3\n",
        b"caf\xe9;\0\n",
        b'"',
        b"PK\x03\x04",
        b"\xff\xfe1\0",
    ):
        header = header_of(
            Table("t", written(tmp_path, content), columns, csv=CsvFormat(header=False))
        )
        assert (header.names, header.encoding, header.mark) == (("x", "y"), "utf-8", 0)
        assert (header.punctuation.separator, header.length) == (b",", 0)


@pytest.mark.parametrize(
    ("content", "remark"),
    [
        (b"a;b\n", 'first line; numbers such as 12,50 need a policy with decimal = ","'),
        (b"a\tb\n", "cells are separated by tabs"),
        (b"caf\xe9,b\n", "the header is not UTF-8, so the file is read as cp1252"),
        ("a,b\n".encode("utf-16"), "the file is read as utf-16-le, by its byte-order mark"),
        (b"a,a\n", "a column has the name of another: here it is a_2"),
        (b"a,,c\n", "a column has no name: here it is column_2"),
        (b"a,,\n", "2 columns have no name: here they are column_2, column_3"),
        (
            b"a" + b"," * 256,
            "256 columns have no name: here they are column_2, column_3, column_4, …",
        ),
        (b"39,77516,State-gov\n1,2,3\n", "the header looks like a row"),
        (b"# by the agency, 2020\na,b\n", 'a policy can say comment = "#"'),
        (b"39,2024-01-31 08:30:00,x,y\n1,2,3,4\n", "the header looks like a row"),
    ],
)
def test_what_is_told_is_said(tmp_path: Path, content: bytes, remark: str) -> None:
    table = Table("t", written(tmp_path, content), (Column("a", Kind.TEXT, guessed=True),))
    assert any(remark in said for said in remarks(table))


def test_nothing_is_said_of_a_decimal_mark_that_is_declared(tmp_path: Path) -> None:
    form = CsvFormat(decimal=",")
    table = Table("t", written(tmp_path, "a;b\n"), (Column("a", Kind.TEXT),), csv=form)
    [remark] = remarks(table)
    assert remark.endswith("separated by semicolons, by the look of the first line")


@pytest.mark.parametrize(
    "content", [b"a,b\n1;2\n", b"\xef\xbb\xbfa,b\n", b"0,1,2\n5,6,7\n", b"geo,2019,2020,2021\n"]
)
def test_of_ordinary_files_nothing_is_said(tmp_path: Path, content: bytes) -> None:
    table = Table("t", written(tmp_path, content), (Column("a", Kind.TEXT, guessed=True),))
    assert remarks(table) == []


def test_names_are_not_remarked_on_where_a_policy_has_them(tmp_path: Path) -> None:
    path = written(tmp_path, "a,a,;\n")
    assert remarks(Table("t", path, (Column("a", Kind.TEXT),))) == []


def test_a_policy_says_whether_cells_go_over_lines(tmp_path: Path) -> None:
    written(tmp_path, 'x,y\n"one\n"two\nthree"\n')
    for said, rows in (("", 2), ("multiline = true\n", 2), ("multiline = false\n", 3)):
        policy = tmp_path / "t.toml"
        policy.write_text(f'[tables.t]\n{said}[tables.t.columns]\nx = {{ type = "text" }}\n')
        [table] = read_policy(policy).tables
        assert tables_in(described(Policy((table,))))[0].csv == table.csv
        assert open_source(table).load([]).rows == rows
    policy.write_text('[tables.t]\nmultiline = 1\n[tables.t.columns]\nx = { type = "text" }\n')
    with pytest.raises(PolicyError, match="multiline: the value is true or false"):
        read_policy(policy)
