"""Columns that use a subquery's noisy answer have intervals that allow for its noise."""

from __future__ import annotations

import math
from fractions import Fraction
from pathlib import Path

import pytest

from dpdb.policy.budget import Budget, Neighbors
from dpdb.policy.catalog import Column, Kind, Policy, Table
from dpdb.privacy.noise.sources import seeded
from dpdb.session.session import Session
from tests.support.many_sessions import sessions

RUNS = 200
ROWS = [5, 9, 10, 10, 3, 7, 8, 1] * 10


@pytest.fixture
def policy(tmp_path: Path) -> Policy:
    path = tmp_path / "t.csv"
    path.write_text("x\n" + "\n".join(map(str, ROWS)))
    column = Column("x", Kind.INTEGER, Fraction(0), Fraction(10), nullable=False)
    return Policy((Table("t", path, (column,)),), Budget(Fraction(2), Fraction(0), 1))


@pytest.mark.usefixtures("planned_once")
@pytest.mark.parametrize(
    ("expression", "truth"),
    [
        ("COUNT(*) / (SELECT SUM(x) FROM t)", len(ROWS) / sum(ROWS)),
        ("(SELECT AVG(x) FROM t) * 3 - COUNT(*) * 0", 3 * sum(ROWS) / len(ROWS)),
        ("SUM(x) - (SELECT COUNT(*) FROM t) - (SELECT SUM(x) FROM t)", -len(ROWS)),
        ("COUNT(*) + (SELECT 2 * (SELECT COUNT(*) FROM t) + COUNT(x) FROM t)", 4 * len(ROWS)),
    ],
)
def test_they_hold_as_often_as_they_say(policy: Policy, expression: str, truth: float) -> None:
    """A shortfall of 4.8 σ is one in a million: up to 12.4 % may miss, of 5 % that are meant to."""
    missed = 0
    for session in sessions(policy, map(seeded, range(RUNS))):
        [[(low, high)]] = session.execute(f"SELECT {expression} FROM t").intervals
        missed += not low - 1e-9 <= truth <= high + 1e-9
    assert missed <= 0.05 * RUNS + 4.8 * math.sqrt(0.05 * 0.95 * RUNS)


def test_a_subquery_without_noise_adds_none(policy: Policy) -> None:
    """The number of rows is public under `replace`."""
    public = Policy(policy.tables, policy.budget, Neighbors.REPLACE)
    sql = "SELECT SUM(x) / (SELECT COUNT(*) FROM t), MEDIAN(x) FROM t"
    answer = Session(public).execute(sql)
    [[(low, high), _]] = answer.intervals
    drawn = answer.releases[0]
    assert drawn.margin is not None
    assert (high - low) / 2 == pytest.approx(drawn.margin / len(ROWS))
