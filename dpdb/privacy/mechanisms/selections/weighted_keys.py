"""Partition selection by one round of weights, for units that have many keys ([GGKSSY20]).

A unit with t keys adds the weight 1/√t to each of them, so that its weights have the ℓ2 norm 1, and
a key is shown where its weight with Gaussian noise is above T. Weights are whole numbers of 2^-30,
rounded down, and noise is the discrete Gaussian of variance σ²·2^60. Only the key leaves, not its
weight. A key that no unit has is never shown: it needs no draw.

Privacy. A unit with t keys enters, and j of its keys are nobody else's. With probability at most
p = 1 - (1 - q)^j one of these is shown, for q = P(1/√t + X > T). Otherwise what is seen is seen of
the other keys, on which weights differ by an ℓ2 distance of at most d = √((t - j)/t). Let D(d, ε)
be the least δ of their noise at ε. For a set S of outcomes, without the unit Q and with it P,

    P(S) <= p + e^ε·Q(S) + D(d, ε),   Q(S) <= e^ε'·P(S)/(1 - p) + D(d, ε'),

as P(S, none of the j is shown) is 1 - p times what the others are alone. So it is (ε, δ)-DP if

    p + D(d, ε) <= δ  and  D(d, ε + ln(1 - p)) <= δ  for all 1 <= j <= t <= `groups`,

and D(1, ε) <= δ. As [KOV15] has it, it is ε-DP but for δ. Where ρ is paid for, σ² = 1/2ρ makes the
others ρ-zCDP of each other ([CKS20] Theorem 14), and p <= δ makes it δ-approximately ρ-zCDP
([BS16] Definition 8.1).

Bounds. The loss on the others is (2⟨x, v⟩ + |v|²)/2σ² for the noise x and the difference v of
weights, equal for all keys: a sum of discrete Gaussians. Each is at most a grid step more than a
normal variable, in the stochastic order ([CKS20] Proposition 25). So the loss is at most that of
continuous noise plus √t·2^-30/σ², and D(d, ε) is at most the profile of continuous noise at ε less
that ([BW18] Theorem 8); and q <= P(N > (T - 1/√t)/σ). Instead of all j and t, ranges of them are
looked at, each as its worst member is.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import ClassVar

from dpdb.privacy.accounting.loss import Loss
from dpdb.privacy.gaussian_calibration import analytic_sigma, epsilon_of, mills, profile
from dpdb.records import dataclass

UNIT = 2**30
"""The weight of a unit with one key."""
_SPARE = 0.99
"""The part of δ for keys that others have, too."""
_ROUNDING = 1e-8
"""A bound on the relative rounding error of a profile or a tail."""
_CLASSES = 64
"""The number of classes of (t - j)/t that are looked at."""
_EXACT = 32
"""Up to so many keys each t is looked at by itself."""
_OCTAVE = 8
"""Beyond, so many ranges of t in an octave."""


@dataclass(frozen=True)
class WeightedKeys:
    """Shows the keys whose weight is large enough, without their number of units."""

    name: ClassVar[str] = "weighted keys"
    title: ClassVar[str] = "Gaussian noise on weights of keys"
    changes: ClassVar[str] = "the farthest {} can move the weights of all keys (ℓ2)"
    formula: ClassVar[str] = "σ"
    sensitivity: ClassVar[int] = 1
    least_units: ClassVar[int] = 1
    noise: ClassVar[None] = None
    epsilon: Fraction
    delta: Fraction
    groups: int
    """The most keys that one unit can have."""
    concentrated: bool = False
    """Whether `epsilon` stands for ρ = ε²/2."""

    @cached_property
    def scale(self) -> Fraction:
        """σ, rounded up."""
        if self.concentrated:
            return 1 / self.epsilon
        return _sigma(self.epsilon, self.delta, self.groups)

    @property
    def variance(self) -> Fraction:
        """The variance of the noise, in squared grid steps."""
        return self.scale**2 * UNIT**2

    @cached_property
    def threshold(self) -> int:
        """T, in grid steps."""
        least = _threshold(
            float(self.scale), self.epsilon, self.delta, self.groups, self.concentrated
        )
        return math.ceil(least * UNIT)

    @property
    def shown_from(self) -> int:
        """With so many units that have `groups` keys each, a key is likelier shown than not."""
        return math.ceil(self.threshold / UNIT * math.sqrt(self.groups))

    def shown(self, units: str) -> str:
        """The keys that are shown, in words."""
        return f"about {self.shown_from} or more {units}, or fewer if these have few groups"

    @property
    def spread(self) -> float:
        """σ, to compare plans by."""
        return float(self.scale)

    @cached_property
    def loss(self) -> Loss:
        """The loss of all keys that a unit can have."""
        if not self.concentrated:
            return Loss(self.epsilon, self.delta, self.epsilon**2 / 2, self.delta)
        alone = epsilon_of(self.scale**2, 1, 1, False, self.delta)
        return Loss(alone, 2 * self.delta, self.epsilon**2 / 2, self.delta)


def _upper_tail(x: float) -> float:
    """P(N > x) of a standard normal N, rounded up."""
    if x < -30:
        return 1.0
    return min(1.0, math.exp(-x * x / 2) / math.sqrt(2 * math.pi) * mills(x) * (1 + _ROUNDING))


def _delta(distance: float, epsilon: float, sigma: float, groups: int) -> float:
    """D(d, ε), rounded up."""
    if not distance:
        return 0.0
    less = epsilon - math.sqrt(groups) / UNIT / sigma**2
    if less < 0:
        return 1.0
    return profile(sigma, distance, less) * (1 + _ROUNDING)


@lru_cache(maxsize=256)
def _sigma(epsilon: Fraction, delta: Fraction, groups: int) -> Fraction:
    """A σ of at most 40 bits with D(1, ε) <= 0.99·δ."""
    aim = _SPARE * float(delta) * (1 - 2 * _ROUNDING)
    sigma = analytic_sigma(1.0, float(epsilon), aim)
    while _delta(1.0, float(epsilon), sigma, groups) > _SPARE * float(delta):
        sigma *= 1 + 2.0**-20
    return Fraction(math.ceil(sigma * 2**30), 2**30)


@lru_cache(maxsize=256)
def _threshold(
    sigma: float, epsilon: Fraction, delta: Fraction, groups: int, concentrated: bool
) -> float:
    """The least T, rounded up."""
    most = [float(delta)] * (_CLASSES + 1)
    if not concentrated:
        most = [_most(place, sigma, float(epsilon), float(delta), groups)
                for place in range(_CLASSES + 1)]  # fmt: skip
    ranges = list(_ranges(groups, most))

    def enough(threshold: float) -> bool:
        for weight, worst in ranges:
            tail = _upper_tail((threshold - weight) / sigma)
            if tail >= 1:
                return False
            rest = math.log1p(-tail)
            if any(-math.expm1(j * rest) * (1 + _ROUNDING) > p for j, p in worst):
                return False
        return True

    low, high = 0.0, 1.0 + 2 * sigma
    while not enough(high):
        low, high = high, 2 * high
    while high - low > 1e-9 * high:
        middle = (low + high) / 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def _ranges(groups: int, most: list[float]) -> Iterator[tuple[float, list[tuple[int, float]]]]:
    """For ranges of t the largest weight, and for each class the largest j with the largest p.

    Class c is of (t - j)/t in ((c - 1)/C, c/C], for C classes: it has the p of its greatest d.
    """
    first = 1
    while first <= groups:
        last = first if first < _EXACT else math.ceil(first * 2 ** (1 / _OCTAVE))
        last = min(last, groups)
        worst: dict[int, float] = {}
        for c in range(_CLASSES + 1):
            # (t - j)/t > (c - 1)/C, so that j < t·(1 - (c - 1)/C) for the largest t.
            largest = min(last, math.ceil(last * (_CLASSES - c + 1) / _CLASSES) - (c > 0))
            if largest >= 1:
                worst[largest] = min(most[c], worst.get(largest, 1.0))
        yield 1 / math.sqrt(first), list(worst.items())
        first = last + 1


def _most(place: int, sigma: float, epsilon: float, delta: float, groups: int) -> float:
    """The largest p that keeps δ, for a distance of at most d = √(place/C); rounded down."""
    distance = math.sqrt(place / _CLASSES)
    first = delta - _delta(distance, epsilon, sigma, groups)
    low, high = 0.0, epsilon  # the least ε' with D(d, ε') <= δ
    for _ in range(60):
        middle = (low + high) / 2
        enough = _delta(distance, middle, sigma, groups) <= delta
        low, high = (low, middle) if enough else (middle, high)
    return min(first, -math.expm1(high - epsilon)) * (1 - _ROUNDING)
