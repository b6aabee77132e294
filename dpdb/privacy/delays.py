"""Noisy delays: the moments of a session's answers as a differentially private release.

A random delay makes a timing-private program of one to which a unit adds at most a time T ([RV24]).
The time t of the work is rounded up to a multiple of q = T / STEPS, so that a unit moves it by at
most STEPS steps of q. The answer leaves D steps later, D = max(0, offset + X), for a discrete
Gaussian X.

Without the maximum, the moments of n answers are STEPS² · n / (2σ²)-zCDP together ([CKS20] Theorem
4; statements may be chosen after earlier answers), which is (ε, δ/2)-DP by [CKS20] Proposition 12.
The maximum changes an answer's moment with probability β = P(X < -offset), so all of them with nβ
at most. Two files together add (1 + e^ε)·nβ to δ, which `delay_law` keeps to the other half.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cache

from dpdb.privacy.gaussian_calibration import variance_for
from dpdb.privacy.search import normal_quantile
from dpdb.records import dataclass

STEPS = 10
"""The steps into which the time that one unit can add is divided."""
EPSILON = Fraction(2)
DELTA = Fraction(1, 10**6)
"""The loss by the moments of all answers of a session together."""
_MARGIN = 1 + 1e-6
"""Covers the rounding of tails in doubles."""


@dataclass(frozen=True)
class DelayLaw:
    """The law of a delay max(0, offset + X) in steps, for a discrete Gaussian X."""

    variance: Fraction
    """σ², in squared steps."""
    offset: int
    """The mean delay in steps, to well within a step."""

    def delay(self, drawn: int) -> int:
        """The delay in steps where X was drawn."""
        return max(0, self.offset + drawn)


@cache
def delay_law(answers: int) -> DelayLaw:
    """The law with which so many answers are (EPSILON, DELTA)-private in time, each paid in full.

    P(X < -m) = P(X >= m + 1) is at most the tail from m on of a continuous Gaussian ([CKS20]
    Proposition 25).
    """
    variance = variance_for(STEPS, answers * STEPS**2, False, EPSILON, DELTA / 2)
    sigma = math.sqrt(variance)
    tail = float(DELTA) / 2 / answers / (1 + math.exp(EPSILON)) / _MARGIN
    offset = math.floor(-sigma * normal_quantile(tail))
    while math.erfc(offset / sigma / math.sqrt(2)) / 2 > tail:
        offset += 1
    return DelayLaw(variance, offset)
