"""Descriptions of the mechanisms: what they add, and what that costs.

They know no data. `session` hands the exact results to the samplers.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from statistics import NormalDist
from typing import ClassVar

from dpdb.privacy.accounting.composition import log_inverse
from dpdb.privacy.accounting.loss import Loss, pure

SLACK = Fraction(1, 2**40)
"""What the exponential mechanism, and noise taken away in steps, have of ε for rounding."""
FARTHEST = 80
"""In the exponent of a selection: e^-80 is nothing beside the 2^53 steps a grid can have."""
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
    looks: int = 1
    """The times that noise is looked at before it is decided to keep the answer."""

    @property
    def scale(self) -> Fraction:
        """b = Δ/ε; with a query's share ε/k of a session, the paper's k·Δf/ε.

        Where noise is looked at in steps, a little of ε is for the rounding of what ties
        them together (see `gradual`).
        """
        spare = SLACK if self.looks > 1 else Fraction(0)
        return self.sensitivity / (self.epsilon - spare)

    @property
    def loss(self) -> Loss:
        """The privacy loss: ε, if a row has a part in the statistic at all."""
        return pure(self.epsilon) if self.sensitivity else Loss()

    def quantile(self, confidence: float) -> float:
        """The z with P(|x| <= z) >= `confidence`, in grid steps.

        P(|x| > z) = 2r^(z+1)/(1+r) for whole z, with r = exp(-1/scale); it is
        -scale·ln(1-confidence) (Shoaran, Thomo, Weber, equation 4) up to a step.
        Of several looks each gets a part of what may go wrong (Bonferroni): whatever the
        rule to stop, the margin at the last fails in 1 - confidence of all runs at most.
        """
        scale = float(self.scale)
        if not scale:
            return 0.0
        tail = (1 - confidence) / self.looks * (1 + math.exp(-1 / scale)) / 2
        return float(max(0, math.ceil(-scale * math.log(tail) - 1 - 1e-9)))


@dataclass(frozen=True)
class Gaussian:
    """Integer noise with P(x) ∝ exp(-x² / 2·variance) on every cell.

    The discrete Gaussian (Canonne, Kamath, Steinke 2020, Definition 1), for statistics of
    squared ℓ2 sensitivity `squared`: squared/(2·variance)-zCDP (their Theorem 14), and
    (epsilon, delta)-DP as worked out in `privacy.gaussian`. All in grid steps.
    """

    name: ClassVar[str] = "gaussian"
    squared: int
    variance: Fraction
    epsilon: Fraction
    delta: Fraction

    @property
    def sensitivity(self) -> Fraction:
        """The ℓ2 sensitivity."""
        return Fraction(math.sqrt(self.squared))

    @property
    def scale(self) -> Fraction:
        """The standard deviation σ."""
        return Fraction(math.sqrt(self.variance))

    @property
    def loss(self) -> Loss:
        """The privacy loss: δ counts where ε does, not beside ρ."""
        return Loss(self.epsilon, self.delta, self.squared / (2 * self.variance))

    def quantile(self, confidence: float) -> float:
        """The z with P(|x| <= z) >= `confidence`, in grid steps.

        P(x >= m) <= P(N >= m - 1) for the normal N of the same variance (Canonne, Kamath,
        Steinke 2020, Proposition 25), so P(|x| > z) <= 2·P(N >= z).
        """
        deviation = float(self.scale)
        if not deviation:
            return 0.0
        return float(math.ceil(NormalDist(0, deviation).inv_cdf((1 + confidence) / 2)))


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
    def reach(self) -> int:
        """The ranks from the target to either side where weights differ; all others have one."""
        return math.ceil(FARTHEST / self.rate) + 1

    @property
    def loss(self) -> Loss:
        """The privacy loss: that of exact weights, and the slack.

        All ratios of selection probabilities are within e^ε of each other, which makes it
        ε²/8-zCDP (Cesar and Rogers 2021, Lemma 3.4).
        """
        epsilon = 2 * self.sensitivity * self.rate + SLACK
        return Loss(epsilon, rho=epsilon**2 / 8)


_SMOOTH_SLACK = Fraction(1, 2**40)
"""More than rounding can change a sensitivity and the scale of its noise, relatively."""
_LEAST_SCALE = Fraction(1, 2**7)
"""In steps of the grid: noise of this scale is other than 0 with probability exp(-64) at most."""


@dataclass(frozen=True)
class Smooth:
    """Laplace noise of scale 2S/ε, for a β-smooth upper bound S of the local sensitivity.

    (ε, δ)-DP (NRS Lemmas 2.6 and 2.9), for any ε > 0 and 0 < δ < 1. From one neighbour to the
    other the noise first changes its scale, by a factor e^λ with |λ| <= β, and then moves by at
    most S, which costs ε/2 whatever the noise is. Where the noise is z times its scale, the change
    of scale costs (e^λ - 1)|z| - λ: at most ε/2 (see `beta`) while |z| <= L = max(1, ln(2/δ)),
    and beyond it lies a probability of δ/2 at most.
    """

    name: ClassVar[str] = "smooth laplace"
    fraction: Fraction
    """Which order statistic: 0 is the least value, 1/2 the lower median, 1 the greatest."""
    epsilon: Fraction
    delta: Fraction
    rows_per_unit: int = 1
    cells_per_unit: int = 1
    """How many cells one unit's rows can be in, or move between. Each has its part of ε and δ."""

    @property
    def beta(self) -> Fraction:
        """How far ln S may move between neighbours: ε / (2L + max(0, ε - 2)), less the slack.

        NRS have ε/2L, for ε < 1. For ε > 2 that may be too much: the cost of a change of scale is
        largest at λ = β <= 1, and within ε/2 there by e^β <= 1 + β/(1 - β/2) and L >= 1. For want
        of room for the slack it is 0, which makes S the global sensitivity.
        """
        epsilon = self.epsilon / self.cells_per_unit
        logarithm = log_inverse(self.delta / (2 * self.cells_per_unit))
        beta = epsilon / (2 * max(logarithm, Fraction(1)) + max(epsilon - 2, Fraction(0)))
        return beta - _SMOOTH_SLACK if beta > 2 * _SMOOTH_SLACK else Fraction(0)

    def scale(self, sensitivity: Fraction) -> Fraction:
        """2S/ε for a computed S, and a little more, in steps of the grid: not to be shown.

        S is computed to 2^-44 of itself and sources of noise round scales up by 2^-52 at most. The
        slack here keeps the scale from falling below 2S/ε, the slack in β is for what rounding
        adds to its logarithm. A least scale is sound: a constant is smooth, and so is a maximum.
        """
        scale = 2 * sensitivity * (1 + _SMOOTH_SLACK) * self.cells_per_unit / self.epsilon
        return max(scale, _LEAST_SCALE)

    def largest_scale(self, grid: tuple[int, int]) -> Fraction:
        """The scale for the worst of rows, which is public; up to 2^55 it can be drawn."""
        low, high = grid
        return self.scale(Fraction(high - low))

    @property
    def loss(self) -> Loss:
        """The privacy loss: (ε, δ)-DP is ε-DP but for events of probability δ.

        So it is δ-approximate ½ε²-zCDP (Bun and Steinke 2016, Definition 8.1 and Proposition 1.4).
        """
        return Loss(self.epsilon, self.delta, self.epsilon**2 / 2, self.delta)


Additive = Laplace | Gaussian
"""Mechanisms that add noise of a known scale."""
Mechanism = Laplace | Gaussian | Exponential | Smooth
