"""A SELECT without FROM is one row, computed from released scalars."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

from dpdb.policy.budget import Budget
from dpdb.policy.catalog import Policy
from dpdb.session.session import Session
from tests.support.noiseless import Noiseless
from tests.support.plans import COLUMNS, small_policy

pytestmark = pytest.mark.usefixtures("anywhere")

COUNTS = "SELECT zip, COUNT(*) AS n FROM t GROUP BY zip"


@pytest.fixture
def session(tmp_path: Path) -> Session:
    return Session(with_rows(small_policy(), tmp_path), noise=Noiseless())


def with_rows(policy: Policy, folder: Path) -> Policy:
    """The table t of the plans, with 1, 2 and 3 rows of the zips 1, 2 and 3."""
    head = ",".join(column.name for column in COLUMNS)
    lines = [
        f"{i},{i},{i},0,1970-01-02,1500,{z},Ely,true,1,x" for i, z in enumerate([1, 2, 2, 3, 3, 3])
    ]
    (folder / "t.csv").write_text("\n".join([head, *lines]) + "\n", encoding="utf-8")
    table = replace(policy.tables[0], path=folder / "t.csv")
    return replace(policy, tables=(table,), budget=Budget(Fraction(1), Fraction(0), 10))


ROWS = {
    "SELECT (SELECT COUNT(*) FROM t WHERE zip = 3) / (SELECT COUNT(*) FROM t)": [(0.5,)],
    "SELECT (SELECT COUNT(*) FROM t) AS n, n * 2, 'rows'": [(6, 12, "rows")],
    f"WITH c AS ({COUNTS}) SELECT (SELECT MAX(n) FROM c) - (SELECT MIN(n) FROM c)": [(2,)],
    # One row, even where an answer that is read has none.
    f"SELECT 1, (SELECT n FROM ({COUNTS}) AS u WHERE n > 9 LIMIT 1)": [(1, None)],
    "SELECT COUNT(*) FROM t WHERE zip > (SELECT (SELECT COUNT(*) FROM t) / 3)": [(3,)],
    f"SELECT 0 AS zip, (SELECT COUNT(*) FROM t) AS n UNION ALL {COUNTS}": [
        (0, 6), (1, 1), (2, 2), (3, 3),
    ],
    "SELECT MAX(n) FROM (SELECT (SELECT COUNT(*) FROM t) AS n) AS u": [(6,)],
}  # fmt: skip


@pytest.mark.parametrize("text", ROWS)
def test_it_is_computed_from_what_is_released(session: Session, text: str) -> None:
    explained = session.execute(f"EXPLAIN {text}")
    answer = session.execute(text)
    assert list(answer.rows) == ROWS[text]
    assert answer.cost == explained.cost
    assert answer.cost.epsilon == sum(each.epsilon for each in answer.releases) == Fraction(1, 10)


def test_its_parts_share_epsilon_and_are_drawn_once(session: Session) -> None:
    n = "(SELECT COUNT(*) FROM t)"
    answer = session.execute(f"SELECT {n}, {n} + (SELECT SUM(age) FROM t), {n}")
    assert [each.epsilon for each in answer.releases] == [Fraction(1, 20)] * 2


def test_what_was_answered_before_is_computed_with_for_nothing(session: Session) -> None:
    session.execute("SELECT COUNT(*) FROM t")
    answer = session.execute("SELECT (SELECT COUNT(*) FROM t) / 2")
    assert answer.repeat
    assert answer.rows == ((3,),)
    assert answer.cost.epsilon == answer.cost.queries == 0


def test_constants_are_free_and_exact(session: Session) -> None:
    asked = {
        "SELECT 1 + 1, 'a'": [(2, "a")],
        "SELECT x * 2 AS y FROM UNNEST([3, 1]) AS x WHERE x > 1": [(6,)],
        "SELECT SUM(a) FROM (VALUES (1, 2), (3, 4)) AS v(a, b)": [(4,)],
        "SELECT COUNT(*) FROM t WHERE zip IN (SELECT x FROM UNNEST([2, 3]) AS x)": [(5,)],
        f"SELECT label, n FROM ({COUNTS}) AS c JOIN (VALUES (2, 'two')) AS v(zip, label)"
        " ON c.zip = v.zip": [("two", 2)],
    }  # fmt: skip
    for text, rows in asked.items():
        answer = session.execute(text)
        assert list(answer.rows) == rows
        assert bool(answer.cost.queries) == ("FROM t" in text)
