"""Tails of weighted sums of independent noises: the distance from zero, and its probability.

Whole noise is below continuous noise of its `Law` plus one, in the stochastic order. So a weighted
sum of whole noises is compared with the tails here after its weights are taken off.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cached_property, lru_cache, reduce
from types import SimpleNamespace
from typing import Any, assert_never

import numpy as np

from dpdb.answers.intervals import box_tails, weighted_noises
from dpdb.plan.physical.moments import Combination
from dpdb.plan.physical.plan import Plan
from dpdb.plan.physical.release import at_once
from dpdb.privacy.mechanisms.kinds import Law
from dpdb.privacy.mechanisms.mechanism import PublicNoise
from dpdb.privacy.search import normal_quantile
from dpdb.records import dataclass

Real = Any
"""Single numbers or arrays of them."""
Functions = Any
"""The functions of a formula: numpy, or SINGLE."""
SINGLE = SimpleNamespace(
    copysign=math.copysign, count_nonzero=int, exp=math.exp, expm1=math.expm1, log=math.log,
    log1p=math.log1p, maximum=max, minimum=min, sqrt=math.sqrt,
    where=lambda condition, true, false: true if condition else false,
)  # fmt: skip
"""Functions of numpy for single numbers: many times faster than those of arrays for a few."""

TINY = 1e-30
"""Stands for the scale 0 in formulas that divide by a scale."""
_APART, _APART_OF_TWO = 1e-4, 1e-9
"""The relative distances to which three and two scales are moved apart.

