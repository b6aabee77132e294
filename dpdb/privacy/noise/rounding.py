"""Rounding of scales up to doubles, so that noise is never less than what was paid for."""

from __future__ import annotations

import math
from fractions import Fraction


def round_up(scale: Fraction) -> float:
    """The least double that is not below `scale`."""
    nearest = float(scale)  # correctly rounded, so at most one step away
    return nearest if nearest >= scale else math.nextafter(nearest, math.inf)


def root_up(variance: Fraction) -> float:
    """The least double whose square is not below `variance`."""
    root = math.sqrt(variance)  # at most two steps away, on either side
    while root and Fraction(root) ** 2 >= variance:
        root = math.nextafter(root, 0)
    while Fraction(root) ** 2 < variance:
        root = math.nextafter(root, math.inf)
    return root
