"""How the cells of one column are held."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpdb.policy.catalog import Value


@dataclass(frozen=True, repr=False, eq=False)
class Numbers:
    """A column of integers, numbers or dates.

    `units` are whole multiples of `step`, in the narrowest type that holds the
    bounds; without a step (numbers without bounds) they are the numbers
    themselves, as doubles. `null` is None where the column is not nullable, whatever
    its cells are. Where a cell is NULL `units` hold the `filler`, which is public.
    """

    units: NDArray[Any]
    step: Fraction | None
    null: NDArray[np.bool_] | None
    filler: int

    def within(self, rows: slice) -> Numbers:
        """Some of the rows."""
        null = None if self.null is None else self.null[rows]
        return Numbers(self.units[rows], self.step, null, self.filler)

    def __repr__(self) -> str:
        return "Numbers(...)"


@dataclass(frozen=True, repr=False, eq=False)
class Codes:
    """A column of texts or booleans, or of any kind with declared values.

    `codes` index `values`; one past the end means NULL. Values stand in the order
    in which they are declared; texts found in the file are sorted, and private.
    """

    codes: NDArray[Any]
    values: tuple[Value, ...]

    def within(self, rows: slice) -> Codes:
        """Some of the rows."""
        return Codes(self.codes[rows], self.values)

    def __repr__(self) -> str:
        return "Codes(...)"
