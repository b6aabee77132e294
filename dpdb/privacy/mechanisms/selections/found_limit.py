"""Noise on numbers of different values, at a limit that is found: so many of them a unit adds.

D_p is the number of different values if each unit adds at most p of its own, as
`engines.statistics.limited_distinct` has it. For a unit that enters, the theorem there says that
D_p changes by 0 … p, and the score s_l = (D_2l - D_l) / l of a limit l by -1 … 1. Numbers in
several groups change by p in all, and the score is of their sum.

The limits are 1, 2, 3, 4, 6, 8, 12, … 128. With ε₁, a part of ε, the exponential mechanism
([MT07] Theorem 6) selects one:

    P(l) ∝ l^-a · exp(-η·s_l),  η = ε₁/2, or under replace ε₁/4

and the answer is D_L, for the limit L one step above l, with noise in proportion to L for the rest
of ε.

Privacy. A unit that is replaced leaves and enters: s_l changes by -2 … 2, hence η. D_p changes by p
at most, or in two groups by p each where the unit moves. The factor l^-a is public. Whichever L is
selected, the noise hides D_L for the same ε: Laplace noise by the ℓ1 change, and Gaussian noise as
its ρ is that of the ratio of ℓ2 change and σ. Both add up ([McS09] Theorem 3, [BS16] Lemma 1.7).

Accuracy. The score is how many values the last rows of a unit bring for each unit of noise that
they cost. A part and a power are good for an ε: where ε is small, s_l is known badly, and a large
power would choose limits that leave out most values. The greatest limit is never needed beyond the
rows that a unit has, of which D_p has all from then on.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from functools import cached_property
from typing import ClassVar, assert_never

from dpdb.privacy.accounting.loss import Loss
from dpdb.privacy.mechanisms.gaussian import Gaussian
from dpdb.privacy.mechanisms.laplace import Laplace
from dpdb.privacy.mechanisms.selections.exponential import Exponential
from dpdb.records import dataclass

LADDER = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192)
"""The limits; the last one is reached by a step up alone."""
DENOMINATOR = 384
"""A multiple of every limit but the last, so that scores are whole numbers of its parts."""
LEAST_ROWS = 16
ROWS = range(LEAST_ROWS, 1_025)
"""The rows of a unit for which a limit is found: for fewer, noise for all is about as good, and
more could take long.
"""
LEAST_EPSILON = Fraction(1, 10)
"""With less ε a limit is found too badly, unless there are very many units."""
_BASE = 2**40
"""The weight of the limit 1."""


@dataclass(frozen=True)
class FoundLimit:
    """The numbers of different values of all groups, at one limit that is found."""

    name: ClassVar[str] = "found limit"
    title: ClassVar[str] = "noise at a limit that is found"
    changes: ClassVar[str] = "the most {} can change it for each value that they may add"
    formula: ClassVar[str] = ""
    scale: ClassVar[None] = None
    """The scale follows from the limit: see `noise`."""
    rows: int
    """The most rows of a unit that count."""
    limit_epsilon: Fraction
    """ε₁: for the limit."""
    unit_noise: Laplace | Gaussian
    """The noise at the limit 1."""
    score_sensitivity: int = 1
    """The most that a score changes: 2 under `replace`."""
    power: int = 2
    """The a of the weight l^-a."""

    @property
    def sensitivity(self) -> Fraction | int:
        """The most that D_1 changes in all groups."""
        return self.unit_noise.sensitivity

    @cached_property
    def limits(self) -> tuple[int, ...]:
        """The limits that may be selected, each before the step up."""
        below = tuple(each for each in LADDER[:-1] if each < self.rows)
        return (*below, self.rows) if self.rows <= LADDER[-2] else below

    @cached_property
    def steps_up(self) -> tuple[int, ...]:
        """For each limit the one above it, at which the answer is given."""
        return (*self.limits[1:], min(self.rows, LADDER[-1]))

    @cached_property
    def passes(self) -> tuple[int, ...]:
        """All p for which D_p is needed, in rising order."""
        doubled = (min(2 * each, self.rows) for each in self.limits)
        return tuple(sorted({*self.limits, *doubled, *self.steps_up}))

    @cached_property
    def selection(self) -> Exponential:
        """The exponential mechanism that selects the limit."""
        return Exponential(Fraction(self.score_sensitivity), self.limit_epsilon)

    @cached_property
    def weights(self) -> tuple[int, ...]:
        """The public factor of each limit's weight."""
        return tuple(_BASE // each**self.power for each in self.limits)

    def noise(self, limit: int) -> Laplace | Gaussian:
        """The noise at a limit."""
        noise = self.unit_noise
        match noise:
            case Laplace():
                return replace(noise, sensitivity=limit * noise.sensitivity)
            case Gaussian(squared=squared, variance=variance):
                return replace(noise, squared=limit**2 * squared, variance=limit**2 * variance)
            case other:
                assert_never(other)

    @property
    def spread(self) -> float:
        """About the standard deviation at a limit, to compare plans by."""
        return self.noise(LEAST_ROWS).spread

    @cached_property
    def loss(self) -> Loss:
        """The privacy loss: of the selection, and of the noise at any limit."""
        return self.selection.loss + self.unit_noise.loss


def parts(epsilon: Fraction) -> tuple[Fraction, int]:
    """The part of ε that finds the limit, and the power of its weights.

    They are chosen for rmse over twelve drawn tables: from 300 to 100,000 units of 8 to 500 rows.
    """
    if epsilon >= 1:
        return Fraction(1, 5), 4
    return (Fraction(1, 4), 2) if epsilon >= Fraction(1, 4) else (Fraction(1, 3), 2)


def is_of_use(rows: int, epsilon: Fraction) -> bool:
    """Whether a limit is worth its ε: a public rule."""
    return rows in ROWS and epsilon >= LEAST_EPSILON
