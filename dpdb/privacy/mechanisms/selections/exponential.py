"""The exponential mechanism: the selection of a value by its score."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cached_property
from typing import ClassVar

from dpdb.privacy.accounting.loss import Loss
from dpdb.records import dataclass

SLACK = Fraction(1, 2**40)
"""The part of ε that the exponential mechanism reserves for rounding."""
FARTHEST = 80
"""The largest exponent of a selection: e^-80 is negligible, even times a grid's 2^53 steps."""


@dataclass(frozen=True)
class Exponential:
    """The selection of a value r with probability ∝ exp(ε·u(r) / span).

    The span is the most that the scores of two values can change against each other between
    neighbours ([DDR20], bounded range). Let all scores change by between a and a + span. Then the
    weight of r changes by a factor of at most exp(ε·(a + span)/span), and the sum of the weights
    by one of at least exp(ε·a/span), so the probability of r by at most e^ε. For scores of
    sensitivity Δ the span is 2Δ in general ([MT07] Theorem 6), and Δ where a neighbour moves all
    scores in one direction.
    """

    name: ClassVar[str] = "exponential"
    title: ClassVar[str] = "the exponential mechanism"
    changes: ClassVar[str] = "the most {} can change it (of a value's rank, count or weight)"
    nearness: ClassVar[str] = "a value within the bounds is chosen; how near depends on the rows"
    sensitivity: Fraction
    """Δ, the sensitivity of the score u."""
    epsilon: Fraction
    one_sided: bool = False
    """Whether the span is Δ rather than 2Δ."""
    selections: int = 1
    """The number of selections that a neighbour can change: of groups that it has other rows in."""

    @property
    def span(self) -> Fraction:
        """The most that the scores of two values can change against each other."""
        return self.sensitivity if self.one_sided else 2 * self.sensitivity

    @property
    def scale(self) -> Fraction:
        """The scale span/ε, in units of the score."""
        return self.span / self.epsilon

    @property
    def formula(self) -> str:
        """The scale as EXPLAIN writes it."""
        return "Δ/ε" if self.one_sided else "2Δ/ε"

    @property
    def spread(self) -> float:
        """The scale of the score, to compare plans by."""
        return float(self.scale)

    @cached_property
    def rate(self) -> Fraction:
        """The factor of the score in the exponent: ε/span, less what is reserved for rounding.

        Each weight is computed with a relative error of at most SLACK/4. The ratio of the
        selection probabilities of two neighbours has two weights and two sums of weights in it, so
        rounding costs at most SLACK in each selection that a neighbour changes. The changes of
        the scores add up to the span in all of them.
        """
        return max(self.epsilon - self.selections * SLACK, Fraction(0)) / self.span

    @property
    def reach(self) -> int:
        """The number of ranks on either side of the target that have weights of their own.

        All values farther away have the same, smallest weight.
        """
        return math.ceil(FARTHEST / self.rate) + 1

    @cached_property
    def loss(self) -> Loss:
        """The privacy loss: that of exact weights, plus SLACK for each selection.

        All ratios of selection probabilities are within a factor e^ε of each other (the mechanism
        has bounded range), so it is ε²/8-zCDP ([CR21] Lemma 3.4).
        """
        epsilon = self.span * self.rate + self.selections * SLACK
        return Loss(epsilon, rho=epsilon**2 / 8)
