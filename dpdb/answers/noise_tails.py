"""How far a weighted sum of independent noises lies from zero, and how often.

Whole noise is at most continuous noise and one more, in the stochastic order: P(x >= z) <=
P(L >= z - 1) for all whole z. Of Laplace noise that is 2r <= 1 + r for r = exp(-1/scale), of
Gaussian noise it is [CKS20] Proposition 25. So whoever compares a weighted sum of whole noises with
the tails here takes off the weights first.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache
from statistics import NormalDist
from typing import Any

import numpy as np
import numpy.typing as npt

from dpdb.plan.moments import Reading
from dpdb.plan.plan import Plan
from dpdb.privacy.mechanisms import Gaussian, Laplace
from dpdb.privacy.thresholding import Threshold

Array = npt.NDArray[Any]

TINY_SCALE = 1e-30
"""Stands for the scale 0 in formulas that divide by a scale."""
_APART = 1e-4
"""The relative distance to which three scales are moved apart: their tail keeps eight digits."""
_STEPS, _END = 2**14, 100.0
"""The points of an integral over frequencies, and where it ends, in 1 / the largest scale."""


def is_plausible(
    distance: Array, scales: Sequence[Array], confidence: float, kind: type[Laplace | Gaussian]
) -> npt.NDArray[np.bool_]:
    """Whether the sum of noises of these scales is as large as `distance` often enough.

    That is, with probability at least 1 - confidence. The sum of independent normal noises is
    normal, and its variance is the sum of their variances.
    """
    if kind is Laplace:
        return np.asarray(laplace_tail(distance, scales) >= 1 - confidence)
    deviation = np.sqrt(sum(np.square(scale) for scale in scales))
    return np.asarray(distance <= NormalDist().inv_cdf((1 + confidence) / 2) * deviation)


def laplace_tail(distance: Array, scales: Sequence[Array]) -> Array:
    """P(|X₁ + … + X_d| > distance) for independent Laplace noises, of up to three scales."""
    match scales:
        case [only]:
            return np.asarray(np.exp(-distance / np.maximum(only, TINY_SCALE)))
        case [first, second]:
            return two_laplace_tail(distance, first, second)
        case [_, _, _]:
            return _three_laplace_tail(distance, scales)
    raise ValueError("only sums of up to three noises have a formula")


def two_laplace_tail(distance: Array, first: Array | float, second: Array | float) -> Array:
    """P(|X + Y| > distance) for independent Laplace X, Y of scales a = first, b = second.

    (a²·e^(-d/a) - b²·e^(-d/b)) / (a² - b²), and (1 + d/2a)·e^(-d/a) where a = b
    ([KKP01] section 2.3).
    """
    # Near a = b the quotient loses its digits: the formula for equal scales is closer.
    first, second = np.maximum(first, TINY_SCALE), np.maximum(second, TINY_SCALE)
    near = np.abs(first - second) < 1e-5 * first
    other = np.where(near, 2 * first, second)
    tail: Array = first**2 * np.exp(-distance / first) - other**2 * np.exp(-distance / other)
    equal = (1 + distance / (2 * first)) * np.exp(-distance / first)
    return np.asarray(np.where(near, equal, tail / (first**2 - other**2)))


def _three_laplace_tail(distance: Array, scales: Sequence[Array]) -> Array:
    """P(|X + Y + Z| > d) = Σ bᵢ⁴ / Π(bᵢ² - bⱼ²) · e^(-d/bᵢ), by partial fractions.

    The Laplace distribution of scale b has the characteristic function 1/(1 + b²t²), and products
    of these are sums of such with the weights above. Scales that are nearly the same are moved
    apart, the larger ones upwards: that makes the sum larger, in the stochastic order.
    """
    one, other, third = scales
    less, more = np.minimum(one, other), np.maximum(one, other)
    low, middle = np.minimum(less, third), np.maximum(less, np.minimum(more, third))
    high = np.maximum(np.maximum(more, third), TINY_SCALE)
    # Far smaller scales make no difference, and their squares would be lost.
    low = np.maximum(low, 1e-7 * high)
    middle = np.maximum(middle, low * (1 + _APART))
    high = np.maximum(high, middle * (1 + _APART))
    squares = [(scale / high) ** 2 for scale in (low, middle, high)]
    tail: Array = np.zeros(())
    for at, (scale, square) in enumerate(zip((low, middle, high), squares, strict=True)):
        first, second = (squares[i] for i in range(3) if i != at)
        weight = square**2 / ((square - first) * (square - second))
        tail = tail + weight * np.exp(-distance / scale)
    return np.asarray(np.clip(tail, 0, 1))


def margin_of(reading: Reading, plan: Plan, confidence: float) -> float:
    """A z that the noise in a reading exceeds with probability at most 1 - confidence."""
    mechanisms = []
    for (release, _), _ in reading.weights:
        mechanism = plan.releases[release].mechanism
        if isinstance(mechanism, Threshold):
            mechanism = mechanism.noise
        assert isinstance(mechanism, Laplace | Gaussian)
        mechanisms.append(mechanism)
    return margin(
        tuple(float(weight) for _, weight in reading.weights), tuple(mechanisms), confidence
    )


@lru_cache(maxsize=256)
def margin(
    weights: tuple[float, ...], mechanisms: tuple[Laplace | Gaussian, ...], confidence: float
) -> float:
    """A z that |Σ weight · noise| exceeds with probability at most 1 - confidence."""
    if len(set(map(abs, weights))) == len(set(mechanisms)) == 1:
        return abs(weights[0]) * mechanisms[0].quantile(confidence, len(weights))
    scales = [abs(w) * float(m.scale) for w, m in zip(weights, mechanisms, strict=True)]
    most = max(scales)
    if not most:
        return 0.0
    whole = sum(map(abs, weights))
    if isinstance(mechanisms[0], Gaussian):
        return whole + NormalDist().inv_cdf((1 + confidence) / 2) * float(np.hypot.reduce(scales))
    # P(|Σ x| > z) <= 2·(4/3)^d·exp(-z / 2b) for d noises of scales up to b (Chernoff's bound).
    low, high = 0.0, 2 * most * (math.log(2 / (1 - confidence)) + len(scales) * math.log(4 / 3))
    tail = _laplace_tail_of_any(scales)
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (middle, high) if tail(middle) > 1 - confidence else (low, middle)
    return whole + high


def _laplace_tail_of_any(scales: Sequence[float]) -> Callable[[float], float]:
    """P(|X₁ + … + X_d| > distance) for any number of scales, some of which may be equal.

    From three on it is 1 - (2/π)·∫ sin(td)/t · Π 1/(1 + bᵢ²t²) dt over t > 0, the inversion of a
    characteristic function ([GP51]), by Simpson's rule.
    """
    if len(scales) < 3:
        arrays = [np.array([scale]) for scale in scales]
        return lambda distance: float(laplace_tail(np.array([distance]), arrays)[0])
    most = max(scales)
    t = np.linspace(0, _END, _STEPS + 1)
    weights = np.where(np.arange(_STEPS + 1) % 2, 4.0, 2.0) * (_END / _STEPS / 3)
    weights[[0, -1]] /= 2
    for scale in scales:
        weights = weights / (1 + (scale / most * t) ** 2)

    def tail(distance: float) -> float:
        reach = distance / most
        return float(1 - 2 / np.pi * reach * (np.sinc(t * reach / np.pi) * weights).sum())

    return tail
