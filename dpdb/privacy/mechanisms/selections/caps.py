"""Caps: how far from 0 what each unit adds may reach, by one selection.

Each unit has one number v, such as its rows or the sum of a column over them. It is compared with
the rungs o_j of `ends`, in grid steps.

    totals    up is a rung, at the weight min(1, 2/o_j)^6·exp(-c·#{v > o_j}); and so is down, by
              #{v < -o_j}. Each cap is one rung farther out.
    averages  a rung, at the weight o_j^-3·exp(-b·dist(n/2, [#{v < o_j}, #{v <= o_j}]))

All of ε is for c, or for b. The cap of averages is about the middle number of rows: with rows left
out an average is not smaller, and with each row of a unit it has more noise.

Privacy. The centre 0 is public, and there is one value for each unit: so Δ is 1, and 2 under
`replace`, where a unit's number leaves and another enters. The proofs of B and C in `ends` hold:
weights that no row changes cancel, and both sides together lose c·Δ. What a unit adds is a
function of its own rows, so no other number changes with it, however many rows the unit has.

Utility. A cap stops where the next octave has fewer than 6·ln 2/c units, as the weight falls by so
much. So it leaves out less than some 17/ε units, if c is a quarter of ε, and what these have beyond
it: nothing that is released says how much. Of few units it is too low, rather than too high: noise
grows with the cap, so that a power above 2 keeps its mean square finite. No scale is selected
first, as for bounds: it would have a part of ε, and of fewer than some 400/ε units it is anything.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cached_property
from typing import ClassVar

from dpdb.privacy.accounting.loss import Loss
from dpdb.privacy.mechanisms.selections.ends import POWER
from dpdb.privacy.mechanisms.selections.exponential import Exponential
from dpdb.records import dataclass

OF_AVERAGES = 3
"""The power with which the weight of a cap of averages falls."""
_FAILING = math.log(3 * 500)
"""With `rows_needed` units one answer in 500 has too low a cap: rungs weigh less than 3 times 1."""


@dataclass(frozen=True)
class FoundCaps:
    """The selection of the least and the greatest number that a unit may add, in grid steps."""

    name: ClassVar[str] = "caps"
    title: ClassVar[str] = "a selection of a cap"
    changes: ClassVar[str] = "the most {} can change how many units are beyond a value"
    formula: ClassVar[str] = ""
    counted: ClassVar[str] = "units"
    scale: ClassVar[None] = None
    """Each selection has its own."""
    sensitivity: int
    """Δ: 1, and 2 where one unit leaves and another enters."""
    epsilon: Fraction
    of_averages: bool = False
    """Whether the cap is about the middle number of rows."""
    farthest: int = 2**43
    """The greatest cap, in grid steps."""

    @cached_property
    def selections(self) -> tuple[Exponential]:
        """The exponential mechanism of the cap, or of both ends."""
        ends = 1 if self.of_averages else 2
        span = Fraction(self.sensitivity)
        return (Exponential(span, self.epsilon, one_sided=True, selections=ends),)

    @property
    def spread(self) -> float:
        """A number that falls as ε grows, to compare plans by."""
        return float(1 / self.epsilon)

    @property
    def loss(self) -> Loss:
        """The privacy loss of the selection."""
        return self.selections[0].loss

    @property
    def rows_needed(self) -> int:
        """The units from which on a cap can be as large as any, but for one answer in 500."""
        most = max(self.farthest, 2)
        if self.of_averages:
            weight = 2 * (OF_AVERAGES * math.log(most) + _FAILING)
        else:
            weight = POWER * math.log(most / 2) + _FAILING
        return math.ceil(weight / float(self.selections[0].rate))

    @property
    def left_out(self) -> int:
        """About how many units of a long tail lie beyond a cap; 0 where none has to be few."""
        if self.of_averages:
            return 0
        return round(POWER * math.log(2) / float(self.selections[0].rate))
