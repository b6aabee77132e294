"""Descriptions of the mechanisms: what they add, and what that costs.

They know no data. `session` hands the exact results to the samplers.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

SLACK = Fraction(1, 2**40)
"""What the exponential mechanism charges for the rounding of its weights."""
MAX_SCALE = 2**50
"""The largest noise scale in grid steps: noise and sums stay within 64 bits."""


@dataclass(frozen=True)
class Laplace:
    """Integer noise with P(x) ∝ exp(-|x| / scale) on every cell.

    The geometric mechanism (Ghosh, Roughgarden, Sundararajan 2009): epsilon-DP
    for integer statistics of ℓ1 sensitivity `sensitivity` at scale Δ/ε
    (Canonne, Kamath, Steinke 2020, Definition 5 and Lemma 6). Both are in grid steps.
    """

    name: ClassVar[str] = "laplace"
    sensitivity: int
    epsilon: Fraction

    @property
    def scale(self) -> Fraction:
        """b = Δ/ε; with a query's share ε/k of a session, the paper's k·Δf/ε."""
        return self.sensitivity / self.epsilon

    @property
    def loss(self) -> Fraction:
        """The privacy loss: sensitivity over scale."""
        return self.sensitivity / self.scale if self.sensitivity else Fraction(0)

    def quantile(self, confidence: float) -> float:
        """The z with P(|x| <= z) >= `confidence`, in grid steps.

        P(|x| > z) = 2r^(z+1)/(1+r) for whole z, with r = exp(-1/scale); it is
        -scale·ln(1-confidence) (Shoaran, Thomo, Weber, equation 4) up to a step.
        """
        scale = float(self.scale)
        if not scale:
            return 0.0
        tail = (1 - confidence) * (1 + math.exp(-1 / scale)) / 2
        return float(max(0, math.ceil(-scale * math.log(tail) - 1 - 1e-9)))


@dataclass(frozen=True)
class Exponential:
    """Selection of r with probability ∝ exp(ε·u(r) / 2Δ).

    McSherry and Talwar 2007, Theorem 6. `sensitivity` is the score's.
    """

    name: ClassVar[str] = "exponential"
    sensitivity: Fraction
    epsilon: Fraction

    @property
    def scale(self) -> Fraction:
        """2Δ/ε, in units of the score."""
        return 2 * self.sensitivity / self.epsilon

    @property
    def rate(self) -> Fraction:
        """What a unit of score weighs in the exponent: a little below ε/2Δ.

        Weights are computed to a relative error of at most SLACK/4, each; the
        ratio of two selection probabilities moves by four of those at most.
        """
        return max(self.epsilon - SLACK, Fraction(0)) / (2 * self.sensitivity)

    @property
    def loss(self) -> Fraction:
        """The privacy loss: that of exact weights, and the slack."""
        return 2 * self.sensitivity * self.rate + SLACK


Mechanism = Laplace | Exponential