The tail of three scales keeps eight digits.
"""
_STEPS, _END = 2**14, 100.0
"""The points of an integral over frequencies, and its end in 1 / the largest scale."""


@dataclass(frozen=True)
class SumOfNoises:
    """Noises of one law to be weighed and added, with the confidence asked for.

    They are independent, or coordinates of one box.
    """

    law: Law
    scales: tuple[float, ...]
    confidence: float
    dimensions: int = 0
    """The number of coordinates of the box that all noises are coordinates of."""

    def room(self, distance: Real, weights: Sequence[Real], functions: Functions) -> Real:
        """About the amount by which `distance` could grow and still be noise alone.

        The amount is negative exactly where noise with these weights is as far from zero as
        `distance` with a probability below 1 - confidence.
        """
        scales = [weight * scale for weight, scale in zip(weights, self.scales, strict=True)]
        match self.law:
            case Law.LAPLACE:
                largest = reduce(functions.maximum, scales)
                tail = _log_laplace_tail(functions.maximum(distance, 0.0), scales, functions)
                past = functions.minimum(distance, 0.0)
                return largest * (tail - self._log_failure) - past
            case Law.BOX:
                tail = box_tails.log_tail(
                    functions.maximum(distance, 0.0), scales, self.dimensions, functions
                )
                past = functions.minimum(distance, 0.0)
                return reduce(functions.maximum, scales) * (tail - self._log_failure) - past
            case Law.NORMAL:
                deviation = functions.sqrt(sum(scale * scale for scale in scales))
                return self._deviations * deviation - distance
            case other:
                assert_never(other)

    @cached_property
    def _log_failure(self) -> float:
        """The logarithm of the probability with which the noise may be farther."""
        return math.log(1 - self.confidence)

    @cached_property
    def _deviations(self) -> float:
        """The number of standard deviations within which normal noise stays."""
        return normal_quantile((1 + self.confidence) / 2)


def laplace_tail(distance: Real, scales: Sequence[Real], functions: Functions = np) -> Real:
    """P(|X₁ + … + X_d| > distance) for independent Laplace noises, of up to three scales."""
    return functions.exp(_log_laplace_tail(distance, scales, functions))


def _log_laplace_tail(distance: Real, scales: Sequence[Real], functions: Functions) -> Real:
    """The logarithm of `laplace_tail`, which is finite also where the tail is too small."""
    match scales:
        case [only]:
            return -distance / functions.maximum(only, TINY)
        case [first, second]:
            return _of_two(distance, first, second, functions)
        case [_, _, _]:
            return _of_three(distance, scales, functions)
    raise ValueError("only sums of up to three noises have a formula")


def _of_two(distance: Real, first: Real, second: Real, functions: Functions) -> Real:
    """The logarithm for two scales a > b: ln((a²·e^(-d/a) - b²·e^(-d/b)) / (a² - b²)).

    [KKP01] section 2.3. With q = ln(b²/a²) it is ln((e^(q - d/b + d/a) - 1) / (e^q - 1)) - d/a, in
    which no digits cancel.
    """
    maximum, expm1 = functions.maximum, functions.expm1
    high = maximum(maximum(first, second), TINY)
    low = maximum(functions.minimum(first, second), _APART_OF_TWO * high)
    gap = 1 - low / maximum(high, low * (1 + _APART_OF_TWO))
    reach = distance / high
    ratio = 2 * functions.log1p(-gap)
    more = expm1(ratio - reach * gap / (1 - gap)) / expm1(ratio)
    return functions.log(maximum(more, 1.0)) - reach


def _of_three(distance: Real, scales: Sequence[Real], functions: Functions) -> Real:
    """The logarithm of Σ bᵢ⁴ / Π(bᵢ² - bⱼ²) · e^(-d/bᵢ), by partial fractions.

    The Laplace distribution of scale b has the characteristic function 1/(1 + b²t²), and products
    of these are sums of such with the weights above. Scales that are nearly the same are moved
    apart, the larger ones upwards: that makes the sum larger, in the stochastic order.
    """
    maximum, minimum, exp = functions.maximum, functions.minimum, functions.exp
    one, other, third = scales
    less, more = minimum(one, other), maximum(one, other)
    low, middle = minimum(less, third), maximum(less, minimum(more, third))
    high = maximum(maximum(more, third), TINY)
    # Far smaller scales make no difference, and their squares would be lost.
    low = maximum(low, 1e-7 * high)
    middle = maximum(middle, low * (1 + _APART))
    high = maximum(high, middle * (1 + _APART))
    b, c, reach = middle / high, low / high, distance / high
    bb, cc = b * b, c * c
    tail = 1 / ((1 - bb) * (1 - cc))
    tail = tail - bb * bb / ((1 - bb) * (bb - cc)) * exp(reach - reach / b)
    tail = tail + cc * cc / ((1 - cc) * (bb - cc)) * exp(reach - reach / c)
    # One of the noises alone is as far from zero with probability e^-reach.
    return minimum(functions.log(maximum(tail, 1.0)) - reach, 0.0)


def margin_of(combination: Combination, plan: Plan, confidence: float) -> float:
    """A z that the noise in a combination exceeds with probability at most 1 - confidence."""
    if any(plan.releases[release].level for (release, _), _ in combination.weights):
        return _margin_of_levels(combination, plan, confidence)
    of_draws = dict[tuple[int, int], list[tuple[float, PublicNoise]]]()
    for (release, part), weight in combination.weights:
        noise = plan.releases[release].noise_of(part)
        assert noise is not None
        draw = 0 if noise.law is Law.BOX else part  # noises of other laws are independent
        of_draws.setdefault((release, draw), []).append((float(weight), noise))
    draws = tuple((tuple(own), plan.releases[at].terms) for (at, _), own in of_draws.items())
    if any(noise.law is Law.BOX for own, _ in draws for _, noise in own):
        return box_tails.margin(draws, confidence)
    noises, weights = list[PublicNoise](), list[float]()
    for own, terms in draws:
        for each, noise in own:
            noises += [noise] * terms
            weights += [each] * terms
    return margin(tuple(weights), tuple(noises), confidence)


def _margin_of_levels(combination: Combination, plan: Plan, confidence: float) -> float:
    """The margin of a combination of values that each add up noises of several levels."""
    return weighted_noises.margin(
        tuple(
            (float(weight) * own, number, noise)
            for (release, _), weight in combination.weights
            for own, number, noise in plan.releases[release].noises
        ),
        confidence,
    )


@lru_cache(maxsize=256)
def margin(weights: tuple[float, ...], noises: tuple[PublicNoise, ...], confidence: float) -> float:
    """A z that |Σ weight · noise| exceeds with probability at most 1 - confidence.

    For noises of different laws, or of none, each stays within its own quantile at the confidence
    at which all do at once.
    """
    if len(set(map(abs, weights))) == len(set(noises)) == 1:
        return abs(weights[0]) * noises[0].quantile(confidence, len(weights))
    scales = [abs(w) * float(n.scale) for w, n in zip(weights, noises, strict=True)]
    most, whole = max(scales, default=0.0), sum(map(abs, weights))
    if not most:
        return 0.0
    laws = {noise.law for noise in noises}
    if laws == {Law.NORMAL}:
        return whole + normal_quantile((1 + confidence) / 2) * float(np.hypot.reduce(scales))
    if laws != {Law.LAPLACE}:
        each = at_once(confidence, len(noises))
        return sum(abs(w) * n.quantile(each) for w, n in zip(weights, noises, strict=True))
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
    characteristic function ([GP51]), by Simpson's rule up to t = _END. The rest of the integral is
    at most 2/d times what falls there, 1/t · Π 1/(1 + bᵢ²t²), and is added.
    """
    if len(scales) < 3:
        return lambda distance: laplace_tail(distance, scales, SINGLE)
    most = max(scales)
    t = np.linspace(0, _END, _STEPS + 1)
    weights = np.where(np.arange(_STEPS + 1) % 2, 4.0, 2.0) * (_END / _STEPS / 3)
    weights[[0, -1]] /= 2
    for scale in scales:
        weights = weights / (1 + (scale / most * t) ** 2)
    rest = 4 / np.pi / _END / math.prod(1 + (scale / most * _END) ** 2 for scale in scales)

    def tail(distance: float) -> float:
        reach = distance / most
        up_to_end = 2 / np.pi * reach * (np.sinc(t * reach / np.pi) * weights).sum()
        return float(1 - up_to_end + rest / reach)

    return tail
