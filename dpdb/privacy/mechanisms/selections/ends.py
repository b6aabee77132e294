"""Ends: bounds for the values of a column, by selections of a centre, a scale and two ends.

The values x lie on a public grid. Distances from a released centre are compared with the rungs
o_j = ⌈2^(j/4)⌉ grid steps. Let Δ be the rows of a unit, and twice that under `replace`.

    A  a centre c is a grid point, at the weight base·exp(-a·dist(n/2, [#{x < c}, #{x <= c}]));
       0 and each octave ±(2^(k-1), 2^k] weigh the same, evenly over their grid points
    B  a scale s is a rung, by the same score for |x - c| rounded up to rungs, of equal base
    C  up is a rung, at the weight min(1, 2s/o_j)^6·exp(-e·#{x > c + o_j}); and so is down, by
       #{x < c - o_j}
    D  each end is as many rungs farther out as there are t in 4, 16, 64 with o_j > t·s

A quarter of ε is for a = ε/4Δ, an eighth for b = ε/8Δ, and the rest for e = 5ε/8Δ.

Privacy. A row that enters moves the score of A or B by 1/2 at most (`sensitivity.rank`), and one
that is replaced by 1. So the scores change against each other by Δ, and the exponential mechanism
loses a·Δ ([MT07] Theorem 6); a base that no row changes cancels. Rows above c and rows below are
different rows. A row above moves all numbers of "up" in one direction by 0 or 1, and those of
"down" not at all: so the logarithm of the ratio of the probabilities of a pair of rungs lies in an
interval of the length e for each row that enters or leaves, e·Δ for all, on whichever sides they
are ([DDR20], bounded range). Each step, and D, reads the data through what was released before, so
the losses add up.

Utility. A tail is followed while the next octave has 6·ln 2/e rows, as the weight falls by so much
for each octave. The sixth power keeps a rare step too far from costing much: a power above 2 has
finite variance. In D heavy tails get back what C leaves out of them.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cached_property
from typing import ClassVar

from dpdb.privacy.accounting.loss import Loss, added
from dpdb.privacy.mechanisms.selections.exponential import Exponential
from dpdb.privacy.mechanisms.selections.walk import distances
from dpdb.records import dataclass

POWER = 6
"""The power with which the weight of an end falls with its distance."""
_PARTS = Fraction(1, 4), Fraction(1, 8), Fraction(5, 8)
"""The parts of ε for the centre, the scale and the ends."""
MORE_IF_CONCENTRATED = Fraction(29, 10)
"""As many times an ε have a loss ρ of ε²/2: the squares of the parts, over 8, add up to .0586."""
_NEEDED = 250
"""The number of rows times ε from which on ends are found: see `rows_needed`."""


@dataclass(frozen=True)
class FoundEnds:
    """The selection of a lower and an upper bound, in grid steps."""

    name: ClassVar[str] = "ends"
    title: ClassVar[str] = "three selections: a centre, a scale, two ends"
    changes: ClassVar[str] = "the most {} can change how many rows are beyond a value"
    formula: ClassVar[str] = ""
    counted: ClassVar[str] = "values"
    scale: ClassVar[None] = None
    """Each selection has its own."""
    sensitivity: int
    """Δ: the rows of one unit, and twice as many where they leave and others enter."""
    epsilon: Fraction

    @cached_property
    def selections(self) -> tuple[Exponential, Exponential, Exponential]:
        """The exponential mechanisms of the centre, of the scale, and of both ends."""
        centre, scale, ends = (self.epsilon * part for part in _PARTS)
        span = Fraction(self.sensitivity)
        return (
            Exponential(span, centre, one_sided=True),
            Exponential(span, scale, one_sided=True),
            Exponential(span, ends, one_sided=True, selections=2),
        )

    @property
    def spread(self) -> float:
        """A number that falls as ε grows, to compare plans by."""
        return float(1 / self.epsilon)

    @property
    def loss(self) -> Loss:
        """The privacy loss of all selections."""
        return added(each.loss for each in self.selections)

    @property
    def rows_needed(self) -> int:
        """The rows from which on the centre is among the values, but for one answer in 500.

        That is where all values are equal, which is the worst case: a centre outside of them has
        less than e^(ln 2^53 - nε/8Δ) times their weight.
        """
        return math.ceil(_NEEDED * self.sensitivity / self.epsilon)

    @property
    def left_out(self) -> int:
        """About how many rows of a long tail lie beyond an end."""
        return round(POWER * math.log(2) / float(self.selections[2].rate))


def rungs(limit: int) -> tuple[int, ...]:
    """The rungs ⌈2^(j/4)⌉ without repeats, up to the first that is `limit` or more."""
    each = distances(2 * limit + 2, halvings=2)
    return tuple(each[: next(place for place, rung in enumerate(each) if rung >= limit) + 1])
