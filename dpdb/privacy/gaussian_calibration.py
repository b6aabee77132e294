"""The calibration of Gaussian noise: the variance that makes answers (ε, δ)-DP.

dpdb draws discrete Gaussian noise, and `variance_for` calibrates it. `classic_sigma` and
`analytic_sigma` are for continuous noise and serve for comparison.
"""

from __future__ import annotations

import math
import sys
from fractions import Fraction
from functools import lru_cache

from dpdb.privacy.accounting.composition import check_domain, concentrated_delta
from dpdb.privacy.search import crossing

_FAR = 10.0
"""From this argument on Mills' ratio is computed by its continued fraction."""
_LEVELS = 40
"""The number of levels of the continued fraction that are computed."""
_NEAR = 1e-4
"""The width up to which a drop of Mills' ratio is bounded by the trapezoid rule."""


def mills(x: float) -> float:
    """Mills' ratio M(x) = P(N > x)/φ(x) of a standard normal N with density φ, for x >= -37.

    From x = 10 on, where the error function underflows, it is computed by Laplace's continued
    fraction 1/(x + 1/(x + 2/(x + 3/(x + …)))) ([AS64] 26.2.14).
    """
    if x < _FAR:
        return math.sqrt(math.pi / 2) * math.exp(x * x / 2) * math.erfc(x / math.sqrt(2))
    fraction = x
    for level in range(_LEVELS, 0, -1):
        fraction = x + level / fraction
    return 1 / fraction


def mills_drop(x: float, width: float) -> float:
    """M(x) - M(x + width), for width >= 0 and x + width >= 0; for a small width, an upper bound.

    M(x) = ∫ exp(-xt - t²/2) dt over t > 0, so -M'(x) = 1 - x·M(x) is decreasing and convex. So the
    trapezoid rule for ∫ -M' is an upper bound (Hermite and Hadamard), with a relative error of at
    most width²/4. It is used for small widths, where the difference would be lost to cancellation.
    """
    y = x + width
    if width > _NEAR:
        return mills(x) - mills(y)
    return width * ((1 - x * mills(x)) + (1 - y * mills(y))) / 2


_TERMS = 1000
"""The most terms of the discrete profile that are added one by one."""
_WIDE = 10_000
"""From this variance on discrete noise needs nearly the variance of continuous noise."""
_SLACK = 1e-8
"""The relative margin added to a discrete profile, for rounding.

The rounding errors of the doubles in `discrete_profile` are below a tenth of the margin. So is, for
ε up to 10^4, the effect of a variance that is rounded up by 2^-50 of itself.
"""


def classic_sigma(sensitivity: float, epsilon: float, delta: float) -> float:
    """The classic σ = Δ·√(2·ln(1.25/δ))/ε of continuous Gaussian noise, for ε <= 1 only.

    [DR14] Theorem 3.22 and Appendix A prove it for ε < 1 and the ℓ2 sensitivity Δ. Raises
    ValueError outside the domain.
    """
    if not 0 < epsilon <= 1:
        raise ValueError("the classic formula holds for epsilon over 0 and at most 1")
    if not 0 < delta < 1:
        raise ValueError("delta must be over 0 and below 1")
    return sensitivity * math.sqrt(2 * math.log(1.25 / delta)) / epsilon


def profile(sigma: float, sensitivity: float, epsilon: float) -> float:
    """The δ of continuous Gaussian noise: Φ(Δ/2σ - εσ/Δ) - e^ε·Φ(-Δ/2σ - εσ/Δ).

    [BW18] Theorem 8. With x = εσ/Δ - Δ/2σ and y = x + Δ/σ, y² = x² + 2ε, so this
    is φ(x)·(M(x) - M(y)) for Mills' ratio M, which neither overflows nor cancels.
    """
    width = sensitivity / sigma
    x = epsilon / width - width / 2
    if x < -30:
        return 1.0
    return math.exp(-x * x / 2) / math.sqrt(2 * math.pi) * mills_drop(x, width)


