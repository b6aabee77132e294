"""Gaussian noise hides what it is said to hide, and hardly more.

Profiles are held against their definition, summed term by term from the probabilities of the
discrete Gaussian, at high precision where that matters, and against dp-accounting.
"""

from __future__ import annotations

import itertools
import math
import subprocess
import sys
from bisect import bisect_left
from fractions import Fraction
from functools import cache

import mpmath
import numpy as np
import pytest
from dp_accounting.pld.common import DifferentialPrivacyParameters
from dp_accounting.pld.privacy_loss_mechanism import GaussianPrivacyLoss
from hypothesis import given
from hypothesis import strategies as st

from dpdb.privacy import gaussian_calibration
from dpdb.privacy.gaussian_calibration import (
    analytic_sigma,
    classic_sigma,
    discrete_profile,
    epsilon_of,
    mills,
    mills_drop,
    profile,
    variance_for,
)
from dpdb.privacy.search import crossing

OVERSHOOT = 1e-6  # the most that a bound may be above the truth, relatively


def high(value: Fraction | float) -> mpmath.mpf:
    exact = Fraction(value)
    return mpmath.mpf(exact.numerator) / exact.denominator


# ------------------------------------------------------------------------- the continuous one


def test_the_classic_formula_as_worked_by_hand() -> None:
    # ln(1.25/1e-5) = ln 1.25 + 5 ln 10 = 0.2231436 + 11.5129255; √(2 · 11.7360690) = 4.844805.
    assert classic_sigma(1, 1, 1e-5) == pytest.approx(4.844805, abs=1e-6)
    assert classic_sigma(500, 0.5, 1e-5) == pytest.approx(4844.805, abs=1e-3)


@pytest.mark.parametrize(("epsilon", "delta"), [(1.001, 0.1), (0, 0.1), (1, 0), (1, 1), (-1, 0.1)])
def test_the_classic_formula_holds_no_further(epsilon: float, delta: float) -> None:
    with pytest.raises(ValueError, match=r"epsilon|delta"):
        classic_sigma(1, epsilon, delta)


def balle_wang(sigma: float, sensitivity: float, epsilon: float) -> mpmath.mpf:
    """Theorem 8 as printed, with more digits than e^ε and the tails can cancel."""
    with mpmath.workdps(400):
        d, s, e = high(sensitivity), high(sigma), high(epsilon)
        upper, lower = d / (2 * s) - e * s / d, -d / (2 * s) - e * s / d
        return mpmath.ncdf(upper) - mpmath.exp(e) * mpmath.ncdf(lower)


@pytest.mark.parametrize("epsilon", [0, 1e-9, 1e-3, 0.5, 1, 4, 100, 1e4])
@pytest.mark.parametrize("ratio", [1e-8, 9e-5, 1.1e-4, 0.01, 0.3, 1, 5, 40, 150])
def test_the_profile_is_stable(epsilon: float, ratio: float) -> None:
    """ratio = Δ/σ; far below it the profile may vanish, but not be wrong."""
    exact = balle_wang(3.0, 3 * ratio, epsilon)
    found = profile(3.0, 3 * ratio, epsilon)
    assert found == pytest.approx(float(exact), rel=1e-8, abs=1e-305)


@pytest.mark.parametrize("sensitivity", [1.0, 7.5])
@pytest.mark.parametrize("epsilon", [0.05, 0.5, 1.0, 3.0, 10.0])
@pytest.mark.parametrize("delta", [1e-9, 1e-5, 0.01, 0.5])
def test_the_analytic_sigma_is_that_of_dp_accounting(
    sensitivity: float, epsilon: float, delta: float
) -> None:
    found = analytic_sigma(sensitivity, epsilon, delta)
    theirs = GaussianPrivacyLoss.from_privacy_guarantee(
        DifferentialPrivacyParameters(epsilon, delta), sensitivity
    )
    assert found == pytest.approx(theirs.standard_deviation, rel=1e-6)
    assert balle_wang(found, sensitivity, epsilon) <= delta * (1 + 1e-9)
    assert balle_wang(found * (1 - 1e-7), sensitivity, epsilon) > delta
    if epsilon <= 1 and delta < 0.5:
        assert found < classic_sigma(sensitivity, epsilon, delta)


