"""MIN and MAX found by a walk: how near they come, and what their intervals cover."""

from __future__ import annotations

import math
from fractions import Fraction
from pathlib import Path
from random import Random

import numpy as np
import pytest

from dpdb.answers.estimates import point
from dpdb.answers.intervals.confidence_intervals import interval_of
from dpdb.engines.memory import MemoryEngine
from dpdb.plan.physical.plan import Plan
from dpdb.plan.physical.release import CONFIDENCE
from dpdb.plan.planner import plan
from dpdb.policy.reading.reader import read_policy
from dpdb.privacy.accounting.accountants import BudgetShare
from dpdb.privacy.mechanisms.selections.walk import Walk
from dpdb.privacy.noise.sources import seeded
from dpdb.privacy.noise.system import SystemNoise
from dpdb.privacy.noise.thresholds import stops
from dpdb.session.session import Session
from dpdb.sql.selects.binder import bind
from dpdb.sql.text.tokens import read_tokens
from dpdb.vectors.vector import Array

POLICY = read_policy(Path(__file__).parents[2] / "sample_data" / "people.toml")
RUNS = 2_000
ALPHA = 1e-6
"""The probability of a false alarm of each test of a rate."""


def planned(text: str, epsilon: str) -> Plan:
    share = BudgetShare(Fraction(epsilon))
    sql = f"SELECT {text} FROM people"
    return plan(bind(read_tokens(sql), sql, POLICY), POLICY, share, lambda table: 0)


def drawn(of: Plan, seed: int) -> tuple[int, Array]:
    """The exact extreme in grid steps, and where `RUNS` walks stopped."""
    [release] = of.releases
    [exact] = MemoryEngine().exact(of, {})
    assert isinstance(release.mechanism, Walk)
    assert isinstance(exact.cells, list)
    noise = SystemNoise(Random(seed).randbytes)
    found = stops(exact.cells * RUNS, release.statistic.rungs, release.mechanism, noise)
    return int(exact.cells[0][-1 if release.statistic.fraction else 0]), found


@pytest.mark.parametrize(
    ("text", "epsilon", "published"),
    [
        ("MAX(income)", "1", 90_000),
        ("MAX(income)", "10", 38_000),
        ("MIN(net_worth)", "1", 25_000),
        ("MIN(net_worth)", "10", 2_700),
    ],
)
def test_the_error_is_the_published_one(text: str, epsilon: str, published: int) -> None:
    """Within a tenth: the sum of squares of 2,000 draws is nearer than that."""
    of = planned(text, epsilon)
    exact, found = drawn(of, seed=11)
    estimates = np.asarray(point(of.estimates[0], of, [found]).values)
    true = exact * float(of.releases[0].statistic.grid.step)
    rmse = math.sqrt(float(np.mean((estimates - true) ** 2)))
    assert rmse == pytest.approx(published, rel=0.1)


@pytest.mark.parametrize("text", ["MAX(income)", "MIN(net_worth)", "MAX(net_worth)"])
@pytest.mark.parametrize("epsilon", ["0.1", "1", "10"])
def test_the_interval_covers_the_extreme_value(text: str, epsilon: str) -> None:
    of = planned(text, epsilon)
    exact, found = drawn(of, seed=12)
    ends = interval_of(of.estimates[0], of, [found], CONFIDENCE)
    assert ends is not None
    low, high = ends
    true = exact * float(of.releases[0].statistic.grid.step)
    covered = int(np.count_nonzero((low <= true) & (true <= high)))
    deviation = math.sqrt(RUNS * CONFIDENCE * (1 - CONFIDENCE))
    assert covered >= RUNS * CONFIDENCE - 4.75 * deviation  # a normal variable is below at ALPHA
    bound = of.estimates[0].interval
    open_end, near = (high, low) if of.releases[0].statistic.fraction else (low, high)
    assert set(open_end.tolist()) == {float(bound.upper if near is low else bound.lower)}


