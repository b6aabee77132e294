"""Sorted values of each cell, of which no more is kept than what a mechanism looks at."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from dpdb.engines.memory.statistics import Statistics
from dpdb.engines.protocol import WORD
from dpdb.engines.rank_window import RankWindow
from dpdb.engines.streams.accumulator import Accumulator
from dpdb.engines.streams.cell_values import CellValues, GrowingCellValues
from dpdb.plan.statistics import Ranks
from dpdb.vectors.vector import Array


@dataclass(eq=False)
class AllValues(Accumulator):
    """All values, each once with how often it is there: at most as many as the grid has points."""

    statistic: Ranks
    cells: int
    _found: GrowingCellValues = field(default_factory=GrowingCellValues, repr=False)

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
    _counts: Array = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self._counts = np.zeros((self.cells, len(self.statistic.rungs)), dtype=WORD)

    def add(self, part: Statistics) -> None:
        groups, values = part.counted_steps(self.statistic)
        if groups is None:
            self._counts[0] += self._between(np.sort(values))
            return
        rungs = np.array(self.statistic.rungs)
        # Rungs fall on the way to the least value, which are rising ones of negated values.
        sign = -1 if rungs[0] > rungs[-1] else 1
        places = np.searchsorted(sign * rungs, sign * values.astype(WORD)).clip(max=len(rungs) - 1)
        inside = groups < self.cells
        flat = groups[inside].astype(np.intp) * len(rungs) + places[inside]
        counts = np.bincount(flat, minlength=self._counts.size)
        self._counts += counts.reshape(self._counts.shape)

    def _between(self, ordered: Array) -> Array:
        """How many of sorted values stand at each rung: there are far more values than rungs."""
        rungs, number = np.array(self.statistic.rungs), len(ordered)
        if rungs[0] > rungs[-1]:
            reached = number - np.searchsorted(ordered, rungs, side="left")
        else:
            reached = np.searchsorted(ordered, rungs, side="right")
        reached[-1] = number
        return np.diff(reached, prepend=0)

    def join(self, other: RungCounts) -> None:
        self._counts += other._counts

    def result(self) -> list[RankWindow]:
        order = np.argsort(self.statistic.rungs)
        points = np.array(self.statistic.rungs, dtype=WORD)[order]
        return [RankWindow(int(own.sum()), 0, points, own[order]) for own in self._counts]


def windows(found: CellValues, numbers: Array, below: Array) -> list[RankWindow]:
    """The window of each cell, of `numbers` values with so many `below` those that are found."""
    ends = np.searchsorted(found.cells, np.arange(len(numbers)), side="right")
    points = np.split(found.values.astype(WORD), ends[:-1])
    counts = np.split(found.counts, ends[:-1])
    return list(map(RankWindow, numbers.tolist(), below.tolist(), points, counts))
