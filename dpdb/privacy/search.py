"""A search for the number at which a monotone condition begins to hold, to 30 significant bits."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

_OCTAVE = 2**29
"""The number of grid points from one power of two to the next: the grid has 30 significant bits."""


def crossing(holds: Callable[[Fraction], bool]) -> tuple[Fraction, Fraction]:
    """Two neighbouring grid points: `holds` fails at the first and is true at the second.

    `holds` must fail for small positive numbers and hold for large ones. If it changes more than
    once, the result is one of the changes.
    """
    stride = _OCTAVE
    if holds(_point(0)):
        high, low = 0, -stride
        while holds(_point(low)):
            stride *= 2
            high, low = low, low - stride
    else:
        low, high = 0, stride
        while not holds(_point(high)):
            stride *= 2
            low, high = high, high + stride
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(_point(middle)) else (middle, high)
    return _point(low), _point(high)


def _point(index: int) -> Fraction:
    """The grid point with this index; the point of index 0 is 1."""
    octave, step = divmod(index, _OCTAVE)
    return Fraction(_OCTAVE + step, _OCTAVE) * Fraction(2) ** octave
