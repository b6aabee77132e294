"""Tails of sums of many whole noises with few different weights, by their exact law.

The values of a cube add up noises of all its levels. The law of the sum has the product of the
noises' characteristic functions, each to the power of how many noises have the weight. Its inverse
Fourier transform at the multiples of a small unit is the density of the sum plus normal noise of
some units, without which it would be no density; quantiles are that much larger.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cached_property, lru_cache
from types import ModuleType
from typing import Any, assert_never

import numpy as np

from dpdb.plan.physical.cubes import WeightedNoises
from dpdb.privacy.mechanisms.kinds import Law
from dpdb.privacy.mechanisms.mechanism import PublicNoise
from dpdb.records import dataclass
from dpdb.vectors.vector import Array

Real = Any
"""A number, or an array of numbers."""
_REACH = 16
"""The standard deviations to either side for which probabilities are computed."""
_FINE = 2**12
"""The units in a standard deviation."""
_LEAST = 1e-9
"""The least probability of failure for which a quantile is read off the transform."""
_DIRECTIONS = 16
"""The number of directions of a pair for which a quantile is computed; it is smooth in between."""
_GONE = -60
"""The logarithm of a factor after which no other one counts."""
_SMOOTH = 1.75
"""The standard deviation in units of the normal noise: 3e-7 of the transform is cut off at its end.
"""


def log_characteristic(noise: PublicNoise, t: Array) -> Array:
    """The logarithm of the characteristic function of whole noise, which is symmetric.

    Of Laplace noise with r = exp(-1/scale) it is (1 - r)²/(1 - 2r·cos t + r²), and of Gaussian
    noise the theta function Σ exp(-variance·(t - 2πk)²/2), but for a factor (Poisson's summation).
    """
    match noise.law:
        case Law.LAPLACE:
            gap = -math.expm1(-1 / float(noise.scale))
            # 1 - 2r·cos t + r² = (1 - r)² + 4r·sin²(t/2), in which no digits cancel.
            return -np.log1p(4 * (1 - gap) * (np.sin(t / 2) / gap) ** 2)
        case Law.NORMAL:
            near = np.abs(np.remainder(t + np.pi, 2 * np.pi) - np.pi)
            square = float(noise.variance) / 2
            others = (-square * ((near + way) ** 2 - near**2) for way in (-2 * np.pi, 2 * np.pi))
            whole = math.log1p(2 * math.exp(-square * (2 * math.pi) ** 2))
            return np.asarray(-square * near**2 + np.log1p(sum(map(np.exp, others))) - whole)
        case Law.BOX | None:
            raise AssertionError("only independent noise with a law is in a cube")
        case other:
            assert_never(other)


@lru_cache(maxsize=1024)
def margin(terms: WeightedNoises, confidence: float) -> float:
    """A z that the absolute value of the sum exceeds with probability at most 1 - confidence.

    For less than the transform tells, z grows as the logarithm of what may fail: the law is
    log-concave, as its parts are, so that the tail falls ever faster.
    """
    deviation = math.sqrt(sum(w * w * number * float(n.variance) for w, number, n in terms))
    if not deviation:
        return 0.0

    def transform(t: Array) -> Array:
        log = np.zeros_like(t)
        for weight, number, noise in terms:
            left = np.flatnonzero(log > _GONE)
            log[left] += number * log_characteristic(noise, t[left] * weight)
        return np.asarray(np.exp(log))

    return reach(transform, deviation, confidence)


def reach(transform: Callable[[Array], Array], deviation: float, confidence: float) -> float:
    """The z of `margin` of a symmetric law with this characteristic function and deviation."""
    unit = deviation / _FINE
    points = 2 * _REACH * _FINE
    t = np.arange(points // 2 + 1) * (2 * np.pi / points)
    values = transform(t / unit) * np.exp(-((_SMOOTH * t) ** 2) / 2)
    law = np.fft.irfft(values, points)[: points // 2]
    outside = 1 - np.cumsum(law) * 2 + law[0]
    failing = 1 - confidence
    least = max(failing, _LEAST)
    place = int(np.argmax(outside <= least))
    return (place + 3 * _SMOOTH) * unit * math.log(failing) / math.log(least)


@lru_cache(maxsize=128)
def _reaches(terms: WeightedNoises, confidence: float) -> Array:
    """The reach of c·X + s·Y, for independent sums X and Y of these terms, by the angle of (c, s).

    Angles go from 0 to 45 degrees, as X and Y have one law.
    """
    angles = np.linspace(0, np.pi / 4, _DIRECTIONS + 1).tolist()
    pairs = ((math.cos(each), math.sin(each)) for each in angles)
    return np.array([
        margin(tuple((w * c, n, noise) for c in pair for w, n, noise in terms), confidence)
        for pair in pairs
    ])  # fmt: skip


@dataclass(frozen=True)
class PairOfSums:
    """Independent sums of noises to be weighed and added, with the confidence asked for.

    The second is `ratio` times as large as one of the law of the first. It answers as
    `noise_tails.SumOfNoises` does.
    """

    terms: WeightedNoises
    ratio: float
    confidence: float

    def room(self, distance: Real, weights: Sequence[Real], functions: ModuleType) -> Real:
        """The amount by which `distance` could grow and still be noise alone.

        What was taken off for whole noise is added again, as this is its own law.
        """
        first, second = weights[0], weights[1] * self.ratio
        high, low = np.maximum(first, second), np.minimum(first, second)
        reach = np.hypot(high, low) * np.interp(np.arctan2(low, high), self._angles, self._known)
        room = reach - distance - sum(weights)
        return room if functions is np else float(room)

    @cached_property
    def _known(self) -> Array:
        return _reaches(self.terms, self.confidence)

    @cached_property
    def _angles(self) -> Array:
        return np.linspace(0, np.pi / 4, _DIRECTIONS + 1)
