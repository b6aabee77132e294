"""Formatted cells of files: as many at a time as one by one, in every source and engine."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dpdb.engines.memory import MemoryEngine
from dpdb.engines.sources.cells.builders import builder
from dpdb.engines.sources.cells.records import Cells
from dpdb.policy.catalog import Column, Kind
from dpdb.policy.cell_format import PLAIN, CellFormat
from dpdb.policy.csv.csv_format import NO_QUOTES, Punctuation
from dpdb.policy.reading.reader import read_policy
from dpdb.vectors import grammar
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


FORMS = [
    (Kind.DATE, CellFormat(("%m/%d/%Y",))),
    (Kind.DATE, CellFormat(("%m/%d/%y", "%Y-%m-%d"), null=("1/1/19", "1/1/20"))),
    (Kind.DATE, CellFormat(("%Y%m%d",), null=("NA",))),
    (Kind.DATE, CellFormat(("%d %b %Y", "%d.%m.%Y %H:%M"))),
    (Kind.DATE, CellFormat(("%d %B %Y", "%j %Y"))),
    (Kind.DATE, CellFormat(('"%d/%m/%Y', " %m/%d/%Y"))),
    (Kind.DATE, CellFormat(null=("2020-01-01", "NA"))),
    (Kind.TIMESTAMP, CellFormat(("%m/%d/%Y %I:%M %p", "%m/%d/%Y"))),
    (Kind.TIMESTAMP, CellFormat(("%Y-%m-%d %H:%M:%S", "%Y-%m-%d %H:%M:%S.%f"))),
    (Kind.TIMESTAMP, CellFormat(null=("2020-01-01 10:00:00",))),
    (Kind.NUMBER, CellFormat(thousands=",", prefix="$", null=("-", "$1"))),
    (Kind.NUMBER, CellFormat(thousands=" ", suffix="€")),
    (Kind.NUMBER, CellFormat(thousands="\N{NO-BREAK SPACE}", suffix="€")),
    (Kind.NUMBER, CellFormat(thousands=".", prefix="$.")),
    (Kind.NUMBER, CellFormat(percent=True)),
    (Kind.NUMBER, CellFormat(suffix="%", null=("1%",))),
    (Kind.NUMBER, CellFormat(suffix="kg", percent=True)),
    (Kind.INTEGER, CellFormat(thousands="'", null=("-9",))),
    (Kind.INTEGER, CellFormat(null=("1", "NA"))),
    (Kind.TEXT, CellFormat(null=("NA", 'a"b', '"NA', "$1"))),
]  # fmt: skip
PIECES = st.sampled_from(
    [*"0123456789"] * 3 + [*"/-:., '\"$%()+eE", " ", "am", "PM", "Jan", "feb", "April", "NA", "a",
     "€", "kg", "\N{NO-BREAK SPACE}", "\xff", '""', "000", "2020", "1/1/20", "01", "12:30"]
)  # fmt: skip
DATES = st.dates().flatmap(
    lambda day: st.sampled_from(
        [f"{day.month}/{day.day}/{day.year:04}", f"{day:%m/%d/%y}", f"{day.year:04}{day:%m%d}",
         f"{day.day} {day:%b} {day.year:04}", f"{day.isoformat()} 10:00:00",
         f"{day.day}.{day:%m}.{day.year:04} 9:59", f"{day:%m}/{day.day}/{day.year:04} 12:05 am"]
    )
)  # fmt: skip
NUMBERS = st.tuples(
    st.sampled_from(["", "$", "-", "-$", "$-", "("]),
    st.one_of(st.integers(0, 10**12).map("{:,}".format), st.decimals(0, 10**9, places=2).map(str)),
    st.sampled_from(["", "%", " %", "€", "kg", ")"]),
    st.sampled_from([",", ".", " ", "'"]),
).map(lambda parts: "".join(parts[:3]).replace(",", parts[3]))
WRITTEN = st.one_of(st.lists(PIECES, max_size=8).map("".join), DATES, NUMBERS).flatmap(
    lambda text: st.sampled_from([text, f'"{text}"', f" {text}"])
)


@example([" 1/2/2020", '"1/2/2020"', "1/2/20200", "02/30/2020"], FORMS[0], ".")
@example(["1/1/19", '"1/1/20"', "1/1/69", "1/1/1920"], FORMS[1], ".")
@example(["1,234", "12,34", "1234,567", ",123", "1,234,", "$-5", "-$5", "-$-5"], FORMS[10], ".")
@example(["1.234,5", "$.5", "5,", "-0", "123456789012345", "1234567890123456"], FORMS[13], ",")
@example(['"N"A', '"a""b"', 'a"b', '"NA', '"NA"'], FORMS[-1], ".")
@given(st.lists(WRITTEN, min_size=1, max_size=30), st.sampled_from(FORMS), st.sampled_from(".,"))
def test_many_cells_are_read_as_one_is(
    written: list[str], form: tuple[Kind, CellFormat], decimal: str
) -> None:
    """A format reads each cell as the rewritten text would be read without one."""
    kind, cells = form
    if cells.thousands == decimal:
        return
    marks = Punctuation(decimal=decimal.encode())
    raw = [text.encode("latin-1" if "\xff" in text else "utf-8", "replace") for text in written]
    column = Column("x", kind, cells=cells)
    made = builder(column, punctuation=marks)
    made.add(Cells.of(raw))
    alone = builder(replace(column, cells=PLAIN), punctuation=NO_QUOTES)
    texts = [cells.plain(grammar.text(each, b'"'), kind, decimal) for each in raw]
    alone.add(Cells.of([text.encode() for text in texts]))
    found, expected = plain(made.finish()), plain(alone.finish())
    assert found == expected, [*zip(raw, found, expected, strict=True)]
    assert not any(isinstance(each, float) and each == 0 and np.signbit(each) for each in found)
