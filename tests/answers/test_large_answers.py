"""The work on an answer of many cells is numpy's: Python takes no step for each of them."""

from __future__ import annotations

import sys
from fractions import Fraction
from pathlib import Path
from types import FrameType

import pytest

from dpdb.answers.answer import Answer
from dpdb.answers.formats.render import FORMATS
from dpdb.policy.catalog import Column, Kind, Policy, Table
from dpdb.session.session import Session
from tests.support.noiseless import Noiseless

FEW, MANY = (2, 300), (151, 151)
"""The numbers of values of two keys: as many values, and 600 or 22,801 groups of them."""
QUERY = """SELECT a, b, COUNT(*), SUM(a) / 2, AVG(a) FROM t GROUP BY a, b
    HAVING a >= 0 ORDER BY COUNT(*) DESC, b"""


def session(path: Path, sizes: tuple[int, int]) -> Session:
    path.write_text("a,b\n" + "1,1\n" * 50)
    columns = (
        Column(name, Kind.INTEGER, Fraction(0), Fraction(size - 1), values=tuple(range(size)))
        for name, size in zip("ab", sizes, strict=True)
    )
    return Session(Policy((Table("t", path, tuple(columns)),)), noise=Noiseless())


def answered(path: Path, sizes: tuple[int, int]) -> tuple[Answer, int]:
    """The answer to the query, and the number of calls of functions that it takes."""
    here, calls = session(path, sizes), 0
    here.execute("SET repeats = 'fresh'")
    here.execute(QUERY)  # the file is read by now, and caches hold what they will

    def count(frame: FrameType, event: str, argument: object) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")

    sys.setprofile(count)
    try:
        return here.execute(QUERY), calls
    finally:
        sys.setprofile(None)


def test_calls_do_not_grow_with_the_number_of_cells(tmp_path: Path) -> None:
    few, many = (answered(tmp_path / "t.csv", sizes) for sizes in (FEW, MANY))
    assert [len(answer.cells[0].cells) for answer, _ in (few, many)] == [600, 22_801]
    # A call for each group would make 22,201 more. The search for the ends of an average's interval
    # tries fewer points at once where there are more groups, in more rounds.
    assert abs(many[1] - few[1]) < 3_000


@pytest.mark.parametrize("name", [form for form in FORMATS if form != "json"])
def test_rows_are_made_where_somebody_asks_for_them(tmp_path: Path, name: str) -> None:
    answer, _ = answered(tmp_path / "t.csv", (2, 3))
    FORMATS[name](answer)
    assert not {"rows", "intervals"} & vars(answer).keys()
    assert len(answer.rows) == len(answer.intervals) == 6
