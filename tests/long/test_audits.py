"""No answer tells more than was charged for it: audits of every mechanism, through the session."""

from __future__ import annotations

import time
from fractions import Fraction
from random import Random

import numpy as np
import pytest

from dpdb.privacy.noise.system import SystemNoise
from tests.long.audits import Audit, Side, cells, found
from tests.long.remembering import AHEAD, remembering

RUNS = 100_000
REPLACE = "replace"
A, B = [cells(5)], [cells(-2)]
SMOOTH = "sensitivity = 'smooth', delta = 1e-6"
AUDITS = [
    # The longest come first, so that both workers have something to do until the end.
    # After five of its eight steps ε is 1, for which fifteen rows are enough, and fourteen are not.
    Audit("relative_error", "COUNT(*) FROM t", [A * 14], [A * 15], single=True,
          options="relative_error = 0.5, epsilon = 8", power=0.9),
    Audit("a subquery", "COUNT(*), (SELECT SUM(x) FROM t) FROM t"
          " WHERE x > (SELECT COUNT(*) FROM t WHERE v = 1)", [[]], [[cells(5, v=1)]],
          summed=True, single=True),
    Audit("COUNT", "g, COUNT(*) FROM t GROUP BY g", [[]], [A], summed=True, power=0.9),
    Audit("SUM", "g, SUM(x) FROM t GROUP BY g", [[]], [A], summed=True, power=0.9),
    Audit("FILTER", "g, COUNT(*) FILTER (WHERE x > 0), SUM(x) FILTER (WHERE v = 1), COUNT(v)"
          " FROM t GROUP BY g", [[]], [[cells(5, v=1)]], summed=True, power=0.7),
    Audit("GROUP BY under replace", "g, COUNT(*), SUM(x) FROM t GROUP BY g",
          [A, []], [[], A], REPLACE, summed=True, power=0.7),
    Audit("VARIANCE", "g, VAR_POP(x) FROM t GROUP BY g", [[cells(1)]], [[cells(1), *A]], power=0.2),
    Audit("VARIANCE of two", "g, VARIANCE(x) FROM t GROUP BY g", [B], [[*B, *A]], power=0.3),
    Audit("STDDEV", "g, STDDEV(k) FROM t GROUP BY g", [[cells(k=3)]], [[cells(k=3), cells(k=7)]],
          power=0.3),
    Audit("AVG", "g, AVG(x) FROM t GROUP BY g", [A], [[*A, *B]], power=0.3),
    Audit("AVG, SUM and COUNT", "g, SUM(x), COUNT(x), AVG(x) FROM t GROUP BY g", [[]], [A],
          summed=True, power=0.6),
    Audit("COUNT(DISTINCT)", "g, COUNT(DISTINCT x) FROM t GROUP BY g", [[*A, *A]],
          [[*A, *A, cells(3)]], summed=True, power=0.9),
    Audit("COUNT(DISTINCT) under replace", "g, COUNT(DISTINCT x) FROM t GROUP BY g",
          [A, []], [[], A], REPLACE, summed=True, power=0.9),
    Audit("MODE", "g, MODE(v) FROM t GROUP BY g", [[cells(v=0)]], [[cells(v=0), cells(v=1)]],
          power=0.1),
    Audit("MODE of weights", "g, MODE(v, x) FROM t GROUP BY g", [[]], [[cells(5, v=1)]], power=0.1),
    Audit("MEDIAN in groups", "g, MEDIAN(x) FROM t GROUP BY g", [B], [[*B, cells(3)]], power=0.3),
    Audit("MAX", "g, MAX(x) FROM t GROUP BY g", [[cells(0), cells(1)]], [[cells(0), cells(1), *A]],
          power=0.2),
    Audit("a unit of two rows", "g, COUNT(*), SUM(x) FROM t GROUP BY g", [[], []],
          [[cells(5, u="a")], [cells(5, u="a")]], rows_per_unit=2, summed=True, power=0.7),
    Audit("a unit of many rows", "g, SUM(x) FROM t GROUP BY g", [[]], [[cells(5, u="a")] * 9],
          rows_per_unit=2, summed=True, power=0.9),
    # One more unit moves the median, the lower of two, from one bound to the other.
    Audit("smooth noise", "g, MEDIAN(x) FROM t GROUP BY g", [[*B, *A]], [[*B, *A, *A]],
          options=SMOOTH, power=0.3),
    Audit("smooth noise with units", "g, MEDIAN(x) FROM t GROUP BY g",
          [[cells(-2, u="b"), cells(5, u="c")]] * 2,
          [[cells(-2, u="b"), cells(5, u="c"), cells(5, u="a")]] * 2,
          rows_per_unit=2, options=SMOOTH, summed=True, power=0.3),
    Audit("Gaussian noise", "g, COUNT(*), SUM(x) FROM t GROUP BY g", [[]], [A], summed=True,
          options="mechanism = 'gaussian', delta = 1e-6"),
]  # fmt: skip


