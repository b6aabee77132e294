"""The discrete Gaussian has the distribution it claims; integers decide what doubles cannot.

Entropy is seeded, so a test of fit always gives one answer; it is also shown wrong samplers.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from random import Random

import numpy as np
import pytest

from dpdb.privacy.noise import acceptance as comparisons
from dpdb.privacy.noise.acceptance import (
    LARGEST_VARIANCE,
    accept_gaussian,
    ceiling,
    exp_digits,
    workable,
)
from dpdb.privacy.noise.system import SystemNoise
from tests.support.noise_laws import ALPHA, AWKWARD, Draws, chi_square_p, fit_of, gaussian, seeded


def bell_fit(draws: Draws, variance: Fraction) -> float:
    return fit_of(draws, gaussian(variance), 10 * math.sqrt(variance) + 2)


VARIANCES = [
    *(Fraction(1, 10), Fraction(1), Fraction(22, 7), Fraction(3), AWKWARD, Fraction(100)),
    *(Fraction(10**6), Fraction(10**12), Fraction(LARGEST_VARIANCE)),
]


def test_the_bell_sums_the_stated_probabilities() -> None:
    for variance in (Fraction(1, 10), Fraction(22, 7), Fraction(9_999), Fraction(10_001)):
        law = gaussian(variance)  # the last two on either side of the change to the normal
        ratio = (law(3) - law(2)) / (law(0) - law(-1))
        assert ratio == pytest.approx(math.exp(-9 / (2 * variance)), rel=1e-4, abs=1e-9)
        assert law(0) + law(-1) == pytest.approx(1, abs=1e-9)


@pytest.mark.parametrize("variance", VARIANCES, ids=str)
def test_draws_fit_the_discrete_gaussian(variance: Fraction) -> None:
    draws = seeded(20).gaussian(variance, 200_000)
    assert draws.dtype == np.int64
    assert draws.shape == (200_000,)
    assert bell_fit(draws, variance) > ALPHA
    for wrong in (Fraction(11, 10), Fraction(9, 10)):
        if variance * wrong**2 <= LARGEST_VARIANCE:
            assert bell_fit(seeded(20).gaussian(variance * wrong**2, 200_000), variance) < ALPHA


def test_single_gaussian_draws_fit_it_too() -> None:
    noise, variance = seeded(21), Fraction(22, 7)
    draws = np.array([noise.gaussian(variance, 1)[0] for _ in range(10_000)])
    assert bell_fit(draws, variance) > ALPHA


def test_a_tiny_variance_is_always_zero() -> None:
    # P(X != 0) = 2 exp(-50) at 1/100.
    for variance in (Fraction(1, 100), Fraction(1, 2**128), Fraction(1, 10**400)):
        assert not seeded(22).gaussian(variance, 10_000).any()


def rounded_normal(variance: Fraction, size: int) -> Draws:
    reals = np.random.default_rng(23).normal(scale=math.sqrt(variance), size=size)
    return reals.round().astype(np.int64)


def candidates_alone(variance: Fraction, size: int) -> Draws:
    return seeded(24).laplace(Fraction(ceiling(variance)), size)


def kept_as_if_centred_at_zero(variance: Fraction, size: int) -> Draws:
    y = candidates_alone(variance, 4 * size)
    chance = np.exp(y**2 / (-2 * float(variance)))
    return y[np.random.default_rng(25).random(y.size) < chance][:size]


@pytest.mark.parametrize("wrong", [rounded_normal, candidates_alone, kept_as_if_centred_at_zero])
def test_the_fit_rejects_wrong_bells(wrong: Callable[[Fraction, int], Draws]) -> None:
    variance = Fraction(22, 7)
    assert bell_fit(wrong(variance, 200_000), variance) < ALPHA


@pytest.mark.parametrize("modulus", [3, 11, 101])
def test_large_gaussian_draws_leave_no_gaps(modulus: int) -> None:
    draws = seeded(26).gaussian(Fraction(10**18), 200_000)
    uniform = np.full(modulus, 1 / modulus)
    assert chi_square_p(np.bincount(draws % modulus, minlength=modulus), uniform) > ALPHA


def test_the_mean_of_5000_gaussian_draws_tells_a_sigma_10_percent_off() -> None:
    """|mean of |x| - E|x|| within 4.892 standard errors, as above, E|X| and E X² being summed."""
    variance, few = Fraction(100), 5_000
    x = np.arange(-400, 401)
    shares = np.diff([gaussian(variance)(int(end)) for end in (-401, *x)])
    mean, square = float(shares @ np.abs(x)), float(shares @ x**2)
    error = math.sqrt((square - mean**2) / few)

    def plausible(draws: Draws) -> bool:
        return abs(float(np.abs(draws).mean()) - mean) < 4.892 * error

    noise = seeded(27)
    assert all(plausible(noise.gaussian(variance, few)) for _ in range(50))
    for wrong in (variance * Fraction(121, 100), variance * Fraction(81, 100)):
        assert sum(not plausible(noise.gaussian(wrong, few)) for _ in range(50)) >= 45


@pytest.mark.parametrize("variance", [Fraction(1, 10), Fraction(22, 7), Fraction(900)], ids=str)
def test_integers_decide_as_doubles_do(variance: Fraction, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a margin of 1 every candidate is decided in integers, and every draw is the same."""
    quick = seeded(28).gaussian(variance, 2_000)
    decided: list[Fraction] = []

    class Counting(SystemNoise):
        def _below_exp(self, word: int, gamma: Fraction) -> bool:
            decided.append(gamma)
            return super()._below_exp(word, gamma)

    monkeypatch.setattr(comparisons, "_MARGIN", 1.0)
    exact = Counting(Random(28).randbytes).gaussian(variance, 2_000)
    assert (quick == exact).all()
    assert len(set(decided)) > 2
    assert len(decided) > 2_000


