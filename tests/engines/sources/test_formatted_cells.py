"""Formatted cells of files: as many at a time as one by one, in every source and engine."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow
import pytest

from dpdb.engines.memory import MemoryEngine
from dpdb.engines.sources.cells.builders import builder
from dpdb.engines.sources.cells.records import Cells
from dpdb.policy.catalog import Column, Kind
from dpdb.policy.cell_format import CellFormat
from dpdb.policy.reading.reader import read_policy
from tests.support.csv_files import plain
from tests.support.exactly import raw
from tests.support.streams import SmallBlocks
from tests.support.typed_files import write_typed

COLUMNS = """
[tables.t.columns]
d = { type = "date", bounds = ["1990-01-01", "2029-12-31"], format = "%m/%d/%Y" }
x = { type = "number", bounds = [0, 10_000], step = 0.01, thousands = ",", prefix = "$" }
p = { type = "number", bounds = [0, 1], step = 0.001, percent = true }
w = { type = "text" }
n = { type = "integer", bounds = [0, 99] }
"""
ROWS = [
    ("9/30/1990", "$1,234.50", "12.5%", "a", "1"),
    ("1990-09-30", "1,23", "12", "NA", "NA"),
    ("NA", "", "-", "-", "-"),
    ("12/1/2020", "77", "100 %", "", "-7"),
    ("13/1/2020", "$9,999", "x", "b", "7"),
]
ASKED = [
    "SELECT COUNT(d), COUNT(x), COUNT(p), COUNT(w), COUNT(n) FROM t",
    "SELECT SUM(x), SUM(p), SUM(n) FROM t",
    "SELECT COUNT(*) FROM t WHERE d = DATE '1990-09-30' OR d = DATE '2020-12-01'",
    "SELECT COUNT(DISTINCT w) FROM t",
]
FOUND = (
    [[2], [3], [3], [2], [3]],
    [[123450 + 7700 + 999900], [125 + 120 + 1000], [1 + 7]],
    [[2]],
    [[2]],
)


@pytest.mark.parametrize("quoted", [False, True])
def test_csv_files(tmp_path: Path, quoted: bool) -> None:
    """A quoted NA is one, too: quoting is the writer's habit."""
    mark = '"' if quoted else ""
    lines = [";".join(f"{mark}{cell}{mark}" for cell in row) for row in ROWS]
    (tmp_path / "t.csv").write_text("d;x;p;w;n\n" + "\n".join(lines) + "\n")
    (tmp_path / "t.toml").write_text(f'[tables.t]\nnull = ["NA", "-"]\nseparator = ";"{COLUMNS}')
    policy = read_policy(tmp_path / "t.toml")
    for engine in (MemoryEngine(), SmallBlocks(block=2)):
        for text, expected in zip(ASKED, FOUND, strict=True):
            assert numbers(raw(text, policy, engine)) == expected, text


def test_texts_of_typed_files(tmp_path: Path) -> None:
    """Texts in Parquet files are read as cells; typed numbers as the cells that would write them."""
    columns = dict(zip("dxpwn", zip(*ROWS, strict=True), strict=True))
    held = pyarrow.table(
        {**columns, "p": [12.5, 12.0, None, 100.0, None], "n": [1, None, None, -7, 7]}
    )
    write_typed(tmp_path, "t", held)
    (tmp_path / "t.toml").write_text(
        f'[tables.t]\npath = "t.parquet"\nnull = ["NA", "-", "7"]{COLUMNS}'
    )
    policy = read_policy(tmp_path / "t.toml")
    for engine in (MemoryEngine(), SmallBlocks(block=2)):
        assert numbers(raw(ASKED[1], policy, engine)) == [FOUND[1][0], FOUND[1][1], [1]]
        assert numbers(raw(ASKED[3], policy, engine)) == [[2]]


def numbers(found: Any) -> list[list[int]]:
    return [[int(cell) for cell in each] for each in found]


def test_a_unit_is_told_apart_by_what_is_left(tmp_path: Path) -> None:
    """NA names nobody; a name that is no UTF-8 is nobody\'s, as ever."""
    column = Column("who", Kind.TEXT, cells=CellFormat(null=("NA",)))
    made = builder(column, exact=True)
    made.add(Cells.of([b"ann", b"NA", b'"NA"', b"a\xff", b"", b'"ann"', b'"a""b"']))
    assert plain(made.finish()) == ["ann", None, None, None, None, "ann", 'a"b']
