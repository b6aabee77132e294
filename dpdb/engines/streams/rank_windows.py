"""Sorted values of each cell, of which no more is kept than what a mechanism looks at."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from dpdb.engines.memory.row_blocks import row_blocks
from dpdb.engines.memory.statistics import Statistics
from dpdb.engines.protocol import WORD
from dpdb.engines.rank_window import RankWindow
from dpdb.engines.sources.grid_rounding import narrowest
from dpdb.engines.streams.accumulator import Accumulator
from dpdb.engines.streams.cell_values import CellValues
from dpdb.engines.streams.gathered import Gathered
from dpdb.plan.statistics import Ranks
from dpdb.vectors.vector import Array, Bools


@dataclass(eq=False)
class AllValues(Accumulator):
    """All values, each once with how often it is there: at most as many as the grid has points."""

    statistic: Ranks
    cells: int
    _found: Gathered[CellValues] = field(
        default_factory=lambda: Gathered(CellValues.together), repr=False
    )

    def add(self, part: Statistics) -> None:
        groups, values = part.counted_steps(self.statistic)
        self._found.add(CellValues.of_rows(groups, values, self.cells))

    def join(self, other: AllValues) -> None:
        self._found.add(other._found.all())

    def result(self) -> list[RankWindow]:
        found = self._found.all()
        numbers = np.zeros(self.cells, dtype=WORD)
        np.add.at(numbers, found.cells, found.counts)
        return windows(found, numbers, np.zeros_like(numbers))


@dataclass(eq=False)
class RungCounts(Accumulator):
    """Counts of values between the rungs of a walk: it asks how many are beyond each of them.

    Each value stands at the first rung that it is not beyond.
    """

    statistic: Ranks
    cells: int
    _rungs: Array = field(init=False, repr=False)
    _counts: Array = field(init=False, repr=False)
    _zero: int = field(init=False, repr=False)
    """The rung at which 0 stands."""

    def __post_init__(self) -> None:
        rungs = self.statistic.rungs
        # Beside values of the same type they are looked up without a copy of these.
        self._rungs = np.array(rungs, dtype=narrowest(min(rungs), max(rungs)))
        self._counts = np.zeros((self.cells, len(self._rungs)), dtype=WORD)
        self._zero = int(self._between(np.zeros(1, dtype=self._rungs.dtype)).argmax())

    @property
    def _falls(self) -> bool:
        """Whether the rungs fall, as they do on the way to the least value."""
        return bool(self._rungs[0] > self._rungs[-1])

    def add(self, part: Statistics) -> None:
        groups, values, counted = part.all_steps(self.statistic)
        for block in row_blocks(len(values)):
            if groups is not None:
                self._counts += self._by_cell(groups[block], values[block])
            elif counted is None:
                self._counts[0] += self._between(np.sort(values[block]))
            else:
                self._counts[0] += self._among(values[block], counted[block])

    def _among(self, values: Array, counted: Bools) -> Array:
        """The counts of the values that count; the others stand where 0 does, and are taken off.

        So all of them take the same time, however many count.
        """
        own = values * counted
        own.sort()
        reached = self._between(own)
        reached[self._zero] -= len(own) - np.count_nonzero(counted)
        return reached

    def _between(self, ordered: Array) -> Array:
        """How many of sorted values stand at each rung: there are far more values than rungs."""
        rungs, number = self._rungs, len(ordered)
        if self._falls:
            reached = number - np.searchsorted(ordered, rungs, side="left")
        else:
            reached = np.searchsorted(ordered, rungs, side="right")
        reached[-1] = number
        return np.diff(reached, prepend=0)

    def _by_cell(self, groups: Array, values: Array) -> Array:
        """The counts of each cell; rows of no cell are in a group past the last one."""
        order, (cells, rungs) = np.argsort(values), self._counts.shape
        places = np.repeat(np.arange(rungs), self._between(values[order]))
        groups = groups[order[::-1] if self._falls else order].astype(np.intp)
        counts = np.bincount(groups * rungs + places, minlength=(cells + 1) * rungs)
        return counts[: cells * rungs].reshape(cells, rungs)

    def join(self, other: RungCounts) -> None:
        self._counts += other._counts

    def result(self) -> list[RankWindow]:
        order = np.argsort(self._rungs)
        points = self._rungs[order].astype(WORD)
        return [RankWindow(int(own.sum()), 0, points, own[order]) for own in self._counts]


def windows(found: CellValues, numbers: Array, below: Array) -> list[RankWindow]:
    """The window of each cell, of `numbers` values with so many `below` those that are found."""
    ends = np.searchsorted(found.cells, np.arange(len(numbers)), side="right")
    points = np.split(found.values.astype(WORD), ends[:-1])
    counts = np.split(found.counts, ends[:-1])
    return list(map(RankWindow, numbers.tolist(), below.tolist(), points, counts))
