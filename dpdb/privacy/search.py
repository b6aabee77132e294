"""Searches for the number at which a monotone condition begins to hold."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction


def least_whole(holds: Callable[[int], bool]) -> int:
    """The least whole number >= 0 at which `holds` is true, as it is at all larger ones."""
    low, high = -1, 1
    while not holds(high):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


_OCTAVE = 2**29
"""The number of grid points from one power of two to the next: the grid has 30 significant bits."""


def crossing(
    holds: Callable[[Fraction], bool], near: Fraction | None = None
) -> tuple[Fraction, Fraction]:
    """Two neighbouring points of 30 bits: `holds` fails at the first and is true at the second.

    `holds` must fail for small positive numbers and hold for large ones. If it changes more than
    once, the result is one of the changes. The search begins at 1, with steps of an octave, or, in
    steps of one grid point, at a number that the result is expected to be `near`.
    """
    start, stride = (0, _OCTAVE) if near is None else (_index(near), 1)
    if holds(_point(start)):
        high, low = start, start - stride
        while holds(_point(low)):
            stride *= 2
            high, low = low, low - stride
    else:
        low, high = start, start + stride
        while not holds(_point(high)):
            stride *= 2
            low, high = high, high + stride
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(_point(middle)) else (middle, high)
    return _point(low), _point(high)


def _index(number: Fraction) -> int:
    """The index of the last grid point that is not above this number."""
    octave = number.numerator.bit_length() - number.denominator.bit_length()
    octave -= Fraction(2) ** octave > number
    return octave * _OCTAVE + math.floor((number / Fraction(2) ** octave - 1) * _OCTAVE)


def _point(index: int) -> Fraction:
    """The grid point with this index; the point of index 0 is 1."""
    octave, step = divmod(index, _OCTAVE)
    return Fraction(_OCTAVE + step, _OCTAVE) * Fraction(2) ** octave


def normal_quantile(probability: float) -> float:
    """The quantile of the standard normal distribution."""
    from statistics import NormalDist  # noqa: PLC0415 (few answers need it)

    return NormalDist().inv_cdf(probability)