def analytic_sigma(sensitivity: float, epsilon: float, delta: float) -> float:
    """The smallest σ with `profile` at most δ ([BW18] Algorithm 1)."""
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
    """A close upper bound on the δ of discrete Gaussian noise on one integer.

    [CKS20] Theorem 7: δ = P[Y > c] - e^ε·P[Y > c + Δ] with c = εσ²/Δ - Δ/2. Since Δ is an integer
    the two tails pair off, and δ·Z is the sum over integers x > c of

        g(x) = A(x) - B(x) = A(x)·(1 - exp(-Δ(x-c)/σ²)),    A(x) = exp(-x²/2σ²),

    where B(x) = e^ε·A(x+Δ). No term is negative. At most _TERMS terms are added up, from -9σ on
    (the terms below are under 1e-17 of the sum), and `_rest` bounds the terms after them.

    A neighbour that changes the integer by Δ' < Δ has no larger δ. Its worst event is some
    {Y + Δ' >= m}, because A(x-Δ')/A(x) increases with x, and a shift by Δ makes this event likelier
    still.
    """
    if variance <= 0 or sensitivity < 1 or epsilon < 0:
        raise ValueError("variance and sensitivity must be positive and epsilon not negative")
    v = float(variance)
    c = epsilon * variance / sensitivity - Fraction(sensitivity, 2)
    x = max(math.floor(c) + 1, -math.ceil(9 * math.sqrt(v)))
    peak = max(x, 0)  # all terms are divided by A(peak)
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
    """An upper bound on Σ g(x)/A(l) over integers x > l, for l = `start` = c + `offset` > c.

    A term is the integral of g over its unit cell less ∫ K·g'' for Peano's kernel of the
    midpoint rule, 0 <= K <= 1/8. From A'' = (x²/σ⁴ - 1/σ²)·A, and B'' alike,

        -g'' = (1/σ² - x²/σ⁴)·g + Δ(2x+Δ)/σ⁴·B <= g/σ² + 2Δ(x+Δ)/σ⁴·B,

    and the last part has the integral 2Δ·B(l)/σ² from l on. So Σ g is at most
    (1 + 1/8σ²)·∫g + Δ·B(l)/4σ². And ∫g = σ·A(l)·(M(l/σ) - q·M((l+Δ)/σ)) for Mills' ratio M and
    q = B(l)/A(l), which is computed as a sum of two parts that are not negative.
    """
    sigma = math.sqrt(v)
    at, width, q = start / sigma, rate * sigma, math.exp(-rate * offset)
    integral = sigma * (mills_drop(at, width) - math.expm1(-rate * offset) * mills(at + width))
    return integral * (1 + 1 / (8 * v)) + rate * q / 4


def _normaliser(v: float) -> float:
    """The normaliser Z = Σ exp(-x²/2σ²) over all integers x, from below, to a part of 1e-16.

    It is summed as it stands or, where that converges slowly, by Poisson's summation formula as
    σ√(2π)·Σ exp(-2π²σ²k²).
    """
    factor, rate = (1.0, 0.5 / v) if v < 0.25 else (math.sqrt(2 * math.pi * v), 2 * math.pi**2 * v)
    return factor * (1 + 2 * sum(math.exp(-rate * k * k) for k in (1, 2, 3, 4)))


@lru_cache(maxsize=1024)
def variance_for(
    sensitivity: int, squared: int, single: bool, epsilon: Fraction, delta: Fraction
) -> Fraction:
    """The smallest variance, rounded up to 30 bits, that makes a vector of integers (ε, δ)-DP.

    `squared` is the squared ℓ2 sensitivity of the vector. If a neighbour changes a `single` integer
    of it, by at most `sensitivity`, δ is the `discrete_profile`. Otherwise δ follows from
    concentrated privacy with ρ = squared/(2σ²) ([CKS20] Theorem 14), without `sensitivity`.

    For ε larger than about Δ the profile is not monotone in the variance, because the c of
    Theorem 7 passes the integers. The result is then a local minimum, and a larger variance may
    have a larger δ.
    """
    check_domain(delta, epsilon)
    near = None
    if single:
        continuous = Fraction(analytic_sigma(sensitivity, float(epsilon), float(delta))) ** 2
        near = continuous if continuous > _WIDE else None
    return crossing(
        lambda variance: _delta(variance, sensitivity, squared, single, epsilon) <= delta, near
    )[1]


@lru_cache(maxsize=1024)
def epsilon_of(
    variance: Fraction, sensitivity: int, squared: int, single: bool, delta: Fraction
) -> Fraction:
    """The smallest ε, rounded up to 30 bits, at which this noise makes a vector (ε, δ)-DP.

    The arguments are those of `variance_for`.
    """
    check_domain(delta)
    if _delta(variance, sensitivity, squared, single, Fraction(0)) <= delta:
        return Fraction(0)
    return crossing(
        lambda epsilon: _delta(variance, sensitivity, squared, single, epsilon) <= delta
    )[1]


def _delta(
    variance: Fraction, sensitivity: int, squared: int, single: bool, epsilon: Fraction
) -> float:
    """The δ of this noise at ε, with the arguments of `variance_for`."""
    if variance <= 0 or squared < 1:
        raise ValueError("variance and sensitivity must be positive")
    if single:
        return discrete_profile(variance, sensitivity, epsilon)
    return concentrated_delta(squared / (2 * variance), epsilon)
