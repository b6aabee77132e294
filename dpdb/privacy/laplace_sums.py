"""The law of a sum of independent discrete Laplace noises of one scale, in closed form.

One noise is the difference of two geometric variables, so a sum of n is the difference of two
negative binomial ones. The part of its generating function that has a pole at 1/r, for
r = exp(-1/scale), is a mixture of negative binomial laws. This is the discrete form of the law of
a sum of Laplace variables, a mixture of gamma laws ([KKP01] section 2.3). All terms are positive,
so that no digits cancel.
"""

from __future__ import annotations

import math
from functools import lru_cache

_ROUNDING = 1e-9
"""A bound on the relative rounding error of a tail."""


@lru_cache(maxsize=1024)
def margin(number: int, scale: float, failure: float) -> int:
    """The least whole z with P(|X₁ + … + Xₙ| > z) <= `failure`, for n = `number` noises."""
    high = 1
    while tail(number, scale, high) > failure:
        high *= 2
    low = -1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if tail(number, scale, middle) > failure else (low, middle)
    return high


def tail(number: int, scale: float, distance: int) -> float:
    """P(|X₁ + … + Xₙ| > distance), rounded up, for a whole `distance` >= 0.

    Let s = distance + 1. The sum is at least s with probability Σ wᵢ·Tᵢ over i = 1 … n, where Tᵢ is
    the probability that a negative binomial variable with i stops is at least s:
    Tᵢ = Σ C(s - 1 + l, l)·(1 - r)^l·r^s over l < i. The law is symmetric.
    """
    if distance < 0:
        return 1.0
    past, stop = distance + 1, -math.expm1(-1 / scale)
    term, reached, total = math.exp(-past / scale), 0.0, 0.0
    for stops, weight in enumerate(_weights(number, scale)):
        reached += term
        total += weight * reached
        term *= (past + stops) / (stops + 1) * stop
    return 2 * total * (1 + _ROUNDING)


@lru_cache(maxsize=256)
def _weights(number: int, scale: float) -> tuple[float, ...]:
    """The weights wᵢ of the negative binomial laws with i = 1 … n stops.

    For i = n - k, wᵢ = (1 + r)^-(n + k) · Σ C(n, j)·C(k - 1, j - 1)·r^(2j) over j = 1 … k, and 1 in
    place of the sum for k = 0: the coefficient of u^k in ((1 - (1 - r)u) / (1 - u/(1 + r)))^n, over
    (1 + r)^n.
    """
    r = math.exp(-1 / scale)
    weights = []
    for k in range(number):
        sums = math.fsum(
            math.comb(number, j) * math.comb(k - 1, j - 1) * r ** (2 * j) for j in range(1, k + 1)
        )
        weights.append((sums if k else 1.0) * (1 + r) ** -(number + k))
    return tuple(reversed(weights))
