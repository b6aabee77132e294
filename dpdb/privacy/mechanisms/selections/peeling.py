"""The k largest groups, chosen one after the other without replacement ([DR19]).

Of the groups that are left the exponential mechanism ([MT07]) chooses one by its number of units n,
with P(i) ∝ exp(ε₀·n_i), and takes it away; k times.

Privacy. A unit that enters moves all numbers one way, by 0 or 1, in however many groups it is. So
for whichever groups are left, the log of a ratio of probabilities lies in an interval of length ε₀
([DDR20], bounded range). Each choice is ε₀-DP and ε₀²/8-zCDP ([CR21] Lemma 3.4), and the next
depends on those before, which were told: k·ε₀ and k·ε₀²/8 in all. Under `replace` some numbers rise
and others fall, and the interval is twice as long: then the rate is ε₀/2.

Only the groups leave, in their own order. Their numbers are drawn with noise of their own, among k
groups: a unit changes k of them at most.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cached_property
from typing import ClassVar

from dpdb.privacy.accounting.loss import Loss
from dpdb.privacy.mechanisms.selections.exponential import Exponential
from dpdb.records import dataclass


@dataclass(frozen=True)
class Peeling:
    """The choice of the `number` largest of some groups."""

    name: ClassVar[str] = "peeling"
    title: ClassVar[str] = "choosing the largest one after the other"
    changes: ClassVar[str] = "the most {} can change the number of units of a group"
    formula: ClassVar[str] = "Δ/ε of one choice"
    sensitivity: ClassVar[int] = 1
    epsilon: Fraction
    """ε₀: of one choice."""
    number: int
    candidates: int
    """The number of groups to choose from."""
    one_sided: bool = True
    """Whether a neighbour moves all numbers one way."""

    @cached_property
    def choice(self) -> Exponential:
        """The exponential mechanism of one choice."""
        return Exponential(Fraction(1), self.epsilon, self.one_sided)

    @property
    def scale(self) -> Fraction:
        """The scale of a choice, in units."""
        return self.choice.scale

    @property
    def spread(self) -> float:
        """The scale, to compare plans by."""
        return float(self.scale)

    @cached_property
    def loss(self) -> Loss:
        """The loss of all choices."""
        one = self.choice.loss
        return Loss(self.number * one.epsilon, rho=self.number * one.rho)


def is_of_use(number: int, groups: int, *, concentrated: bool) -> bool:
    """Whether half of ε for the choice is better than all for the numbers: a public rule.

    The standard deviation of a choice is that of a Gumbel variable, 1.28/ε₀. With half of ε, or of
    ρ, ε₀ is ε/2k, or √2·ε/√k. Numbers of all groups have Laplace noise of √2·groups/ε, or Gaussian
    noise of √groups/ε, for a unit in so many `groups`.
    """
    if concentrated:
        return 1.28 * math.sqrt(number / 2) < math.sqrt(groups)
    return 1.28 * 2 * number < math.sqrt(2) * groups