@pytest.mark.parametrize(("text", "end"), [("MAX(income)", 0), ("MIN(income)", 10**6)])
def test_without_rows_the_answer_is_near_the_other_bound(text: str, end: int) -> None:
    of = planned(text, "1")
    [release] = of.releases
    assert isinstance(release.mechanism, Walk)
    nobody = [np.array([], dtype=np.int64)] * RUNS
    noise = SystemNoise(Random(3).randbytes)
    found = stops(nobody, release.statistic.rungs, release.mechanism, noise)
    estimates = np.asarray(point(of.estimates[0], of, [found]).values)
    assert float(np.median(estimates)) == pytest.approx(end, abs=0.1 * 10**6)


UNBOUNDED = """
[budget]
epsilon = 10
queries = 1
[tables.t]
path = "t.csv"
[tables.t.columns]
x = { type = "number" }
i = { type = "integer" }
d = { type = "date" }
"""


@pytest.mark.parametrize(
    ("text", "least", "most"),
    [
        ("MAX(x)", 450, 545),
        ("MIN(x)", -545, -450),
        ("MAX(i)", 9 * 10**8, 1.09 * 10**9),
        ("MAX(x + i)", 9 * 10**8, 1.09 * 10**9),
        ("MAX(x) FROM t WHERE x > 0", 450, 545),
        ("MAX(d)", "2019-01-01", "2024-12-31"),
    ],
)
def test_bounds_are_not_needed(text: str, least: object, most: object, tmp_path: Path) -> None:
    """Values from -500 to 500, up to 10^9, and days up to 2020; at ε = 10, with a fixed seed.

    An answer is at most two rungs, a factor of 1.09, beyond the true value.
    """
    (tmp_path / "t.toml").write_text(UNBOUNDED)
    lines = [f"{n / 2 - 500:.1f},{n * 500_000},{2010 + n // 200}-06-01" for n in range(2001)]
    (tmp_path / "t.csv").write_text("\n".join(["x,i,d", *lines, ""]))
    here = Session(read_policy(tmp_path / "t.toml"), noise=seeded(4))
    [[answer]] = here.execute(f"SELECT {text if 'FROM' in text else text + ' FROM t'}").rows
    assert least <= answer <= most  # type: ignore[operator]


@pytest.mark.parametrize(
    "text",
    [
        "MAX(ABS(i))",
        "MAX(i) FILTER (WHERE i >= 0)",
        "MAX(i) - COUNT(*)",
        "ROUND(MAX(x) / 3, 2)",
        "ABS(MAX(i))",
        "MAX(i) / COUNT(*)",
        "(SELECT MAX(i) FROM t) + COUNT(*)",
    ],
)
def test_an_end_that_only_a_far_bound_gives_is_none(text: str, tmp_path: Path) -> None:
    """An end that is near the data is one, however small beside the range of the column."""
    (tmp_path / "t.toml").write_text(UNBOUNDED)
    lines = [f"{n},{n},2020-06-01" for n in range(2001)]
    (tmp_path / "t.csv").write_text("\n".join(["x,i,d", *lines, ""]))
    here = Session(read_policy(tmp_path / "t.toml"), noise=seeded(4))
    answer = here.execute(f"SELECT {text} FROM t")
    [[value]], [[ends]] = answer.rows, answer.intervals
    assert isinstance(value, int | float)
    assert ends is not None
    low, high = ends
    assert isinstance(low, int | float)
    assert abs(value - low) < 1000
    assert high is None
    assert not any("only noise" in note for note in answer.notes)


def test_extreme_dates_without_bounds_are_days_of_the_calendar(tmp_path: Path) -> None:
    """Even where there are no rows, and a walk ends near a bound."""
    (tmp_path / "t.toml").write_text(UNBOUNDED)
    (tmp_path / "t.csv").write_text("x,i,d\n")
    here = Session(read_policy(tmp_path / "t.toml"), noise=seeded(4))
    [[least, most]] = here.execute("SELECT MIN(d), MAX(d) FROM t").rows
    assert isinstance(least, str)
    assert isinstance(most, str)
    assert most < "1970" < least
