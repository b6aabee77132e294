"""The ρ of each mechanism: at least the Rényi divergences of its outputs on neighbours."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from dpdb.privacy.accounting.loss import Loss
from dpdb.privacy.mechanisms.gaussian import Gaussian
from dpdb.privacy.mechanisms.laplace import Laplace
from dpdb.privacy.mechanisms.selections.exponential import Exponential
from dpdb.privacy.noise.exponential import weights
from tests.support.budgets import Floats

ORDERS = np.array([1.001, 1.1, 1.5, 2, 3, 5, 10, 30, 100, 1000, 10_000])


def renyi(log_p: Floats, log_q: Floats) -> Floats:
    """D_α(P‖Q) for each of ORDERS, of distributions known by their logarithms."""
    terms = ORDERS[:, None] * log_p + (1 - ORDERS[:, None]) * log_q
    largest = terms.max(axis=1)
    return (largest + np.log(np.exp(terms - largest[:, None]).sum(axis=1))) / (ORDERS - 1)


def normalised(logs: Floats) -> Floats:
    return logs - np.log(np.exp(logs - logs.max()).sum()) - logs.max()


def assert_concentrated(loss: Loss, divergences: Floats) -> None:
    assert (divergences <= float(loss.rho) * ORDERS * (1 + 1e-9) + 1e-12).all()


@pytest.mark.parametrize("epsilon", [Fraction(1, 100), Fraction(1, 3), Fraction(1), Fraction(7)])
@pytest.mark.parametrize("sensitivity", [1, 2, 7])
def test_laplace_noise_is_half_epsilon_squared_concentrated(
    sensitivity: int, epsilon: Fraction
) -> None:
    mechanism = Laplace(sensitivity, epsilon)
    reach = 10 + math.ceil(60 * mechanism.scale)
    x = np.arange(-reach, reach + 1)
    for shift in range(1, sensitivity + 1):
        here, there = (-abs(x - at) / float(mechanism.scale) for at in (0, shift))
        found = renyi(normalised(here), normalised(there))
        assert_concentrated(mechanism.loss, found)
    if epsilon < 1 and sensitivity == 1:
        # A randomized response is as bad as any, and ε²/2 the least for small ones.
        assert found[3] >= 0.95 * float(mechanism.loss.rho) * ORDERS[3]


@pytest.mark.parametrize("epsilon", [Fraction(1, 100), Fraction(1, 3), Fraction(1), Fraction(7)])
def test_selection_is_an_eighth_of_epsilon_squared_concentrated(epsilon: Fraction) -> None:
    """All scores of up to three candidates, and all they can become, by the weights as drawn."""
    mechanism = Exponential(Fraction(1), epsilon)
    closest = 0.0
    for number in (2, 3):
        scores = np.array(list(product(range(3), repeat=number)))
        changes = np.array(list(product((-1, 0, 1), repeat=number)))
        for score, change in product(scores, changes):
            logs = [
                normalised(np.log(np.array(weights(s.max() - s, mechanism.rate), dtype=float)))
                for s in (score, score + change)
            ]
            found = renyi(*logs)
            assert_concentrated(mechanism.loss, found)
            closest = max(closest, found[3] / (float(mechanism.loss.rho) * ORDERS[3]))
    if epsilon < 1:
        assert closest >= 0.95


@pytest.mark.parametrize("variance", [Fraction(1, 4), Fraction(7, 3), Fraction(100)], ids=float)
@pytest.mark.parametrize("shifts", [(1,), (5,), (1, 1), (3, -2)])
def test_gaussian_noise_is_concentrated(shifts: tuple[int, ...], variance: Fraction) -> None:
    """Noise on several cells is independent: what they reveal adds up."""
    squared = sum(shift**2 for shift in shifts)
    mechanism = Gaussian(squared, variance, Fraction(0), Fraction(0))
    # At order α the terms lie around α·shift, which must be within reach.
    orders = slice(0, 8)
    reach = 40 * max(map(abs, shifts)) + math.ceil(40 * mechanism.scale)
    x = np.arange(-reach, reach + 1)
    found = sum(
        renyi(*(normalised(-((x - at) ** 2) / (2 * float(variance))) for at in (0, shift)))[orders]
        for shift in shifts
    )
    rho = float(mechanism.loss.rho)
    assert (found <= rho * ORDERS[orders] * (1 + 1e-9)).all()
    # For whole orders it is an equality.
    assert found[3:] == pytest.approx(rho * ORDERS[3:8], rel=1e-9)
