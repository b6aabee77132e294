"""Discrete Gaussian noise."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cached_property
from typing import ClassVar

from dpdb.privacy.accounting.loss import Loss
from dpdb.privacy.mechanisms.kinds import Law, NoiseKind
from dpdb.privacy.search import normal_quantile
from dpdb.records import dataclass

_FINE, _MANY = 2, 10**6
"""From such a σ on, in grid steps, the sum of so many noises is as good as a discrete Gaussian."""


@dataclass(frozen=True)
class Gaussian:
    """Integer noise with P(x) ∝ exp(-x² / 2·variance) on every group: the discrete Gaussian.

    [CKS20] Definition 1. For statistics of squared ℓ2 sensitivity `squared` it is
    squared/(2·variance)-zCDP ([CKS20] Theorem 14), and (epsilon, delta)-DP as computed in
    `privacy.gaussian_calibration`. `squared` and `variance` are in squared grid steps.
    """

    kind: ClassVar[NoiseKind] = NoiseKind.GAUSSIAN
    name: ClassVar[str] = kind.value
    title: ClassVar[str] = "Gaussian noise"
    changes: ClassVar[str] = "the farthest {} can move it (ℓ2)"
    law: ClassVar[Law | None] = Law.NORMAL
    formula: ClassVar[str] = "σ"
    is_gradual: ClassVar[bool] = False
    is_inverse: ClassVar[bool] = False
    has_levels: ClassVar[bool] = False
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

    @property
    def spread(self) -> float:
        """The standard deviation, in grid steps."""
        return float(self.scale)

    @cached_property
    def loss(self) -> Loss:
        """The privacy loss: (ε, δ)-DP, and ρ-zCDP, which needs no δ."""
        return Loss(self.epsilon, self.delta, self.squared / (2 * self.variance))

    def quantile(self, confidence: float, terms: int = 1) -> float:
        """A z with P(|x| <= z) >= `confidence`, in grid steps, for the sum x of `terms` noises.

        P(x >= m) <= P(N >= m - 1) for one noise and the normal N of the same variance ([CKS20]
        Proposition 25), so P(|x| > z) <= 2·P(N >= z). Of several noises each is at most a step
        more than a normal variable in the stochastic order. From `_FINE` steps on their sum is as
        good as one noise of variance nσ²: P(x + y = z) for variances a and b is
        exp(-z²/2(a + b)) times the sum of exp(-(t - m)²/2s²) over the integers t, for an m that
        depends on z and s² = ab/(a + b) >= σ²/2. By Poisson's summation that sum is s√2π, but for
        a factor within 1 ± 2.1·exp(-2π²s²), here 1 ± 10^-16: so all chances are those of the
        discrete Gaussian but for a factor of at most 1 + 5·10^-16·n.
        """
        deviation = float(self.scale) * math.sqrt(terms)
        if not deviation:
            return 0.0
        beyond, rest = (1 - confidence) / 2, terms - 1
        if self.scale >= _FINE and terms <= _MANY:
            beyond, rest = beyond * (1 - 1e-9), 0
        return float(math.ceil(deviation * normal_quantile(1 - beyond)) + rest)
