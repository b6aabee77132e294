"""ROLLUP, CUBE and GROUPING SETS: DuckDB's rows where nothing has noise, and one price for all."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import duckdb
import pytest

from dpdb.policy.budget import Budget
from dpdb.policy.catalog import Column, Kind, Policy, Table
from dpdb.session.session import Session
from tests.support.noiseless import Noiseless
from tests.support.optional import Record

pytestmark = pytest.mark.usefixtures("anywhere")

COLUMNS = (
    Column("city", Kind.TEXT, values=("Ely", "Rye", "Wem")),
    Column("ok", Kind.BOOLEAN, nullable=False),
    Column("day", Kind.INTEGER, Fraction(1), Fraction(2), nullable=False),
    Column("pay", Kind.INTEGER, Fraction(0), Fraction(1000), nullable=False),
)
COUNTED = "COUNT(*) AS n, SUM(pay) AS s, ROUND(AVG(pay), 6) AS a"
STATEMENTS = [
    f"SELECT city, ok, {COUNTED} FROM t GROUP BY ROLLUP(city, ok)",
    f"SELECT ok, day, {COUNTED}, GROUPING(ok, day) FROM t GROUP BY CUBE(ok, day)",
    f"SELECT city, ok, day, {COUNTED}, GROUPING(day, city) AS g FROM t"
    " GROUP BY GROUPING SETS ((city, ok), (day), ROLLUP(ok), ())",
    f"SELECT ok, city, day, {COUNTED} FROM t GROUP BY ok, ROLLUP((city, day))",
    f"SELECT ok, day * 2 AS d, {COUNTED} FROM t GROUP BY CUBE(1, d) HAVING COUNT(*) > 40",
    "SELECT 7 AS seven FROM t GROUP BY ROLLUP(city)",
    f"SELECT ok, {COUNTED}, RANK() OVER (ORDER BY COUNT(*) DESC) FROM t GROUP BY ROLLUP(ok)",
    f"SELECT COALESCE(city, 'all'), {COUNTED}, 100.0 * COUNT(*) / SUM(COUNT(*)) OVER"
    " (PARTITION BY GROUPING(city)) FROM t WHERE city IS NOT NULL GROUP BY ROLLUP(city)",
]  # fmt: skip


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Policy:
    """Rows in every group; each thirteenth has no city, and counts for totals alone."""
    path: Path = tmp_path_factory.mktemp("levels") / "t.csv"
    rows = (
        f"{('Ely', 'Rye', 'Wem')[i % 3] if i % 13 else ''},{str(i % 5 > 1).lower()},{1 + i % 2},{i}"
        for i in range(120)
    )
    path.write_text("city,ok,day,pay\n" + "\n".join(rows) + "\n", encoding="utf-8")
    table = Table("t", path, COLUMNS)
    return Policy((table,), Budget(Fraction(1000), Fraction(0), 100))


@pytest.fixture(scope="module")
def duck(here: Policy) -> duckdb.DuckDBPyConnection:
    """The rows themselves."""
    connection = duckdb.connect()
    connection.execute(f"CREATE TABLE t AS SELECT * FROM '{here.tables[0].path}'")
    return connection


def in_order(rows: object) -> list[tuple[object, ...]]:
    """Rows in an order of their own, numbers as doubles."""
    plain = [
        tuple(float(c) if isinstance(c, int | float) else c and str(c) for c in row)
        for row in rows  # type: ignore[attr-defined]
    ]
    return sorted(plain, key=repr)


@pytest.mark.parametrize("text", STATEMENTS)
def test_the_levels_are_those_of_duckdb(
    text: str, here: Policy, duck: duckdb.DuckDBPyConnection
) -> None:
    answer = Session(here, noise=Noiseless()).execute(text)
    if "SELECT 7" in text:  # DuckDB has a group for NULL, which is no declared value
        text += " HAVING GROUPING(city) = 1 OR city IS NOT NULL"
    expected = duck.execute(text).fetchall()
    assert in_order(answer.rows) == in_order(expected)


def test_levels_of_what_does_not_add_up_share_epsilon_evenly(here: Policy) -> None:
    record = Record()
    session = Session(replace(here, budget=Budget(Fraction(3), Fraction(0), 1)), noise=record)
    text = "SELECT city, ok, COUNT(DISTINCT pay) FROM t GROUP BY ROLLUP(city, ok)"
    explained = session.execute(f"EXPLAIN {text}")
    answer = session.execute(text)
    assert record.asked == [1, 1, 1]
    assert explained.cost == answer.cost
    assert answer.cost.epsilon == 3
    assert [each.epsilon for each in answer.releases] == [1, 1, 1]
    assert "3 answers share ε: by city, ok; by city; in all" in explained.notes
    assert len(answer.rows) == 6 + 3 + 1
    assert session.execute(text).rows == answer.rows


def test_rows_without_a_key_are_a_group_where_levels_add_up(here: Policy) -> None:
    session = Session(here, noise=Noiseless())
    text = "SELECT city, GROUPING(city), COUNT(*) FROM t GROUP BY ROLLUP(city)"
    *cities, null, whole = session.execute(text).rows
    assert (null, whole) == ((None, 0, 10), (None, 1, 120))
    assert sum(number for *_, number in (*cities, null)) == 120
    text = "SELECT city, COUNT(*), COUNT(DISTINCT pay) FROM t GROUP BY ROLLUP(city)"
    assert [city for city, *_ in session.execute(text).rows] == ["Ely", "Rye", "Wem", None]


def test_intervals_hold_for_all_levels_at_once_where_noise_chooses(here: Policy) -> None:
    session = Session(here)
    text = "SELECT ok, COUNT(*) FROM t GROUP BY ROLLUP(ok)"
    assert not any("at once" in note for note in session.execute(text).notes)
    for chosen in (f"{text} HAVING COUNT(*) > 0", f"{text} ORDER BY 2 LIMIT 2"):
        assert any("all 3 groups at once" in note for note in session.execute(chosen).notes)
