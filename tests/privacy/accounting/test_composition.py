"""Composition: the theorems' values, and what they promise of the worst case.

What is random is drawn from fixed seeds, and fails by chance less often than once in 10^6 runs.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from random import Random

import dp_accounting
import mpmath
import numpy as np
import pytest
from dp_accounting.pld import privacy_loss_distribution
from dp_accounting.pld.common import DifferentialPrivacyParameters
from dp_accounting.pld.pld_privacy_accountant import PLDAccountant
from dp_accounting.rdp import RdpAccountant

from dpdb.policy.budget import Budget, Composition
from dpdb.privacy.accounting.accountants import accountant
from dpdb.privacy.accounting.composition import (
    ComposedLoss,
    advanced,
    advanced_as_printed,
    concentrated,
    log_inverse,
    sequential,
)
from dpdb.privacy.accounting.loss import Loss
from dpdb.privacy.mechanisms.gaussian import Gaussian
from dpdb.privacy.mechanisms.laplace import Laplace
from dpdb.privacy.noise.system import SystemNoise
from tests.support.budgets import ZCDP, alike, of, times

ALPHA = 1e-6


def high(value: Fraction) -> mpmath.mpf:
    return mpmath.mpf(value.numerator) / value.denominator


# ------------------------------------------------------------------------------ known values


def test_the_sum_of_the_seed() -> None:
    """ "6 Key Equations": 0.5 + 0.3 + 0.2 = 1."""
    assert sequential(of([Fraction("0.5"), Fraction("0.3"), Fraction("0.2")])) == 1


def test_the_advanced_formula_of_the_seed() -> None:
    """ "6 Key Equations": 4.8 + 1 = 5.8 for 100 queries of 0.1 and δ = 1e-5."""
    found = advanced_as_printed(0.1, 100, 1e-5)
    assert round(found, 1) == 5.8
    assert found == pytest.approx(math.sqrt(2 * 100 * 5 * math.log(10)) * 0.1 + 1, rel=1e-14)


CASES = [
    (epsilons, slack)
    for slack in (Fraction(1, 10**5), Fraction(1, 10**100), Fraction(99, 100))
    for epsilons in (
        [Fraction(1, 10)] * 100,
        [Fraction(1)],
        [Fraction(1, 10**9)] * 3,
        [Fraction(1, n) for n in range(1, 60)],
        [Fraction(20), Fraction(1, 10**6)],
    )
]


@pytest.mark.parametrize(("epsilons", "slack"), CASES)
def test_advanced_is_the_theorem_rounded_up(epsilons: list[Fraction], slack: Fraction) -> None:
    """√(2·ln(1/δ')·Σε²) + Σε·(e^ε - 1), with the exponent that the seed leaves out."""
    with mpmath.workdps(80):
        exact = [high(epsilon) for epsilon in epsilons]
        logarithm = mpmath.log(1 / high(slack))
        root = mpmath.sqrt(2 * logarithm * mpmath.fsum(e * e for e in exact))
        theorem = root + mpmath.fsum(e * mpmath.expm1(e) for e in exact)
        found = high(advanced(of(epsilons), slack))
        assert theorem <= found <= theorem + mpmath.mpf(10) ** -20 * max(1, theorem)
        assert logarithm <= high(log_inverse(slack)) <= logarithm + mpmath.mpf(10) ** -20


def test_the_printed_formula_is_a_little_too_small() -> None:
    theorem = advanced(alike(100, Fraction(1, 10)), Fraction(1, 10**5))
    missing = 100 * 0.1 * (math.expm1(0.1) - 0.1)
    assert float(theorem) - advanced_as_printed(0.1, 100, 1e-5) == pytest.approx(missing, rel=1e-9)


def test_what_is_spent_is_never_rounded_down() -> None:
    """However small, and however often: half of nothing is still something."""
    for epsilon in (Fraction(1, 10**18), Fraction(1, 3), Fraction(10**4), Fraction(10**7)):
        one = ComposedLoss.of(Loss(epsilon, Fraction(1, 7), epsilon**2 / 2, Fraction(1, 11)))
        assert one.epsilon == epsilon
        assert (one.delta, one.rho_delta) == (Fraction(1, 7), Fraction(1, 11))
        assert epsilon**2 <= one.squares <= epsilon**2 + Fraction(1, 2**120)
        assert epsilon**2 / 2 <= one.rho <= epsilon**2 / 2 + Fraction(1, 2**120)
        assert one.excess >= min(epsilon, 10**4) ** 2


def test_an_epsilon_beyond_all_budgets_is_beyond_all_theorems() -> None:
    """Its exponential would have millions of digits."""
    beyond = ComposedLoss.of(Loss(Fraction(5 * 10**7), rho=Fraction(5 * 10**7)))
    for composition in Composition:
        keeper = accountant(Budget(Fraction(10**4), Fraction(1, 2), 1, composition))
        assert not keeper.covers(beyond)


# ------------------------------------------------------------------------------ dp-accounting


@pytest.mark.parametrize(
    ("epsilon", "number", "slack"),
    [(0.1, 100, 1e-5), (0.01, 1000, 1e-6), (1.0, 30, 1e-3), (0.1, 10_000, 1e-9), (3.0, 2, 0.3)],
)
def test_no_theorem_is_below_the_best_there_is(epsilon: float, number: int, slack: float) -> None:
    """dp-accounting composes the worst of all ε-DP mechanisms exactly: its grid has ±ε on it."""
    one = privacy_loss_distribution.from_privacy_parameters(
        DifferentialPrivacyParameters(epsilon, 0.0), value_discretization_interval=epsilon
    )
    best = one.self_compose(number).get_epsilon_for_delta(slack)
    spent = alike(number, Fraction(epsilon))
    assert best < float(concentrated(spent, Fraction(slack)))
    assert best < float(advanced(spent, Fraction(slack)))
    assert best <= float(sequential(spent))
    # What a session is charged, which is the least that is sound; δ is what gives it that slack.
    budget = Budget(Fraction(10**4), Fraction(slack) * 10 / 9, number, ZCDP)
    assert best <= accountant(budget).epsilon(spent) <= 1.25 * best


@pytest.mark.parametrize(
    ("sigma", "number", "slack"),
    [(1, 1, 1e-5), (10, 100, 1e-6), (5, 10, 1e-3), (100, 1000, 1e-9), (50, 5, 1e-6)],
)
def test_gaussian_noise_composes_as_in_dp_accounting(sigma: int, number: int, slack: float) -> None:
    """Never below the exact ε, 15 % above it at most; never above Rényi's by a list of orders."""
    one = Gaussian(1, Fraction(sigma**2), Fraction(0), Fraction(0)).loss
    found = float(concentrated(times(number, ComposedLoss.of(one)), Fraction(slack)))

    event = dp_accounting.GaussianDpEvent(sigma)
    renyi = RdpAccountant()
    renyi.compose(event, number)
    assert found <= renyi.get_epsilon(slack) * (1 + 1e-8) <= found * 1.05

    # Of k Gaussians the loss is that of one, with σ/√k.
    below = privacy_loss_distribution.from_gaussian_mechanism(
        sigma / math.sqrt(number), pessimistic_estimate=False, use_connect_dots=False
    ).get_epsilon_for_delta(slack)
    assert below <= found <= below * 1.15


@pytest.mark.parametrize(("laplaces", "gaussians"), [(1, 0), (10, 0), (30, 0), (5, 5), (0, 30)])
def test_a_session_is_charged_for_no_less_than_the_best_there_is(
    laplaces: int, gaussians: int
) -> None:
    """Laplace noise of ε = 1/20 and Gaussian noise of σ = 30, by their exact loss together."""
    budget = Budget(Fraction(1), Fraction(1, 10**6), 30, ZCDP)
    gaussian = Gaussian(1, Fraction(900), Fraction(1, 10), Fraction(1, 10**9)).loss
    spent = alike(laplaces, Fraction(1, 20)) + times(gaussians, ComposedLoss.of(gaussian))
    noises = [
        (laplaces, dp_accounting.LaplaceDpEvent(20)),
        (gaussians, dp_accounting.GaussianDpEvent(30)),
    ]
    best = PLDAccountant(value_discretization_interval=1e-3)
    for number, event in noises:
        if number:
            best.compose(event, number)
    # Their grid of losses makes this too large, by less than its step.
    exact = best.get_epsilon(float(budget.delta))
    charged = float(accountant(budget).epsilon(spent))
    assert exact - 1e-3 <= charged <= exact * 1.35


# ------------------------------------------------------------------------------ exact worst cases


def walk(epsilon: Fraction, number: int) -> Iterator[tuple[mpmath.mpf, mpmath.mpf]]:
    """The loss of randomized responses, and its probability: a binomial."""
    e = high(epsilon)
    plus = 1 / (1 + mpmath.exp(-e))
    for minus in range(number + 1):
        chance = mpmath.binomial(number, minus) * plus ** (number - minus) * (1 - plus) ** minus
        yield e * (number - 2 * minus), chance


@pytest.mark.parametrize("slack", [Fraction(1, 10**n) for n in (1, 3, 6, 30, 100)], ids=float)
@pytest.mark.parametrize("epsilon", [Fraction(1, n) for n in (1000, 100, 10, 2, 1)], ids=float)
@pytest.mark.parametrize("number", [1, 2, 10, 100, 400])
def test_randomized_responses_stay_within_delta(
    number: int, epsilon: Fraction, slack: Fraction
) -> None:
    """δ(E) = E[(1 - e^(E - L))⁺]. Advanced composition also promises P(L > E) <= δ'."""
    spent = alike(number, epsilon)
    with mpmath.workdps(150):
        losses = list(walk(epsilon, number))
        over = high(advanced(spent, slack))
        assert mpmath.fsum(p for loss, p in losses if loss > over) <= high(slack)
        over = high(concentrated(spent, slack))
        delta = mpmath.fsum(-mpmath.expm1(over - loss) * p for loss, p in losses if loss > over)
        assert delta <= high(slack)


def tail(successes: int, trials: int, probability: float) -> float:
    """P(X >= successes) of a binomial X (Clopper and Pearson 1934)."""
    with mpmath.workdps(30):
        if not successes:
            return 1.0
        return float(mpmath.betainc(successes, trials - successes + 1, 0, probability, True))


def test_noise_as_it_is_drawn_stays_within_advanced_composition() -> None:
    """32 discrete Laplaces of sensitivity 3: how often does the loss exceed ε at δ' = 1/20?"""
    trials, number, epsilon, slack = 20_000, 32, Fraction(1, 5), Fraction(1, 20)
    mechanism = Laplace(3, epsilon)
    noise = SystemNoise(Random(5).randbytes).laplace(mechanism.scale, trials * number)
    losses = (np.abs(noise - 3) - np.abs(noise)).reshape(trials, number).sum(axis=1)
    within = float(advanced(alike(number, mechanism.loss.epsilon), slack) * mechanism.scale)

    def refuted(most: float) -> bool:
        return tail(int((losses > most).sum()), trials, float(slack)) < ALPHA

    assert not refuted(within)
    assert refuted(within / 2)
