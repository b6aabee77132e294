"""Tails of weighted sums of coordinates of boxes; coordinates of one draw are not independent.

Given its size R, which is a gamma variable of m + 1 stages, a draw is a uniform point in R times
the box. For scales p >= q of two coordinates and r = q/p, P(|p·u + q·t| > p·d) given R is, with
y = d/R, ((1 + r - y)₊² - (1 - r - y)₊²) / 4r. The mean of (c - d/R)₊² over R is c²·H(d/c) with

    H(x) = e^-x · Σ (m - j)(m - j - 1)/(m(m - 1)) · x^j/j!  over j <= m - 2

all of whose terms are positive. The characteristic function of p·u + q·t follows from those of R²:
(C(w(p - q)) - C(w(p + q))) / (2w²pq·m(m - 1)) with C(z) the real part of (1 - iz)^(1 - m).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from dpdb.answers.intervals.weighted_noises import log_characteristic, reach
from dpdb.privacy.mechanisms.box import Coordinate
from dpdb.privacy.mechanisms.mechanism import PublicNoise
from dpdb.vectors.vector import Array

Real = Any
"""A number, or an array of numbers."""
Functions = Any
"""The functions of a formula: numpy, or others of single numbers."""
_LEAST, _TINY = 1e-5, 1e-300
"""The least ratio r: a larger one has a larger tail."""

Draw = tuple[tuple[tuple[float, PublicNoise], ...], int]
"""Weights of the noises of one draw, and how many draws with these weights are added up."""


def log_tail(
    distance: Real, scales: Sequence[Real], dimensions: int, functions: Functions = np
) -> Real:
    """The logarithm of P(|Σ scale · coordinate| > distance) for one or two coordinates."""
    maximum, minimum = functions.maximum, functions.minimum
    first, second = scales if len(scales) == 2 else (scales[0], 0.0)
    high = maximum(maximum(first, second), _TINY)
    ratio = minimum(maximum(minimum(first, second) / high, _LEAST), 1 - 1e-12)
    outer, inner = 1 + ratio, 1 - ratio
    reached = distance / high
    far = minimum(reached / inner, 1e30)
    gap = minimum(far - reached / outer, 700.0)
    large = outer * outer * _mean_square(reached / outer, dimensions)
    small = inner * inner * _mean_square(minimum(far, reached / outer + gap), dimensions)
    tail = (large - small * functions.exp(-gap)) / (4 * ratio)
    return minimum(functions.log(maximum(tail, _TINY)) - reached / outer, 0.0)


def _mean_square(x: Real, dimensions: int) -> Real:
    """H(x)·e^x."""
    m = dimensions
    term, total = 1.0, 0.0
    for j in range(m - 1):
        total = total + term * ((m - j) * (m - j - 1) / (m * (m - 1)))
        term = term * x / (j + 1)
    return total


@lru_cache(maxsize=256)
def margin(draws: tuple[Draw, ...], confidence: float) -> float:
    """A z that the absolute value of the sum exceeds with probability at most 1 - confidence.

    Of one draw it is that of the continuous law and the weights (`mechanisms.box`). Of several the
    rounding errors of the draws nearly cancel, so that the weights are added once.
    """
    whole = sum(abs(weight) for parts, _ in draws for weight, _ in parts)
    if len(draws) == draws[0][1] == 1:
        (parts, _), failure = draws[0], math.log(1 - confidence)
        scales = [abs(weight) * reach_of(noise) for weight, noise in parts]
        low, high = 0.0, sum(scales) * 40.0 * (1 - failure)
        number = _dimensions(parts)
        for _ in range(60):
            middle = (low + high) / 2
            over = log_tail(middle, scales, number) > failure
            low, high = (middle, high) if over else (low, middle)
        return whole + high
    squares = (
        number * weight**2 * reach_of(noise) ** 2 * float(noise.variance / noise.scale**2)
        for parts, number in draws
        for weight, noise in parts
    )

    def transform(t: Array) -> Array:
        each = [_characteristic(parts, t) ** number for parts, number in draws]
        return np.asarray(np.prod(each, axis=0))

    return whole + reach(transform, math.sqrt(sum(squares)), confidence)


def reach_of(noise: PublicNoise) -> float:
    """The scale of the continuous law above a noise."""
    return noise.reach if isinstance(noise, Coordinate) else float(noise.scale)


def _dimensions(parts: Sequence[tuple[float, PublicNoise]]) -> int:
    (number,) = {noise.dimensions for _, noise in parts if isinstance(noise, Coordinate)}
    return number


def _characteristic(parts: Sequence[tuple[float, PublicNoise]], t: Array) -> Array:
    """The characteristic function of one draw's weighted sum."""
    first = parts[0][1]
    if not isinstance(first, Coordinate):
        (weight, _) = parts[0]
        return np.asarray(np.exp(log_characteristic(first, t * abs(weight))))
    scales = sorted(abs(weight) * reach_of(noise) for weight, noise in parts)
    p, q = scales[-1], max(scales[0] if len(scales) > 1 else 0.0, 1e-3 * scales[-1])
    m = _dimensions(parts)
    apart, together = ((1 - 1j * t * z) ** (1 - m) for z in (p - q, p + q))
    square = np.maximum(t * t * p * q, 1e-12)
    exact = (apart.real - together.real) / (2 * square * m * (m - 1))
    return np.asarray(np.where(t * t * p * q < 1e-8, 1.0, exact))
