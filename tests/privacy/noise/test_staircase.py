"""Staircase noise: its law, its loss, how noisy it is, and how exactly it is drawn."""

from __future__ import annotations

import math
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import product
from random import Random

import numpy as np
import pytest
from scipy.stats import binom

from dpdb.privacy.mechanisms.laplace import Laplace
from dpdb.privacy.mechanisms.staircase import Staircase
from dpdb.privacy.noise.staircase import _later, draws
from dpdb.privacy.noise.system import SystemNoise
from tests.support.fits import fit

ALPHA = 1e-6
WIDE = (1, 2, 3, 7, 20)
EPSILONS = (Fraction(1, 2), Fraction(2), Fraction(4), Fraction(9))
CASES = [Staircase(*case) for case in product(WIDE, EPSILONS)]


def law(noise: Staircase, reach: int) -> dict[int, float]:
    """P(x) for |x| <= reach, as Geng and Viswanath define it: a period of Δ after the other."""
    b, wide, first = math.exp(-noise.epsilon / noise.numbers), noise.sensitivity, noise.first
    a = (1 - b) / (2 * first + 2 * b * (wide - first) - (1 - b))

    def weight(size: int) -> float:
        if size >= wide:
            return b * weight(size - wide)
        return a if size < first else b * a

    return {x: weight(abs(x)) for x in range(-reach, reach + 1)}


def far(noise: Staircase) -> int:
    """A distance that is exceeded with probability below 1e-12."""
    return noise.sensitivity * (2 + math.ceil(28 / noise.epsilon * noise.numbers))


@pytest.mark.parametrize("noise", CASES, ids=str)
def test_draws_fit_the_law(noise: Staircase) -> None:
    drawn = draws(noise, SystemNoise(Random(5).randbytes), 30_000).tolist()
    probabilities = law(noise, max(far(noise), *map(abs, drawn)))
    if len([p for p in probabilities.values() if p * len(drawn) >= 10]) > 2:
        assert fit(drawn, probabilities) > ALPHA
    else:
        zeros = drawn.count(0)
        assert binom.sf(zeros - 1, len(drawn), probabilities[0]) > ALPHA
        assert binom.cdf(zeros, len(drawn), probabilities[0]) > ALPHA


def test_another_first_step_would_not_fit() -> None:
    noise = Staircase(20, Fraction(4))
    drawn = draws(noise, SystemNoise(Random(5).randbytes), 30_000).tolist()
    other = replaced_first(noise, noise.first + 1)
    assert fit(drawn, law(other, far(noise))) < ALPHA


def replaced_first(noise: Staircase, first: int) -> Staircase:
    other = Staircase(noise.sensitivity, noise.epsilon, noise.numbers)
    vars(other)["first"] = first
    return other


@pytest.mark.parametrize("noise", CASES, ids=str)
def test_no_neighbour_changes_a_probability_by_more_than_it_costs(noise: Staircase) -> None:
    """Whatever the first step; and a change by Δ does so, for some value."""
    for first in {1, noise.first, noise.sensitivity}:
        found = law(replaced_first(noise, first), 4 * noise.sensitivity)
        for apart in range(1, noise.sensitivity + 1):
            worst = max(abs(math.log(found[x] / found[x + apart])) for x in found
                        if x + apart in found)  # fmt: skip
            assert worst <= noise.epsilon * (1 + 1e-12)
        assert worst == pytest.approx(float(noise.epsilon))
    assert noise.loss.epsilon == noise.epsilon
    assert noise.loss.rho == noise.epsilon**2 / 2
    assert noise.loss.delta == 0


@pytest.mark.parametrize("noise", CASES, ids=str)
def test_moments_and_tails_are_those_of_the_law(noise: Staircase) -> None:
    found = law(noise, far(noise))
    values, weights = np.array(list(found)), np.array(list(found.values()))
    assert weights.sum() == pytest.approx(1, abs=1e-9)
    assert float(noise.variance) == pytest.approx((weights * values**2).sum(), rel=1e-6)
    for confidence in (0.5, 0.9, 0.95, 0.999):
        margin = noise.quantile(confidence)
        assert weights[abs(values) <= margin].sum() >= confidence
        if margin:
            assert weights[abs(values) < margin].sum() < confidence


@pytest.mark.parametrize("terms", [2, 5, 40])
@pytest.mark.parametrize("noise", [CASES[5], CASES[10], CASES[14]], ids=str)
def test_sums_of_several_stay_within_their_quantile(noise: Staircase, terms: int) -> None:
    """By convolution; and many within much less than each would need of its own."""
    found = law(noise, far(noise))
    whole = np.array(list(found.values()))
    summed = np.ones(1)
    for _ in range(terms):
        summed = np.convolve(summed, whole)
    sizes = abs(np.arange(summed.size) - summed.size // 2)
    margin = noise.quantile(0.95, terms)
    assert summed[sizes <= margin].sum() >= 0.95 - 1e-9
    if terms == 40:
        assert margin < terms * noise.quantile(0.95 ** (1 / terms)) / 3


@pytest.mark.parametrize("epsilon", [Fraction(1, 10**6), Fraction(1000), Fraction(10_000)])
@pytest.mark.parametrize("wide", [1, 1_000_000])
def test_sums_have_a_quantile_at_any_epsilon(wide: int, epsilon: Fraction) -> None:
    """Chernoff's bound would overflow at the rates of a large ε."""
    noise = Staircase(wide, epsilon)
    assert noise.quantile(0.95) <= noise.quantile(0.95, 3) <= 3 * noise.quantile(0.95 ** (1 / 3))


@pytest.mark.parametrize("wide", [2, 3, 7, 20, 1000])
def test_the_first_step_is_the_best_and_less_noisy_than_laplace(wide: int) -> None:
    """By half at ε = 4; at ε = 1/10 within a thousandth of Laplace noise."""
    for epsilon in (Fraction(1, 10), Fraction(2), Fraction(4)):
        noise, r = Staircase(wide, epsilon), math.exp(-float(epsilon) / wide)
        firsts = range(1, wide + 1)
        best = min(firsts, key=lambda first: replaced_first(noise, first).variance)
        assert replaced_first(noise, best).variance == pytest.approx(float(noise.variance))
        part = float(noise.variance) / (2 * r / (1 - r) ** 2)
        assert part < {Fraction(1, 10): 1.001, Fraction(2): 0.91, Fraction(4): 0.53}[epsilon]
        assert noise.quantile(0.95) <= Laplace(wide, epsilon).quantile(0.95)


def test_of_one_step_it_is_discrete_laplace_noise() -> None:
    for epsilon in EPSILONS:
        noise, r = Staircase(1, epsilon), math.exp(-epsilon)
        for x, probability in law(noise, 10).items():
            assert probability == pytest.approx((1 - r) / (1 + r) * r ** abs(x))


@pytest.mark.parametrize(
    "noise", [case for case in CASES if case.first < case.sensitivity], ids=str
)
def test_the_chance_of_the_later_part_is_known_to_any_digit(noise: Staircase) -> None:
    """Against decimals of 120 digits."""
    with localcontext(prec=120):
        b = (-Decimal(noise.steps.denominator) / noise.steps.numerator).exp()
        rest = b * (noise.sensitivity - noise.first)
        chance = rest / (noise.first + rest)
        for digits in (64, 128, 256):
            low, high = _later(noise)(digits)
            assert low <= Fraction(chance) <= high <= low + Fraction(1, 2 ** (digits - 1))
