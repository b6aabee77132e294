"""The cells of one column in memory: as numbers, or as codes of values."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpdb.policy.catalog import Value
from dpdb.records import dataclass


@dataclass(frozen=True, repr=False, eq=False)
class Numbers:
    """A column of integers, numbers, dates or timestamps.

    `units` are whole multiples of `step`, in the narrowest type that holds the bounds. Numbers
    without bounds have no step: there `units` are the numbers themselves, as doubles. `null`
    says which cells are NULL; it is None exactly where the policy says the column is not
    nullable. Where a cell is NULL, `units` hold the `filler`, which is public. Whoever has clamped
    the cells says to what, as `held`: then no unit is below the first number or above the second.
    """

    units: NDArray[Any]
    step: Fraction | None
    null: NDArray[np.bool_] | None
    filler: int
    held: tuple[int, int] | None = None

    def within(self, rows: slice) -> Numbers:
        """The column cut to `rows`."""
        null = None if self.null is None else self.null[rows]
        return Numbers(self.units[rows], self.step, null, self.filler, self.held)

    def taken(self, rows: NDArray[Any]) -> Numbers:
        """The column in these rows, in their order."""
        null = None if self.null is None else self.null[rows]
        return Numbers(self.units[rows], self.step, null, self.filler, self.held)

    def with_nulls(self, missing: NDArray[np.bool_]) -> Numbers:
        """The column, NULL in these rows, too."""
        null = missing if self.null is None else missing | self.null
        units = np.where(missing, self.filler, self.units)
        return Numbers(units, self.step, null, self.filler, self.held)

    def __repr__(self) -> str:
        return "Numbers(...)"


@dataclass(frozen=True, repr=False, eq=False)
class Codes:
    """A column of texts or booleans, or of any kind with declared values.

    `codes` index `values`; the code one past the end means NULL. Declared values stand in the
    order of their declaration. Texts that come from a file are private, and in no order; they may
    be made when they are first asked for, but for their number.
    """

    codes: NDArray[Any]
    values: Sequence[Value]

    def within(self, rows: slice) -> Codes:
        """The column cut to `rows`."""
        return Codes(self.codes[rows], self.values)

    def taken(self, rows: NDArray[Any]) -> Codes:
        """The column in these rows, in their order."""
        return Codes(self.codes[rows], self.values)

    def with_nulls(self, missing: NDArray[np.bool_]) -> Codes:
        """The column, NULL in these rows, too."""
        return Codes(np.where(missing, len(self.values), self.codes), self.values)

    @property
    def null(self) -> NDArray[np.bool_]:
        """Which cells are NULL."""
        return np.asarray(self.codes == len(self.values))

    def with_code(self, code: int) -> NDArray[np.bool_]:
        """Which cells have a code."""
        return np.asarray(self.codes == code)

    def __repr__(self) -> str:
        return "Codes(...)"
