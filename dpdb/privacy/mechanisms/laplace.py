"""Discrete Laplace noise, and the law of a sum of several draws, in closed form.

One noise is the difference of two geometric variables, so a sum of n is the difference of two
negative binomial ones. The part of its generating function that has a pole at 1/r, for
r = exp(-1/scale), is a mixture of negative binomial laws. This is the discrete form of the law of
a sum of Laplace variables, a mixture of gamma laws ([KKP01] section 2.3). All terms are positive,
so that no digits cancel.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import ClassVar

from dpdb.privacy.accounting.loss import Loss, pure
from dpdb.privacy.mechanisms.kinds import Law, NoiseKind
from dpdb.privacy.search import least_whole
from dpdb.records import dataclass

MAX_SCALE = 2**50
"""The largest noise scale, in grid steps: noise and noisy sums stay within 64 bits."""


_BITS = 40


def short_scale(epsilon: Fraction) -> Fraction:
    """The scale 1/ε, rounded up to a fraction that each source of noise can draw at as it is."""
    scale = 1 / epsilon
    unit = Fraction(2) ** (math.floor(math.log2(scale)) + 1 - _BITS)
    return math.ceil(scale / unit) * unit


@dataclass(frozen=True)
class Laplace:
    """Integer noise with P(x) ∝ exp(-|x| / scale) on every group: the geometric mechanism [GRS09].

    At scale Δ/ε it is ε-DP for integer statistics of ℓ1 sensitivity Δ = `sensitivity` ([CKS20]
    Definition 5 and Lemma 6). Sensitivity and scale are in grid steps.
    """

    kind: ClassVar[NoiseKind] = NoiseKind.LAPLACE
    name: ClassVar[str] = kind.value
    title: ClassVar[str] = "Laplace noise"
    changes: ClassVar[str] = "the most {} can change it"
    law: ClassVar[Law | None] = Law.LAPLACE
    formula: ClassVar[str] = "Δ/ε"
    is_gradual: ClassVar[bool] = True
    is_inverse: ClassVar[bool] = True
    sensitivity: int
    epsilon: Fraction
    looks: int = 1
    """The number of times that the noise may be tested before an answer is accepted."""

    @cached_property
    def scale(self) -> Fraction:
        """The scale b = Δ/ε, in grid steps; for a share ε/k of a session k·Δf/ε, as in [STW]."""
        return self.sensitivity / self.epsilon

    @property
    def variance(self) -> Fraction:
        """The variance of continuous noise of this scale, which is a little more than its own."""
        return 2 * self.scale**2

    @property
    def spread(self) -> float:
        """About the standard deviation, in grid steps."""
        return math.sqrt(2) * float(self.scale)

    @property
    def has_levels(self) -> bool:
        """Whether `noise.refinement` draws finer noise from it."""
        return bool(self.sensitivity) and self.looks == 1

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


_ROUNDING = 1e-9
"""A bound on the relative rounding error of a tail."""


@lru_cache(maxsize=1024)
def margin(number: int, scale: float, failure: float) -> int:
    """The least whole z with P(|X₁ + … + Xₙ| > z) <= `failure`, for n = `number` noises."""
    return least_whole(lambda distance: tail(number, scale, distance) <= failure)


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
