"""Gradual release: noise is reduced in steps until an answer has the relative error asked for.

This module knows no data. It lists the losses ε_1 < … < ε_m that are tried, and decides whether a
noisy value is accurate enough ([KHP17], [LNRWW17]). `privacy.noise.gradual` draws the noise.
"""

from __future__ import annotations

from fractions import Fraction

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
