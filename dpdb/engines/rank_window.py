"""Sorted values of which only those at some ranks are kept."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

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
    """How many values are less than those in the window."""
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
        """How many values are less than the window, and up to each of its points."""
        return self.below + np.concatenate((np.zeros(1, np.int64), np.cumsum(self.counts)))

    def __len__(self) -> int:
        return self.number

    def searchsorted(self, v: npt.ArrayLike, /, side: Literal["left", "right"] = "left") -> Any:  # noqa: ANN401 (as of an array)
        """How many values are less than each number; with the side `right`, also those equal."""
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
