"""The series of a released statistic: noises of several scales that tell no more than the finest.

A statistic f that was told to somebody as f + Z₁, with discrete Laplace noise of scale s₁, is told
to somebody else as f + Z₂ of another scale. Z₁ and Z₂ are levels of one series: for scales
s₁ > s₂ > … the noises are Z_j = Z_(j+1) + W_j, with W_j independent of each other and of the last
Z, which is how `privacy.noise.refinement` couples them. Such noises are a Markov chain. So
whichever levels are there, another one is drawn from its neighbours alone:

    finer than all      from the finest level and the exact statistic
    between two         from these two
    coarser than all    from the coarsest

Each draw has the law of the series given all levels that are there. So levels that are asked for in
any order, each after looking at others, have the law of one series, drawn before anybody asks.

Privacy. All levels are functions of the finest one and of coins that know nothing of the data. So
everything that everybody has been told is Δ/s-DP for the finest scale s, however many share what
they know; and what some of them have been told is Δ/s-DP for the finest scale s among theirs
([KHP17] for continuous noise). Hence

- the data's account pays ε₂ in all for levels up to ε₂: after ε₁ the difference ε₂ - ε₁. This holds
  for the sum of ε, also where ε₂ is chosen after looking at the first answer: on each outcome the
  density is that of the series whose levels the outcome led to ([LNRWW17], ex-post privacy).
- an analyst's account pays the finest level that this analyst was shown, whoever had it drawn.
- theorems that need the loss of each step by itself are told of ε₁ + ε₂: given the first answer y₁
  the density of the second is that of both over that of y₁, and so changes by e^(ε₂ + ε₁) at most.

What breaks it: other data in between, a draw that is made twice for one level, a level that was
clamped or rounded, a scale that is not the one drawn with, or noise of another kind. So a level is
kept as a whole number, with its scale, under the version of the data, before it is shown.

Scales. Draws are made in whole parts of a common unit (see `refinement`), exactly, if that unit is
at most LARGEST_UNIT. Otherwise there is no step, and a new series begins that is paid for in full.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction

from dpdb.records import dataclass

LARGEST_UNIT = 2**50
"""Noise of larger scales may not fit 64 bits, and scales are rounded from 2^56 on."""
LARGEST_DENOMINATOR = 2**62
"""Scales with a larger one are rounded up by the samplers."""
LARGEST_RATE = 2**61
"""Sums of two rates, the parts of the unit that scales are, fit 64 bits."""


@dataclass(frozen=True)
class Step:
    """The draw of a level of the scale `wanted` from its neighbours on the series."""

    wanted: Fraction
    coarser: Fraction | None
    """The scale of the next coarser level, if there is one."""
    finer: Fraction | None
    """The scale of the next finer level; that of the level itself if it is there."""

    @property
    def is_there(self) -> bool:
        """Whether the level was drawn before."""
        return self.finer == self.wanted

    @property
    def needs_data(self) -> bool:
        """Whether the exact statistic is needed; otherwise released values tell enough."""
        return self.finer is None

    @property
    def unit(self) -> Fraction:
        """The least whole number of which all scales are whole parts."""
        scales = (self.wanted, self.coarser, self.finer)
        return Fraction(math.lcm(*(scale.numerator for scale in scales if scale is not None)))

    def rate(self, scale: Fraction | None) -> int:
        """The number of times that a scale is in the unit."""
        assert scale is not None
        return int(self.unit / scale)


def step_to(wanted: Fraction, scales: Iterable[Fraction]) -> Step | None:
    """The step from levels of these scales, of which there is one at least; None if inexact.

    A level that is there is always at hand.
    """
    there = sorted(scales)
    finer = max((scale for scale in there if scale <= wanted), default=None)
    coarser = min((scale for scale in there if scale > wanted), default=None)
    step = Step(wanted, coarser, finer)
    exact = step.unit <= LARGEST_UNIT and all(
        scale.denominator <= LARGEST_DENOMINATOR and step.rate(scale) <= LARGEST_RATE
        for scale in (wanted, coarser, finer)
        if scale is not None
    )
    return step if step.is_there or exact else None


# Gradual release ([KHP17], [LNRWW17]): noise falls in steps until an answer is accurate enough.

LOOKS = 8
"""The number of steps, and so of looks at the noise, for the most accurate answer."""


def levels(cap: Fraction, steps: int = LOOKS) -> tuple[Fraction, ...]:
    """The privacy losses ε_1, …, ε_steps, which double up to `cap`: cap/2^(steps-1), …, cap."""
    return tuple(cap / 2**halvings for halvings in reversed(range(steps)))


def enough(noisy: float, margin: float, relative: Fraction) -> bool:
    """Whether noise of size at most `margin` has a relative error of at most `relative`.

    The true answer has size at least |noisy| - margin, so the relative error |noise|/|true| ([STW]
    equation 2) is at most margin/(|noisy| - margin).
    """
    return margin * relative.denominator <= relative.numerator * (abs(noisy) - margin)
