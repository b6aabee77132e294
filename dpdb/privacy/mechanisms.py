"""Descriptions of the mechanisms: the distribution of their noise, and their privacy loss.

A description knows no data. The session hands descriptions and exact results to the samplers.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cached_property
from statistics import NormalDist
from typing import ClassVar

from dpdb.privacy.accounting.composition import log_inverse
from dpdb.privacy.accounting.loss import Loss, pure
from dpdb.privacy.laplace_sums import margin
from dpdb.records import dataclass

SLACK = Fraction(1, 2**40)
"""The part of ε that the exponential mechanism reserves for rounding."""
FARTHEST = 80
"""The largest exponent of a selection: e^-80 is negligible, even times a grid's 2^53 steps."""
MAX_SCALE = 2**50
"""The largest noise scale, in grid steps: noise and noisy sums stay within 64 bits."""


@dataclass(frozen=True)
class Laplace:
    """Integer noise with P(x) ∝ exp(-|x| / scale) on every group: the geometric mechanism [GRS09].

    At scale Δ/ε it is ε-DP for integer statistics of ℓ1 sensitivity Δ = `sensitivity` ([CKS20]
    Definition 5 and Lemma 6). Sensitivity and scale are in grid steps.
    """

    name: ClassVar[str] = "laplace"
    sensitivity: int
    epsilon: Fraction
    looks: int = 1
    """The number of times that the noise may be tested before an answer is accepted."""

    @cached_property
    def scale(self) -> Fraction:
        """The scale b = Δ/ε, in grid steps; for a share ε/k of a session k·Δf/ε, as in [STW]."""
        return self.sensitivity / self.epsilon

    @cached_property
    def loss(self) -> Loss:
        """The privacy loss: ε, or nothing where no row can change the statistic."""
        return pure(self.epsilon) if self.sensitivity else Loss()

    def quantile(self, confidence: float, terms: int = 1) -> float:
        """The least z, in grid steps, with P(|x| <= z) >= `confidence` for all looks together.

        P(|x| > z) = 2r^(z+1)/(1+r) for whole z, with r = exp(-1/scale), so z is within a step of
        -scale·ln(1-confidence) ([STW] equation 4). With several looks the failure probability is
        divided among them (Bonferroni): whatever the rule to stop, the margin of the last look
        fails with probability at most 1 - confidence. With several `terms`, x is the sum of so many
        independent noises.
        """
        scale, failure = float(self.scale), (1 - confidence) / self.looks
        if not (scale and terms):
            return 0.0
        if terms > 1:
            return float(margin(terms, scale, failure))
        tail = failure * (1 + math.exp(-1 / scale)) / 2
        return float(max(0, math.ceil(-scale * math.log(tail) - 1 - 1e-9)))


@dataclass(frozen=True)
class Gaussian:
    """Integer noise with P(x) ∝ exp(-x² / 2·variance) on every group: the discrete Gaussian.

    [CKS20] Definition 1. For statistics of squared ℓ2 sensitivity `squared` it is
    squared/(2·variance)-zCDP ([CKS20] Theorem 14), and (epsilon, delta)-DP as computed in
    `privacy.gaussian_calibration`. `squared` and `variance` are in squared grid steps.
    """

    name: ClassVar[str] = "gaussian"
    squared: int
    variance: Fraction
    epsilon: Fraction
    delta: Fraction

    @property
    def sensitivity(self) -> Fraction:
        """The ℓ2 sensitivity, in grid steps."""
        return Fraction(math.sqrt(self.squared))

    @property
    def scale(self) -> Fraction:
        """The standard deviation σ, in grid steps."""
        return Fraction(math.sqrt(self.variance))

    @cached_property
    def loss(self) -> Loss:
        """The privacy loss: (ε, δ)-DP, and ρ-zCDP, which needs no δ."""
        return Loss(self.epsilon, self.delta, self.squared / (2 * self.variance))

    def quantile(self, confidence: float, terms: int = 1) -> float:
        """A z with P(|x| <= z) >= `confidence`, in grid steps, for the sum x of `terms` noises.

        P(x >= m) <= P(N >= m - 1) for the normal N of the same variance ([CKS20] Proposition 25),
        so P(|x| > z) <= 2·P(N >= z) for one noise. Of several noises each is at most a step more
        than a normal variable in the stochastic order.
        """
        deviation = float(self.scale) * math.sqrt(terms)
        if not deviation:
            return 0.0
        normal = NormalDist(0, deviation).inv_cdf((1 + confidence) / 2)
        return float(math.ceil(normal) + terms - 1)