def test_only_near_decisions_are_left_to_integers() -> None:
    # y = 1 with σ = 1 and t = 2: γ = (1 - 1/2)²/2. 2^24 words are 2^-40.
    gamma, asked = Fraction(1, 8), []
    digits = exp_digits(gamma, 64)
    steps = [-(2**25), -(2**23), 0, 2**23, 2**25]

    def no(word: int, gamma: Fraction) -> bool:
        asked.append((word, gamma))
        return False

    drawn = np.array([digits + step for step in steps], dtype=np.uint64)
    kept = accept_gaussian(np.ones(5, dtype=np.int64), drawn, Fraction(1), no)
    assert kept.tolist() == [True, False, False, False, False]
    assert asked == [(digits + step, gamma) for step in steps[1:4]]


def test_doubles_are_right_by_the_margin_wherever_they_decide() -> None:
    """Words 2^-39 to either side of exp(-γ), for σ from 2^-64 to 2^55 and |y| where it matters."""
    random = Random(29)

    def never(word: int, gamma: Fraction) -> bool:
        raise AssertionError("too near to be left to doubles")

    for _ in range(1_000):
        variance = Fraction(random.getrandbits(300) | 1, 2 ** random.randint(190, 428))
        variance = workable(min(variance, Fraction(LARGEST_VARIANCE)))
        t, sigma = ceiling(variance), math.sqrt(variance)
        y = math.floor(variance / t + Fraction(sigma * random.uniform(-1, 9)))
        y = min(abs(y), 2**63 - 1)
        digits = exp_digits((y - variance / t) ** 2 / (2 * variance), 64)
        pairs = [(max(digits - 2**25, 0), True), (min(digits + 2**25, 2**64 - 1), False)]
        if digits < 2**25 or digits > 2**64 - 2**26:
            pairs = pairs[digits < 2**25 :][:1]
        drawn = np.array([word for word, _ in pairs], dtype=np.uint64)
        kept = accept_gaussian(np.full(len(pairs), -y), drawn, variance, never)
        assert kept.tolist() == [below for _, below in pairs], (variance, y)
