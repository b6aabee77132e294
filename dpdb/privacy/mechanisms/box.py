"""Noise of one box for a vector: the K-norm mechanism of numbers of rows and several sums.

A row adds (1, y₁ … y_k) with |yᵢ| <= Hᵢ to a number of rows and k sums. The least symmetric convex
set that holds all ±(1, y) is the box |t| <= 1, |uᵢ| <= Hᵢ, and noise whose density falls with the
norm of that box is the K-norm mechanism ([HT10] section 4; [AS21] compare the norms). With
m = k + 1 coordinates and R of a gamma law with m + 1 stages, a point uniform in R times the box has
the density exp(-‖z‖). So coordinate i has the variance (m + 1)(m + 2)/3 · (Hᵢ/ε)². Pairs of sums
with ε/k each have 4k² in place of that: 1.55, 1.90 and 2.31 times the deviation for k = 2, 3, 5.
If values can be NULL, each sum has a number of its own, and a row adds (1, y) or (0, 0) to the two.
Then m = 2k, and pairs have 1.26, 1.39 and 1.51 times the deviation.

The law on whole numbers, drawn by `noise.box`, is with Q = 64

    P(z) ∝ exp(-ε/c · ϱ(z)/Q),  ϱ(z) = maxᵢ ⌈Q·|zᵢ|/Hᵢ⌉

Privacy. ⌈a + b⌉ <= ⌈a⌉ + ⌈b⌉, and so a row, which moves zᵢ by Hᵢ at most, moves ϱ by Q at most.
In c steps of one row, in whatever cells of a GROUP BY, the sum of ϱ over cells moves by c·Q, and
the probability by a factor of e^ε. Under add-remove a unit of r rows makes c = r steps. Under
`replace` each row leaves and enters: c = 2r.

Noise. Given ϱ <= R the point is uniform in a box of Fᵢ = ⌊R·Hᵢ/Q⌋ steps to either side, and R has
P(R) ∝ exp(-εR/cQ)·Π(2Fᵢ + 1). A uniform whole number up to F in size is a uniform real up to
F + 1/2 rounded, and F + 1/2 <= R·H/Q + 1/2. By [And55] a uniform sum is larger, in the stochastic
order of sizes, where its ranges are. So |Σ wᵢzᵢ| is below |Σ wᵢ·uᵢ| + Σ|wᵢ| for u uniform in R/Q
times the box. `excess` is a factor κ such that R is below κ·cQ/ε times a gamma variable.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import accumulate, pairwise
from typing import ClassVar

from dpdb.privacy.accounting.loss import Loss, pure
from dpdb.privacy.mechanisms.kinds import Law, NoiseKind
from dpdb.privacy.search import least_whole
from dpdb.records import dataclass

STEPS = 64
"""Q: the steps in which ϱ counts the norm of the box."""
LARGEST_RATE = 4
"""The largest ε of one step: beyond it few candidates of the sampler would be accepted."""
MOST_COORDINATES = 13
"""The most coordinates of one box."""
_BLOCKS, _REACH = 1024, 48
"""The part of R that a block of values spans, and where the blocks end, in units of cQ/ε."""
_RARE, _OFTEN, _FINER = 1e-9, 0.9, 1.001
"""The tails of R are compared between these probabilities.