@dataclass(frozen=True)
class Exponential:
    """The selection of a value r with probability ∝ exp(ε·u(r) / span).

    The span is the most that the scores of two values can change against each other between
    neighbours ([DDR20], bounded range). Let all scores change by between a and a + span. Then the
    weight of r changes by a factor of at most exp(ε·(a + span)/span), and the sum of the weights
    by one of at least exp(ε·a/span), so the probability of r by at most e^ε. For scores of
    sensitivity Δ the span is 2Δ in general ([MT07] Theorem 6), and Δ where a neighbour moves all
    scores in one direction.
    """

    name: ClassVar[str] = "exponential"
    sensitivity: Fraction
    """Δ, the sensitivity of the score u."""
    epsilon: Fraction
    one_sided: bool = False
    """Whether the span is Δ rather than 2Δ."""
    selections: int = 1
    """How many selections a neighbour can change: as many as groups that it has other rows in."""

    @property
    def span(self) -> Fraction:
        """The most that the scores of two values can change against each other."""
        return self.sensitivity if self.one_sided else 2 * self.sensitivity

    @property
    def scale(self) -> Fraction:
        """The scale span/ε, in units of the score."""
        return self.span / self.epsilon

    @cached_property
    def rate(self) -> Fraction:
        """The factor of the score in the exponent: ε/span, less what is reserved for rounding.

        Each weight is computed with a relative error of at most SLACK/4. The ratio of the
        selection probabilities of two neighbours has two weights and two sums of weights in it, so
        rounding costs at most SLACK in each selection that a neighbour changes. The changes of
        the scores add up to the span in all of them.
        """
        return max(self.epsilon - self.selections * SLACK, Fraction(0)) / self.span

    @property
    def reach(self) -> int:
        """How many ranks to either side of the target have weights of their own.

        All values farther away have the same, smallest weight.
        """
        return math.ceil(FARTHEST / self.rate) + 1

    @cached_property
    def loss(self) -> Loss:
        """The privacy loss: that of exact weights, plus SLACK for each selection.

        All ratios of selection probabilities are within a factor e^ε of each other (the mechanism
        has bounded range), so it is ε²/8-zCDP ([CR21] Lemma 3.4).
        """
        epsilon = self.span * self.rate + self.selections * SLACK
        return Loss(epsilon, rho=epsilon**2 / 8)


_SMOOTH_SLACK = Fraction(1, 2**40)
"""A bound on the relative rounding error of a smooth sensitivity and of its noise scale."""
_LEAST_SCALE = Fraction(1, 2**7)
"""The least scale, in grid steps: its noise differs from 0 with probability at most exp(-64)."""


@dataclass(frozen=True)
class Smooth:
    """Laplace noise of scale 2S/ε, for a β-smooth upper bound S of the local sensitivity.

    It is (ε, δ)-DP for any ε > 0 and 0 < δ < 1 ([NRS07] Lemmas 2.6 and 2.9). Between neighbours
    the noise changes its scale by a factor e^λ with |λ| <= β, and its centre by at most S. The move
    of the centre costs at most ε/2. For noise of z times its scale, the change of scale costs
    (e^λ - 1)|z| - λ, which is at most ε/2 (see `beta`) while |z| <= L = max(1, ln(2/δ)); a larger
    |z| has probability at most δ/2.
    """

    name: ClassVar[str] = "smooth laplace"
    fraction: Fraction
    """The order statistic: 0 is the least value, 1/2 the lower median, 1 the greatest value."""
    epsilon: Fraction
    delta: Fraction
    rows_per_unit: int = 1
    groups_per_unit: int = 1
    """The number of groups that the rows of one unit can be in, or move between.

    ε and δ are divided evenly among these groups.
    """

    @cached_property
    def beta(self) -> Fraction:
        """The most that ln S may change between neighbours: ε / (2L + max(0, ε - 2)), less slack.

        [NRS07] has ε/2L, for ε < 1. For ε > 2 this may be too large: the cost of a change of scale
        is largest at λ = β <= 1, and is at most ε/2 there because e^β <= 1 + β/(1 - β/2) and
        L >= 1. Where there is no room for the slack β is 0, which makes S the global sensitivity.
        """
        epsilon = self.epsilon / self.groups_per_unit
        logarithm = log_inverse(self.delta / (2 * self.groups_per_unit))
        beta = epsilon / (2 * max(logarithm, Fraction(1)) + max(epsilon - 2, Fraction(0)))
        return beta - _SMOOTH_SLACK if beta > 2 * _SMOOTH_SLACK else Fraction(0)

    def scale(self, sensitivity: Fraction) -> Fraction:
        """The noise scale 2S/ε for a computed S, rounded up, in grid steps; it must stay secret.

        S has a relative error of at most 2^-44, and sources of noise round scales up by at most
        2^-52. The slack here keeps the scale from falling below 2S/ε; the slack in β covers the
        rounding of ln S. A least scale is sound: a constant is β-smooth, and so is the maximum of
        two β-smooth bounds.
        """
        scale = 2 * sensitivity * (1 + _SMOOTH_SLACK) * self.groups_per_unit / self.epsilon
        return max(scale, _LEAST_SCALE)

    def largest_scale(self, grid: tuple[int, int]) -> Fraction:
        """The scale for the global sensitivity of the `grid` (lowest, highest point); it is public.

        Noise of scales up to 2^55 can be drawn.
        """
        low, high = grid
        return self.scale(Fraction(high - low))

    @property
    def loss(self) -> Loss:
        """The privacy loss: (ε, δ)-DP is ε-DP outside events of probability δ.

        So it is δ-approximately ½ε²-zCDP ([BS16] Definition 8.1 and Proposition 1.4).
        """
        return Loss(self.epsilon, self.delta, self.epsilon**2 / 2, self.delta)
