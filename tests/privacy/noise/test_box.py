"""Noise of a box: its law, what it loses, and the continuous law above it."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction
from functools import cache
from itertools import product

import numpy as np
import numpy.typing as npt
import pytest
from scipy.integrate import quad
from scipy.stats import binom, chisquare, gamma

from dpdb.answers.intervals import box_tails
from dpdb.privacy.mechanisms.box import STEPS, Box
from dpdb.privacy.noise import box
from dpdb.privacy.noise.sources import seeded

ALPHA = 1e-6
"""The probability with which a test of a sound sampler fails, were its seed not fixed."""
Point = tuple[int, ...]


def size(point: Point, halves: Point) -> int:
    """ϱ: the norm of a point, in steps."""
    return max(-(-STEPS * abs(z) // half) for z, half in zip(point, halves, strict=True))


def points_of(reach: int, halves: Point) -> list[int]:
    """For each coordinate the most steps to one side."""
    return [reach * half // STEPS for half in halves]


@pytest.mark.parametrize("halves", [(1, 1), (1, 3), (2, 5), (1, 2, 3)])
def test_a_row_moves_the_norm_by_as_many_steps_as_there_are(halves: Point) -> None:
    """And some row moves it so far: the whole ε is used."""
    changes = list(product(*(range(-half, half + 1) for half in halves)))
    around = product(*(range(-2 * half, 2 * half + 1) for half in halves))
    moved = {
        abs(size(tuple(map(sum, zip(z, v, strict=True))), halves) - size(z, halves))
        for z in around
        for v in changes
    }
    assert max(moved) == STEPS


@pytest.mark.parametrize(
    ("halves", "epsilon", "steps"), [((1, 2), 2, 1), ((1, 3, 2), 3, 1), ((3, 1), 4, 2)]
)
def test_draws_have_the_law(halves: Point, epsilon: int, steps: int) -> None:
    mechanism = Box(halves, Fraction(epsilon), steps)
    drawn = box.draws(mechanism, seeded(4), 30_000)
    counted = Counter(map(tuple, drawn.tolist()))
    rate = float(mechanism.rate) / STEPS
    far = [6 * steps * half for half in halves]
    whole = list(product(*(range(-each, each + 1) for each in far)))
    chances = np.exp([-rate * size(each, halves) for each in whole])
    expected = chances / chances.sum() * len(drawn)
    often = expected >= 10
    found = np.array([counted[each] for each in whole])
    rest = len(drawn) - found[often].sum()
    observed = [*found[often], rest]
    tail = chisquare(observed, [*expected[often], len(drawn) - expected[often].sum()])
    assert often.sum() > 40
    assert tail.pvalue > ALPHA


def test_whole_numbers_below_a_bound_are_uniform_to_the_last_digit() -> None:
    """A real that begins with 128 digits of a third may be on either side of it."""

    class Digits:
        private = False

        def __init__(self, *words: int) -> None:
            self.words = list(words)

        def below(self, bound: int) -> int:
            count = (bound.bit_length() - 1) // 64
            taken, self.words = self.words[:count], self.words[count:]
            return sum(word << (64 * place) for place, word in enumerate(taken))

    third = (2**128 // 3) >> 64
    for more, expected in ((0, 0), (2**63, 1)):
        noise = Digits(third, third, more)
        assert box._below(np.array([3], dtype=object), noise).tolist() == [expected]  # type: ignore[arg-type]
        assert not noise.words
    for digits, expected in ((0, 0), (2**64 - 1, 2)):
        noise = Digits(digits, digits)
        assert box._below(np.array([3], dtype=object), noise).tolist() == [expected]  # type: ignore[arg-type]


BOXES = [
    Box((1, 47, 500), Fraction(1)),
    Box((1, 5), Fraction(1, 2)),
    Box((1, 3, 2), Fraction(2)),
    Box((1, 10**6, 47, 47), Fraction(4)),
    Box((1, *[1000] * 6), Fraction(1, 10), 3),
]


@pytest.mark.parametrize("mechanism", BOXES, ids=str)
def test_the_continuous_law_is_above_that_of_whole_numbers(mechanism: Box) -> None:
    """For events rarer than one in ten, computed from the law of R; and not far above it."""
    unit = STEPS / float(mechanism.rate)
    reaches = range(int(40 * unit))
    counts = np.array([points_of(each, mechanism.halves) for each in reaches], dtype=float)
    log = -np.arange(len(reaches)) / unit + np.log(2 * counts + 1).sum(axis=1)
    weights = np.exp(log - log.max())
    weights /= weights.sum()
    for at, noise in enumerate(mechanism.coordinates):
        own = counts[:, at]
        for distance in np.linspace(0, 12 * float(noise.scale), 60).astype(int).tolist():
            outside = np.maximum(2 * (own - distance), 0) / (2 * own + 1)
            tail = float((weights * outside).sum())
            above = math.exp(
                box_tails.log_tail(max(distance - 1.0, 0.0), [noise.reach], noise.dimensions)
            )
            if 1e-9 < tail < 0.1:
                assert tail <= above * (1 + 1e-9)
        variance = float((weights * own * (own + 1) / 3).sum())
        assert variance == pytest.approx(float(noise.variance), rel=0.1)
    assert 1 <= mechanism.excess < 1.15


@pytest.mark.parametrize("dimensions", [2, 3, 6])
@pytest.mark.parametrize("ratio", [0.0, 0.2, 0.9, 1.0])
def test_the_tail_is_the_mean_over_the_sizes_of_boxes(dimensions: int, ratio: float) -> None:
    for distance in (0.5, 2.0, 5.0, 9.0):

        def outside(reach: float, distance: float = distance) -> float:
            y = distance / reach
            if not ratio:
                return max(1 - y, 0.0)
            sides = max(1 + ratio - y, 0.0) ** 2 - max(1 - ratio - y, 0.0) ** 2
            return sides / (4 * ratio)

        exact, _ = quad(
            lambda r: gamma.pdf(r, dimensions + 1) * outside(r),
            1e-9,
            80,
            limit=400,
            points=[distance],
        )
        found = math.exp(box_tails.log_tail(distance, [1.0, ratio], dimensions))
        assert found == pytest.approx(exact, rel=1e-4)


RUNS = 2_000


@cache
def sums_of(terms: int) -> npt.NDArray[np.int64]:
    """Sums of so many draws of the first box, in each run and coordinate."""
    drawn = box.draws(BOXES[0], seeded(terms), RUNS * terms)
    return drawn.reshape(RUNS, terms, -1).sum(axis=1)


@pytest.mark.parametrize("terms", [1, 2, 40])
@pytest.mark.parametrize("weights", [(1.0, 0.0), (0.5, 9.0), (1.0, 500.0)])
def test_margins_of_sums_hold(terms: int, weights: tuple[float, float]) -> None:
    """Of 2,000 sums 5 % may be farther; and not less than a quarter of that is, or z is too large."""
    drawn, (size, rows) = sums_of(terms), weights
    sums = np.abs(size * drawn[:, 2] + rows * drawn[:, 0])
    noises = BOXES[0].coordinates
    own = ((size, noises[2]), (rows, noises[0]))[: 2 if rows else 1]
    z = box_tails.margin(((own, terms),), 0.95)
    missed = int((sums > z).sum())
    assert missed <= binom.isf(ALPHA, RUNS, 0.05)
    assert missed >= binom.ppf(ALPHA, RUNS, 0.0125)


def test_a_quantile_is_that_of_the_law() -> None:
    for mechanism in BOXES[:3]:
        drawn = np.abs(box.draws(mechanism, seeded(1), RUNS))
        for at, noise in enumerate(mechanism.coordinates):
            missed = int((drawn[:, at] > noise.quantile(0.95)).sum())
            assert missed <= binom.isf(ALPHA, RUNS, 0.05)
