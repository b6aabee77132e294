"""Attack 20: intervals that tell more than the noisy value, or promise more than they keep."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from dpdb.engines.memory import MemoryEngine
from dpdb.privacy.mechanisms.laplace import Laplace
from dpdb.session.session import Session
from tests.support.exactly import raw_of, write
from tests.support.known_attacks import ROWS, people, seeded


def test_a20_intervals_are_around_the_noisy_value(tmp_path):
    """An interval around the true value, or as wide as the data, gives both away."""
    query = "SELECT COUNT(*), SUM(pay) FROM t"
    # 40 rows with a sum of 700: how far they are above -100 and below 1000, in steps of 1/4.
    # In the same vector a NULL weighs as much as a value.
    nulls = 10
    noisy = [[[4 * (700 + 40 * 100), 4 * (40 * 1000 - 700), 4 * 1100 * nulls]]]
    shown = {}
    for name, rows in {"all": ROWS, "none": [], "one": ROWS[:1]}.items():
        policy = people(tmp_path, rows)
        plan = Session(policy).execute(f"EXPLAIN {query}").plan
        exact = raw_of(plan, MemoryEngine())
        # Noise that makes all noisy values the same on every file.
        moves = [np.subtract(new, old).ravel() for new, old in zip(noisy, exact, strict=True)]
        answer = Session(policy, noise=Moved(moves)).execute(query)
        shown[name] = (answer.rows, answer.intervals)
    assert shown["all"] == shown["none"] == shown["one"]
    [row], [intervals] = shown["all"]
    assert row == (40 + nulls, 700)
    for value, (low, high) in zip(row, intervals, strict=True):
        assert low + high == 2 * value


class Moved:
    """Constants that are given for each release."""

    private = True

    def __init__(self, moves: list[np.ndarray]):
        self.moves = iter(moves)

    def laplace(self, scale, size):
        move = next(self.moves)
        assert move.shape == (size,)
        return move

    def below(self, bound):
        return bound // 2


GROUPS = 800


def _statistics(shape: list[float]) -> dict[str, float]:
    number, total = len(shape), sum(shape)
    mean = total / number
    variance = sum((x - mean) ** 2 for x in shape) / number
    sample = variance * number / (number - 1)
    above = [x for x in shape if x > 3] or [0]
    return {
        "COUNT(*)": number, "SUM(x)": total, "AVG(x)": mean, "VAR_POP(x)": variance,
        "VARIANCE(x)": sample, "STDDEV_POP(x)": math.sqrt(variance), "STDDEV(x)": math.sqrt(sample),
        "SUM(x) / COUNT(*)": mean, "100.0 * SUM(x) / COUNT(*) - 3": 100 * mean - 3,
        "COUNT(*) FILTER (WHERE x > 3) / COUNT(*)": sum(x > 3 for x in shape) / number,
        "SUM(x) - 2 * COUNT(*)": total - 2 * number, "COUNT(*) * SUM(x)": number * total,
        "ROUND(AVG(x), 1)": float(f"{mean:.1f}"), "GREATEST(COUNT(*), 3)": max(number, 3),
        # The range of these is not between their values at the ends of the intervals.
        f"ABS(COUNT(*) - {number})": 0, f"SUM(x) / (COUNT(*) - {number - 1})": total,
        "COUNT(*) * 1000000000000000000": number * 10**18,
        "COUNT(*) * COUNT(*)": number**2, "COUNT(*) % 7": number % 7,
        f"(COUNT(*) - {number}) * (SUM(x) - {total})": 0,
        "CASE WHEN COUNT(*) > 10 THEN 1 ELSE 0 END": int(number > 10),
        "AVG(x) FILTER (WHERE x > 3)": sum(above) / len(above),
    }  # fmt: skip


UNSTATED = ("COUNT(*) % 7", "CASE WHEN COUNT(*) > 10 THEN 1 ELSE 0 END")
"""Neither grows nor falls with the count throughout; no interval beats a wrong one."""


SHAPES = {
    "flat": [5.0] * 20, "spread": [i * 37 % 1000 / 100 for i in range(60)], "two ends": [0.0, 10.0],
    "one outlier": [0.0] * 30 + [10.0], "at the top": [10.0] * 40, "halves": [0.0, 10.0] * 100,
}  # fmt: skip


EPSILONS = (1, 20, 32)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("epsilon", EPSILONS)
def test_a20_intervals_cover_the_truth(tmp_path, shape, epsilon):
    """95 % intervals that hold less often mislead; a shortfall of 4.8 σ is one in a million.

    A Latin square: each expression meets every shape once, and every ε with a third of the shapes.
    """
    rows = [f"{group},{x}" for group in range(GROUPS) for x in SHAPES[shape]]
    text = (
        f"[budget]\nepsilon = {epsilon}\nqueries = 1\n[tables.t.columns]\n"
        f'g = {{ type = "integer", bounds = [0, {GROUPS - 1}] }}\n'
        'x = { type = "number", bounds = [0, 10], step = 0.01 }\n'
    )
    policy = write(tmp_path, "t", "g,x\n" + "\n".join(rows), text)
    engine = MemoryEngine()
    turn = (list(SHAPES).index(shape) + EPSILONS.index(epsilon)) % len(EPSILONS)
    numbered = list(enumerate(_statistics(SHAPES[shape]).items()))
    for number, (expression, truth) in numbered[turn :: len(EPSILONS)]:
        session = Session(policy, noise=seeded(number))
        session._loaded_engine = engine
        answer = session.execute(f"SELECT {expression} FROM t GROUP BY g")
        stated = [cell for (cell,) in answer.intervals if cell not in (None, (None, None))]
        # Where the noise leaves a divisor's sign open there is none to state.
        assert len(stated) == GROUPS or "/" in expression or expression in UNSTATED
        missed = sum(not low - 1e-6 <= truth <= high + 1e-6 for low, high in stated)
        allowed = 0.05 * GROUPS + 4.8 * math.sqrt(0.05 * 0.95 * GROUPS)
        assert missed <= allowed, (expression, missed / GROUPS)


def test_a20_what_has_no_value_has_no_interval(tmp_path):
    nothing = "(SELECT 1 / (COUNT(*) - COUNT(*)) FROM t)"
    answer = Session(people(tmp_path)).execute(f"SELECT COUNT(*) + {nothing} FROM t")
    assert answer.rows == ((None,),)
    assert answer.intervals in (((None,),), (((None, None),),))


@pytest.mark.parametrize("scale", [Fraction(1, 3), 1, 10, 10**6, 2**40, 1058908973318373, 2**50])
def test_a20_a_margin_holds_back_one_in_twenty(scale):
    """Near the largest scales exp(-1/scale) has few digits left, and the margin fell short."""
    mechanism = Laplace(1, 1 / Fraction(scale))
    margin = Fraction(mechanism.quantile(0.95))
    # P(|x| > z) = 2·exp(-(z+1)/scale) / (1 + exp(-1/scale))
    beyond = 2 * math.exp(-(margin + 1) / scale) / (1 + math.exp(-1 / Fraction(scale)))
    assert beyond <= 0.05 * (1 + 1e-6)
    assert margin <= max(1, Fraction(31, 10) * Fraction(scale))
