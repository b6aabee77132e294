"""Concentrated privacy turned into (ε, δ) is sound, and as tight as its proposition allows."""

from __future__ import annotations

import math
import sys
from fractions import Fraction

import mpmath
import pytest
from dp_accounting.rdp.rdp_privacy_accountant import compute_delta
from hypothesis import given
from hypothesis import strategies as st

from dpdb.privacy.accounting.composition import (
    concentrated_delta,
    concentrated_epsilon,
    concentrated_rho,
)
from dpdb.privacy.gaussian_calibration import profile
from dpdb.privacy.search import crossing

STEP = Fraction(1, 2**28)  # more than the relative distance of neighbours of 30 bits
RHOS = [
    Fraction(1, 10**8),
    Fraction(1, 300),
    Fraction(1, 8),
    Fraction(2),
    Fraction(50),
    Fraction(10**6),
]


def epsilons(rho: Fraction) -> list[Fraction]:
    """Below the expected loss ρ, at it, and some deviations √(2ρ) over it."""
    found = (rho + Fraction(z * math.sqrt(2 * rho)) for z in (-1, 0, 1, 4, 10, 30))
    return [Fraction(0), *(epsilon for epsilon in found if epsilon > 0)]


def proposition_12(rho: Fraction, epsilon: Fraction) -> mpmath.mpf:
    """inf over α > 1 of exp((α-1)(αρ - ε))/(α-1)·(1 - 1/α)^α by golden sections of ln(α - 1)."""
    with mpmath.workdps(50):
        p = mpmath.mpf(rho.numerator) / rho.denominator
        e = mpmath.mpf(epsilon.numerator) / epsilon.denominator

        def bound(log: mpmath.mpf) -> mpmath.mpf:
            alpha = 1 + mpmath.exp(log)
            power = (alpha - 1) * (alpha * p - e) + alpha * mpmath.log(1 - 1 / alpha)
            return power - log

        low, high, golden = mpmath.mpf(-60), mpmath.mpf(60), (mpmath.sqrt(5) - 1) / 2
        for _ in range(120):
            left, right = high - golden * (high - low), low + golden * (high - low)
            low, high = (low, right) if bound(left) < bound(right) else (left, high)
        return mpmath.exp(bound(low))


@pytest.mark.parametrize("rho", RHOS, ids=str)
def test_delta_is_that_of_the_best_order(rho: Fraction) -> None:
    for epsilon in epsilons(rho):
        best = min(proposition_12(rho, epsilon), mpmath.mpf(1))
        found = concentrated_delta(rho, epsilon)
        assert best * (1 - mpmath.mpf(10) ** -20) <= found <= best * (1 + 1e-8)


@pytest.mark.parametrize("rho", RHOS[1:-1], ids=str)
def test_delta_is_never_above_that_of_dp_accounting(rho: Fraction) -> None:
    """Its accountant takes the orders that it is given: here some near the best one."""
    for epsilon in epsilons(rho)[3:]:
        around = float(epsilon / (2 * rho))
        orders = [1 + around * factor / 100 for factor in range(1, 301)]
        theirs, _ = compute_delta(orders, [float(rho) * order for order in orders], float(epsilon))
        found = concentrated_delta(rho, epsilon)
        assert found <= theirs * (1 + 1e-9)
        if theirs < 0.01:
            assert theirs <= found * 1.05


@pytest.mark.parametrize("rho", RHOS, ids=str)
def test_delta_covers_a_mechanism_that_is_so_concentrated(rho: Fraction) -> None:
    """Gaussian noise with Δ²/2σ² = ρ, whose own δ is known and less by a small factor only."""
    sigma = 1 / math.sqrt(2 * rho)
    for epsilon in epsilons(rho):
        own = profile(sigma, 1, float(epsilon))
        found = concentrated_delta(rho, epsilon)
        assert own <= found
        if 1e-300 < own < 0.1:
            assert found < 100 * own


def test_no_loss_at_all() -> None:
    assert concentrated_delta(Fraction(0), Fraction(0)) == 0
    assert concentrated_epsilon(Fraction(0), Fraction(1, 10**6)) == 0
    assert concentrated_delta(Fraction(1, 10), Fraction(10**9)) == sys.float_info.min


