"""What a session releases: without bias, on the grid, from the source of noise asked for."""

from __future__ import annotations

import random
from fractions import Fraction
from pathlib import Path

import pytest

from dpdb.policy.reading.reader import read_policy
from dpdb.privacy.noise.system import SystemNoise
from dpdb.session.session import Session

POLICY = """
[budget]
epsilon = {epsilon}
queries = 1
[privacy]
noise = "{noise}"
[tables.t.columns]
g = {{ type = "integer", bounds = [0, 7999] }}
x = {{ type = "number", bounds = [0, 10], step = 0.25 }}
"""


def session(folder: Path, *, noise: str = "system", seed: int | None = None) -> Session:
    """3 rows in each of the groups 0..3999, none in the other 4000; x is 2.5 everywhere."""
    rows = "".join(f"{i % 4000},2.5\n" for i in range(12_000))
    (folder / "t.csv").write_text("g,x\n" + rows)
    (folder / "t.toml").write_text(POLICY.format(epsilon=1.0, noise=noise))
    source = None if seed is None else SystemNoise(random.Random(seed).randbytes)
    return Session(read_policy(folder / "t.toml"), noise=source)


def test_the_mean_of_8000_grouped_counts_is_the_truth(tmp_path: Path) -> None:
    """The mean of 8,000 draws of standard deviation 1.36 is within 0.1, at α = 1e-10."""
    answer = session(tmp_path, seed=11).execute("SELECT g, COUNT(*) FROM t GROUP BY g")
    assert [row[0] for row in answer.rows] == list(range(8000))
    counts = [row[1] for row in answer.rows]
    assert abs(sum(counts) / 8000 - 12_000 / 8000) < 0.1
    assert len(set(counts)) > 5


def test_absent_groups_look_like_present_ones(tmp_path: Path) -> None:
    """Noise is on every declared key: among 4,000 empty groups few counts are 0."""
    answer = session(tmp_path, seed=12).execute("SELECT g, COUNT(*) FROM t GROUP BY g")
    empty = [row[1] for row in answer.rows[4000:]]
    # P(0) = (1-r)/(1+r) = 0.462 at r = 1/e: 1,848 expected, standard deviation 32.
    assert 1848 - 6 * 32 < empty.count(0) < 1848 + 6 * 32


def test_sums_lie_on_the_grid(tmp_path: Path) -> None:
    [(total,)] = session(tmp_path, seed=13).execute("SELECT SUM(x) FROM t").rows
    assert (Fraction(total) * 4).denominator == 1


@pytest.mark.parametrize("noise", ["system", "opendp"])
def test_both_sources_answer(tmp_path: Path, noise: str) -> None:
    [(count, median)] = (
        session(tmp_path, noise=noise).execute("SELECT COUNT(*), MEDIAN(x) FROM t").rows
    )
    # At ε = 1/2 noise of 100 is e^-50.
    assert abs(count - 12_000) < 100
    assert median == 2.5
