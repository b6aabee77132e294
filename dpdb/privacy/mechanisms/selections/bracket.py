"""The bracket: an interval around a released quantile, of a half-width that is selected by ranks.

How far a quantile that is chosen by rank is from the exact one depends on the gaps between the
rows, which are secret. So a part of ε selects a half-width for the interval around the released
value v. The half-widths w₁ < … < w_J are public: 0, 1, 2 and on in steps of √2 up to the range of
the grid, and last the whole grid. Let x₁ … x_n be the values in order, 0 < q < 1 the fraction and
τ = q·(n - 1). The slack of a half-width is the number of ranks that the interval has to spare:

    s_j = min(τ - #{x < v - w_j}, #{x <= v + w_j} - 1 - τ),  s_0 = -∞,  s_J = ∞

Where s_j >= 0 the interval v ± w_j holds x_i for i = ⌊τ⌋ + 1 and for i = ⌈τ⌉ + 1, between which
QUANTILE_CONT interpolates, and every value whose rank is q·n. The exponential mechanism
([MT07] Theorem 6) selects j by the distance of its slack from a target T:

    P(j) ∝ exp(-η·dist(T, [s_(j-1), s_j])),  η = ε/2Δ,  T = ln(J/α)/η

Coverage. The slack never falls from one half-width to the next, so the interval [s_(j-1), s_j] of
some j holds T, and the weight of that j is 1. An interval that misses has s_j < 0, and so a weight
below exp(-ηT) = α/J. There are fewer than J of them, as the whole grid never misses. So the
interval misses with a probability below α, whatever the rows are: few, all equal or none.

Privacy. The value v is known: it was released, and paid for. A row that enters moves q·n by q and
the number of rows on either side by 0 or 1, so s_j by at most max(q, 1 - q). In general s_j moves
by no more than the rank error of a value does, of which `sensitivity.rank` has the sensitivity Δ
for all neighbours, units and groups; and the distance from T moves by no more than s_j does.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import ClassVar

from dpdb.privacy.accounting.loss import Loss
from dpdb.privacy.mechanisms.selections.exponential import FARTHEST, Exponential
from dpdb.records import dataclass

MOST_RANKS = 2**31
"""The largest target: no table has so many rows."""
_MARGIN = 2.0**-40
"""Taken off ln α for the rounding of weights, whose relative error is 2^-44, and of logarithms."""


@lru_cache(maxsize=64)
def half_widths(reach: int) -> tuple[int, ...]:
    """The half-widths 0 and ⌈√2^k⌉ below `reach`, the range of the grid, and last `reach`."""
    widths = {0, reach}
    power = 1
    while True:
        root = math.isqrt(power)
        width = root if root * root == power else root + 1
        if width >= reach:
            return tuple(sorted(widths))
        widths.add(width)
        power *= 2


@dataclass(frozen=True)
class Bracket:
    """The selection of a half-width such that the interval holds the exact quantile."""

    name: ClassVar[str] = Exponential.name
    title: ClassVar[str] = Exponential.title
    changes: ClassVar[str] = (
        "the most {} can change it (of how many ranks an interval has to spare)"
    )
    formula: ClassVar[str] = "2Δ/ε"
    sensitivity: Fraction
    """Δ, the sensitivity of the slack of a half-width, in ranks."""
    epsilon: Fraction
    confidence: float
    """1 - α: the interval holds the exact quantile at least with this probability."""
    reach: int
    """The range of the grid, in steps."""
    selections: int = 1
    """The number of selections that a neighbour can change."""

    @property
    def widths(self) -> tuple[int, ...]:
        """The half-widths of which one is selected, in grid steps."""
        return half_widths(self.reach)

    @cached_property
    def selection(self) -> Exponential:
        """The exponential mechanism that selects the half-width."""
        return Exponential(self.sensitivity, self.epsilon, selections=self.selections)

    @property
    def rate(self) -> Fraction:
        """η: the factor of a distance from the target in the exponent."""
        return self.selection.rate

    @property
    def rank_reach(self) -> int:
        """The number of ranks on either side of q·n that decide the weights.

        The slack of an interval that reaches beyond them is farther than FARTHEST/η from the
        target, or is decided by its other end. One rank is for τ, which is within 1 of q·n, and
        one for the target's rounding.
        """
        return math.ceil(self.target + FARTHEST / self.rate) + 2

    @property
    def scale(self) -> Fraction:
        """The scale 2Δ/ε, in ranks."""
        return self.selection.scale

    @property
    def spread(self) -> float:
        """A number that falls as ε grows, to compare plans by."""
        return float(1 / self.epsilon)

    @property
    def loss(self) -> Loss:
        """The privacy loss, which is that of the exponential mechanism."""
        return self.selection.loss

    @property
    def target(self) -> float:
        """T: about so many ranks are to spare on either side of the exact quantile."""
        logarithm = math.log(len(self.widths) / (1 - self.confidence)) + _MARGIN
        return logarithm / float(self.rate)
