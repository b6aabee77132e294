"""How much Gaussian noise makes an answer (ε, δ)-differentially private.

What dpdb draws, and calibrates, is the discrete Gaussian: `variance_for`. The two formulas for
the continuous one are there to be shown beside it. "CKS" is Canonne, Kamath, Steinke, "The
Discrete Gaussian for Differential Privacy" (2020).
"""

from __future__ import annotations

import math
import sys
from fractions import Fraction
from functools import lru_cache

from dpdb.privacy.accounting.zcdp import check_domain, concentrated_delta
from dpdb.privacy.search import crossing

_FAR = 10.0
_LEVELS = 40
_NEAR = 1e-4


def mills(x: float) -> float:
    """Mills' ratio M(x) = P(N > x)/φ(x) of a standard normal N with density φ, for x >= -37.

    Past 10 by Laplace's continued fraction 1/(x + 1/(x + 2/(x + 3/(x + …)))) (Abramowitz and
    Stegun 26.2.14), since there the error function underflows.
    """
    if x < _FAR:
        return math.sqrt(math.pi / 2) * math.exp(x * x / 2) * math.erfc(x / math.sqrt(2))
    fraction = x
    for level in range(_LEVELS, 0, -1):
        fraction = x + level / fraction
    return 1 / fraction


def mills_drop(x: float, width: float) -> float:
    """M(x) - M(x + width), for width >= 0 and x + width >= 0; when narrow, a bound from above.

    M(x) = ∫ exp(-xt - t²/2) dt over t > 0, so -M'(x) = 1 - x·M(x) decreases and is convex:
    between neighbours the drop is at most that of the trapezoid (Hermite and Hadamard), by
    width²/4 of itself at most. A difference there would be lost to cancellation.
    """
    y = x + width
    if width > _NEAR:
        return mills(x) - mills(y)
    return width * ((1 - x * mills(x)) + (1 - y * mills(y))) / 2


_TERMS = 1000
_SLACK = 1e-8
"""Relative, for rounding: that of the doubles in `discrete_profile` stays under a tenth of it,
and so does, for ε up to 10^4, what a variance rounded up by 2^-50 of itself can change."""


def classic_sigma(sensitivity: float, epsilon: float, delta: float) -> float:
    """σ = Δ·√(2·ln(1.25/δ))/ε, for ε <= 1 only.

    Dwork and Roth 2014, Theorem 3.22 and Appendix A, who prove it for ε < 1 and Δ in ℓ2.
    """
    if not 0 < epsilon <= 1:
        raise ValueError("the classic formula holds for epsilon over 0 and at most 1")
    if not 0 < delta < 1:
        raise ValueError("delta must be over 0 and below 1")
    return sensitivity * math.sqrt(2 * math.log(1.25 / delta)) / epsilon


def profile(sigma: float, sensitivity: float, epsilon: float) -> float:
    """The δ of continuous Gaussian noise: Φ(Δ/2σ - εσ/Δ) - e^ε·Φ(-Δ/2σ - εσ/Δ).

    Balle and Wang 2018, Theorem 8. With x = εσ/Δ - Δ/2σ and y = x + Δ/σ, y² = x² + 2ε, so this
    is φ(x)·(M(x) - M(y)) for Mills' ratio M: no e^ε, and no difference of equals.
    """
    width = sensitivity / sigma
    x = epsilon / width - width / 2
    if x < -30:
        return 1.0
    return math.exp(-x * x / 2) / math.sqrt(2 * math.pi) * mills_drop(x, width)


def analytic_sigma(sensitivity: float, epsilon: float, delta: float) -> float:
    """The smallest σ with `profile` at most δ: that of Balle and Wang 2018, Algorithm 1."""
    check_domain(Fraction(delta), Fraction(epsilon))
    if sensitivity <= 0:
        raise ValueError("sensitivity must be positive")
    low = high = float(sensitivity)
    while profile(high, sensitivity, epsilon) > delta:
        high *= 2
    while profile(low, sensitivity, epsilon) <= delta:
        low /= 2
    while low < (middle := (low + high) / 2) < high:
        enough = profile(middle, sensitivity, epsilon) <= delta
        low, high = (low, middle) if enough else (middle, high)
    return high


