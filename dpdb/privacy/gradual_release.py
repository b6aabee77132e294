"""The steps in which noise is taken away until an answer is as accurate as was asked.

This is the part that knows no data: which losses ε_1 < … < ε_m are tried, and when a noisy value
is accurate enough (Koufogiannis, Han, Pappas 2017; Ligett, Neel, Roth, Waggoner, Wu 2017). The
noise itself is drawn in `privacy.noise.gradual`.
"""

from __future__ import annotations

from fractions import Fraction

LOOKS = 8
"""Steps, and so looks at the noise, before an answer is as accurate as it will be."""


def levels(cap: Fraction, steps: int = LOOKS) -> tuple[Fraction, ...]:
    """Privacy losses that double up to `cap`: cap/2^(steps-1), …, cap/2, cap."""
    return tuple(cap / 2**halvings for halvings in reversed(range(steps)))


def enough(noisy: float, margin: float, relative: Fraction) -> bool:
    """Whether noise within `margin` is at most `relative` of the true answer, whatever that is.

    The true answer is then at least |noisy| - margin in size, so the relative error |noise|/|true|
    (Shoaran, Thomo, Weber, equation 2) is at most margin/(|noisy| - margin).
    """
    return margin * relative.denominator <= relative.numerator * (abs(noisy) - margin)
