"""Intervals of averages and variances: all values that a test of the noisy moments accepts.

For the true mean and variance a weighted sum of the exact moments is zero, so the same sum of the
noisy ones is noise alone, of a known distribution ([Fie54]).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dpdb.answers.estimates import SAMPLED, Array, Draws, deviation, grid_step, number, read
from dpdb.answers.noise_tails import is_plausible
from dpdb.plan.moments import Place, Reading, constant
from dpdb.plan.plan import Estimate, Plan
from dpdb.privacy.mechanisms import Gaussian, Laplace

_DIGITS = 36
"""An end of an interval is exact to 2^-36 of the distance from the estimate to its bound."""
_TRIED_AT_ONCE = 2048
"""The number of points that one round of the search for these ends tries."""
_MEANS = 33
"""The number of means for which a variance is tested."""
_FOR_MEAN = 0.1
"""The part of the failure probability that the mean behind a variance has."""


@dataclass(frozen=True)
class NoisyMoments:
    """The noisy moments behind an average or a variance, and the noises in them."""

    estimate: Estimate
    plan: Plan
    draws: Draws

    @cached_property
    def _places(self) -> list[Place]:
        """Where the noises are: those of all moments."""
        moments = self.estimate.moments
        readings = (moments.count, moments.total, moments.squares)
        return sorted({place for each in readings if each for place, _ in each.weights})

    def is_plausible(self, terms: list[tuple[Array, Reading]], confidence: float) -> Array:
        """Whether a Σ factor · moment, which is zero for the exact moments, may be noise alone."""
        noisy = sum(factor * read(reading, self.draws) for factor, reading in terms)
        scales: list[Array] = []
        whole: Array = np.zeros(())
        kinds = set()
        for place in self._places:
            mechanism = self.plan.releases[place[0]].mechanism
            assert isinstance(mechanism, Laplace | Gaussian)
            weight = np.abs(
                sum(
                    factor * float(dict(reading.weights).get(place, 0)) for factor, reading in terms
                )
            )
            scales.append(weight * float(mechanism.scale))
            whole = whole + weight
            kinds.add(type(mechanism))
        [kind] = kinds
        distance = np.maximum(np.abs(noisy) - whole, 0)
        return is_plausible(distance, scales, confidence, kind)

    def accepts_mean(self, mean: Array, confidence: float) -> Array:
        """Whether `mean`, in steps from the centre, may be that of the exact moments.

        The exact sum Y and number N have Y - mN = 0.
        """
        moments = self.estimate.moments
        assert moments.total is not None
        assert moments.count is not None
        ones = np.ones(())
        return self.is_plausible([(ones, moments.total), (-mean, moments.count)], confidence)

    def accepts_variance(self, mean: Array, variance: Array, confidence: float) -> Array:
        """Whether both may be those of the exact moments.

        With the sum of squares Q they have Q - 2mY + m²N - VN = 0, and for a variance of a sample
        Q - 2mY + m²N - V(N - 1) = 0.
        """
        moments = self.estimate.moments
        assert moments.squares is not None
        assert moments.total is not None
        assert moments.count is not None
        divisor = moments.count
        if self.estimate.aggregate.function in SAMPLED:
            divisor = divisor - constant(1)
        terms = [
            (np.ones(()), moments.squares),
            (-2 * mean, moments.total),
            (mean**2, moments.count),
            (-variance, divisor),
        ]
        return self.is_plausible(terms, confidence)


def mean_interval(
    estimate: Estimate, plan: Plan, draws: Draws, confidence: float
) -> tuple[Array, Array]:
    """The interval of an average, in the column's unit."""
    moments = estimate.moments
    low, high = _means(NoisyMoments(estimate, plan, draws), confidence)
    step = float(grid_step(estimate))
    return (low + moments.centre) * step, (high + moments.centre) * step


def _means(noisy: NoisyMoments, confidence: float) -> tuple[Array, Array]:
    """The ends of the means that are accepted, in steps from the centre."""
    moments = noisy.estimate.moments
    assert moments.grid is not None
    bounds = moments.grid.lower - moments.centre, moments.grid.upper - moments.centre
    mean = read(moments.total, noisy.draws) / number(noisy.estimate, noisy.draws)
    best = np.clip(mean, bounds[0], bounds[1])
    ends = np.stack([np.full(len(best), float(end)) for end in bounds])
    low, high = _last_accepted(lambda tried: noisy.accepts_mean(tried, confidence), best, ends)
    return low, high


def variance_interval(
    estimate: Estimate, plan: Plan, draws: Draws, confidence: float
) -> tuple[Array, Array]:
    """The interval of a variance or a standard deviation, as it is asked for.

    The interval of the mean fails with a tenth of the probability allowed, and the test of the
    variance at the true mean with the rest. So the variances that are accepted at any mean of that
    interval have the true one among them with the probability asked for (the union bound). Means
    between those that are tried move an end by at most the square of their distance, which is
    added.
    """
    noisy, failing = NoisyMoments(estimate, plan, draws), 1 - confidence
    low, high = _means(noisy, 1 - _FOR_MEAN * failing)
    rows = number(estimate, draws)
    mean = read(estimate.moments.total, draws) / rows
    square = read(estimate.moments.squares, draws) / rows
    tried = low + (high - low) * np.linspace(0, 1, _MEANS).reshape(-1, 1, 1, 1)
    tried = np.concatenate([tried, np.broadcast_to(np.clip(mean, low, high), tried[:1].shape)])
    sure = 1 - (1 - _FOR_MEAN) * failing

    def accepted(variance: Array) -> Array:
        return np.asarray(noisy.accepts_variance(tried, variance, sure).any(axis=0))

    assert estimate.moments.grid is not None
    half = (estimate.moments.grid.upper - estimate.moments.grid.lower + 1) // 2
    sampled = estimate.aggregate.function in SAMPLED
    most = float(half**2 * (2 if sampled else 1))
    best = np.maximum(square - mean**2, 0)
    best = np.clip(best * rows / np.maximum(rows - 1, 1) if sampled else best, 0, most)
    ends = np.stack([np.zeros(len(best)), np.full(len(best), most)])
    lowest, highest = _last_accepted(accepted, best, ends)
    spare = ((high - low) / (_MEANS - 1)) ** 2
    lowest, highest = np.maximum(lowest - spare, 0), np.minimum(highest + spare, most)
    return deviation(lowest, estimate), deviation(highest, estimate)


def _last_accepted(accepted: Callable[[Array], Array], inside: Array, ends: Array) -> Array:
    """On the way from `inside` to each of `ends`, the farthest point that is accepted.

    Where even `inside` is rejected, the result is the end itself. Each round of the search
    finds `digits` binary digits of the place: more digits where there are fewer cells, as
    hundreds of points are tried as fast as two.
    """
    reached = accepted(ends[np.newaxis])[0] | ~accepted(inside[np.newaxis, np.newaxis])[0]
    digits = max(1, min(6, (_TRIED_AT_ONCE // ends.size).bit_length() - 1))
    parts = 2**digits
    between = (np.arange(1, parts) / parts).reshape(-1, 1, 1)
    near, width = inside, ends - inside
    for _ in range(-(-_DIGITS // digits)):
        good = accepted(near + between * width)
        width = width / parts
        near = near + np.logical_and.accumulate(good, axis=0).sum(axis=0) * width
    return np.where(reached, ends, near + width)
