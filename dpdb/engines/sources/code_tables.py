"""The codes of declared numbers that lie close together, each found in one look-up.

A binary search would take longer, and a time that follows from the order of the rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpdb.engines.sources.grid_rounding import CLOSE, Floats, narrowest
from dpdb.engines.sources.repeated_cells import repeated
from dpdb.policy.catalog import Value
from dpdb.vectors.columns import Codes
from dpdb.vectors.vector import Bools

_WIDEST = 2**20
"""The most steps from the least declared number to the greatest."""


@dataclass(frozen=True, repr=False)
class CodeTable:
    """The codes of numbers that are counted in steps."""

    values: tuple[Value, ...]
    """The declared numbers, and what they are in steps."""
    steps: tuple[int, ...]
    missing: int
    """The code of all other numbers, and of NULL."""
    codes: NDArray[Any]
    """The codes of all numbers from one below the least declared one to one above the greatest."""

    @classmethod
    @lru_cache(maxsize=2**6)
    def of(
        cls, values: tuple[Value, ...], step: Fraction, missing: int, dtype: np.dtype[Any]
    ) -> CodeTable | None:
        """The table of declared values, in which all others have the code `missing`.

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
        return cls(values, tuple(map(int, steps)), missing, codes)

    @cached_property
    def ends(self) -> tuple[int, int]:
        """The numbers of the first code and of the last: beyond all that are declared."""
        first = min(self.steps) - 1
        return first, first + len(self.codes) - 1

    @cached_property
    def _word(self) -> np.dtype[Any]:
        """A type of both ends, and of what is between them."""
        return np.promote_types(np.int32, narrowest(*self.ends))

    def places(self, numbers: NDArray[Any]) -> NDArray[Any]:
        """The places of integers of at most 64 bits with a sign; of those beyond, an end's."""
        word = np.promote_types(numbers.dtype, self._word)
        places: NDArray[Any] = np.clip(numbers.astype(word, copy=False), *self.ends)
        places -= self.ends[0]
        return places

    def of_doubles(self, numbers: Floats) -> NDArray[Any]:
        """The codes of doubles that are whole, or not finite."""
        first, last = self.ends
        # What is not a number becomes the first end.
        near = np.fmin(np.fmax(numbers, first), last) - first
        return self.codes.take(near.astype(np.intp))


class DeclaredNumbers(Codes):
    """Numbers of a batch, whose codes are looked up when they are first asked for.

    Which of them are one declared number is found without codes.
    """

    def __init__(self, numbers: NDArray[Any], null: Bools, table: CodeTable) -> None:
        self._numbers = numbers
        self._null = null
        self._table = table

    @property
    def values(self) -> tuple[Value, ...]:
        return self._table.values

    @cached_property
    def codes(self) -> NDArray[Any]:
        places = self._table.places(self._numbers)
        np.copyto(places, 0, where=self._null)
        return repeated(self._table.codes, places)

    def within(self, rows: slice) -> DeclaredNumbers:
        return DeclaredNumbers(self._numbers[rows], self._null[rows], self._table)

    def with_code(self, code: int) -> Bools:
        if code == self._table.missing:
            return super().with_code(code)
        equal = self._numbers == self._table.steps[code]
        # True is greater than false alone: the number is equal, and the cell is not NULL.
        return np.asarray(np.greater(equal, self._null, out=equal))
