"""Intervals of averages and variances: all values that a test of the noisy moments accepts.

For the true mean and variance a weighted sum of the exact moments is zero, so the same sum of the
noisy ones is noise alone, of a known distribution ([Fie54]). A number x is rejected if the noisy
sum a - xb is farther from zero than the noise reaches.

The rejected numbers on one side of zero are convex: the sum and the weights of its noises are
linear in x, and the reach of the noise is a norm of the weights. For coordinates of a uniform point
of a symmetric convex body this is [MR91]; independent Laplace noises are the limit of such
coordinates, for ℓ1 balls of growing dimension; for normal noises the norm is the Euclidean one. So
a number between two that are rejected on the same side is rejected, too. A search for an end goes
from an accepted number to the rejected bound, and gives a number that was found rejected: nothing
between that number and the bound is accepted.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import cached_property

import numpy as np

from dpdb.answers.estimates import Draws, at_least_one, deviation, read
from dpdb.answers.intervals.box_tails import reach_of
from dpdb.answers.intervals.noise_tails import SINGLE, TINY, Functions, Real, SumOfNoises
from dpdb.answers.intervals.weighted_noises import PairOfSums
from dpdb.plan.logical.query import SAMPLED
from dpdb.plan.physical.moments import Combination, Estimate, PartIndex
from dpdb.plan.physical.plan import Plan
from dpdb.privacy.mechanisms.box import Coordinate
from dpdb.privacy.mechanisms.mechanism import PublicNoise
from dpdb.records import dataclass
from dpdb.vectors.vector import Array

_DIGITS = 36
"""An end of an interval is exact to 2^-36 of the distance from the estimate to its bound."""
_SECANTS = 16
"""The steps of a search that follow secants; the steps after them halve the rest."""
_LEAST = 0.01
"""The least part of its room that a number which stays may keep; below, it keeps a half."""
_FEW = 16
"""The most ends that are searched for one by one; more are searched for together."""


@dataclass(frozen=True)
class NoisyLine:
    """A noisy sum for each x: a - xb, where a and b are noisy sums."""

    value: Real
    slope: Real
    weights: Sequence[Real]
    """The weight of each noise in a."""
    slopes: Sequence[float]
    """The weight of each noise in b."""
    side: Real
    """1 where positive sums are looked at, and -1 where negative ones are."""
    noises: SumOfNoises | PairOfSums

    def room(self, x: Real, functions: Functions) -> Real:
        """The distance by which the sum could grow on its side and still be noise alone.

        It is negative if the sum is more than noise. On the other side any sum may be noise.
        """
        return self._room(self.side * (self.value - x * self.slope), x, functions)

    def room_on_both_sides(self, x: Real, functions: Functions) -> Real:
        """The distance by which the sum could grow on either side and still be noise alone."""
        return self._room(abs(self.value - x * self.slope), x, functions)

    def _room(self, distance: Real, x: Real, functions: Functions) -> Real:
        weights = [abs(own - x * by) for own, by in zip(self.weights, self.slopes, strict=True)]
        # Whole noise is within one of continuous noise, which takes off the weights.
        return self.noises.room(distance - sum(weights), weights, functions)

    def each(self, shape: tuple[int, ...]) -> Iterator[NoisyLine]:
        """The lines of single numbers."""

        def numbers(values: Real) -> list[float]:
            if isinstance(values, float):
                return [values] * math.prod(shape)
            return np.broadcast_to(values, shape).ravel().tolist()

        weights = zip(*map(numbers, self.weights), strict=True)
        parts = zip(
            numbers(self.value), numbers(self.slope), weights, numbers(self.side), strict=True
        )
        for value, slope, own, side in parts:
            yield NoisyLine(value, slope, own, self.slopes, side, self.noises)


def last_accepted(line: NoisyLine, inside: Array, ends: Array) -> Array:
    """On the way from `inside` to each of `ends`, the farthest number that is accepted.

    Where even `inside` is rejected, the result is the end itself.
    """
    if ends.size > _FEW:
        return np.asarray(_search(line, inside, ends, np))
    ways = zip(line.each(ends.shape), inside.ravel().tolist(), ends.ravel().tolist(), strict=True)
    return np.array([_search(*way, SINGLE) for way in ways]).reshape(ends.shape)


def _search(line: NoisyLine, inside: Real, end: Real, functions: Functions) -> Real:
    """The last accepted number by false position, which keeps an accepted and a rejected one.

    Where one of them stays, its room counts less at the next step, by how much that of the other
    one has changed ([AB73]). Each step goes a little towards the middle, so that soon both are
    near the turn.
    """
    where = functions.where
    at_near, at_far = line.room_on_both_sides(inside, functions), line.room(end, functions)
    settled = (at_near < 0) | (at_far >= 0)
    near, far = where(settled, end, inside), end
    enough = abs(far - near) * 2.0**-_DIGITS
    before = None
    for step in range(_SECANTS + _DIGITS):
        width = far - near
        if not functions.count_nonzero(abs(width) > enough):
            break
        # In the ways that are settled these are of no use, but must not be zero.
        at_near, at_far = functions.maximum(at_near, TINY), functions.minimum(at_far, -TINY)
        part = at_near / (at_near - at_far) if step < _SECANTS else 0.5
        x = near + part * width + functions.copysign(enough / 4, (0.5 - part) * width)
        room = line.room(x, functions)
        accepted = room >= 0
        left = 1 - room / where(accepted, at_near, at_far)
        left = where(accepted == before, where(left > _LEAST, left, 0.5), 1.0)
        at_near = where(accepted, room, at_near * left)
        at_far = where(accepted, at_far * left, room)
        near, far = where(accepted, x, near), where(accepted, far, x)
        before = accepted
    return far


_PARTS = 2
"""The parts into which the interval of the mean is cut, at whose ends a variance is tested."""
_FOR_MEAN = 0.1
"""The part of the failure probability that the mean behind a variance has."""


@dataclass(frozen=True)
class NoisySum:
    """A weighted sum of noisy values, for each cell and each mean that is tried."""

    value: Array
    """Shape (means, cells), or (cells,) if the sum is the same for all means."""
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
        """The sum Q of the squared distances."""
        return self._sum(self.estimate.moments.squares)

    def line(self, at_zero: NoisySum, slope: NoisySum, side: Array, confidence: float) -> NoisyLine:
        """The sums `at_zero` - x·`slope`, which are noise alone for the true x."""
        levels = [self.plan.releases[release].level for release, _ in self._places]
        [law] = {noise.law for noise in self._noises}
        assert law is not None
        scales = tuple(map(reach_of, self._noises))
        boxes = (each.dimensions for each in self._noises if isinstance(each, Coordinate))
        dimensions = next(boxes, 0)
        noises: SumOfNoises | PairOfSums = SumOfNoises(law, scales, confidence, dimensions)
        if first := levels[0]:
            deviations = [each.deviation for each in levels if each]
            noises = PairOfSums(first.terms, deviations[-1] / deviations[0], confidence)
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
    def _noises(self) -> list[PublicNoise]:
        """The noise at each place."""
        noises = [self.plan.releases[release].noise_of(part) for release, part in self._places]
        return [each for each in noises if each is not None]


def mean_interval(
    estimate: Estimate, plan: Plan, draws: Draws, confidence: float
) -> tuple[Array, Array]:
    """The interval of an average, in the column's unit."""
    moments = estimate.moments
    low, high = _means(NoisyMoments(estimate, plan, draws), confidence)
    step = float(estimate.moments.step)
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
    """The interval of a variance or of a standard deviation, by the function of the estimate.

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
    farthest = last_accepted(line, square.value / np.maximum(divisor.value, 1), ends)
    least = _least_between(farthest[: _PARTS + 1], part)
    greatest = farthest[_PARTS + 1 :].max(axis=0)
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
