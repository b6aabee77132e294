"""Caps: how far from 0 what each unit adds may reach, by selections of a scale and two ends.

Each unit has one number v, such as its rows or the sum of a column over them. It is compared with
the rungs o_j of `ends`, in grid steps.

    B  a scale s is a rung, at the weight exp(-b·dist(n/2, [#{|v| < s}, #{|v| <= s}]))
    C  up is a rung, at the weight min(1, s/o_j)^4·exp(-c·#{v > o_j}); and so is down, by
       #{v < -o_j}
    D  each cap is one rung farther out

A fifth of ε is for b, and the rest for c. A cap for averages is the scale, which all of ε is for:
with rows left out an average is not smaller, and with each row of a unit it has more noise.

Privacy. These are B and C of `ends` about the centre 0, which is public, with one value for each
unit: so Δ is 1, and 2 under `replace`, where a unit's number leaves and another enters. The proof
there holds with it: B loses b·Δ, and both sides of C together c·Δ. What a unit adds is a function
of its own rows, so no other number changes with it, however many rows the unit has.

Utility. A cap stops where the next octave has fewer than 4·ln 2/c units, as the weight falls by so
much. So it leaves out less than some 11/ε units, if c is a quarter of ε, and what these have beyond
it: nothing that is released says how much.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cached_property
from typing import ClassVar

from dpdb.privacy.accounting.loss import Loss, added
from dpdb.privacy.mechanisms.exponential import Exponential
from dpdb.records import dataclass

POWER = 4
"""The power with which the weight of a cap falls with its distance."""
_PARTS = Fraction(1, 5), Fraction(4, 5)
"""The parts of ε for the scale and the caps."""
_NEEDED = 120
"""The number of units times ε from which on a scale is among their numbers."""


@dataclass(frozen=True)
class FoundCaps:
    """The selection of the least and the greatest number that a unit may add, in grid steps."""

    name: ClassVar[str] = "caps"
    title: ClassVar[str] = "selections of a scale and a cap"
    changes: ClassVar[str] = "the most {} can change how many units are beyond a value"
    formula: ClassVar[str] = ""
    counted: ClassVar[str] = "units"
    scale: ClassVar[None] = None
    """Each selection has its own."""
    sensitivity: int
    """Δ: 1, and 2 where one unit leaves and another enters."""
    epsilon: Fraction
    of_averages: bool = False
    """Whether the cap is the scale, with no selection of an end."""

    @cached_property
    def selections(self) -> tuple[Exponential, ...]:
        """The exponential mechanisms of the scale, and of both caps unless it is the cap."""
        span = Fraction(self.sensitivity)
        if self.of_averages:
            return (Exponential(span, self.epsilon, one_sided=True),)
        scale, caps = (self.epsilon * part for part in _PARTS)
        return (
            Exponential(span, scale, one_sided=True),
            Exponential(span, caps, one_sided=True, selections=2),
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
        """The units from which on the scale is among their numbers, but for one answer in 500.

        All 213 rungs of a grid of 2^53 steps have less than 213·e^(-nb/2) times their weight.
        """
        part = 1 if self.of_averages else _PARTS[0]
        return math.ceil(_NEEDED * _PARTS[0] * self.sensitivity / (part * self.epsilon))

    @property
    def left_out(self) -> int:
        """About how many units of a long tail lie beyond a cap; 0 where none has to be few."""
        if self.of_averages:
            return 0
        return round(POWER * math.log(2) / float(self.selections[1].rate))
