"""Conversion between zero-concentrated differential privacy ([BS16]) and (ε, δ).

All results are rounded to the safe side: ε and δ up, ρ down.
"""

from __future__ import annotations

import math
import sys
from fractions import Fraction
from functools import lru_cache

from dpdb.privacy.search import crossing

_LEAST_EPSILON = Fraction(1, 10**30)
_LEAST_DELTA = Fraction(1, 10**300)
"""The least ε and δ for which the searches, which compute in doubles, are accurate."""


def concentrated_delta(rho: Fraction, epsilon: Fraction) -> float:
    """A δ such that every ρ-zCDP mechanism is (ε, δ)-DP, for ρ, ε >= 0.

    By [CKS20] Proposition 12, δ = inf over α > 1 of exp((α-1)(αρ - ε))/(α-1) · (1 - 1/α)^α. With
    s = α - 1 its logarithm is

        f(s) = s((1+s)ρ - ε) - s·ln(1 + 1/s) - ln(1 + s),

    which is convex: f'(s) = (1+2s)ρ - ε - ln(1 + 1/s) increases, and is positive past
    s = max(1, (ε+1)/2ρ). Every s gives a valid bound, so the search need not reach the minimum.
    Each term of f has a relative error well below 2^-50, and 2^-50 of the terms is added.
    """
    if rho < 0 or epsilon < 0:
        raise ValueError("rho and epsilon must not be negative")
    if not rho:
        return 0.0
    p, e = float(rho), float(epsilon)
    low, high = -690.0, math.log(max(1.0, (e + 1) / (2 * p)))  # bounds of ln(s)
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
    """The smallest ε such that ρ-zCDP implies (ε, δ)-DP, rounded up to 30 bits."""
    check_domain(delta)
    if concentrated_delta(rho, Fraction(0)) <= delta:
        return Fraction(0)
    return crossing(lambda epsilon: concentrated_delta(rho, epsilon) <= delta)[1]


def concentrated_rho(epsilon: Fraction, delta: Fraction) -> Fraction:
    """The largest ρ such that ρ-zCDP implies (ε, δ)-DP, rounded down to 30 bits."""
    check_domain(delta, epsilon)
    return crossing(lambda rho: concentrated_delta(rho, epsilon) > delta)[0]


def check_domain(delta: Fraction, epsilon: Fraction = _LEAST_EPSILON) -> None:
    """Refuse a δ outside [10^-300, 1) and an ε below 10^-30."""
    if not _LEAST_DELTA <= delta < 1:
        raise ValueError("delta must be at least 1e-300 and below 1")
    if epsilon < _LEAST_EPSILON:
        raise ValueError("epsilon must be at least 1e-30")
