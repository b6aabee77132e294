"""Tails of the normal distribution, as ratios that neither vanish nor cancel."""

from __future__ import annotations

import math

_FAR = 10.0
_LEVELS = 40
_NEAR = 1e-4


def mills(x: float) -> float:
    """Mills' ratio M(x) = P(N > x)/φ(x) of a standard normal N with density φ, for x >= -37.

    Past 10 by Laplace's continued fraction 1/(x + 1/(x + 2/(x + 3/(x + …)))) (Abramowitz and
    Stegun 26.2.14), since there the error function underflows.
    """
    if x < _FAR:
        return math.sqrt(math.pi / 2) * math.exp(x * x / 2) * math.erfc(x / math.sqrt(2))
    fraction = x
    for level in range(_LEVELS, 0, -1):
        fraction = x + level / fraction
    return 1 / fraction


def mills_drop(x: float, width: float) -> float:
    """M(x) - M(x + width), for width >= 0 and x + width >= 0; when narrow, a bound from above.

    M(x) = ∫ exp(-xt - t²/2) dt over t > 0, so -M'(x) = 1 - x·M(x) decreases and is convex:
    between neighbours the drop is at most that of the trapezoid (Hermite and Hadamard), by
    width²/4 of itself at most. A difference there would be lost to cancellation.
    """
    y = x + width
    if width > _NEAR:
        return mills(x) - mills(y)
    return width * ((1 - x * mills(x)) + (1 - y * mills(y))) / 2
