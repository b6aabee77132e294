"""The ends of what a test of noisy moments accepts: nothing that is accepted is beyond them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dpdb.answers.estimates import read
from dpdb.answers.intervals import inverted_tests
from dpdb.answers.intervals.inverted_tests import (
    _FEW,
    NoisyLine,
    NoisyMoments,
    NoisySum,
    last_accepted,
    variance_interval,
)
from dpdb.answers.intervals.noise_tails import _APART, SINGLE, SumOfNoises
from dpdb.privacy.mechanisms.kinds import Law
from tests.support.plans import PRIVATE, planned

KINDS = tuple(Law)


def reach(noises: SumOfNoises, weights: list[float]) -> float:
    """The distance that noise with these weights keeps to, by halving."""
    low, high = 0.0, 1e4
    for _ in range(60):
        middle = (low + high) / 2
        within = noises.room(middle, weights, SINGLE) >= 0
        low, high = (middle, high) if within else (low, middle)
    return high


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("number", [1, 2, 3])
def test_what_noise_keeps_to_is_a_norm_of_its_weights(kind, number: int) -> None:
    """Of three Laplace noises the scales are moved apart, which adds up to twice that part."""
    random = np.random.default_rng(number)
    number = min(number, 2) if kind is Law.BOX else number
    noises = SumOfNoises(kind, (1.0, 2.0, 0.5)[:number], 0.95, 3)
    more = (1 + _APART) ** 2 if number == 3 else 1 + 1e-9
    for _ in range(100):
        one, other = random.normal(size=(2, number)) * random.choice([0.01, 1, 10], number)
        both = reach(noises, list(map(abs, one + other)))
        alone = reach(noises, list(map(abs, one))) + reach(noises, list(map(abs, other)))
        assert both <= alone * more
        assert reach(noises, list(map(abs, 3 * one))) == pytest.approx(
            3 * reach(noises, list(map(abs, one))), rel=1e-9
        )


def lines(kind, number: int) -> tuple[NoisyLine, np.ndarray, np.ndarray]:
    """Random lines with the numbers from which and to which ends are searched for."""
    random = np.random.default_rng(7)
    slope = np.exp(random.uniform(0, 12, number))
    best = random.uniform(-50, 50, number)
    ends = np.stack([np.full(number, -100.0), np.full(number, 100.0)])
    weights = [random.uniform(-50, 50, number), np.zeros(number)]
    line = NoisyLine(
        best * slope, slope, weights, [1.0, 0.01], np.array([[1.0], [-1.0]]),
        SumOfNoises(kind, (3.0, 100.0), 0.95, 3),
    )  # fmt: skip
    return line, np.broadcast_to(best, ends.shape), ends


@pytest.mark.parametrize("kind", KINDS)
def test_an_end_is_rejected_and_what_is_a_little_nearer_is_accepted(kind) -> None:
    line, inside, ends = lines(kind, 200)
    found = last_accepted(line, inside, ends)
    assert (np.abs(found) <= 100).all()
    open_ends = found != ends
    assert 200 < open_ends.sum() < 400
    assert (line.room(found, np)[open_ends] < 0).all()
    nearer = found + (inside - ends) * 2.0**-35
    assert (line.room(nearer, np) >= 0).all()


@pytest.mark.parametrize("kind", KINDS)
def test_single_numbers_have_the_ends_that_arrays_have(kind) -> None:
    line, inside, ends = lines(kind, _FEW)
    together = last_accepted(line, inside, ends)
    for at in range(_FEW):
        one = replace(
            line,
            value=line.value[at : at + 1],
            slope=line.slope[at : at + 1],
            weights=[weight[at : at + 1] for weight in line.weights],
        )
        place = (slice(None), slice(at, at + 1))
        alone = last_accepted(one, inside[place], ends[place])
        assert alone == pytest.approx(together[place], rel=0, abs=200 * 2.0**-35)


@pytest.mark.parametrize("function", ["VAR_POP", "VAR_SAMP"])
@pytest.mark.parametrize("rows", [40, 150, 600, 20_000])
def test_no_variance_is_accepted_beyond_the_interval_at_any_mean(function: str, rows: int) -> None:
    """Of many more means than are tried, and of variances close to the interval's ends."""
    plan = planned(f"{function}(age)", PRIVATE)
    [estimate] = plan.estimates
    random, half, cells = np.random.default_rng(rows), 50, 100
    mean = random.uniform(-half, half, cells)
    variance = (half**2 - mean**2) * random.uniform(0, 1, cells)
    squares, total = rows * (variance + mean**2), rows * mean
    exact = [4 * (squares + 50 * total), 4 * (squares - 50 * total), 5 * (2500 * rows - squares)]
    draws = [np.rint(np.array(exact) + random.laplace(0, 20_500, (3, cells))).T]
    low, high = variance_interval(estimate, plan, draws, 0.95)
    noisy = NoisyMoments(estimate, plan, draws)
    means = inverted_tests._means(noisy, 0.995)
    tried = means[0] + (means[1] - means[0]) * np.linspace(0, 1, 101).reshape(-1, 1)
    square = noisy.squares.plus(noisy.total, -2 * tried).plus(noisy.count, tried**2)
    divisor = noisy.count
    if function == "VAR_SAMP":
        divisor = NoisySum(read(estimate.moments.count, draws) - 1, noisy.count.weights)
    line = noisy.line(square, divisor, np.ones(1), 0.955)
    most = 2500 * (2 if function == "VAR_SAMP" else 1)
    for part in (1e-6, 0.01, 0.1, 0.5, 1):
        below, above = low - part * low, high + part * (most - high)
        assert not (line.room_on_both_sides(below, np) >= 0)[:, low > 0].any()
        assert not (line.room_on_both_sides(above, np) >= 0)[:, high < most].any()
    assert ((low > 0) & (high < most)).any() or rows < 600
    nearer = low + (high - low) * 0.05
    assert (line.room_on_both_sides(nearer, np) >= 0).any(axis=0).all() or rows < 600
