"""`||` in a session: what it makes is bounded, whatever the cells hold."""

from __future__ import annotations

from pathlib import Path

import pytest

from dpdb import manual
from dpdb.policy.reading.reader import policy_for
from dpdb.session.session import Session
from dpdb.vectors.vector import LONGEST_JOINED
from tests.support.noiseless import Noiseless

CELLS = ["", "a", "ab", "x" * 500, "x" * 501, "é" * 500, "y" * 9_000]


@pytest.fixture
def session(tmp_path: Path) -> Session:
    lines = ["n,t", *(f'{number},"{cell}"' for number, cell in enumerate(CELLS))]
    (tmp_path / "t.csv").write_text("\n".join(lines), encoding="utf-8")
    return Session(policy_for(tmp_path / "t.csv"), noise=Noiseless())


@pytest.mark.parametrize(
    ("condition", "rows"),
    [
        ("t || t = 'aa'", {1}),
        ("t || t IS NULL", {0, 4, 6}),
        ("LENGTH(t || t) = 1000", {3, 5}),
        ("t || '' IS NULL", {0, 6}),
        ("t || t || NULL IS NOT NULL", set()),
        (f"t || '{'z' * 998}' = 'ab{'z' * 998}'", {2}),
        (f"t || '{'z' * 999}' IS NOT NULL", {1}),
        # A part that is too long by itself leaves no result, however short the rest.
        ("SUBSTR(t || t, 1, 1) = 'x'", {3}),
        ("COALESCE(t || t, 'none') = 'none'", {0, 4, 6}),
    ],
)
def test_a_result_that_is_too_long_is_null(
    session: Session, condition: str, rows: set[int]
) -> None:
    assert LONGEST_JOINED == 1_000
    counted = ", ".join(
        f"COUNT(*) FILTER (WHERE ({condition}) AND n = {number})" for number in range(len(CELLS))
    )
    [row] = session.execute(f"SELECT {counted} FROM t").rows
    assert {number for number, count in enumerate(row) if count} == rows


def test_texts_joined_in_an_answer(session: Session) -> None:
    answer = session.execute("SELECT 'n = ' || COUNT(*) AS a, COUNT(*) || 'x' || 2 AS b FROM t")
    assert answer.rows == (("n = 7", "7x2"),)


def test_the_manual_says_how_long() -> None:
    assert f"longer than {LONGEST_JOINED:,} characters is NULL" in manual.page("sql")
