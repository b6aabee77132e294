"""The codes of declared numbers that lie close together, each found in one look-up.

A binary search would take longer, and a time that follows from the order of the rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpdb.engines.sources.grid_rounding import CLOSE, Floats
from dpdb.policy.catalog import Value

_WIDEST = 2**20
"""The most steps from the least declared number to the greatest."""


@dataclass(frozen=True, repr=False)
class CodeTable:
    """The codes of numbers that are counted in steps."""

    lowest: int
    """The least declared number."""
    codes: NDArray[Any]
    """Those of all numbers from one below the least declared one to one above the greatest."""

    @classmethod
    def of(
        cls, values: Sequence[Value], step: Fraction, missing: int, dtype: np.dtype[Any]
    ) -> CodeTable | None:
        """That of declared values, and `missing` for all others.

        None where a value is no multiple of the step, or they are far apart, or so far from zero
        that two multiples could have the same nearest double.
        """
        steps = [Fraction(value) / step for value in values]
        lowest, highest = int(min(steps)), int(max(steps))
        if any(number.denominator != 1 for number in steps) or highest - lowest >= _WIDEST:
            return None
        if max(-lowest, highest) > CLOSE:
            return None
        codes = np.full(highest - lowest + 3, missing, dtype)
        codes[[int(number) - lowest + 1 for number in steps]] = range(len(steps))
        return cls(lowest, codes)

    def of_whole(self, numbers: NDArray[Any]) -> NDArray[Any]:
        """The codes of integers of at most 64 bits with a sign."""
        # A difference that overflows is as far from the table as the right one, on the other side.
        places = np.subtract(numbers, self.lowest - 1, dtype=np.int64)
        return np.asarray(self.codes.take(places, mode="clip"))

    def of_doubles(self, numbers: Floats) -> NDArray[Any]:
        """The codes of doubles that are whole, or not finite."""
        # What is not a number becomes the one below the least.
        near = np.fmin(np.fmax(numbers, self.lowest - 1), self.lowest + len(self.codes) - 2)
        return self.of_whole(near.astype(np.int64))
