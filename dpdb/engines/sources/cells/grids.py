"""Numbers onto the grid of their column: whole multiples of its step, within its bounds."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpdb.policy.catalog import Column, Kind
from dpdb.policy.numbers import CALENDAR, MAGNITUDE_LIMIT
from dpdb.policy.timestamps import TIMESTAMPS
from dpdb.records import dataclass

Floats = NDArray[np.float64]
"""Numbers, dates in days, or timestamps in microseconds; not finite where a cell is none."""

CLOSE = 2**51
"""The double nearest to a decimal of up to so many steps is off by at most a quarter of a step."""
_LIMITS = {
    Kind.DATE: (Fraction(CALENDAR[0]), Fraction(CALENDAR[1])),
    Kind.TIMESTAMP: (Fraction(TIMESTAMPS[0]), Fraction(TIMESTAMPS[1])),
}
"""The least and the greatest value of a column without bounds."""


@dataclass(frozen=True)
class Grid:
    """The multiples of `step` from `lowest` to `highest`, both in steps."""

    step: Fraction
    lowest: int
    highest: int
    bounds: tuple[float, float]
    filler: float
    """Stands for what cannot be read."""

    def value(self, number: float) -> Fraction:
        """The number as the column holds it: on the grid."""
        return int(self.units(np.array([number]))[0]) * self.step

    @cached_property
    def dtype(self) -> np.dtype[Any]:
        """The narrowest type that holds every multiple."""
        return narrowest(self.lowest, self.highest)

    def holds_multiples(self, step: Fraction) -> bool:
        """Whether `clamped` multiples of `step` are the units of the doubles nearest to them.

        They are where all of the grid is so close to zero that those doubles are rounded to the
        same multiples again. Beyond the bounds both ways lead to the nearest end of the grid, as
        rounding keeps the order of numbers.
        """
        farthest = max(abs(self.lowest), abs(self.highest))
        return step == self.step and farthest <= CLOSE

    def clamped(self, multiples: NDArray[Any]) -> NDArray[Any]:
        """Integers of at most 64 bits with a sign, kept on the grid."""
        limits = np.iinfo(multiples.dtype)
        if not limits.min <= self.lowest <= self.highest <= limits.max:
            multiples = multiples.astype(np.int64)
        kept: NDArray[Any] = np.empty(len(multiples), self.dtype)
        return np.clip(multiples, self.lowest, self.highest, out=kept, casting="unsafe")

    def units(self, numbers: Floats) -> NDArray[Any]:
        """The nearest multiples, halves to even, kept on the grid."""
        # Clamped before, so that nothing overflows, and after, for bounds off the grid.
        steps = nearest(np.clip(numbers, *self.bounds), self.step)
        return np.clip(steps, self.lowest, self.highest).astype(self.dtype)


def grid_of(column: Column) -> Grid | None:
    """The grid of a column; None for numbers without bounds."""
    return _grid(column.kind, column.bounds, column.step)


@lru_cache(maxsize=2**10)
def _grid(kind: Kind, bounds: tuple[Fraction, Fraction] | None, step: Fraction) -> Grid | None:
    if bounds is None and kind is Kind.NUMBER:
        return None
    limits = (-MAGNITUDE_LIMIT * step, MAGNITUDE_LIMIT * step)
    lower, upper = bounds or _LIMITS.get(kind, limits)
    return Grid(
        step=step,
        lowest=math.ceil(lower / step),
        highest=math.floor(upper / step),
        bounds=(float(lower), float(upper)),
        filler=float(lower) if bounds else 0.0,
    )


def nearest(numbers: Floats, step: Fraction) -> Floats:
    """`numbers / step` rounded to the nearest integer, halves to even, exactly."""
    if step == 1:
        return np.rint(numbers)
    steps = numbers * float(step.denominator) / float(step.numerator)
    nearest = np.rint(steps)
    # Each of the four roundings so far was off by at most a relative 2^-53. Where
    # that leaves open on which side of a half we are, fractions decide.
    doubtful = np.abs(np.abs(steps - nearest) - 0.5) <= np.abs(steps) * 2.0**-50
    distinct, place = np.unique(numbers[doubtful], return_inverse=True)
    decided = [round(Fraction(number) / step) for number in distinct.tolist()]
    nearest[doubtful] = np.array(decided, dtype=np.float64)[place]
    return nearest


def narrowest(lowest: int, highest: int) -> np.dtype[Any]:
    """The first integer type that holds both; never uint64, which mixes badly with int64."""
    for name in ("int8", "uint8", "int16", "uint16", "int32", "uint32"):
        limits = np.iinfo(name)
        if limits.min <= lowest and highest <= limits.max:
            return np.dtype(name)
    return np.dtype(np.int64)
