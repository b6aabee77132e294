"""The duty of an engine: exact statistics of a plan, in one shape, kept from being shown.

An engine is trusted with rows, and nothing that it gives back is private yet. So the protocol says
in which representation results come, as well as what they are: a result's type, shape or
order, or an error, would tell of rows what its noise hides.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, Protocol

import numpy as np
import numpy.typing as npt

from dpdb.errors import DataFileError
from dpdb.records import dataclass

if TYPE_CHECKING:
    from dpdb.plan.expressions.expressions import Slot
    from dpdb.plan.physical.plan import Plan
    from dpdb.policy.catalog import Kind, Table
    from dpdb.vectors.vector import AnyVector


Integers = npt.NDArray[np.int64]


@dataclass(frozen=True, repr=False)
class RankWindow:
    """Stands for `number` sorted values, as an array of them would.

    Of the values in the window it has each once, with how often it is there. Of the others it knows
    how many are less than those and how many greater, so that it can say how many values are less
    than a number where that number is in the window. A number outside of it counts as beside it.
    """

    number: int
    below: int
    """Number of values below the window."""
    points: Integers
    counts: Integers

    def __repr__(self) -> str:
        return "<sorted values>"

    @property
    def dtype(self) -> np.dtype[np.int64]:
        """The type of the values."""
        return self.points.dtype

    @cached_property
    def _ends(self) -> Integers:
        """Numbers of values below the window, and up to each of its points."""
        return self.below + np.concatenate((np.zeros(1, np.int64), np.cumsum(self.counts)))

    def __len__(self) -> int:
        return self.number

    def searchsorted(self, v: npt.ArrayLike, /, side: Literal["left", "right"] = "left") -> Any:  # noqa: ANN401 (as of an array)
        """Number of values below each number; with the side `right`, equal ones included."""
        return self._ends[self.points.searchsorted(v, side=side)]

    def __getitem__(self, ranks: slice | int) -> RankWindow | int:
        """The values of the ranks from one to another, or that of one rank in the window."""
        if isinstance(ranks, slice):
            start, stop, _ = ranks.indices(self.number)
            ends = np.clip(self._ends, start, max(start, stop)) - start
            counts = np.diff(ends)
            there = counts > 0
            number = max(stop - start, 0)
            return RankWindow(number, int(ends[0]), self.points[there], counts[there])
        return int(self.points[self._ends[1:].searchsorted(ranks, side="right")])

    def __array__(
        self, dtype: npt.DTypeLike | None = None, copy: bool | None = None
    ) -> npt.NDArray[Any]:
        """All values, where all are in the window."""
        assert self._ends[0] == 0
        assert self._ends[-1] == self.number
        return np.repeat(self.points, self.counts).astype(dtype or self.dtype, copy=False)


Progress = Callable[[float], None]
"""Is told the fraction of a file that has been read, from 0 to 1."""

MAX_ROWS = 2**31
"""The rows of the largest table, to which the words of sums are cut."""

WORD: np.dtype[Any] = np.dtype(np.int64)
_ENDLESS: np.dtype[Any] = np.dtype(object)
"""Python's integers."""


def representation(largest: int) -> np.dtype[Any]:
    """The type that holds sums to which each row adds at most ±`largest`.

    64-bit integers where those of the largest table fit, with room for noise, and
    Python's integers otherwise. That follows from the plan: what the rows add up to
    has no say in it, or whatever treats the two differently would tell of it.
    """
    return WORD if largest * MAX_ROWS < 2**62 else _ENDLESS


def too_large(table: Table) -> DataFileError:
    """The error of a table that has more rows than any may."""
    return DataFileError(f"{table.place} has more than {MAX_ROWS} rows")


@dataclass(frozen=True, repr=False)
class Exact:
    """The input of one release's mechanism, for every cell.

    A cell is a row of the answer before HAVING: one, or each of the plan's groups in order.
    One integer a cell, and for a histogram or a vector of statistics a row of them; for ranks a
    sorted array a cell or a window of it, for tallies a row of counts. Nothing formats it: its repr
    says nothing.
    """

    cells: npt.NDArray[Any] | list[npt.NDArray[Any]] | list[RankWindow]

    def __post_init__(self) -> None:
        for array in self.cells if isinstance(self.cells, list) else [self.cells]:
            assert array.dtype in (WORD, _ENDLESS), array.dtype

    def __repr__(self) -> str:
        return "<exact results>"


