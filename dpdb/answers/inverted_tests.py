"""Intervals of averages and variances: all values that a test of the noisy moments accepts.

For the true mean and variance a weighted sum of the exact moments is zero, so the same sum of the
noisy ones is noise alone, of a known distribution ([Fie54]).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dpdb.answers.accepted_values import NoisyLine, last_accepted
from dpdb.answers.estimates import Draws, at_least_one, deviation, grid_step, read
from dpdb.answers.noise_tails import TINY, Real, SumOfNoises
from dpdb.plan.estimate import Estimate
from dpdb.plan.moments import Combination, PartIndex
from dpdb.plan.plan import Plan
from dpdb.plan.query import SAMPLED
from dpdb.privacy.mechanisms import Gaussian, Laplace
from dpdb.vectors.vector import Array

_PARTS = 2
"""The parts into which the interval of the mean is cut, at whose ends a variance is tested."""
_FOR_MEAN = 0.1
"""The part of the failure probability that the mean behind a variance has."""


@dataclass(frozen=True)
class NoisySum:
    """A weighted sum of noisy values, in each cell and for each mean that is tried."""

    value: Array
    """Its shape is (means, cells), or (cells,) where the sum is the same for all means."""
    weights: Sequence[Real]
    """The weight of each noise in it."""

    def plus(self, other: NoisySum, factor: Array) -> NoisySum:
        """The sum and `factor` times another one."""
        weights = [w + factor * v for w, v in zip(self.weights, other.weights, strict=True)]
        return NoisySum(self.value + factor * other.value, weights)


@dataclass(frozen=True)
class NoisyMoments:
    """The noisy moments behind an average or a variance, and the noises in them."""

    estimate: Estimate
    plan: Plan
    draws: Draws

    @cached_property
    def count(self) -> NoisySum:
        """The number N of rows."""
        return self._sum(self.estimate.moments.count)

    @cached_property
    def total(self) -> NoisySum:
        """The sum Y of the distances from the centre, in steps of the grid."""
        return self._sum(self.estimate.moments.total)

    @cached_property
    def squares(self) -> NoisySum:
        """The sum Q of their squares."""
        return self._sum(self.estimate.moments.squares)

    def line(self, at_zero: NoisySum, slope: NoisySum, side: Array, confidence: float) -> NoisyLine:
        """The sums `at_zero` - x·`slope`, which are noise alone for the true x."""
        [kind] = set(map(type, self._mechanisms))
        scales = tuple(float(mechanism.scale) for mechanism in self._mechanisms)
        noises = SumOfNoises(kind, scales, confidence)
        return NoisyLine(at_zero.value, slope.value, at_zero.weights, slope.weights, side, noises)

    def _sum(self, combination: Combination | None) -> NoisySum:
        assert combination is not None
        weights = dict(combination.weights)
        own = [float(weights.get(place, 0)) for place in self._places]
        return NoisySum(read(combination, self.draws), own)

    @cached_property
    def _places(self) -> list[PartIndex]:
        """The places of all noises that the moments have."""
        moments = self.estimate.moments
        combinations = (moments.count, moments.total, moments.squares)
        return sorted({place for each in combinations if each for place, _ in each.weights})

    @cached_property
    def _mechanisms(self) -> list[Laplace | Gaussian]:
        """The mechanism of each noise."""
        found = [self.plan.releases[release].mechanism for release, _ in self._places]
        return [each for each in found if isinstance(each, Laplace | Gaussian)]


def mean_interval(
    estimate: Estimate, plan: Plan, draws: Draws, confidence: float
) -> tuple[Array, Array]:
    """The interval of an average, in the column's unit."""
    moments = estimate.moments
    low, high = _means(NoisyMoments(estimate, plan, draws), confidence)
    step = float(grid_step(estimate))
    return (low + moments.centre) * step, (high + moments.centre) * step


def _means(noisy: NoisyMoments, confidence: float) -> Array:
    """The least and the greatest mean that is accepted in each cell, in steps from the centre.

    The exact sum Y and number N have Y - mN = 0 for the mean m.
    """
    moments = noisy.estimate.moments
    assert moments.grid is not None
    bounds = moments.grid.lower - moments.centre, moments.grid.upper - moments.centre
    best = np.clip(noisy.total.value / at_least_one(noisy.count.value), *bounds)
    ends = np.empty((2, len(best)))
    ends[0], ends[1] = bounds
    side = np.where(noisy.total.value < ends * noisy.count.value, -1.0, 1.0)
    line = noisy.line(noisy.total, noisy.count, side, confidence)
    return last_accepted(line, np.broadcast_to(best, ends.shape), ends)


