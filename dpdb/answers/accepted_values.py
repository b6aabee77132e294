"""The farthest value that a test of a noisy sum accepts, in either direction.

A number x is rejected where the noisy sum a - xb is farther from zero than noise keeps to.

What is rejected on one side of zero is convex. The sum and the weights of the noises in it are
linear in x, and the distance that noise keeps to is a norm of the weights: for coordinates of a
uniform point of a symmetric convex body that is [MR91]; independent Laplace noises are the limit of
such coordinates, for ℓ1 balls of growing dimension; and of normal noises it is the Euclidean norm.
So a number between two that are rejected on the same side is rejected, too. A search for an end
goes from an accepted number to the rejected bound, and gives a number that it found rejected.
Whatever steps it takes, nothing from there to the bound is accepted.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from types import ModuleType

import numpy as np

from dpdb.answers import single_numbers
from dpdb.answers.noise_tails import TINY, Real, SumOfNoises
from dpdb.vectors.vector import Array

_DIGITS = 36
"""An end of an interval is exact to 2^-36 of the distance from the estimate to its bound."""
_SECANTS = 16
"""How many steps of a search follow secants; those after them halve what is left."""
_LEAST = 0.01
"""The least part of its room that a number which stays is left with; otherwise it is half of it."""
_FEW = 16
"""How many ends are searched for one by one; more are searched for together."""


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
    noises: SumOfNoises

    def room(self, x: Real, functions: ModuleType) -> Real:
        """How much farther the sum could be on its side if it is noise alone; negative: it is not.

        On the other side any sum may be noise.
        """
        return self._room(self.side * (self.value - x * self.slope), x, functions)

    def room_on_both_sides(self, x: Real, functions: ModuleType) -> Real:
        """How much farther the sum could be if it is noise alone, on whichever side it is."""
        return self._room(abs(self.value - x * self.slope), x, functions)

    def _room(self, distance: Real, x: Real, functions: ModuleType) -> Real:
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
    return np.array([_search(*way, single_numbers) for way in ways]).reshape(ends.shape)


def _search(line: NoisyLine, inside: Real, end: Real, functions: ModuleType) -> Real:
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
