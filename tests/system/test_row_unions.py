"""UNION ALL and windows over rows within FROM: types, caps, and what is told."""

from __future__ import annotations

from pathlib import Path

import pytest

from dpdb.answers.formats.explain_tree import explain_screen
from dpdb.errors import DpdbError
from dpdb.policy.catalog import Policy
from dpdb.policy.reading.reader import read_policy
from dpdb.session.session import Session
from tests.support.noiseless import Noiseless
from tests.support.tables import policy as tables
from tests.support.units import DENSE, Database, policy_text

__all__ = ["tables"]


def opened(folder: Path, database: Database) -> Session:
    database.write(folder)
    (folder / "units.toml").write_text(policy_text())
    return Session(read_policy(folder / "units.toml"), noise=Noiseless())


@pytest.fixture
def session(tmp_path: Path) -> Session:
    return opened(tmp_path, DENSE)


TWICE = "(SELECT amt, st FROM o WHERE amt > 1 UNION ALL SELECT amt, st FROM o WHERE st = 'x')"


def test_explain_shows_the_parts_and_the_cap(session: Session) -> None:
    joined = "SELECT reg, NULL FROM c JOIN r ON c.reg = r.id"
    asked = f"SELECT COUNT(*) FROM ({TWICE[1:-1]} UNION ALL {joined})"
    lines = explain_screen(session.execute(f"EXPLAIN {asked}"), ()).splitlines()
    assert lines[lines.index("rows of UNION ALL") :][:7] == [
        "rows of UNION ALL",
        "├─ o",
        "├─ o",
        "└─ JOIN on c.reg = r.id",
        "   ├─ c",
        "   └─ r, public",
        "rows per customer: 2 + 2 + 1 = 5",
    ]


def test_groups_are_those_of_all_parts(session: Session) -> None:
    parts = "SELECT st AS k FROM o UNION ALL SELECT 'z' FROM c UNION ALL SELECT seg FROM c"
    answer = session.execute(f"SELECT k, COUNT(*) FROM ({parts}) GROUP BY k")
    assert answer.rows == (("x", 2), ("y", 1), ("z", 2), ("A", 1), ("B", 1))


def test_a_unit_is_counted_once(session: Session) -> None:
    parts = "SELECT cust AS k FROM o UNION ALL SELECT id FROM c"
    counted = session.execute(f"SELECT COUNT(DISTINCT k) FROM ({parts})")
    assert counted.releases[0].sensitivity == 1
    assert counted.rows == ((2,),)


def test_the_same_question_is_answered_once(session: Session) -> None:
    asked = "SELECT SUM(amt) FROM "
    answer = session.execute(asked + TWICE)
    again = session.execute(f"WITH t AS {TWICE} {asked} (SELECT amt FROM t WHERE amt >= 0) AS u")
    assert session.execute(asked + TWICE + " AS t").repeat
    assert again.rows == answer.rows


def test_fewer_rows_of_a_unit_can_be_asked_for(session: Session) -> None:
    terms = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(max_rows_contributed = {}) COUNT(*) FROM "
    assert session.execute(terms.format(3) + TWICE).rows == ((4,),)
    with pytest.raises(DpdbError, match="max_rows_contributed is 4 at most"):
        session.execute(terms.format(5) + TWICE)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("points", "score"),
        ("points", "grade"),
        ("grade", "NULL"),
        ("ratio", "2.5"),
        ("score / 3", "CAST(note AS NUMBER)"),
        ("loose", "points"),
        ("CASE WHEN member THEN 1 END", "floor"),
    ],
)
def test_a_column_holds_the_numbers_of_all_parts(first: str, second: str, tables: Policy) -> None:
    session = Session(tables, noise=Noiseless())
    counted = "COUNT(*), COUNT({0}), SUM(CLAMP(ROUND({0} * 8), -80, 80))"
    asked = f"SELECT {counted.format('x')} FROM (SELECT {first} AS x FROM visits WHERE points > 9"
    (found,) = session.execute(f"{asked} UNION ALL SELECT {second} FROM visits) AS t").rows
    parts = [
        session.execute(f"SELECT {counted.format(f'({first})')} FROM visits WHERE points > 9"),
        session.execute(f"SELECT {counted.format(f'({second})')} FROM visits"),
    ]
    assert found == tuple(sum(part.rows[0][at] for part in parts) for at in range(3))


def test_neighbours_are_told_the_same(tmp_path: Path) -> None:
    """Of a database with a customer and of one without: all but the numbers is equal."""
    told = []
    for units in ([1, 2], [2], []):
        session = opened(tmp_path, DENSE.of(units))
        answer = session.execute(f"SELECT st, SUM(amt), MEDIAN(amt) FROM {TWICE} GROUP BY st")
        kinds = [[type(cell) for cell in row] for row in answer.rows]
        keys = [row[0] for row in answer.rows]
        told.append((answer.releases, answer.notes, answer.cost, keys, kinds))
    assert told[0] == told[1] == told[2]


def test_more_rows_of_one_unit_do_not_count(tmp_path: Path) -> None:
    orders = [(number, 1, 3, "x") for number in range(50)]
    session = opened(tmp_path, Database({**DENSE.tables, "o": orders, "l": [], "b": []}))
    assert session.execute(f"SELECT COUNT(*), SUM(amt) FROM {TWICE}").rows == ((4, 12),)


def test_a_row_that_is_a_unit_counts_once_in_each_part(tables: Policy) -> None:
    session = Session(tables)
    over = "SELECT age FROM people WHERE age > 40 UNION ALL SELECT age FROM people"
    answer = session.execute(f"EXPLAIN SELECT COUNT(*) FROM ({over}) AS t")
    assert answer.releases[0].sensitivity == 2
    assert "rows per row: 1 + 1 = 2" in explain_screen(answer, ())


def test_a_union_of_unions_is_no_larger_than_allowed(session: Session) -> None:
    doubled = ", ".join(
        f"t{at} AS (SELECT amt FROM t{at - 1} UNION ALL SELECT amt FROM t{at - 1} WHERE amt > 0)"
        for at in range(1, 9)
    )
    with pytest.raises(DpdbError, match="more than 50 tables in a UNION ALL"):
        session.execute(f"WITH t0 AS (SELECT amt FROM o), {doubled} SELECT COUNT(*) FROM t8")


FIRST = "(SELECT st, amt, ROW_NUMBER() OVER (PARTITION BY cust ORDER BY id) AS k FROM o)"


def test_explain_says_whose_rows_are_ranked(session: Session) -> None:
    lines = explain_screen(session.execute(f"EXPLAIN SELECT SUM(k) FROM {FIRST}"), ()).splitlines()
    first = "rows with windows over those of one cust"
    assert lines[lines.index(first) :][:3] == [first, "└─ o", "rows per cust: 2"]
    assert "bounds 1 to 2, which follow from the cap" in "\n".join(lines)


def test_neighbours_are_told_the_same_of_ranks(tmp_path: Path) -> None:
    told = []
    for units in ([1, 2], [2], []):
        answer = opened(tmp_path, DENSE.of(units)).execute(
            f"SELECT k, COUNT(*), AVG(amt) FROM {FIRST} GROUP BY k"
        )
        kinds = [[type(cell) for cell in row] for row in answer.rows]
        keys = [row[0] for row in answer.rows]
        told.append((answer.releases, answer.notes, answer.cost, keys, kinds))
    assert told[0] == told[1] == told[2]
    assert told[0][3] == [1, 2]
