"""The walk: a value that few rows exceed, found by going up a public ladder of values.

This is AboveThreshold ([DR14] Algorithm 1) on the number of rows above each rung of the ladder,
from the lowest rung upwards ([Dur23]), with noise on one side only. A walk stops at the first rung
with few rows above it, so that an empty range between the greatest value and the upper bound
costs nothing, however wide. For the least value the same walk goes over the negated values.

With P(k) = (1 - q)·q^k for k >= 0 written Geo(q), r rows in a unit, N_j rows above rung j:

    ρ ~ Geo(exp(-ε₁/r)),  ν_j ~ Geo(exp(-ε₂/r))
    stop at the first rung j with  ν_j >= N_j - T + ρ,  or at the last rung

Privacy. Let s rows enter, so that every N_j grows by between 0 and s. For each ρ, an exact result
after the change is no likelier to stop before j, and at j at most e^(sε₂/r) times less likely: so
P(j) falls by that factor at most. It grows by at most e^(s(ε₁ + ε₂)/r): compare ρ after the change
with ρ + s before it, which is e^(sε₁/r) times less likely, and for which every N_j + ρ is no
smaller and that of j larger by s at most.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache
from typing import ClassVar

from dpdb.privacy.accounting.loss import Loss
from dpdb.privacy.search import least_whole
from dpdb.records import dataclass

RUNGS_PER_OCTAVE = 16
RUNG_RATIO = 2 ** (1 / RUNGS_PER_OCTAVE)
"""Neighbouring rungs far from zero differ by this factor."""
_THRESHOLD_PART = Fraction(7, 10)
"""The part of ε for the noise of the threshold; the rest is for the noise of the looks."""
SPAN = 2 - _THRESHOLD_PART
"""ε₁ + 2ε₂ as a multiple of ε₁ + ε₂: how far the log probability ratios lie apart, one way."""
_SUMMED = 2_000
"""The most terms that are added up for a probability; from there on its integral is used."""


@lru_cache(maxsize=64)
def ladder(lower: int, upper: int) -> tuple[int, ...]:
    """The rungs between two whole numbers in rising order, the last of which is `upper`.

    Distances from the anchor grow by a factor of 2^(1/16), rounded up to whole numbers. The anchor
    is 0, or the bound nearest to 0 where 0 is out of bounds. A rung is the last whole number
    before the next such distance, so that near the anchor every whole number is a rung.
    """
    anchor = min(max(0, lower), upper)
    above = distances(upper - anchor)
    below = distances(anchor - lower)
    ends = [*(above[i + 1] - 1 for i in range(len(above) - 1)), upper - anchor]
    rungs = [anchor - distance for distance in reversed(below)]
    return tuple(dict.fromkeys([*rungs, anchor, *(anchor + end for end in ends)]))


def distances(limit: int, halvings: int = 4) -> list[int]:
    """The whole numbers ⌈2^(k/2^halvings)⌉, k = 0, 1, …, up to `limit`, without repeats."""
    found: list[int] = []
    exponent = 0
    while True:
        root = 2**exponent
        for _ in range(halvings):  # the sixteenth root, or another, rounded down
            root = math.isqrt(root)
        distance = root if root ** (1 << halvings) == 2**exponent else root + 1
        if distance > limit:
            return found
        if not found or distance > found[-1]:
            found.append(distance)
        exponent += 1


@dataclass(frozen=True)
class Walk:
    """The selection of a rung of a ladder as the greatest value, or as the least one."""

    name: ClassVar[str] = "walk"
    title: ClassVar[str] = "AboveThreshold over a grid of values"
    changes: ClassVar[str] = "the most {} can change how many rows are beyond a value"
    formula: ClassVar[str] = ""
    ratio: ClassVar[float] = RUNG_RATIO
    scale: ClassVar[None] = None
    """There are two scales, and EXPLAIN shows the ε of each."""
    sensitivity: int
    """Δ: the most that a unit's rows change how many rows are above a rung. This is r above."""
    epsilon: Fraction
    one_way: bool
    """Whether a neighbour moves the counts of all cells in one direction.

    Otherwise rows leave, which costs ε₁ + ε₂, and others come, which costs ε₂ more.
    """

    @property
    def _used(self) -> Fraction:
        """The sum ε₁ + ε₂ for which the charge is `epsilon`."""
        return self.epsilon if self.one_way else self.epsilon / SPAN

    @property
    def threshold_epsilon(self) -> Fraction:
        """ε₁: for when to stop."""
        return _THRESHOLD_PART * self._used

    @property
    def look_epsilon(self) -> Fraction:
        """ε₂: for the looks at the rungs."""
        return (1 - _THRESHOLD_PART) * self._used

    @property
    def threshold_scale(self) -> Fraction:
        """The scale r/ε₁ of the noise of the threshold, in rows."""
        return self.sensitivity / self.threshold_epsilon

    @property
    def look_scale(self) -> Fraction:
        """The scale r/ε₂ of the noise of each look, in rows."""
        return self.sensitivity / self.look_epsilon

    @property
    def spread(self) -> float:
        """The scale of a look's noise, in rows, to compare plans by."""
        return float(self.look_scale)

    @property
    def threshold(self) -> int:
        """T = ⌈2r/ε⌉: about this many rows are left above when the walk stops."""
        return math.ceil(2 * self.sensitivity / self._used)

    @property
    def loss(self) -> Loss:
        """The privacy loss: ε, and ρ-zCDP.

        One way, the logarithm of the ratio of probabilities lies in an interval of the length
        ε₁ + 2ε₂ = SPAN·ε, so the walk is (SPAN·ε)²/8-zCDP ([CR21] Lemma 3.4). Otherwise ρ = ε²/2
        ([BS16] Proposition 1.4).
        """
        factor = SPAN**2 / 8 if self.one_way else Fraction(1, 2)
        return Loss(self.epsilon, rho=factor * self.epsilon**2)

    def steps_below(self, confidence: float) -> int:
        """The least k for which the walk passes more than k empty rungs too rarely to matter.

        "Too rarely" is with a probability of at most 1 - `confidence`, whatever the rows are. So
        with this confidence the greatest value is above the rung k + 1 places before the one at
        which the walk stops.
        """
        return _steps(self, 1 - confidence)

    def passes(self, empty: int) -> float:
        """A bound on the probability that the walk passes this many rungs with no rows above.

        An empty rung stops the walk unless ρ > T. For ρ = T + y it is passed with probability
        1 - q₂^y, so the probability is q₁^T·Σ_y (1 - q₁)·q₁^y·(1 - q₂^y)^empty. Where the sum has
        many terms it is bounded by its integral, a·B(a, empty + 1) for a = ε₁/ε₂, as
        Geo(exp(-c)) is an exponential variable of rate c rounded down.
        """
        rate = 1 / float(self.threshold_scale)
        stays = math.exp(-rate * self.threshold)
        if 40 / rate > _SUMMED:
            ratio = float(self.threshold_epsilon / self.look_epsilon)
            logarithm = (
                math.lgamma(ratio + 1) + math.lgamma(empty + 1) - math.lgamma(ratio + empty + 1)
            )
            return stays * math.exp(logarithm)
        look = 1 / float(self.look_scale)
        terms = (
            math.exp(-rate * y) * (-math.expm1(-look * y)) ** empty
            for y in range(1, math.ceil(40 / rate) + 1)
        )
        return stays * (-math.expm1(-rate) * math.fsum(terms) + math.exp(-40))

    def rows_above(self, confidence: float, rungs: int) -> int:
        """The number of rows above the stop that is exceeded too rarely to matter.

        P(more than T + k rows are above) <= rungs·q₂^(k+1)·(1 - q₁)/(1 - q₁q₂), by adding up over
        the rungs: stopping at one of them with N rows above needs ν >= N - T + ρ.
        """
        first, second = 1 / float(self.threshold_scale), 1 / float(self.look_scale)
        weight = rungs * math.expm1(-first) / math.expm1(-first - second)
        further = math.ceil(math.log(weight / (1 - confidence)) / second) - 1
        return self.threshold + max(further, 0)

    def rows_needed(self, rungs: int) -> int:
        """About how many rows keep the walk from stopping near its start: T + ln(rungs)·r/ε₂."""
        return self.threshold + round(math.log(rungs) * float(self.look_scale))


@lru_cache(maxsize=256)
def _steps(walk: Walk, failure: float) -> int:
    return least_whole(lambda empty: walk.passes(empty + 1) <= failure)