# --------------------------------------------------------------------------- the discrete one


@cache
def bell(variance: Fraction, reach: int) -> list[mpmath.mpf]:
    """The probabilities of the discrete Gaussian on 0 to reach, and so on 0 to -reach."""
    with mpmath.workdps(60):
        twice = 2 * high(variance)
        half = [mpmath.exp(-x * x / twice) for x in range(reach + 1)]
        total = 2 * mpmath.fsum(half) - half[0]
        return [weight / total for weight in half]


@cache
def lower_tails(variance: Fraction, reach: int) -> list[mpmath.mpf]:
    """The probabilities of [-reach, x] for x from -reach to reach."""
    half = bell(variance, reach)
    with mpmath.workdps(60):
        return list(itertools.accumulate([*half[:0:-1], *half]))


def hockey_stick(
    variance: Fraction, sensitivity: int, epsilon: Fraction, deviations: int = 40
) -> mpmath.mpf:
    """δ by its definition: Σ max(0, P(x) - e^ε·P(x - Δ)), out to so many σ.

    P(x)/P(x - Δ) falls as x grows, so what is added up are the x from the lower end to the last
    for which it is above e^ε. Of sixty digits those beyond fifty do not decide.
    """
    reach = math.ceil((deviations * math.sqrt(variance) + sensitivity) / 100 + 0.01) * 100  # shared
    half, tails = bell(variance, reach), lower_tails(variance, reach)
    with mpmath.workdps(60):
        factor = mpmath.exp(high(epsilon))
        at_least = factor * (1 + mpmath.mpf(10) ** -50)
        last = bisect_left(
            range(sensitivity - reach, reach + 1),
            True,
            key=lambda x: half[abs(x)] <= at_least * half[abs(x - sensitivity)],
        )  # counted from the lower end, and one too many
        if not last:
            return mpmath.mpf(0)
        return tails[last - 1 + sensitivity] - factor * tails[last - 1]


def epsilons(variance: Fraction, sensitivity: int) -> list[Fraction]:
    """Those with the threshold εσ²/Δ - Δ/2 some deviations off, on integers and between them."""
    at = [z * math.sqrt(variance) for z in (-2, -0.4, 0, 0.7, 3, 8, 20)]
    thresholds = [*map(Fraction, at), *(Fraction(round(c)) for c in at)]
    found = {(c + Fraction(sensitivity, 2)) * sensitivity / variance for c in thresholds}
    return [Fraction(0), *sorted(epsilon for epsilon in found if epsilon > 0)]


SMALL = [
    Fraction(1, 200),
    Fraction(1, 6),
    Fraction(1, 4),
    Fraction(22, 7),
    Fraction(30),
    Fraction(900),
]


@pytest.mark.parametrize("variance", SMALL, ids=str)
@pytest.mark.parametrize("sensitivity", [1, 2, 7, 100])
def test_the_bound_is_hardly_above_the_sum(variance: Fraction, sensitivity: int) -> None:
    for epsilon in epsilons(variance, sensitivity):
        exact = hockey_stick(variance, sensitivity, epsilon)
        bound = discrete_profile(variance, sensitivity, epsilon)
        assert min(exact, 1) <= bound
        assert bound <= max(exact * (1 + OVERSHOOT), sys.float_info.min)


def long_hockey_stick(sigma: int, sensitivity: int, epsilon: float) -> float:
    """The same with numpy's longest floats: on all platforms right to 1e-9 for these σ."""
    x = np.arange(-39 * sigma - sensitivity, 39 * sigma + sensitivity + 1, dtype=np.longdouble)
    weights = np.exp(-(x**2) / (2 * sigma**2))
    exponent = np.longdouble(epsilon) - (x + sensitivity) ** 2 / (2 * sigma**2)
    shifted = np.exp(np.minimum(exponent, 0))  # nothing is over 1, so what is cut gains nothing
    return float(np.maximum(weights - shifted, 0).sum() / weights.sum())