A sum of two coordinates that is as large as one time in ten needs an R that is as large as nine
times in ten, or less often: at R = d/2 or below it no sum is larger than d.
"""


@dataclass(frozen=True)
class Box:
    """Noise on a vector whose coordinates a row moves by at most `halves`, each in grid steps."""

    name: ClassVar[str] = "box"
    title: ClassVar[str] = "noise of one box"
    changes: ClassVar[str] = "the most {} can change them, each by itself"
    formula: ClassVar[str] = "Δ/ε"
    halves: tuple[int, ...]
    epsilon: Fraction
    steps: int = 1
    """c: the most changes of one row that a neighbour makes."""

    @property
    def sensitivity(self) -> int:
        """The largest change of a coordinate, in grid steps."""
        return self.steps * max(self.halves)

    @property
    def scale(self) -> Fraction:
        """The scale of the largest coordinate."""
        return max(each.scale for each in self.coordinates)

    @property
    def spread(self) -> float:
        """The standard deviation of the largest coordinate."""
        return max(each.spread for each in self.coordinates)

    @cached_property
    def loss(self) -> Loss:
        """The privacy loss: ε, as the whole vector is one draw."""
        return pure(self.epsilon)

    @property
    def rate(self) -> Fraction:
        """ε/c: the loss of one step."""
        return self.epsilon / self.steps

    def is_as_pair(self, epsilon: Fraction) -> bool:
        """Whether it has no more noise than pairs of sums with a loss of so much each.

        A pair has the variance 4·(cH/ε)² on the sum and on the number of rows.
        """
        stages = len(self.halves) + 1
        return 4 * self.epsilon**2 >= Fraction(stages * (stages + 1), 3) * epsilon**2

    @cached_property
    def coordinates(self) -> tuple[Coordinate, ...]:
        """The noise on each coordinate."""
        return tuple(Coordinate(self, at) for at in range(len(self.halves)))

    @cached_property
    def excess(self) -> float:
        """κ >= 1: R is below κ·Q/rate times a gamma variable, in the stochastic order."""
        return _excess(self.halves, float(self.rate))


@dataclass(frozen=True)
class Coordinate:
    """The noise on one coordinate of a box, which is not independent of the others."""

    kind: ClassVar[NoiseKind] = NoiseKind.LAPLACE
    law: ClassVar[Law | None] = Law.BOX
    has_levels: ClassVar[bool] = False
    is_gradual: ClassVar[bool] = False
    box: Box
    at: int

    @property
    def dimensions(self) -> int:
        """m: the number of coordinates of the box."""
        return len(self.box.halves)

    @property
    def sensitivity(self) -> int:
        """The most that a neighbour changes this coordinate."""
        return self.box.steps * self.box.halves[self.at]

    @property
    def scale(self) -> Fraction:
        """H·c/ε, in grid steps."""
        return self.box.halves[self.at] / self.box.rate

    @property
    def reach(self) -> float:
        """The scale of the continuous law above the coordinate's: that of R is `excess` times."""
        return float(self.scale) * self.box.excess

    @property
    def variance(self) -> Fraction:
        """The variance of the continuous law: (m + 1)(m + 2)/3 · scale²."""
        return Fraction((self.dimensions + 1) * (self.dimensions + 2), 3) * self.scale**2

    @property
    def spread(self) -> float:
        """About the standard deviation, in grid steps."""
        return math.sqrt(self.variance)

    def quantile(self, confidence: float, terms: int = 1) -> float:
        """A z, in grid steps, with P(|x| <= z) >= `confidence` for the sum x of `terms` noises.

        Several stay within z where each stays within z/terms.
        """
        failure = (1 - confidence) / max(terms, 1)
        return float(terms * (1 + least_whole(lambda z: self._tail(z) <= failure)))

    def _tail(self, distance: float) -> float:
        """P(|u| > distance) of the continuous law: e^-a · Σ (m - j)/m · a^j/j! over j < m."""
        a, term, total = distance / self.reach, 1.0, 0.0
        for j in range(self.dimensions):
            total += term * (self.dimensions - j) / self.dimensions
            term *= a / (j + 1)
        return math.exp(-a) * total


@lru_cache(maxsize=256)
def _excess(halves: tuple[int, ...], rate: float) -> float:
    """The factor κ, from sums over blocks of values of R that bound its tail from above.

    In a block exp(-rate·R/Q) is largest at the first value, and the number of points at the last;
    the sum of all weights is at least that with both the other way. The blocks grow with R, and the
    first are single values.
    """
    unit, stages, starts = STEPS / rate, len(halves), [0]
    while starts[-1] < _REACH * unit:
        starts.append(starts[-1] + max(1, starts[-1] // _BLOCKS))

    def weight(falls: int, reach: int, number: int) -> float:
        points = math.prod(2 * (reach * half // STEPS) + 1 for half in halves)
        return math.exp(-falls / unit) * points * number

    blocks = [(first, end - 1, end - first) for first, end in pairwise(starts)]
    most = [weight(first, last, number) for first, last, number in blocks]
    least = math.fsum(weight(last, first, number) for first, last, number in blocks)
    factor = 1.0
    for (_, last, _), beyond in zip(blocks, reversed([*accumulate(reversed(most))]), strict=True):
        chance = beyond / least  # at least that of the block's first value, and so of all
        while _RARE < chance < _OFTEN and _gamma_tail(last / unit / factor, stages) < chance:
            factor *= _FINER
    return factor


def _gamma_tail(x: float, stages: int) -> float:
    """The probability that a gamma variable of `stages` + 1 stages is larger than x."""
    term = total = 1.0
    for j in range(1, stages + 1):
        term *= x / j
        total += term
    return math.exp(-x) * total