def discrete_profile(variance: Fraction, sensitivity: int, epsilon: Fraction) -> float:
    """An upper bound, hardly above it, on the δ of discrete Gaussian noise on an integer.

    CKS Theorem 7: δ = P[Y > c] - e^ε·P[Y > c + Δ] with c = εσ²/Δ - Δ/2. Since Δ is an integer
    the two tails pair off, and δ·Z is the sum over integers x > c of

        g(x) = A(x) - B(x) = A(x)·(1 - exp(-Δ(x-c)/σ²)),    A(x) = exp(-x²/2σ²),

    where B(x) = e^ε·A(x+Δ). No term is negative. Up to _TERMS of them are added up, from -9σ
    on (what is left out below is under 1e-17 of the sum), and `_rest` bounds the others.

    A neighbour may change the integer by less than Δ: that is no worse. For a shift Δ' < Δ the
    worst event is some {Y + Δ' >= m}, as A(x-Δ')/A(x) increases with x; a shift by Δ makes it
    likelier still, and so has a larger δ.
    """
    if variance <= 0 or sensitivity < 1 or epsilon < 0:
        raise ValueError("variance and sensitivity must be positive and epsilon not negative")
    v = float(variance)
    c = epsilon * variance / sensitivity - Fraction(sensitivity, 2)
    x = max(math.floor(c) + 1, -math.ceil(9 * math.sqrt(v)))
    peak = max(x, 0)  # A(peak) is taken out of all terms
    offset, rate = float(x - c), float(sensitivity / variance)
    total = 0.0
    for j in range(_TERMS):
        term = math.exp((peak**2 - (x + j) ** 2) / (2 * v)) * -math.expm1(-rate * (offset + j))
        total += term
        if term < total * 2.0**-60:
            break
    x, offset = x + j + 1, offset + j + 0.5
    total += math.exp((peak**2 - x * (x - 1) - 0.25) / (2 * v)) * _rest(x - 0.5, offset, v, rate)
    logarithm = math.log(total / _normaliser(v)) - float(peak**2 / (2 * variance))
    return min(1.0, max(math.exp(logarithm) * (1 + _SLACK), sys.float_info.min))


def _rest(start: float, offset: float, v: float, rate: float) -> float:
    """A bound on Σ g(x)/A(l) over integers x > l, for l = `start` = c + `offset` > c.

    A term is the integral of g over its unit cell less ∫ K·g'' for Peano's kernel of the
    midpoint rule, 0 <= K <= 1/8. From A'' = (x²/σ⁴ - 1/σ²)·A, and B'' alike,

        -g'' = (1/σ² - x²/σ⁴)·g + Δ(2x+Δ)/σ⁴·B <= g/σ² + 2Δ(x+Δ)/σ⁴·B,

    whose last part has the integral 2Δ·B(l)/σ² from l on. So Σ g is at most
    (1 + 1/8σ²)·∫g + Δ·B(l)/4σ². And ∫g = σ·A(l)·(M(l/σ) - q·M((l+Δ)/σ)) for Mills' ratio M and
    q = B(l)/A(l), which is written as two parts that are not negative.
    """
    sigma = math.sqrt(v)
    at, width, q = start / sigma, rate * sigma, math.exp(-rate * offset)
    integral = sigma * (mills_drop(at, width) - math.expm1(-rate * offset) * mills(at + width))
    return integral * (1 + 1 / (8 * v)) + rate * q / 4


def _normaliser(v: float) -> float:
    """Z = Σ exp(-x²/2σ²), all but 1e-16 of it, from below.

    Either as it stands or, where that is slow, by Poisson's summation formula, which makes it
    σ√(2π)·Σ exp(-2π²σ²k²).
    """
    factor, rate = (1.0, 0.5 / v) if v < 0.25 else (math.sqrt(2 * math.pi * v), 2 * math.pi**2 * v)
    return factor * (1 + 2 * sum(math.exp(-rate * k * k) for k in (1, 2, 3, 4)))


@lru_cache(maxsize=1024)
def variance_for(
    sensitivity: int, squared: int, single: bool, epsilon: Fraction, delta: Fraction
) -> Fraction:
    """The smallest variance, rounded up to 30 bits, that makes integers (ε, δ)-DP.

    `squared` is their squared ℓ2 sensitivity. If a neighbour changes a `single` one, by at most
    `sensitivity`, `discrete_profile` tells; otherwise concentrated privacy with
    ρ = squared/(2σ²) (CKS Theorem 14), and `sensitivity` does not matter.

    For ε over Δ, about, δ rises and falls with the variance, as the c of Theorem 7 passes the
    integers. What is returned is the smallest in its surroundings then, and a greater variance
    need not do.
    """
    check_domain(delta, epsilon)
    return crossing(
        lambda variance: _delta(variance, sensitivity, squared, single, epsilon) <= delta
    )[1]


@lru_cache(maxsize=1024)
def epsilon_of(
    variance: Fraction, sensitivity: int, squared: int, single: bool, delta: Fraction
) -> Fraction:
    """The smallest ε, rounded up to 30 bits, at which such noise makes integers (ε, δ)-DP."""
    check_domain(delta)
    if _delta(variance, sensitivity, squared, single, Fraction(0)) <= delta:
        return Fraction(0)
    return crossing(
        lambda epsilon: _delta(variance, sensitivity, squared, single, epsilon) <= delta
    )[1]


def _delta(
    variance: Fraction, sensitivity: int, squared: int, single: bool, epsilon: Fraction
) -> float:
    if variance <= 0 or squared < 1:
        raise ValueError("variance and sensitivity must be positive")
    if single:
        return discrete_profile(variance, sensitivity, epsilon)
    return concentrated_delta(squared / (2 * variance), epsilon)
