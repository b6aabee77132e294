"""Timestamps from a file to an answer."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from dpdb.policy.reading.reader import read_policy
from dpdb.session.session import Session
from tests.support.noiseless import Noiseless

POLICY = """
[tables.t.columns]
at = { type = "timestamp", bounds = [2024-01-01T00:00:00, "2024-12-31 23:59:59"] }
fine = { type = "timestamp", bounds = [2024-01-01T01:00:00+01:00, 2024-12-31T00:00:00Z], step = 0.001 }
free = { type = "timestamp" }
shift = { type = "timestamp", values = [2024-01-01T06:00:00, 2024-01-01T14:00:00, 2024-01-01T22:00:00] }
slot = { type = "timestamp", bounds = [2024-01-01, 2024-01-02], step = 3600 }
"""
ROWS = """\
at,fine,free,shift,slot
2024-03-01 08:30:00,2024-03-01T08:30:00.0004Z,2024-03-01,2024-01-01 06:00:00,2024-01-01 06:29:59
2024-03-01T10:30:00+01:00,2024-03-01 08:30:00.0006,1999-12-31 23:59:59.5,2024-01-01T07:00+01:00,2024-01-01 06:30:01
2031-01-01 00:00:00,2024-03-01 09:00,1600-01-01 00:00:00,2024-01-01 22:00:00,2024-01-01 23:59:59
yesterday,,,2024-01-01 22:00:01,2023-01-01 00:00:00
"""

SHIFTS = """
[tables.shifts]
public = true
[tables.shifts.columns]
start = { type = "timestamp" }
name = { type = "text" }
[tables.visits]
unit = "who"
rows_per_unit = 3
[tables.visits.columns]
who = { type = "text" }
start = { type = "timestamp", values = "shifts.start" }
at = { type = "timestamp", step = 0.001, bounds = [2024-01-01T00:00:00, 2024-01-31T00:00:00] }
"""
Ask = Callable[[str], list[tuple[object, ...]]]


@pytest.fixture
def session(tmp_path: Path) -> Session:
    """One without noise."""
    (tmp_path / "t.csv").write_text(ROWS, encoding="utf-8")
    (tmp_path / "t.toml").write_text(POLICY, encoding="utf-8")
    session = Session(read_policy(tmp_path / "t.toml"), noise=Noiseless(), teach=True)
    session.execute("SET dp = 'off'")
    return session


@pytest.fixture
def ask(session: Session) -> Ask:
    return lambda text: list(session.execute(text).rows)


def test_cells_are_read_clamped_and_rounded(ask: Ask) -> None:
    assert ask("SELECT COUNT(at), MIN(at), MAX(at), COUNT(DISTINCT at) FROM t") == [
        (3, "2024-03-01 08:30:00", "2024-12-31 23:59:59", 3)
    ]
    assert ask("SELECT MIN(fine), MAX(fine), COUNT(DISTINCT fine) FROM t") == [
        ("2024-03-01 08:30:00", "2024-03-01 09:00:00", 3)
    ]
    assert ask("SELECT COUNT(*) FROM t WHERE fine = '2024-03-01 08:30:00.001'") == [(1,)]
    # Half a second is rounded to the even one, and what is outside the years is NULL.
    assert ask("SELECT COUNT(free), MIN(free) FROM t") == [(2, "2000-01-01 00:00:00")]


def test_means_and_medians_are_timestamps(ask: Ask) -> None:
    assert ask("SELECT AVG(at), MEDIAN(fine) FROM t WHERE at < DATE '2024-03-02'") == [
        ("2024-03-01 09:00:00", "2024-03-01 08:30:00.0005")
    ]


def test_declared_values_are_keys(ask: Ask) -> None:
    assert ask("SELECT shift, COUNT(*) FROM t GROUP BY shift") == [
        ("2024-01-01 06:00:00", 2),
        ("2024-01-01 14:00:00", 0),
        ("2024-01-01 22:00:00", 1),
    ]


def test_every_step_within_narrow_bounds_is_a_key(ask: Ask) -> None:
    """The column is held in steps of an hour, and its values are microseconds."""
    found = ask("SELECT slot, COUNT(*) FROM t GROUP BY slot")
    assert len(found) == 25
    assert [row for row in found if row[1]] == [
        ("2024-01-01 00:00:00", 1),
        ("2024-01-01 06:00:00", 1),
        ("2024-01-01 07:00:00", 1),
        ("2024-01-02 00:00:00", 1),
    ]
    assert (
        len(ask("SELECT slot, COUNT(*) FROM t WHERE slot < '2024-01-01 03:00' GROUP BY slot")) == 3
    )
    assert ask("SELECT MODE(slot) FROM t WHERE slot >= '2024-01-01 07:00:00'")[0][0] in (
        "2024-01-01 07:00:00",
        "2024-01-02 00:00:00",
    )


@pytest.mark.parametrize(
    ("key", "first", "number"),
    [
        ("DATE_TRUNC('month', at)", "2024-01-01 00:00:00", 12),
        ("DATE_TRUNC('week', at)", "2024-01-01 00:00:00", 53),
        ("TIMESTAMP_TRUNC(at, HOUR)", "2024-01-01 00:00:00", 8784),
        ("CAST(at AS DATE)", "2024-01-01", 366),
        ("EXTRACT(HOUR FROM at)", 0, 24),
        ("SUBSTR(CAST(DATE_TRUNC('month', at) AS TEXT), 1, 7)", "2024-01", 12),
        ("DATE_TRUNC('day', at + INTERVAL 36 HOUR)", "2024-01-02 00:00:00", 367),
    ],
)
def test_keys_follow_from_the_bounds(
    session: Session, key: str, first: object, number: int
) -> None:
    """All of them are there with noise, too, whichever the rows have."""
    session.execute("SET dp = 'on'")
    found = session.execute(f"SELECT {key} AS key, COUNT(*) FROM t GROUP BY key").rows
    assert (found[0][0], len(found)) == (first, number)
    assert sum(int(str(count)) for _, count in found) == 3


@pytest.mark.parametrize(
    ("where", "days"),
    [
        ("CAST(at AS DATE) BETWEEN '2024-03-01' AND '2024-03-03'", ["01", "02", "03"]),
        ("at::DATE >= '2024-03-01' AND DATE(at) < DATE '2024-03-03'", ["01", "02"]),
        ("DATE(at) = '2024-03-01'", ["01"]),
        ("at > '2024-03-01 23:59:58' AND at <= DATE '2024-03-02'", ["01", "02"]),
    ],
)
def test_conditions_on_days_leave_fewer_keys(ask: Ask, where: str, days: list[str]) -> None:
    found = ask(f"SELECT CAST(at AS DATE) AS day, COUNT(*) FROM t WHERE {where} GROUP BY day")
    assert [day for day, _ in found] == [f"2024-03-{day}" for day in days]
    counted = ask(f"SELECT COUNT(*), MIN(at) >= '2024-03-01' FROM t WHERE {where}")
    assert sum(int(str(number)) for _, number in found) == counted[0][0]


def test_a_condition_on_a_day_leaves_its_last_moment_in_range(session: Session) -> None:
    """What is aggregated is clamped to the range that follows from the condition."""
    session.execute("SET dp = 'on'")
    planned = session.execute("EXPLAIN SELECT AVG(at) FROM t WHERE DATE(at) = '2024-03-01'")
    assert planned.releases[0].sensitivity == 86_399 * 10**6


def test_a_number_with_decimals_is_grouped_by_the_whole_ones_in_a_list(tmp_path: Path) -> None:
    """It is held in steps of 0.01, and so are not its values."""
    (tmp_path / "t.csv").write_text("x\n1\n2\n2\n2.5\n")
    (tmp_path / "t.toml").write_text(
        '[tables.t.columns]\nx = { type = "number", bounds = [0, 9], step = 0.01 }\n'
    )
    session = Session(read_policy(tmp_path / "t.toml"), noise=Noiseless())
    found = session.execute("SELECT x, COUNT(*) FROM t WHERE x IN (1, 2) GROUP BY x").rows
    assert [tuple(row) for row in found] == [(1, 1), (2, 2)]


def test_a_noisy_timestamp_has_its_margin_in_a_unit_of_time(session: Session) -> None:
    """Decimals of a second are left out where noise is larger."""
    session.execute("SET dp = 'on'")
    answer = session.execute("SELECT AVG(fine) FROM t")
    [(shown,)], [((low, high),)] = answer.rows, answer.intervals
    assert str(low) <= str(shown) <= str(high)
    assert repr(answer).splitlines()[2].strip().endswith(" days (only noise)")


def test_types_of_a_data_frame(session: Session) -> None:
    frame = session.execute("SELECT shift, MAX(fine) AS last FROM t GROUP BY shift").to_pandas()
    assert [str(kind) for kind in frame.dtypes] == ["datetime64[us]", "datetime64[us]"]
    assert frame["shift"].dt.hour.tolist() == [6, 14, 22]


@pytest.mark.parametrize(
    "text",
    [
        "SELECT COUNT(*) FROM t WHERE at > free + INTERVAL 999999999 YEAR",
        "SELECT COUNT(*) FROM t WHERE free - INTERVAL 999999999 DAY < '2024-01-01'",
        "SELECT MAX(free + INTERVAL 499 YEAR) FROM t",
        "SELECT COUNT(DISTINCT CAST(free + INTERVAL 300 YEAR AS TEXT)) FROM t",
    ],
)
def test_no_interval_raises(ask: Ask, text: str) -> None:
    """What is no timestamp any more is NULL."""
    assert len(ask(text)) == 1


@pytest.fixture
def shifts(tmp_path: Path) -> Ask:
    """Of visits about units and a public table of shifts, without noise."""
    (tmp_path / "p.toml").write_text(SHIFTS)
    (tmp_path / "shifts.csv").write_text(
        "start,name\n2024-01-01 22:00:00.2,late\n2024-01-01T06:00:00Z,early\n"
    )
    (tmp_path / "visits.csv").write_text(
        "who,start,at\nann,2024-01-01 06:00,2024-01-01 06:30:00.5\n"
        "ann,2024-01-01 22:00:00,2024-01-01 22:00:00.25\n"
        "bob,2024-01-01 22:00:00.3,2024-01-02 06:00:00\nbob,2024-01-01 12:00:00,\n"
    )
    session = Session(read_policy(tmp_path / "p.toml"), noise=Noiseless(), teach=True)
    session.execute("SET dp = 'off'")
    return lambda text: list(session.execute(text).rows)


def test_values_of_a_public_column_are_keys_elsewhere(shifts: Ask) -> None:
    """They are read on the grid of the public column, and so are the cells beside them."""
    assert shifts("SELECT name, start FROM shifts ORDER BY start") == [
        ("early", "2024-01-01 06:00:00"),
        ("late", "2024-01-01 22:00:00"),
    ]
    assert shifts("SELECT start, COUNT(*) FROM visits GROUP BY start") == [
        ("2024-01-01 06:00:00", 1),
        ("2024-01-01 22:00:00", 2),
    ]
    scalar = "SELECT COUNT(*) FROM visits WHERE at >= (SELECT MAX(start) FROM shifts)"
    assert shifts(scalar) == [(2,)]
    joined = "SELECT name, COUNT(*) FROM visits JOIN shifts USING (start) GROUP BY name"
    assert sorted(shifts(joined), key=str) == [("early", 1), ("late", 2)]


def test_what_a_unit_comes_to_is_a_timestamp(shifts: Ask) -> None:
    of_each = "SELECT who, MAX(at) AS last, AVG(at) AS mean FROM visits GROUP BY who"
    assert shifts(f"SELECT MIN(last), MAX(last), MIN(mean) FROM ({of_each}) AS t") == [
        ("2024-01-01 22:00:00.25", "2024-01-02 06:00:00", "2024-01-01 14:15:00.375")
    ]
    before = "SELECT at, LAG(at) OVER (PARTITION BY who ORDER BY at) AS before FROM visits"
    passed = f"SELECT SUM(DATE_DIFF('second', before, at)) FROM ({before}) AS t"
    assert shifts(passed) == [(15 * 3600 + 1800,)]


def test_rows_of_several_selects_share_a_grid(shifts: Ask) -> None:
    both = "SELECT start AS t FROM visits UNION ALL SELECT at FROM visits"
    assert shifts(f"SELECT COUNT(t), MIN(t), MAX(t) FROM ({both}) AS u") == [
        (6, "2024-01-01 06:00:00", "2024-01-02 06:00:00")
    ]
