"""A check says of each cell what the engine makes of it."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dpdb.engines.sources.csv_source import CsvSource
from dpdb.errors import DataFileError
from dpdb.lab.studies.cells import Fate
from dpdb.lab.studies.check import check, report
from dpdb.policy.catalog import Column, Kind, Table
from dpdb.policy.cell_format import CellFormat
from dpdb.policy.csv.csv_format import CsvFormat
from dpdb.policy.storage import server_table
from dpdb.vectors.columns import Codes
from tests.support.csv_files import anywhere, integer

CELLS = st.sampled_from(
    [b"", b"7", b"7.5", b"-3", b"99", b"1e400", b"1e9999", b"9007199254740993", b"1e17", b"x", b"\xff",
     b"7\0", b"true", b"n", b"2020-02-29", b"2021-02-29", b" 7 ", b"0.1", b"0,1", b"7,5", b'"7"', b'"a;b"', b"NA",
     b"x" * 10_001, b"2.5", b"6.5", b"1970-01-01 00:00:01.5", b"1970-01-01T00:00Z", b"1699-01-01 00:00"]
)  # fmt: skip
FILES = st.lists(st.lists(CELLS, min_size=1, max_size=4).map(b";".join), max_size=8).map(b"\n".join)
COLUMNS = [
    Column("x", Kind.TEXT),
    Column("x", Kind.TEXT, nullable=False),
    Column("x", Kind.TEXT, values=("7", "x")),
    Column("x", Kind.BOOLEAN),
    Column("x", Kind.BOOLEAN, values=(True,)),
    Column("x", Kind.DATE),
    Column("x", Kind.DATE, Fraction(0), Fraction(9)),
    Column("x", Kind.TIMESTAMP),
    Column("x", Kind.TIMESTAMP, Fraction(0), Fraction(10**6), Fraction(10**6)),
    Column("x", Kind.NUMBER),
    Column("x", Kind.NUMBER, Fraction(0), Fraction(9), Fraction(1, 2)),
    integer(),
    integer(0, 9),
    Column("x", Kind.INTEGER, Fraction(7), Fraction(8), values=(7, 8)),
    Column("x", Kind.NUMBER, Fraction(1, 10), Fraction(7), Fraction(1, 10), (7, Fraction(1, 10))),
]


@pytest.fixture
def path(tmp_path):
    return tmp_path / "t.csv"


@anywhere
@example(b"1e17", integer(), True, ".")
@example(b"0.1", COLUMNS[-1], False, ".")
@given(FILES, st.sampled_from(COLUMNS), st.booleans(), st.sampled_from([".", ","]))
def test_as_many_cells_are_lost_as_the_engine_makes_null(path, content, column, unit, decimal):
    unit = unit and column.kind in (Kind.TEXT, Kind.INTEGER) and column.nullable
    unit = unit and (column.bounds is None or column.values is not None)
    path.write_bytes(b"x;y\n" + content)
    form = CsvFormat(separator=";", decimal=decimal)
    table = Table("t", path, (column, Column("y", Kind.TEXT)), "x" if unit else None, csv=form)
    found = CsvSource(table).load(["x"])
    held = found.columns["x"]
    if isinstance(held, Codes):
        null = int(np.count_nonzero(held.codes == len(held.values)))
    else:
        null = 0 if held.null is None else int(np.count_nonzero(held.null))
    checked = check(table)
    fates = checked.columns[0].fates
    assert checked.records.rows == found.rows == sum(fates.values())
    if column.nullable:
        assert sum(number for fate, number in fates.items() if not fate.kept) == null


def test_fates(path):
    path.write_bytes(
        b"x,y\n5\n\n-1,a\n10,b\nno,\n,caf\xe9\n\xff,1,2\n1e999,\n" + b"1" * 10_001 + b",\n"
    )
    found = check(Table("t", path, (integer(0, 9), Column("y", Kind.TEXT))))
    r = found.records
    assert (r.rows, r.blank_lines, r.short_rows, r.long_rows) == (8, 1, 1, 1)
    of_x, of_y = (checked.fates for checked in found.columns)
    assert of_x == {
        Fate.READ: 1, Fate.LOW: 1, Fate.HIGH: 1, Fate.UNREADABLE: 1, Fate.EMPTY: 1,
        Fate.UNDECODABLE: 1, Fate.INFINITE: 1, Fate.LONG: 1,
    }  # fmt: skip
    assert of_y == {Fate.SHORT: 1, Fate.READ: 3, Fate.REPLACED: 1, Fate.EMPTY: 3}
    text = "\n".join(report(found))
    assert "x (integer): 5 of 8 cells NULL" in text
    assert "1 no integer, as 'no'" in text
    assert "1 clamped, being below the bounds, as '-1'" in text


@pytest.mark.parametrize(
    ("column", "cells", "line"),
    [
        (
            Column("x", Kind.DATE, cells=CellFormat(("%m/%d/%Y",), null=("NA",))),
            ["9/30/1990", "NA", "", " ", "30/9/1990", "1990-09-30"],
            "2 no date: no format or null of the policy explains it, as '30/9/1990', '1990-09-30'",
        ),
        (
            Column("x", Kind.NUMBER, cells=CellFormat(prefix="$", thousands=",")),
            ["$1,200", "1,20", "5"],
            "1 no number: no format or null of the policy explains it, as '1,20'",
        ),
    ],
)
def test_cells_that_no_declared_format_explains(path, column, cells, line):
    path.write_text("\n".join(["x", *(f'"{cell}"' for cell in cells)]))
    found = check(Table("t", path, (column,)))
    assert f"    {line}" in report(found)


def test_texts_that_are_longer_than_their_column_has_them(path):
    path.write_text("s\nabc\nabcd\näbc\n")
    table = Table("t", path, (Column("s", Kind.TEXT, length=3),))
    [of_s] = [column.fates for column in check(table).columns]
    assert of_s == {Fate.READ: 1, Fate.LONGER: 2}


def test_units(path):
    path.write_text("u,x\na,1\na,2\na,3\nb,4\n,5\n")
    table = Table("t", path, (Column("u", Kind.TEXT), integer(0, 9)), "u", 2)
    units = check(table).units
    assert (units.units, units.nameless_rows, units.overfull_units, units.surplus_rows) == (
        2,
        1,
        1,
        1,
    )
    text = "\n".join(report(check(table)))
    assert "units cut to rows_per_unit = 2: 1\n  rows of theirs that are not counted: 1" in text
    assert "rows_held_per_unit" not in text
    text = "\n".join(report(check(replace(table, rows_per_unit=9, finds_cap=True))))
    assert "each query finds how many rows of a unit count, at most 9\n" in text
    assert "cut to" not in text
    text = "\n".join(report(check(replace(table, rows_held_per_unit=2))))
    assert "units cut to rows_held_per_unit = 2: 1\n  rows of theirs that no query sees: 1" in text


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ('x,y\n1,"lone\n2,b\n3,c\n', "a quote that is not closed, and so is text: 1"),
        ('"x","y"\n"a",1,2\n"b",2,3\n', "every row has more cells than the header"),
        ('x,y\n1,"a\n"\n', None),
        ('x,y\n1,2\n"a",1,2\n', None),
    ],
)
def test_what_a_custodian_should_look_at(path, content, said):
    path.write_text(content)
    text = "\n".join(report(check(Table("t", path, (integer(), Column("y", Kind.TEXT))))))
    for remark in (
        "a quote that is not closed, and so is text: 1",
        "every row has more cells than the header",
    ):
        assert (remark in text) == (remark == said)


def test_cells_of_a_cluster_are_not_looked_at(tmp_path):
    table = Table("t", tmp_path / "t", (integer(),), server=server_table("spark:///?table=t"))
    with pytest.raises(DataFileError, match=r"spark://\?table=t: its cells are not looked at"):
        check(table)