@pytest.mark.parametrize("sigma", [60, 1000, 2500])
@pytest.mark.parametrize("sensitivity", [20, 1000, 30_000])
def test_wide_bells_are_bounded_without_adding_them_up(sigma: int, sensitivity: int) -> None:
    for deviations in (-1, 0.0, 0.6, 2, 6):
        epsilon = (deviations * sigma + sensitivity / 2) * sensitivity / sigma**2
        if epsilon < 0:
            continue
        exact = long_hockey_stick(sigma, sensitivity, epsilon)
        bound = discrete_profile(Fraction(sigma) ** 2, sensitivity, Fraction(epsilon))
        assert exact <= bound <= exact * (1 + OVERSHOOT)
        if sigma >= 1000:
            assert bound == pytest.approx(profile(sigma, sensitivity, epsilon), rel=1e-4)


@pytest.mark.parametrize("sigma", [5, 40])
@pytest.mark.parametrize("sensitivity", [1, 20, 5000])
@pytest.mark.parametrize("deviations", [-3, -2, -1, 0, 1, 5, 20])
def test_the_bound_on_what_is_not_added_up(
    sigma: int, sensitivity: int, deviations: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All but one term are left to it. Terms fall over a length L = σ²/c, and 1/4L² is what it adds."""
    monkeypatch.setattr(gaussian_calibration, "_TERMS", 1)
    epsilon = (deviations * sigma + Fraction(sensitivity, 2)) * sensitivity / sigma**2
    if epsilon >= 0:
        exact = hockey_stick(Fraction(sigma) ** 2, sensitivity, epsilon)
        bound = discrete_profile(Fraction(sigma) ** 2, sensitivity, epsilon)
        assert min(exact, 1) <= bound
        assert bound <= exact * (1 + max(deviations, 2) ** 2 / (4 * sigma**2))


@pytest.mark.parametrize("sigma", [10**6, 10**9, 2**55])
@pytest.mark.parametrize("sensitivity", [1, 1000, 10**6, 10**12])
def test_the_widest_are_the_continuous_one(sigma: int, sensitivity: int) -> None:
    for deviations in (0, 0.6, 2, 6, 30):
        epsilon = (deviations * sigma + sensitivity / 2) * sensitivity / sigma**2
        bound = discrete_profile(Fraction(sigma) ** 2, sensitivity, Fraction(epsilon))
        continuous = float(balle_wang(sigma, sensitivity, epsilon))
        assert bound == pytest.approx(continuous, rel=OVERSHOOT)


def test_more_noise_can_be_worse() -> None:
    """By hand, for Δ = 1 and ε = 3, where c = 3σ² - 1/2: at σ² = 1/6 and 1/4 the integers over c
    begin with 1, and P[Y >= 1] is e^-3 and e^-2 over Z, nearly."""
    less, more = (
        discrete_profile(Fraction(1, 6), 1, Fraction(3)),
        discrete_profile(Fraction(1, 4), 1, Fraction(3)),
    )
    z = 1 + 2 * math.exp(-3) + 2 * math.exp(-12)
    assert less == pytest.approx((math.exp(-3) + math.exp(-12) - math.exp(-9)) / z, rel=1e-6)
    z = 1 + 2 * math.exp(-2) + 2 * math.exp(-8)
    assert more == pytest.approx((math.exp(-2) + math.exp(-8) - math.exp(-5)) / z, rel=1e-4)
    assert more > 2 * less


# -------------------------------------------------------------------------------- calibration

LOSSES = [
    *(
        (Fraction(1, 100), 1e-3),
        (Fraction(1, 10), 1e-6),
        (Fraction(1, 2), 1e-9),
        (Fraction(1), 1e-6),
    ),
    *((Fraction(1), 0.3), (Fraction(3), 1e-12), (Fraction(10), 1e-5), (Fraction(50), 1e-100)),
    *((Fraction(1000), 1e-300), (Fraction(10_000), 0.999), (Fraction(1, 10), 0.999)),
]


@pytest.mark.parametrize(("epsilon", "delta"), LOSSES)
@pytest.mark.parametrize("sensitivity", [1, 2, 5])
def test_no_event_tells_more_than_the_variance_was_made_for(
    epsilon: Fraction, delta: float, sensitivity: int
) -> None:
    variance = variance_for(sensitivity, sensitivity**2, True, epsilon, Fraction(delta))
    assert variance.numerator.bit_length() <= 30 or variance.denominator == 1
    deviations = 12 if delta >= 1e-12 else 40  # beyond 12σ lies less than 1e-32
    for change in range(1, sensitivity + 1):  # either way round: the bell is symmetric
        assert hockey_stick(variance, change, epsilon, deviations) <= delta
    less = variance * (1 - Fraction(1, 10**5))
    assert hockey_stick(less, sensitivity, epsilon, deviations) > delta


@pytest.mark.parametrize(("epsilon", "delta"), LOSSES)
@pytest.mark.parametrize("variance", [Fraction(1, 3), Fraction(30)], ids=str)
def test_the_epsilon_of_a_variance_is_the_smallest(
    epsilon: Fraction, delta: float, variance: Fraction
) -> None:
    found = epsilon_of(variance, 3, 9, True, Fraction(delta))
    assert hockey_stick(variance, 3, found) <= delta
    if found:
        assert hockey_stick(variance, 3, found * (1 - Fraction(1, 10**5))) > delta
    chosen = variance_for(3, 9, True, epsilon, Fraction(delta))
    assert epsilon_of(chosen, 3, 9, True, Fraction(delta)) <= epsilon * (1 + Fraction(1, 2**28))


def plane(variance: Fraction, changes: tuple[int, int], epsilon: Fraction) -> float:
    """δ of two integers that both change, summed over the plane in doubles."""
    reach = math.ceil(12 * math.sqrt(variance)) + max(changes)
    x = np.arange(-reach, reach + 1)
    weights = np.exp(-(x**2) / (2 * float(variance)))
    here = np.outer(weights, weights)
    moved = [np.exp(-((x - change) ** 2) / (2 * float(variance))) for change in changes]
    gain = np.maximum(here - math.exp(epsilon) * np.outer(*moved), 0)
    return float(gain.sum() / weights.sum() ** 2)


@pytest.mark.parametrize("changes", [(1, 1), (2, 1), (5, 4)])
@pytest.mark.parametrize(
    ("epsilon", "delta"),
    [(Fraction(1, 4), 1e-3), (Fraction(1), 1e-6), (Fraction(2), 1e-9), (Fraction(8), 0.01)],
)
def test_vectors_that_change_in_two_places(
    changes: tuple[int, int], epsilon: Fraction, delta: float
) -> None:
    squared = sum(change**2 for change in changes)
    variance = variance_for(max(changes), squared, False, epsilon, Fraction(delta))
    assert plane(variance, changes, epsilon) <= delta
    one = variance_for(max(changes), max(changes) ** 2, True, epsilon, Fraction(delta))
    assert plane(one, changes, epsilon) > delta
    assert one < variance
    back = epsilon_of(variance, max(changes), squared, False, Fraction(delta))
    assert plane(variance, changes, back) <= delta
    assert back <= epsilon * (1 + Fraction(1, 2**28))


@pytest.mark.parametrize(("epsilon", "delta"), [(0.05, 1e-6), (1, 1e-6), (1, 1e-12)])
def test_a_sum_in_fine_steps_needs_what_the_continuous_one_does(
    epsilon: float, delta: float
) -> None:
    variance = variance_for(10**6, 10**12, True, Fraction(epsilon), Fraction(delta))
    assert math.sqrt(variance) == pytest.approx(analytic_sigma(1e6, epsilon, delta), rel=1e-6)


# ------------------------------------------------------------------------------------ everywhere

small = st.fractions(Fraction(1, 100), 10_000, max_denominator=1000)


@given(small, st.integers(1, 1000), small, small)
def test_delta_falls_with_epsilon_and_grows_with_sensitivity(
    variance: Fraction, sensitivity: int, epsilon: Fraction, more: Fraction
) -> None:
    here = discrete_profile(variance, sensitivity, epsilon) * (1 + OVERSHOOT)
    assert discrete_profile(variance, sensitivity, epsilon + more) <= here
    assert discrete_profile(variance, sensitivity, epsilon) <= (1 + OVERSHOOT) * (
        discrete_profile(variance, sensitivity + 1, epsilon)
    )


@given(
    st.integers(1, 2**50),
    st.integers(1, 2**20),
    st.booleans(),
    st.floats(-9, 4).map(lambda digits: Fraction(10**digits)),
    st.one_of(
        st.integers(1, 300).map(lambda digits: Fraction(1, 10**digits)),
        st.fractions(Fraction(1, 1000), Fraction(999, 1000)),
    ),
)
def test_there_is_a_variance_for_everything(
    sensitivity: int, cells: int, single: bool, epsilon: Fraction, delta: Fraction
) -> None:
    squared = sensitivity**2 * (1 if single else cells)
    variance = variance_for(sensitivity, squared, single, epsilon, delta)
    assert variance.denominator <= 2**64
    if single:
        assert discrete_profile(variance, sensitivity, epsilon) <= delta
    back = epsilon_of(variance, sensitivity, squared, single, delta)
    assert back <= epsilon * (1 + Fraction(1, 2**28))


@pytest.mark.parametrize("single", [True, False])
def test_domains(single: bool) -> None:
    one, tenth = Fraction(1), Fraction(1, 10)
    for epsilon, delta in ((Fraction(0), tenth), (-one, tenth), (one, Fraction(0)), (one, one)):
        with pytest.raises(ValueError, match=r"epsilon|delta"):
            variance_for(1, 1, single, epsilon, delta)
    for arguments in ((Fraction(0), 1, 1), (-one, 1, 1), (one, 0, 0)):
        with pytest.raises(ValueError, match="positive"):
            epsilon_of(*arguments, single, tenth)
    with pytest.raises(ValueError, match="positive"):
        variance_for(0, 0, single, one, tenth)
    with pytest.raises(ValueError, match="positive"):
        analytic_sigma(0, 1, 0.1)
    with pytest.raises(ValueError, match="negative"):
        discrete_profile(one, 1, -one)


def test_planning_loads_no_numpy() -> None:
    code = "import sys, dpdb.privacy.gaussian_calibration; print('numpy' in sys.modules)"
    assert subprocess.check_output([sys.executable, "-c", code], text=True) == "False\n"


# ------------------------------------------------------------------------------- normal tails


@pytest.mark.parametrize("x", [-37, -9, -1, 0, 1e-9, 3, 9.999, 10, 10.001, 26, 40, 1e5, 1e12])
def test_mills_ratio(x: float) -> None:
    with mpmath.workdps(60):
        tail = mpmath.erfc(high(x) / mpmath.sqrt(2))
        exact = tail * mpmath.exp(high(x) ** 2 / 2) * mpmath.sqrt(mpmath.pi / 2)
    assert mills(x) == pytest.approx(float(exact), rel=2e-13)


@pytest.mark.parametrize("x", [0, 0.1, 2, 11, 38])
@pytest.mark.parametrize("width", [1e-15, 1e-9, 9e-5, 1.1e-4, 0.5, 60])
def test_the_drop_of_mills_ratio(x: float, width: float) -> None:
    with mpmath.workdps(60):
        ends = high(x), high(x) + high(width)
        start, end = (mpmath.ncdf(-at) / mpmath.npdf(at) for at in ends)
        exact = float(start - end)
    assert exact * (1 - 1e-9) <= mills_drop(x, width) <= exact * (1 + 5e-9)


@pytest.mark.parametrize("epsilon", [Fraction(1, 1000), Fraction(1, 3), Fraction(30)], ids=str)
def test_a_search_from_the_variance_of_continuous_noise_finds_the_same(epsilon: Fraction) -> None:
    for sensitivity in (200, 10**6, 2**50):
        found = crossing(
            lambda variance, change=sensitivity: (
                discrete_profile(variance, change, epsilon) <= Fraction(1, 10**6)
            )
        )
        squared = sensitivity**2
        assert found[1] == variance_for(sensitivity, squared, True, epsilon, Fraction(1, 10**6))
