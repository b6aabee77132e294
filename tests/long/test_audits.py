"""No answer tells more than was charged for it: audits of every mechanism, through the session."""

from __future__ import annotations

import time
from fractions import Fraction
from random import Random

import pytest

from dpdb.privacy.noise.system import SystemNoise
from tests.long.audits import Audit, cells, found

RUNS = 100_000
REPLACE = "replace"
A, B = [cells(5)], [cells(-2)]
SMOOTH = "sensitivity = 'smooth', delta = 1e-6"
AUDITS = [
    Audit("COUNT", "g, COUNT(*) FROM t GROUP BY g", [[]], [A], summed=True, power=0.9),
    Audit("SUM", "g, SUM(x) FROM t GROUP BY g", [[]], [A], summed=True, power=0.9),
    Audit("FILTER", "g, COUNT(*) FILTER (WHERE x > 0), SUM(x) FILTER (WHERE v = 1), COUNT(v)"
          " FROM t GROUP BY g", [[]], [[cells(5, v=1)]], summed=True, power=0.7),
    Audit("GROUP BY under replace", "g, COUNT(*), SUM(x) FROM t GROUP BY g",
          [A, []], [[], A], REPLACE, summed=True, power=0.7),
    Audit("VARIANCE", "g, VAR_POP(x) FROM t GROUP BY g", [[cells(1)]], [[cells(1), *A]], power=0.2),
    Audit("VARIANCE of two", "g, VARIANCE(x) FROM t GROUP BY g", [B], [[*B, *A]]),
    Audit("STDDEV", "g, STDDEV(k) FROM t GROUP BY g", [[cells(k=3)]], [[cells(k=3), cells(k=7)]]),
    Audit("AVG", "g, AVG(x) FROM t GROUP BY g", [A], [[*A, *B]], power=0.3),
    Audit("AVG, SUM and COUNT", "g, SUM(x), COUNT(x), AVG(x) FROM t GROUP BY g", [[]], [A],
          summed=True),
    Audit("COUNT(DISTINCT)", "g, COUNT(DISTINCT x) FROM t GROUP BY g", [[*A, *A]],
          [[*A, *A, cells(3)]], summed=True, power=0.9),
    Audit("COUNT(DISTINCT) under replace", "g, COUNT(DISTINCT x) FROM t GROUP BY g",
          [A, []], [[], A], REPLACE, summed=True, power=0.9),
    Audit("MODE", "g, MODE(v) FROM t GROUP BY g", [[cells(v=0)]], [[cells(v=0), cells(v=1)]],
          power=0.1),
    Audit("MEDIAN in groups", "g, MEDIAN(x) FROM t GROUP BY g", [B], [[*B, cells(3)]], power=0.3),
    Audit("MAX", "g, MAX(x) FROM t GROUP BY g", [[cells(0), cells(1)]], [[cells(0), cells(1), *A]]),
    Audit("a unit of two rows", "g, COUNT(*), SUM(x) FROM t GROUP BY g", [[], []],
          [[cells(5, u="a")], [cells(5, u="a")]], rows_per_unit=2, summed=True, power=0.7),
    Audit("a unit of many rows", "g, SUM(x) FROM t GROUP BY g", [[]], [[cells(5, u="a")] * 9],
          rows_per_unit=2, summed=True, power=0.9),
    Audit("smooth noise", "g, MEDIAN(x) FROM t GROUP BY g", [B], [[*B, *A, *A]], options=SMOOTH),
    Audit("smooth noise with units", "g, MEDIAN(x) FROM t GROUP BY g",
          [[cells(-2, u="b"), cells(0, u="c")]] * 2,
          [[cells(-2, u="b"), cells(0, u="c"), cells(5, u="a")]] * 2,
          rows_per_unit=2, options=SMOOTH, summed=True),
    Audit("Gaussian noise", "g, COUNT(*), SUM(x) FROM t GROUP BY g", [[]], [A], summed=True,
          options="mechanism = 'gaussian', delta = 1e-6"),
    Audit("a subquery", "COUNT(*), (SELECT SUM(x) FROM t) FROM t"
          " WHERE x > (SELECT COUNT(*) FROM t WHERE v = 1)", [[]], [[cells(5, v=1)]],
          summed=True, single=True),
    Audit("relative_error", "COUNT(*) FROM t", [A * 9], [A * 10], single=True,
          options="relative_error = 0.5", power=0.3),
]  # fmt: skip


@pytest.fixture(autouse=True)
def _unhurried(monkeypatch):
    """Answers need not wait for a tick of the clock."""
    monkeypatch.setattr(time, "sleep", lambda seconds: None)


@pytest.mark.examples(RUNS, 100)
@pytest.mark.parametrize("audit", AUDITS, ids=str)
def test_no_more_is_told_than_charged(audit: Audit, examples: int, tmp_path, tried):
    bound = found(audit, tmp_path, examples)
    tried(f"{bound}, {examples} runs on either table, of the operating system's entropy")
    assert bound.epsilon <= bound.charged
    if examples >= RUNS:
        assert bound.epsilon > audit.power * bound.charged


class Halved(SystemNoise):
    """Half the noise."""

    def laplace(self, scale: Fraction, size: int):
        return super().laplace(scale / 2, size)


@pytest.mark.parametrize("audit", [AUDITS[0], AUDITS[3]], ids=str)
def test_half_the_noise_would_be_found(audit: Audit, tmp_path):
    bound = found(audit, tmp_path, RUNS // 5, Halved(Random(1).randbytes))
    assert bound.epsilon > 1.2 * bound.charged