LOSSES = [
    (Fraction(epsilon), Fraction(delta))
    for epsilon in (1e-9, 0.01, 0.5, 1, 3, 20, 1e4)
    for delta in (1e-300, 1e-30, 1e-6, 0.01, 0.5, 0.999)
]


@pytest.mark.parametrize(("epsilon", "delta"), LOSSES)
def test_rho_is_the_largest_that_is_so_private(epsilon: Fraction, delta: Fraction) -> None:
    rho = concentrated_rho(epsilon, delta)
    assert concentrated_delta(rho, epsilon) <= delta
    assert concentrated_delta(rho * (1 + STEP), epsilon) > delta
    back = concentrated_epsilon(rho, delta)
    assert back <= epsilon * (1 + STEP)  # far less where δ hides nearly all of ρ
    assert back == 0 or concentrated_delta(rho, back * (1 - STEP)) > delta
    assert concentrated_delta(rho, back) <= delta
    # Bun and Steinke 2016, Proposition 1.3: ρ + 2√(ρ·ln(1/δ)). Ours is never worse.
    assert back <= float(rho) + 2 * math.sqrt(float(rho) * -math.log(delta)) * (1 + 1e-8)


def test_what_is_hidden_already_needs_no_epsilon() -> None:
    """σ = 1/√(2ρ) at ρ = 1/200 is 10, and shifts by 1 differ by 2Φ(1/20) - 1 = 0.04 in all."""
    assert concentrated_epsilon(Fraction(1, 200), Fraction(1, 4)) == 0


positive = st.fractions(Fraction(1, 1000), 1000)


@given(positive, positive, positive)
def test_delta_grows_with_rho_and_falls_with_epsilon(
    rho: Fraction, epsilon: Fraction, more: Fraction
) -> None:
    here = concentrated_delta(rho, epsilon)
    assert concentrated_delta(rho, epsilon + more) <= here * (1 + 1e-9)
    assert concentrated_delta(rho + more, epsilon) >= here * (1 - 1e-9)


@pytest.mark.parametrize("delta", [Fraction(0), Fraction(-1), Fraction(1), Fraction(1, 10**301)])
def test_deltas_out_of_range(delta: Fraction) -> None:
    with pytest.raises(ValueError, match="delta"):
        concentrated_epsilon(Fraction(1), delta)
    with pytest.raises(ValueError, match="delta"):
        concentrated_rho(Fraction(1), delta)


def test_losses_out_of_range() -> None:
    with pytest.raises(ValueError, match="epsilon"):
        concentrated_rho(Fraction(0), Fraction(1, 10))
    for rho, epsilon in ((Fraction(-1), Fraction(1)), (Fraction(1), Fraction(-1))):
        with pytest.raises(ValueError, match="negative"):
            concentrated_delta(rho, epsilon)


@given(st.fractions(Fraction(1, 10**12), 10**12), st.integers(-250, 250))
def test_a_crossing_is_between_neighbours_of_30_bits(mantissa: Fraction, power: int) -> None:
    edge = mantissa * Fraction(10) ** power
    below, above = crossing(lambda value: value >= edge)
    assert below < edge <= above
    assert above - below <= below / 2**29
    for end in (below, above):
        assert (end.numerator // (end.numerator & -end.numerator)).bit_length() <= 30
        assert end.denominator & (end.denominator - 1) == 0


def test_a_crossing_at_a_power_of_two() -> None:
    assert crossing(lambda value: value >= 8) == (Fraction(2**30 - 1, 2**27), 8)


@pytest.mark.parametrize("near", ["1/1000000", "7", "8", "8.00000001", "9", "1e12"])
def test_a_crossing_is_found_from_wherever_the_search_begins(near: str) -> None:
    """And from near it, at few points."""
    asked = []

    def holds(value: Fraction) -> bool:
        asked.append(value)
        return value >= 8

    assert crossing(holds, Fraction(near)) == (Fraction(2**30 - 1, 2**27), 8)
    assert len(asked) <= (8 if near.startswith("8") else 80)
