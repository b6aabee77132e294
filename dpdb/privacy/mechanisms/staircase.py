"""Discrete staircase noise [GV14]: the least noisy pure mechanism for one whole number.

The law on whole numbers x is, for a sensitivity Δ, b = exp(-ε) and a first step of r <= Δ numbers
to either side, as [GV14] have it for discrete answers ([GKOV15] for real ones),

    P(x) = a·b^L(|x|),  L(y) = ⌊(y + Δ - r) / Δ⌋,  a = (1 - b) / (2r + 2b(Δ - r) - (1 - b))

so that P is flat on steps: of r numbers from 0, of Δ from r, from r + Δ and so on.

Privacy. Two exact values that differ by d <= Δ move |x| by at most Δ, and so L by at most 1: each
probability changes by a factor of at most e^ε, whatever r is. Unlike Laplace noise the loss does
not shrink with d. So where a unit changes several numbers, each of them loses the ε of one, and
these add up: n numbers, each of which changes by at most Δ, have ε/n each.

Noise. The variance is least for r/Δ near b^(1/3), where ε is large. It is that of discrete Laplace
noise of the same Δ and ε for small ε, 85 % of it at ε = 2, about half at ε = 4, and less and less
from there. For Δ = 1 the two laws are the same, whatever ε is.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import ClassVar

from dpdb.privacy.accounting.loss import Loss, pure
from dpdb.privacy.mechanisms.kinds import Law, NoiseKind
from dpdb.privacy.mechanisms.laplace import short_scale
from dpdb.privacy.search import least_whole
from dpdb.records import dataclass

_ROUNDING = 1e-9
"""A bound on the relative rounding error of a tail or a moment."""
_RATES = 64
"""The number of rates that are tried for Chernoff's bound."""
_LARGEST_EXPONENT = 700
"""Larger exponents overflow."""


@dataclass(frozen=True)
class Staircase:
    """Staircase noise on each number of a statistic, of which a unit changes `numbers`."""

    kind: ClassVar[NoiseKind] = NoiseKind.STAIRCASE
    name: ClassVar[str] = kind.value
    title: ClassVar[str] = "staircase noise"
    changes: ClassVar[str] = "the most {} can change one number"
    law: ClassVar[Law | None] = None
    formula: ClassVar[str] = "Δ/ε of one number"
    is_gradual: ClassVar[bool] = False
    is_inverse: ClassVar[bool] = False
    has_levels: ClassVar[bool] = False
    sensitivity: int
    """Δ: the most that a unit changes one number, in grid steps; at least 1."""
    epsilon: Fraction
    """The ε of all numbers together."""
    numbers: int = 1
    """The most numbers that a unit changes."""

    @cached_property
    def steps(self) -> Fraction:
        """1/ε of one number, rounded up as the samplers need it: b = exp(-1/steps)."""
        return short_scale(self.epsilon / self.numbers)

    @property
    def scale(self) -> Fraction:
        """The scale at which tails fall, in grid steps: by the factor b for each Δ."""
        return self.sensitivity * self.steps

    @cached_property
    def loss(self) -> Loss:
        """The privacy loss: ε, as of any pure mechanism."""
        return pure(self.epsilon)

    @cached_property
    def first(self) -> int:
        """r: the numbers on the first step, by which the variance is least or nearly so."""
        low, high = 1, self.sensitivity
        while high - low > 2:
            third = (high - low) // 3
            one, other = low + third, high - third
            if _variance(self, one) <= _variance(self, other):
                high = other
            else:
                low = one
        return min(range(low, high + 1), key=lambda first: _variance(self, first))

    @cached_property
    def variance(self) -> Fraction:
        """The variance, in squared grid steps, but for rounding."""
        return Fraction(_variance(self, self.first))

    @property
    def spread(self) -> float:
        """The standard deviation, in grid steps."""
        return math.sqrt(self.variance)

    def quantile(self, confidence: float, terms: int = 1) -> float:
        """A z, in grid steps, with P(|x| <= z) >= `confidence` for the sum x of `terms` noises.

        For one noise z is the least. Several stay within z where each stays within z/terms, and by
        Chernoff's bound where 2·E[exp(s·x)]^terms <= (1 - confidence)·exp(s·z) for some s: the
        smaller of both.
        """
        failure = 1 - confidence
        if not terms:
            return 0.0
        apart = terms * least_whole(lambda z: _tail(self, z + 1) <= failure / terms)
        if terms == 1:
            return float(apart)
        rates = [place / _RATES / float(self.scale) for place in range(1, _RATES)]
        room = math.log(2 / failure)
        finite = (rate for rate in rates if rate * self.sensitivity < _LARGEST_EXPONENT)
        reaches = ((terms * _log_moment(self, rate) + room) / rate for rate in finite)
        reach = min((math.ceil(each * (1 + _ROUNDING)) for each in reaches), default=apart)
        return float(min(apart, reach))


def _falls(noise: Staircase) -> tuple[float, float]:
    """b and 1 - b."""
    rate = 1 / float(noise.steps)
    return math.exp(-rate), -math.expm1(-rate)


def _highest(noise: Staircase, first: int) -> float:
    """a = P(0), for a first step of this many numbers."""
    b, rest = _falls(noise)
    return rest / (2 * (first + b * (noise.sensitivity - first)) - rest)


@lru_cache(maxsize=4096)
def _variance(noise: Staircase, first: int) -> float:
    """Σ x²·P(x), for x = k·Δ + j and -x with 0 <= j < Δ, by the sums of b^k, k·b^k and k²·b^k."""
    b, rest = _falls(noise)
    wide = noise.sensitivity
    weights, sums, squares = (
        below(first) + b * (below(wide) - below(first)) for below in (float, _sum, _squares)
    )
    whole = wide**2 * weights * b * (1 + b) / rest**3
    whole += 2 * wide * sums * b / rest**2 + squares / rest
    return 2 * _highest(noise, first) * whole


def _sum(end: int) -> float:
    return end * (end - 1) / 2


def _squares(end: int) -> float:
    return (end - 1) * end * (2 * end - 1) / 6


def _tail(noise: Staircase, distance: int) -> float:
    """P(|x| >= distance), rounded up, for a whole `distance` >= 1."""
    b, rest = _falls(noise)
    wide, first = noise.sensitivity, noise.first
    periods, at = divmod(distance, wide)
    left = max(first - at, 0) + b * (wide - max(first, at))
    later = b * (first + b * (wide - first)) / rest
    beyond = math.exp(-periods / float(noise.steps)) * (left + later)
    return 2 * _highest(noise, first) * beyond * (1 + _ROUNDING)


@lru_cache(maxsize=4096)
def _log_moment(noise: Staircase, rate: float) -> float:
    """ln E[exp(rate·x)], for a rate below 1/scale: geometric sums over steps, and over periods."""
    b, _ = _falls(noise)
    wide, first = noise.sensitivity, noise.first

    def upwards(rate: float) -> float:
        own = math.expm1(rate * first) / math.expm1(rate)
        other = math.expm1(rate * wide) / math.expm1(rate) - own
        return (own + b * other) / -math.expm1(rate * wide - 1 / float(noise.steps))

    moment = _highest(noise, first) * (upwards(rate) + upwards(-rate) - 1)
    return math.log(moment * (1 + _ROUNDING))
