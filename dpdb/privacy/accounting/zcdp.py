"""Zero-concentrated differential privacy (Bun and Steinke 2016) as (ε, δ), and back.

"CKS" is Canonne, Kamath, Steinke, "The Discrete Gaussian for Differential Privacy" (2020). All
results are on the safe side of what they compute.
"""

from __future__ import annotations

import math
import sys
from fractions import Fraction
from functools import lru_cache

from dpdb.privacy.search import crossing

SMALLEST_EPSILON = Fraction(1, 10**30)
SMALLEST_DELTA = Fraction(1, 10**300)
"""Below these the doubles of the searches have no room."""


def concentrated_delta(rho: Fraction, epsilon: Fraction) -> float:
    """A δ at which what is ρ-zCDP is (ε, δ)-DP, for ρ, ε >= 0.

    CKS Proposition 12: δ = inf over α > 1 of exp((α-1)(αρ - ε))/(α-1) · (1 - 1/α)^α. With
    s = α - 1 its logarithm is

        f(s) = s((1+s)ρ - ε) - s·ln(1 + 1/s) - ln(1 + s),

    which is convex: f'(s) = (1+2s)ρ - ε - ln(1 + 1/s) increases, and is positive past
    s = max(1, (ε+1)/2ρ). Any s makes a true bound, so its minimum need not be hit. Each term
    of f is computed to well within 2^-50 of itself, and so much is added.
    """
    if rho < 0 or epsilon < 0:
        raise ValueError("rho and epsilon must not be negative")
    if not rho:
        return 0.0
    p, e = float(rho), float(epsilon)
    low, high = -690.0, math.log(max(1.0, (e + 1) / (2 * p)))  # of ln(s)
    for _ in range(50):
        middle = (low + high) / 2
        s = math.exp(middle)
        rises = (1 + 2 * s) * p - e - math.log1p(1 / s) > 0
        low, high = (low, middle) if rises else (middle, high)
    s = math.exp(high)
    terms = (s * (1 + s) * p, -s * e, -s * math.log1p(1 / s), -math.log1p(s))
    bound = math.fsum(terms) + (math.fsum(map(abs, terms)) + 1) * 2.0**-50
    return max(math.exp(min(bound, 0.0)), sys.float_info.min)


@lru_cache(maxsize=256)
def concentrated_epsilon(rho: Fraction, delta: Fraction) -> Fraction:
    """The smallest ε at which what is ρ-zCDP is (ε, δ)-DP, rounded up to 30 bits."""
    check_domain(delta)
    if concentrated_delta(rho, Fraction(0)) <= delta:
        return Fraction(0)
    return crossing(lambda epsilon: concentrated_delta(rho, epsilon) <= delta)[1]


def concentrated_rho(epsilon: Fraction, delta: Fraction) -> Fraction:
    """The largest ρ for which what is ρ-zCDP is (ε, δ)-DP, rounded down to 30 bits."""
    check_domain(delta, epsilon)
    return crossing(lambda rho: concentrated_delta(rho, epsilon) > delta)[0]


def check_domain(delta: Fraction, epsilon: Fraction = SMALLEST_EPSILON) -> None:
    """Refuse a δ outside [10^-300, 1) and an ε below 10^-30."""
    if not SMALLEST_DELTA <= delta < 1:
        raise ValueError("delta must be at least 1e-300 and below 1")
    if epsilon < SMALLEST_EPSILON:
        raise ValueError("epsilon must be at least 1e-30")
