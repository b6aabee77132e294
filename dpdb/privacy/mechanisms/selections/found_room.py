"""The room of a unit, where rows have two owners: one selection among filled sums.

F(t) is a filled sum of weights w, 0 ≤ w ≤ `largest`, in which each unit has a room of t rows:
t·`largest`. By the theorem of `engines.units.filling` a unit that enters raises F(t) by
0 … t·`largest`. The numbers of rows that single units have would be no measure: a supplier who
enters changes the numbers of all her customers.

The rungs t_j are 1, 2, 4, … below the policy's cap T, and T itself. The exponential mechanism
([MT07] Theorem 6) selects one, and the room is one rung above it, or T:

    P(j) ∝ t_j^-2 · exp(-ε·s_j),  s_j = (F(t_(j+2)) - F(t_j)) / (5·t_j·largest)

Above T is T, so that s = 0 there.

Privacy. A unit that enters raises F(t_(j+2)) by 0 … 4·t_j·largest, and F(t_j) by 0 … t_j·largest.
So each score changes by -1/5 … 4/5, whatever its rung, and the difference of two scores by at most
1: all of ε is for that span (`Exponential`). The same holds for a unit that leaves. The tests
enumerate small tables: with 4 in place of 5 a unit would change the law by more than ε.

Utility. The score says how many rooms of rows are lost at a rung. As the weight falls by 4^2 to
the rung that it is compared with, 4 times the selected room would let about 5·ln(16)/ε = 14/ε more
rooms count, or fewer. A larger power finds lower rooms. A room that is too low is the worse
mistake: nothing bounds what it leaves out, while T bounds the noise.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cached_property
from typing import ClassVar

from dpdb.privacy.accounting.loss import Loss
from dpdb.privacy.mechanisms.selections.exponential import Exponential
from dpdb.records import dataclass

POWER = 2
"""The power with which the weight of a room falls."""
APART = 2
"""The number of rungs to the room that a rung is compared with: 4 times as large."""
PARTS = 1 + (1 << APART)
"""The most that the numbers of two such rungs change by, together, in rooms of the lower one."""
_FAILING = math.log(500)
"""With `rows_needed` units one answer in 500 has too low a room."""


@dataclass(frozen=True)
class FoundRoom:
    """The selection of the rows that fill the room of a unit."""

    name: ClassVar[str] = "room"
    title: ClassVar[str] = "a selection of a cap"
    changes: ClassVar[str] = "the most {} can change the scores of two caps against each other"
    formula: ClassVar[str] = ""
    counted: ClassVar[str] = "units"
    scale: ClassVar[None] = None
    sensitivity: ClassVar[int] = 1
    """The span of the scores, which are in rooms of their rungs."""
    epsilon: Fraction
    cap: int
    """T: the most rows of a unit that may count."""
    largest: int = 1
    """The most that a row adds to the filled sums, in grid steps."""

    @cached_property
    def rungs(self) -> tuple[int, ...]:
        """The rooms that may be selected, in rows and in rising order."""
        return (*(1 << bits for bits in range((self.cap - 1).bit_length())), self.cap)

    @cached_property
    def selection(self) -> Exponential:
        """The exponential mechanism of the room."""
        return Exponential(Fraction(1), self.epsilon, one_sided=True)

    @property
    def spread(self) -> float:
        """A number that falls as ε grows, to compare plans by."""
        return float(1 / self.epsilon)

    @property
    def loss(self) -> Loss:
        """The privacy loss of the selection."""
        return self.selection.loss

    @property
    def rows_needed(self) -> int:
        """The number of units with T rows or more for which T is found, but for one answer in 500.

        Of n units that share each row with one other, F(4t) - F(t) is 3·n·t/2, so that a score is
        3·n/10, and near T at least n/10 for each octave.
        """
        weight = (POWER * math.log(self.cap) + _FAILING) * 10 / 3
        return math.ceil(weight / float(self.selection.rate))

    @property
    def left_out(self) -> int:
        """The number of units of a long tail beyond a room, about."""
        return round(APART * math.log(2) * POWER * PARTS / float(self.selection.rate))
