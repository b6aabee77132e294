"""The cells of one column in memory, as numbers or codes, and tests that read them as stored."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpdb.policy.catalog import Value
from dpdb.records import dataclass
from dpdb.vectors.vector import Array, Bools, Vector, truth


@dataclass(frozen=True, repr=False, eq=False)
class Numbers:
    """A column of integers, numbers, dates or timestamps.

    `units` are whole multiples of `step`, in the narrowest type that holds the bounds. Numbers
    without bounds have no step: there `units` are the numbers themselves, as doubles. `null`
    says which cells are NULL; it is None exactly where the policy says the column is not
    nullable. Where a cell is NULL, `units` hold the `filler`, which is public. `held` are the
    bounds that the cells were clamped to, in steps; None if they were not.
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
    order of their declaration. Texts that come from a file are private, and in no order; all but
    their number may be made when they are first asked for.
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
        """Whether each cell is NULL."""
        return np.asarray(self.codes == len(self.values))

    def with_code(self, code: int) -> NDArray[np.bool_]:
        """Whether each cell has the code."""
        return np.asarray(self.codes == code)

    def __repr__(self) -> str:
        return "Codes(...)"


FEW = 8
"""The most constants that are looked for one by one."""


def tested(held: Numbers, test: Callable[[Any], Any]) -> Vector:
    """A test of a column's numbers as they are stored, false where they are NULL.

    A test that is false for the filler, which is public, is false for every NULL.
    """
    passed = test(held.units)
    return truth(passed, held.null) if test(held.filler) else Vector(passed, held.null)


def with_any_code(chosen: Bools, held: Codes) -> Bools:
    """Whether the code of each cell is one of the chosen; comparing is faster than looking up.

    The time taken tells what is chosen, so the dictionary must be public.
    """
    if len(chosen) == 1:  # a constant, whatever the code
        return chosen
    true = np.flatnonzero(chosen)
    if len(true) == 0:
        return np.zeros(1, dtype=bool)
    first, last = int(true[0]), int(true[-1])
    if first == last:
        return held.with_code(first)
    if last - first + 1 == len(true):
        return np.asarray((held.codes >= first) & (held.codes <= last))
    return chosen.take(held.codes)


def among(values: Array, listed: Array) -> Bools:
    """Whether each value is listed. The way to search depends on the list's length alone."""
    if len(listed) <= FEW:
        return equal_to_any(values, listed)
    places = np.searchsorted(listed, values).clip(max=len(listed) - 1)
    return np.asarray(listed[places] == values)


def equal_to_any(values: Array | int, listed: Iterable[Any]) -> Bools:
    """Whether each value equals one of those listed."""
    equal = [np.equal(values, each) for each in listed]
    return reduce(operator.or_, equal or [np.zeros(np.shape(values), dtype=np.bool_)])
