"""Intervals hold for the rows that are shown, also where noise chooses them.

Of 20 equal groups the top one by a noisy count is the one with the largest noise, and
those that pass HAVING are those with much of it: an interval for each group by itself
would miss in 1 - 0.95^20 = 64 % of such answers on either side together.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import pytest

from dpdb.answers.answer import Answer
from dpdb.answers.formats.explain_tree import explain_screen
from dpdb.policy.budget import Budget, Neighbors
from dpdb.policy.catalog import Column, Kind, Policy, Table
from dpdb.privacy.noise.sources import seeded
from dpdb.privacy.noise.system import SystemNoise
from dpdb.session.session import Session
from tests.support.many_sessions import sessions
from tests.support.noiseless import Noiseless

GROUPS, SIZE = 20, 10
TOP = " ORDER BY COUNT(*) DESC LIMIT 1"
DECIDED = {TOP: 100, " HAVING COUNT(*) > 18": 600, " ORDER BY SUM(x) OFFSET 15": 200}
"""The ways to choose rows, and the runs that show counts chosen without regard to it: they would
miss in 31 %, 13 % and 23 % of all answers, which so many runs find out with a chance of 0.997."""


@pytest.fixture
def policy(tmp_path: Path) -> Policy:
    path = tmp_path / "t.csv"
    rows = [f"{group},{i % 4}" for group in range(GROUPS) for i in range(SIZE)]
    path.write_text("g,x\n" + "\n".join(rows))
    columns = (
        Column("g", Kind.INTEGER, Fraction(0), Fraction(GROUPS - 1), nullable=False),
        Column("x", Kind.INTEGER, Fraction(0), Fraction(4), nullable=False),
    )
    return Policy((Table("t", path, columns),), Budget(Fraction(1), Fraction(0), 2))


def _asked(columns: str, rest: str) -> str:
    return f"SELECT {columns} FROM t GROUP BY g{rest}"


def _answers(policy: Policy, query: str, runs: int) -> Iterator[Answer]:
    for session in sessions(policy, map(seeded, range(runs))):
        yield session.execute(query)


@pytest.mark.usefixtures("planned_once")
@pytest.mark.parametrize("rest", DECIDED)
@pytest.mark.parametrize(
    ("column", "truth"), [("COUNT(*)", SIZE), ("AVG(x)", 1.3), ("SUM(x) * 2 + 1", 27)]
)
def test_they_hold_as_often_as_they_say(
    policy: Policy, column: str, truth: float, rest: str
) -> None:
    """Answers with any row that misses, at α = 10^-6 (4.8 σ)."""
    runs = DECIDED[rest] if column == "COUNT(*)" else 100
    missed = sum(
        any(not low - 1e-9 <= truth <= high + 1e-9 for [(low, high)] in answer.intervals)
        for answer in _answers(policy, _asked(column, rest), runs)
    )
    assert missed <= 0.05 * runs + 4.8 * math.sqrt(0.05 * 0.95 * runs)


@pytest.mark.parametrize("rest", DECIDED)
def test_the_answer_and_explain_say_so_and_give_the_same_margin(policy: Policy, rest: str) -> None:
    session = Session(policy, noise=Noiseless())
    query = _asked("COUNT(*)", rest.replace("> 18", "> 8").replace("SUM(x)", "COUNT(*)"))
    explained, answer = session.execute(f"EXPLAIN {query}"), session.execute(query)
    margin = explained.releases[0].margin
    [(low, high)] = answer.intervals[0]
    assert high - SIZE == SIZE - low == margin == answer.releases[0].margin
    note = f"± holds for all {GROUPS} groups at once, as noise decides which are shown"
    clamped = ("x: values are clamped to 0 … 4",) if "x" in query else ()
    assert answer.notes == (note,)
    assert explained.notes == (note, *clamped)
    assert f"± {margin:.0f} (95%)" in explain_screen(explained, ())


@pytest.mark.parametrize(
    "rest",
    [
        "",
        " ORDER BY COUNT(*)",
        f" ORDER BY COUNT(*) LIMIT {GROUPS}",
        " ORDER BY g LIMIT 3",
        " HAVING g > 4 ORDER BY g OFFSET 3",
        " LIMIT 2",
    ],
)
def test_where_noise_decides_nothing_each_interval_is_by_itself(policy: Policy, rest: str) -> None:
    answer = Session(policy, noise=Noiseless()).execute(_asked("COUNT(*)", rest))
    # P(|x| > z) = 2r^(z+1)/(1+r) with r = e^-ε and ε = 1/2.
    [(low, high)] = answer.intervals[0]
    assert (high - low, answer.notes) == (12, ())
    assert (
        2 * math.exp(-3.5) / (1 + math.exp(-0.5)) < 0.05 < 2 * math.exp(-3) / (1 + math.exp(-0.5))
    )


def test_a_subquerys_noise_decides_too(policy: Policy) -> None:
    query = _asked("COUNT(*)", " HAVING (SELECT COUNT(*) FROM t) > g")
    assert len(Session(policy).execute(query).notes) == 1
    public = Policy(policy.tables, policy.budget, Neighbors.REPLACE)
    assert Session(public).execute(query).notes == ()


def test_an_error_that_is_asked_for_is_kept_of_every_candidate(policy: Policy) -> None:
    """The margin shown is the error asked for, and not more; what the first paid is used again."""
    session = Session(policy, noise=Noiseless())
    options = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(error = 40)"
    alone, top = (
        session.execute(_asked("COUNT(*)", rest).replace("SELECT", options, 1))
        for rest in ("", TOP)
    )
    assert alone.releases[0].margin == top.releases[0].margin == 40
    needed = top.releases[0].epsilon
    assert alone.cost.epsilon < needed == alone.cost.epsilon + top.cost.epsilon


def test_a_relative_error_is_kept_of_every_candidate(policy: Policy) -> None:
    """That it is kept of each alone is not enough, and what was bought so is not used again."""
    session = Session(policy, noise=SystemNoise())
    options = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(relative_error = 0.99)"
    first, second = (
        session.execute(_asked("COUNT(*)", rest).replace("SELECT", options, 1))
        for rest in ("", " HAVING COUNT(*) > 5")
    )
    assert not first.repeat
    assert not second.repeat
