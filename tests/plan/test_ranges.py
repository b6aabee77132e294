"""How far one row can move a sum: as far as the expression lets it, and no farther."""

from __future__ import annotations

from pathlib import Path

import pytest

import dpdb
from dpdb.errors import MissingBounds
from dpdb.session.session import Session


@pytest.mark.parametrize(
    ("item", "sensitivity"),
    [
        # Columns: age in [18, 65], net_worth in [-1e6, 1e7], income in [0, 1e6]
        ("SUM(age)", 65),
        ("SUM(net_worth)", 10_000_000),
        ("SUM(-age)", 65),
        ("SUM(age - 40)", 25),
        ("SUM(40 - age)", 25),
        ("SUM(age * 2 + 1)", 131),
        ("SUM(age * -2)", 130),
        ("SUM(age / 10)", 6.5),
        ("SUM(income / age)", pytest.approx(1_000_000 / 18)),
        ("SUM(1)", 1),
        ("SUM(0)", 0),
        ("SUM(ABS(net_worth))", 10_000_000),
        ("SUM(CLAMP(net_worth, -5, 5))", 5),
        ("SUM(CLAMP(income, 0, 10))", 10),
        ("SUM(LEAST(GREATEST(income, 0), 10))", 10),
        ("SUM(GREATEST(LEAST(net_worth, 10), -20))", 20),
        ("SUM(LEAST(income, 10))", 10),
        ("SUM(COALESCE(age, 100))", 100),
        ("SUM(COALESCE(NULL, age))", 65),
        ("SUM(CASE WHEN age > 30 THEN 1 ELSE 0 END)", 1),
        ("SUM(CASE WHEN age > 30 THEN 1 END)", 1),
        ("SUM(CASE WHEN age > 30 THEN NULL ELSE -3 END)", 3),
        ("SUM(CASE WHEN age > 30 THEN age WHEN age < 20 THEN NULL END)", 65),
        ("SUM(CAST(age > 30 AS INTEGER))", 1),
        # Narrowed by the aggregate's own filter
        ("SUM(age) FILTER (WHERE age BETWEEN 30 AND 40)", 40),
        ("SUM(age) FILTER (WHERE age < 40)", 39),
        ("SUM(age) FILTER (WHERE 40 > age AND age > 20)", 39),
        ("SUM(age) FILTER (WHERE age IN (20, 30))", 30),
        ("SUM(age) FILTER (WHERE age = 50)", 50),
        ("SUM(age) FILTER (WHERE age < 30 OR age BETWEEN 40 AND 50)", 50),
        ("SUM(age) FILTER (WHERE NOT age > 40)", 65),
        ("SUM(age) FILTER (WHERE age <> 65)", 65),
        ("SUM(age) FILTER (WHERE income < 10)", 65),
        ("SUM(income) FILTER (WHERE income < 10)", 10),
        # Conditions that exclude each other narrow nothing
    ],
)
def test_sensitivity(session: Session, item: str, sensitivity: float) -> None:
    answer = session.execute(f"EXPLAIN SELECT {item} FROM people")
    [release] = answer.releases
    assert float(release.sensitivity) == sensitivity


@pytest.mark.parametrize(
    ("condition", "sensitivity"),
    [
        ("loose BETWEEN -3 AND 10", 10),
        ("loose > -3 AND loose < 10 AND member", 10),
        ("loose = 7", 7),
        ("loose IN (1, -8)", 8),
        ("loose BETWEEN 0 AND 1 OR loose BETWEEN 5 AND 6", 6),
        ("(loose BETWEEN 0 AND points)", 100),
    ],
)
def test_conditions_give_bounds(session: Session, condition: str, sensitivity: float) -> None:
    answer = session.execute(f"EXPLAIN SELECT SUM(loose) FROM visits WHERE {condition}")
    assert float(answer.releases[0].sensitivity) == sensitivity


@pytest.mark.parametrize(
    "item",
    [
        "SUM(loose)", "SUM(loose) FILTER (WHERE loose > 0)", "SUM(loose * 0.001)",
        "SUM(loose) FILTER (WHERE loose BETWEEN 0 AND 1 OR member)", "SUM(LEAST(loose, 10))",
        "SUM(COALESCE(loose, 0))", "SUM(points / score)", "SUM(points % score * loose)",
        "SUM(CASE WHEN loose BETWEEN 0 AND 1 THEN loose ELSE 0 END)", "SUM(LENGTH(note))",
        "SUM(CAST(note AS NUMBER))", "SUM(loose) FILTER (WHERE NOT loose > 10 AND loose > 0)",
    ],
)  # fmt: skip
def test_no_bounds_no_sum(session: Session, item: str) -> None:
    with pytest.raises(MissingBounds):
        session.execute(f"EXPLAIN SELECT {item} FROM visits")


def test_conditions_give_bounds_to_dates_that_nobody_declared(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("d,at\n2024-01-02,2024-01-02 10:00:00\n", encoding="utf-8")
    undeclared = dpdb.connect(tmp_path / "t.csv", queries=10)
    for condition, days in (
        ("d BETWEEN DATE '2024-01-01' AND DATE '2024-01-04'", [1, 2, 3, 4]),
        ("d > DATE '2024-01-01' AND d < DATE '2024-01-04'", [2, 3]),
        ("CAST(d AS DATE) IN ('2024-01-03', '2024-01-04')", [3, 4]),
    ):
        where = f"FROM t WHERE {condition}"
        (mean, _) = undeclared.execute(f"EXPLAIN SELECT AVG(CAST(d AS DATE)) {where}").releases
        assert float(mean.sensitivity) == len(days) - 1
        answer = undeclared.execute(f"SELECT CAST(d AS DATE) AS day, COUNT(*) {where} GROUP BY day")
        assert [row[0] for row in answer.rows] == [f"2024-01-{day:02}" for day in days]
    parsed = "STRPTIME(d, '%Y-%m-%d')"
    for text, where, days in (
        ("PARSE_DATE('%Y-%m-%d', d)", "{} > '2024-01-01' AND {} < '2024-01-04'", [2, 3]),
        (f"CAST({parsed} AS DATE)", "{} BETWEEN '2024-01-02' AND '2024-01-04'", [2, 3, 4]),
        (parsed, "CAST({} AS DATE) BETWEEN '2024-01-02' AND '2024-01-04'", [2, 3, 4]),
    ):
        answer = undeclared.execute(
            f"SELECT {text} AS day, COUNT(*) FROM t WHERE {where.replace('{}', text)} GROUP BY day"
        )
        assert [row[0][:10] for row in answer.rows] == [f"2024-01-{day:02}" for day in days]
    with pytest.raises(MissingBounds):
        undeclared.execute("SELECT AVG(PARSE_DATE('%Y-%m-%d', d)) FROM t")
    hours = "CAST(at AS TIMESTAMP) BETWEEN '2024-01-02 09:00:00' AND '2024-01-02 10:30:00'"
    answer = undeclared.execute(
        "SELECT DATE_TRUNC('hour', CAST(at AS TIMESTAMP)) AS hour, COUNT(*) FROM t"
        f" WHERE {hours} GROUP BY hour"
    )
    assert [row[0] for row in answer.rows] == ["2024-01-02 09:00:00", "2024-01-02 10:00:00"]