def variance_interval(
    estimate: Estimate, plan: Plan, draws: Draws, confidence: float
) -> tuple[Array, Array]:
    """The interval of a variance or a standard deviation, as it is asked for.

    The interval of the mean fails with a tenth of the probability allowed, and the test of the
    variance at the true mean with the rest. So the variances that are accepted at any mean of that
    interval have the true one among them with the probability asked for (the union bound).
    """
    noisy, failing = NoisyMoments(estimate, plan, draws), 1 - confidence
    low, high = _means(noisy, 1 - _FOR_MEAN * failing)
    assert estimate.moments.grid is not None
    half = (estimate.moments.grid.upper - estimate.moments.grid.lower + 1) // 2
    sampled = estimate.aggregate.function in SAMPLED
    most = float(half**2 * (2 if sampled else 1))
    sure = 1 - (1 - _FOR_MEAN) * failing
    least, greatest = _variances(noisy, (low, high), most, sure, sampled=sampled)
    return deviation(least, estimate), deviation(greatest, estimate)


def _variances(
    noisy: NoisyMoments,
    means: tuple[Array, Array],
    most: float,
    confidence: float,
    *,
    sampled: bool,
) -> tuple[Array, Array]:
    """The ends of the variances up to `most` that are accepted at any mean between two `means`.

    The exact moments have Q - 2mY + m²N - VN = 0 for the mean m and the variance V. The sum and its
    weights are linear in m and u = V - m², so what is rejected on one side of zero is convex in
    these two (see `accepted_values`): where at two means all variances beyond an end are rejected,
    so are those beyond the chord of the two ends. The chord is straight in u, and in V the parabola
    below the straight line, by at most a quarter of the squared distance of the means.

    - Upwards the two ends of `means` are enough: no chord is above the greater of their ends.
    - Downwards each part between them has a chord, and `_least_between` finds the least of these.

    For a variance of a sample it is Q - 2mY + m²N - V(N - 1), which has m² in it besides. Upwards
    that makes no difference, as what is rejected stays convex. Downwards the m² of a chord would be
    too large by up to a quarter of the squared distance of the means, which is taken off before.
    """
    low, high = means
    part = (high - low) / _PARTS
    downwards = np.arange(_PARTS + 3).reshape(-1, 1) <= _PARTS
    tried = np.concatenate([low + part * np.arange(_PARTS + 1).reshape(-1, 1), means])
    square = noisy.squares.plus(noisy.total, -2 * tried).plus(noisy.count, tried**2)
    divisor = noisy.count
    if sampled:
        square = NoisySum(square.value - downwards * (part / 2) ** 2, square.weights)
        divisor = NoisySum(divisor.value - 1, divisor.weights)
    line = noisy.line(square, divisor, np.where(downwards, 1.0, -1.0), confidence)
    ends = np.where(downwards, 0.0, most + ((high - low) / 2) ** 2)
    found = last_accepted(line, square.value / np.maximum(divisor.value, 1), ends)
    least = _least_between(found[: _PARTS + 1], part)
    greatest = found[_PARTS + 1 :].max(axis=0)
    # An end beyond the bound opposite says that no variance is accepted; then all are possible.
    least, greatest = np.where(least > most, 0, least), np.where(greatest < 0, most, greatest)
    return np.maximum(least, 0), np.minimum(greatest, most)


def _least_between(ends: Array, part: Array) -> Array:
    """The least point of the parabolas through neighbouring `ends`, which are a `part` apart.

    Between V₁ and V₂ they are V₁ + p(V₂ - V₁) - p(1 - p)·part², for p from 0 to 1.
    """
    rise, square = np.diff(ends, axis=0), part**2
    place = np.clip((1 - rise / np.maximum(square, TINY)) / 2, 0, 1)
    parabolas = ends[:-1] + place * rise - place * (1 - place) * square
    return np.asarray(parabolas.min(axis=0))
