"""The distribution of sums of independent noises, against integrals and draws."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from dpdb.answers.intervals.noise_tails import laplace_tail, margin
from dpdb.answers.intervals.weighted_noises import reach
from dpdb.privacy.mechanisms.gaussian import Gaussian
from dpdb.privacy.mechanisms.kinds import NoiseKind
from dpdb.privacy.mechanisms.laplace import Laplace
from tests.support.audited import noise
from tests.support.optional import PLENTY, asking, opened


@pytest.mark.parametrize(("first", "second"), [(1.0, 3.0), (5.0, 0.5), (2.0, 2.0), (1.0, 1 + 1e-6)])
def test_the_tail_of_two_laplace_noises(first: float, second: float) -> None:
    """Against the integral of one's tail over the other's density."""
    x = np.linspace(-60 * second, 60 * second, 200_001)
    density = np.exp(-np.abs(x) / second) / (2 * second)
    for distance in (0.0, 0.7, 4.0, 11.0):
        above, below = distance - x, distance + x
        tails = sum(np.where(d > 0, np.exp(-np.abs(d) / first) / 2, 1 - np.exp(-np.abs(d) / first) / 2)
                    for d in (above, below))  # fmt: skip
        expected = float(np.trapezoid(density * tails, x))
        found = float(
            laplace_tail(np.array([distance]), [np.array([first]), np.array([second])])[0]
        )
        assert found == pytest.approx(expected, rel=2e-5)


def test_a_sum_of_no_noises_is_zero() -> None:
    assert margin((), (), 0.95) == 0


def test_noise_of_no_scale_has_no_part_in_the_tail() -> None:
    for first, second in itertools.permutations((0.0, 2.0)):
        found = laplace_tail(np.array([3.0]), [np.array([first]), np.array([second])])
        assert found[0] == pytest.approx(math.exp(-3 / 2))


@pytest.mark.parametrize(
    "scales", [(1.0, 3.0, 0.2), (2.0, 2.0, 2.0), (1.0, 1.0, 5.0), (3.0, 1e-9, 1.0), (2.0, 0.0, 0.0)]
)
def test_the_tail_of_three_laplace_noises(scales: tuple[float, float, float]) -> None:
    """Against the integral of the tail of two over the density of the third."""
    first, second, third = sorted(scales, reverse=True)
    x = np.linspace(-60 * first, 60 * first, 200_001)
    density = np.exp(-np.abs(x) / first) / (2 * first)
    for distance in (0.5, 4.0, 11.0):
        d = distance - x
        two = laplace_tail(np.abs(d), [np.array(second), np.array(third)]) / 2
        above = np.where(d > 0, two, 1 - two)
        expected = 2 * float(np.trapezoid(density * above, x))
        [found] = laplace_tail(np.array([distance]), [np.array([scale]) for scale in scales])
        assert found == pytest.approx(expected, rel=5e-4)


def test_three_scales_that_are_the_same_are_not_taken_for_less_noise() -> None:
    """1 - F of a sum of three: (1 + 5d/8 + d²/8)·e^-d for scale 1, from its density."""
    for distance in (0.5, 3.0, 9.0):
        exact = (1 + 5 * distance / 8 + distance**2 / 8) * math.exp(-distance)
        [found] = laplace_tail(np.array([distance]), [np.ones(1)] * 3)
        assert exact <= found <= 1.001 * exact


@pytest.mark.parametrize("weights", [(1.0, 1.0), (0.5, -0.5, 2.0), (1.0, 1.0, 1.0, 1.0, 0.1, 0.1)])
def test_a_margin_holds_back_one_in_twenty(weights: tuple[float, ...]) -> None:
    """Of 40,000 sums of whole noise; 4.9 standard errors are one in a million."""
    mechanism, source, runs = Laplace(1, Fraction(1, 30)), noise(5), 40_000
    drawn = sum(w * source.laplace(mechanism.scale, runs) for w in weights)
    reach = margin(weights, (mechanism,) * len(weights), 0.95)
    missed = float((np.abs(drawn) > reach).mean())
    assert 0.04 < missed < 0.05 + 4.9 * math.sqrt(0.05 * 0.95 / runs)


@pytest.mark.parametrize("failure", [0.05, 1e-3, 5e-6, 5e-7])
def test_a_margin_fails_no_oftener_than_asked_where_one_noise_is_far_larger(failure: float) -> None:
    """Of scales a > b > c the tail at d is a⁴/((a²-b²)(a²-c²))·e^(-d/a), as e^(-d/b) is nothing."""
    scales = (1000.0, 1.5, 1.0)
    mechanisms = tuple(Laplace(1, 1 / Fraction(scale)) for scale in scales)
    distance = margin((1.0,) * 3, mechanisms, 1 - failure) - 3  # whole noise has one more each
    a, b, c = (scale**2 for scale in scales)
    tail = a**2 / ((a - b) * (a - c)) * math.exp(-distance / scales[0])
    assert failure / 2 < tail < failure * (1 + 1e-7)


@pytest.mark.usefixtures("in_memory")
@pytest.mark.parametrize("kind", NoiseKind)
def test_one_noise_alone_has_its_own_margin(kind: NoiseKind) -> None:
    asked = asking(f"mechanism = '{kind}', epsilon = 0.5", "SUM(x) FROM t")
    [release] = opened(PLENTY).execute(f"EXPLAIN {asked}").plan.releases
    assert margin((-2.0,), (release.noise,), 0.9) == 2 * release.noise.quantile(0.9)


def test_noise_of_several_normal_deviations_adds_up_by_squares() -> None:
    mechanism = Gaussian(1, Fraction(900), Fraction(1), Fraction(1, 10**6))
    assert margin((3.0, 4.0), (mechanism,) * 2, 0.95) == pytest.approx(7 + 1.96 * 150, rel=1e-3)


@pytest.mark.parametrize("variance", [Fraction(4), Fraction(9), Fraction(100)])
@pytest.mark.parametrize("terms", [1, 2, 5, 40])
def test_a_sum_of_gaussian_noises_is_within_its_quantile_and_hardly_less(
    variance: Fraction, terms: int
) -> None:
    """By the exact law of the sum, of which what is beyond 12 deviations is cut off."""
    far = 12 * math.isqrt(variance.numerator)
    one = np.exp(-(np.arange(-far, far + 1.0) ** 2) / (2 * float(variance)))
    size = 2 * terms * far + 1
    law = np.fft.irfft(np.fft.rfft(one / one.sum(), 2 * size) ** terms, 2 * size)[:size]
    outside = 1 - law[size // 2] - 2 * np.concatenate([[0], np.cumsum(law[size // 2 + 1 :])])
    mechanism = Gaussian(1, variance, Fraction(1), Fraction(1, 10**6))
    for confidence in (0.5, 0.9, 0.95, 0.999):
        most = int(mechanism.quantile(confidence, terms))
        assert outside[most] <= 1 - confidence < outside[most - 2]


@pytest.mark.parametrize("confidence", [0.95, 0.999, 1 - 1e-6])
def test_a_sum_of_laplace_noises_has_no_larger_margin_than_one_of_its_variance(
    confidence: float,
) -> None:
    """So a plan that is no noisier by its variance tells no wider ±: one noise has the widest.

    The inverse of a transform is 5.25 units of 1/4096 of a deviation too large.
    """
    generator = np.random.default_rng(1)
    weights = [np.array([1.0] * n) for n in (2, 3, 10, 60)]
    weights += [np.array([1.0] + [small] * n) for small in (0.03, 0.3) for n in (1, 5, 60)]
    weights += list(generator.exponential(size=(4, 8)))
    one = -math.log(1 - confidence) / math.sqrt(2)
    for each in weights:
        deviation = math.sqrt(float((each**2).sum()))

        def transform(t: np.ndarray, each: np.ndarray = each) -> np.ndarray:
            return np.exp(-np.log1p(np.outer(t, each) ** 2 / 2).sum(axis=1))

        assert reach(transform, deviation, confidence) <= (one + 5.25 / 4096) * deviation