@dataclass(frozen=True, repr=False)
class KeyCounts:
    """The keys that rows have, with the number of units of each; it may not be shown as it is.

    Keys stand in their order, by their first column first and with NULL last, so that the order of
    rows has no say in it.
    """

    units: npt.NDArray[np.int64]
    """The number of units that have rows with each key, at least 1."""
    rows: npt.NDArray[np.intp]
    """The number of a row that has the key, for each of them."""
    columns: tuple[tuple[AnyVector, Kind], ...]
    """For each column of the keys its values in all rows, and their kind."""
    weights: npt.NDArray[np.int64]
    """For each key the sum of ⌊2^30/√t⌋ over its units, each of which has t keys."""

    def __post_init__(self) -> None:
        assert self.units.dtype == self.weights.dtype == WORD

    def __repr__(self) -> str:
        return "<keys>"


@dataclass(frozen=True, repr=False)
class CountedValues:
    """The values that one aggregate counts, in every cell: for teaching, and never private."""

    cells: list[npt.NDArray[Any]]
    """Sorted doubles, neither clamped nor on a grid."""
    column_mean: float
    """The mean of the argument over all rows; 0 if there are none."""

    @property
    def cells_or_mean(self) -> list[npt.NDArray[Any]]:
        """The cells, and for one without values the mean of the column.

        That is the rule of [EGS] section II for a query that no row matches.
        """
        return [cell if len(cell) else np.array([self.column_mean]) for cell in self.cells]


class Witness(Protocol):
    """Knows the data that a budget is for."""

    @property
    @abstractmethod
    def key(self) -> bytes:
        """The key of the digests."""

    @abstractmethod
    def check(self, table: str, digest: str) -> None:
        """Raise where the table's data, of which this is the digest, are others."""


class Engine(Protocol):
    """Computes the exact statistics of plans over the tables of a policy.

    Whoever asks it must have charged for the plan: the session's executor does so, and nothing
    else outside the engines does. `tests/engines/conformance` is what every engine must pass.
    """

    @abstractmethod
    def rows(self, table: Table) -> int:
        """The number of rows of a table, those that a filter would leave out included.

        It is asked for only where the policy says that this number is public (neighbours by
        `replace`). Raises DataFileError where the table cannot be read.
        """

    @abstractmethod
    def key_counts(self, plan: Plan, slots: Mapping[Slot, AnyVector]) -> KeyCounts:
        """The keys that are found in the data, of the rows that count for a plan.

        It is asked for once the plan is paid for, before `exact`, which is then asked for the plan
        with the keys that are shown. A row whose declared keys have no group counts for no key.
        """

    @abstractmethod
    def exact(self, plan: Plan, slots: Mapping[Slot, AnyVector]) -> tuple[Exact, ...]:
        """The exact result of each of the plan's `exact_releases`, in their order.

        `slots` has the noisy value of each scalar subquery: a vector of one row. Subplans are
        not the engine's: their releases are asked for by themselves.

        Results are whole numbers. A `Count` and a `Distinct` have one 64-bit integer a cell, a
        `Histogram` a matrix of them with a row for each cell and a column for each segment, a
        `LimitedDistinct` with a column for each limit, and a `Total` one of
        `representation(largest)`, where a row adds at most ±`largest`. A `Joint` has a matrix with
        a column for each part, of `representation(largest)` where a row of the table adds at most
        `largest` to all parts together. A `Ranks` has one array a cell, of 64-bit integers: the
        counted values in steps of the grid, clamped to it and sorted; or a `RankWindow` of them,
        from which the release's mechanism draws with the same law. A `Tally` has one array a cell:
        the count of each of its values, or the total of the weights of each, as a `Total` has it.
        The number of cells and the type of each array follow from the plan alone. Only the length
        of a `Ranks` array or window follows from rows, and only a mechanism may look at it.

        Where a table has a unit, at most `rows_per_unit` of a unit's rows count, of those that
        pass the plan's `where`; which of them depends on the plan's `sample_key` and on that
        unit's rows. Where the table has `groups_per_unit`, they are in no more groups than that.

        Raises DataFileError where the table cannot be read. No cell of a row may raise: what is
        undefined, overflows or cannot be read is NULL. The result must not depend on the order
        of rows. An engine must not add noise, round by what rows hold, keep a log of values, or
        name a value in an error.
        """


class OpenEngine(Engine, Protocol):
    """An engine that can also show its values, to the data owner: no private answer may use it.

    Teaching mode and the lab's studies of risk do.
    """

    @abstractmethod
    def values(self, plan: Plan, slots: Mapping[Slot, AnyVector]) -> list[CountedValues]:
        """For teaching: the values that each aggregate of the plan counts.

        Raises as `exact` does.
        """