@pytest.fixture(autouse=True)
def _unhurried(monkeypatch):
    """Answers need not wait for a tick of the clock."""
    monkeypatch.setattr(time, "sleep", lambda seconds: None)


@pytest.mark.examples(RUNS, 100)
@pytest.mark.parametrize("audit", AUDITS, ids=str)
def test_no_more_is_told_than_charged(audit: Audit, examples: int, tmp_path, tried):
    # A statement for each run takes the longest, and half as many find enough.
    runs = examples // 2 if audit.single else examples
    bound = found(audit, tmp_path, runs)
    tried(f"{bound}, {runs} runs on either table, of the operating system's entropy")
    assert bound.epsilon <= bound.charged
    if examples >= RUNS:
        assert bound.epsilon > audit.power * bound.charged


class Halved(SystemNoise):
    """Half the noise."""

    def laplace(self, scale: Fraction, size: int):
        return super().laplace(scale / 2, size)


BROKEN = [each for each in AUDITS if each.name in ("COUNT", "GROUP BY under replace")]


@pytest.mark.parametrize("audit", BROKEN, ids=str)
def test_half_the_noise_would_be_found(audit: Audit, tmp_path):
    bound = found(audit, tmp_path, RUNS // 5, Halved(Random(1).randbytes))
    assert bound.epsilon > 1.2 * bound.charged


class Scripted:
    """Noise from a fixed sequence, which does not depend on what was drawn ahead."""

    private = True

    def __init__(self):
        self._chance = Random(1)

    def laplace(self, scale: Fraction, size: int):
        widest = round(3 * scale)
        return np.array([self._chance.randint(-widest, widest) for _ in range(size)])

    gaussian = laplace

    def below(self, bound: int) -> int:
        return self._chance.randrange(bound)


SPECIAL = [each for each in AUDITS if each.single or each.options or each.relation == REPLACE]


@pytest.mark.parametrize("audit", SPECIAL, ids=str)
def test_remembering_changes_no_answer(audit: Audit, tmp_path):
    def asked(side: Side) -> list[list[float]]:
        runs = [side.runs(1) for _ in range(3)]
        return [[*each.values.ravel().tolist(), *each.charges.tolist()] for each in runs]

    sides = [Side(audit, audit.other, tmp_path / name, Scripted()) for name in ("a", "b")]
    with remembering():
        answers = asked(sides[0])
    assert answers == asked(sides[1])
    assert answers[0] != answers[1]


def test_noise_drawn_ahead_is_given_out_once():
    alone, together = (SystemNoise(Random(1).randbytes) for _ in range(2))
    with remembering():
        drawn = [int(alone.laplace(Fraction(5), 1)[0]) for _ in range(2 * AHEAD)]
    blocks = [together.laplace(Fraction(5), AHEAD).tolist() for _ in range(2)]
    assert drawn == [*blocks[0], *blocks[1]]
