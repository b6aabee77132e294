"""Sorted values of each cell, of which no more is kept than what a mechanism looks at."""

from __future__ import annotations

from dataclasses import field
from typing import Any

import numpy as np

from dpdb.engines.protocol import WORD, RankWindow
from dpdb.engines.sources.cells.grids import narrowest
from dpdb.engines.statistics.gathered import Accumulator, CellValues, Gathered
from dpdb.engines.statistics.statistics import Statistics
from dpdb.engines.values.exact_sums import count_codes
from dpdb.engines.values.grid_values import row_blocks
from dpdb.plan.ranges.statistics import Ranks
from dpdb.records import dataclass
from dpdb.vectors.vector import Array, Bools

BUCKETS = 2**16
"""The most buckets of an interval."""
COUNTERS = 2**21
"""The most buckets of all cells together; a cell has two at least."""


def bucket_widths(points: int, buckets: int) -> list[int]:
    """The points of a bucket in each pass but the last, of intervals that begin as the grid."""
    widths = []
    while points > buckets:
        points = -(-points // buckets)
        widths.append(points)
    return widths


@dataclass(eq=False)
class _Interval:
    """Where the value of a rank is in each cell: in one of the buckets from a start on."""

    starts: Array
    below: Array
    """Number of values below the start."""
    counts: Array
    """counts[cell, bucket]: the values of that cell in the bucket."""

    def add(self, cells: Array | None, values: Array, counted: Bools | None, width: int) -> None:
        """Count the values in buckets of `width` points; without `cells` there is one cell.

        A cell past the last one and a bucket past the last one have what is not counted.
        """
        number, buckets = self.counts.shape
        starts = np.append(self.starts, self.starts[:1]).astype(values.dtype)
        places = (values - (starts[0] if cells is None else starts[cells])) // width
        # Those below the start are the greatest without a sign.
        np.minimum(places.view(f"u{places.itemsize}"), buckets, out=places, casting="unsafe")
        if counted is not None:
            np.copyto(places, buckets, where=~counted)
        if cells is not None:
            places += cells.astype(places.dtype) * (buckets + 1)
        counts = np.bincount(places, minlength=(number + 1) * (buckets + 1))
        self.counts += counts.reshape(number + 1, buckets + 1)[:number, :buckets]

    def refined(self, ranks: Array, width: int) -> _Interval:
        """The bucket with the value of a rank of each cell; the first one where none has it."""
        upto = self.below[:, np.newaxis] + np.cumsum(self.counts, axis=1)
        chosen = (upto > ranks[:, np.newaxis]).argmax(axis=1)
        every = np.arange(len(chosen))
        below = upto[every, chosen] - self.counts[every, chosen]
        return _Interval(self.starts + chosen * width, below, np.zeros_like(self.counts))


@dataclass(eq=False)
class RefinedWindows(Accumulator):
    """The values of the ranks within `reach` of that of the statistic's fraction."""

    statistic: Ranks
    cells: int
    reach: int
    _width: int = field(init=False)
    """The points of the intervals."""
    _widths: list[int] = field(init=False, repr=False)
    """The points of the buckets of this pass and of those to come; none for the last one."""
    _word: np.dtype[Any] = field(init=False, repr=False)
    """The type of values where they are counted."""
    _numbers: Array | None = field(default=None, repr=False)
    """Number of values of each cell, once a pass is over."""
    _counted: Array = field(init=False, repr=False)
    """Number of values of each cell so far."""
    _first: _Interval = field(init=False, repr=False)
    _last: _Interval = field(init=False, repr=False)
    _kept: Gathered[CellValues] = field(
        default_factory=lambda: Gathered(CellValues.together), repr=False
    )

    def __post_init__(self) -> None:
        grid, buckets = self.statistic.grid, max(2, min(BUCKETS, COUNTERS // self.cells))
        self._width = grid.upper - grid.lower + 1
        self._widths = bucket_widths(self._width, buckets)
        # Half of the bits hold differences of values, and are faster.
        self._word = np.dtype(np.int32) if max(-grid.lower, grid.upper) < 2**30 else WORD
        self._counted = np.zeros(self.cells, dtype=WORD)
        starts, counts = np.full_like(self._counted, grid.lower), np.zeros((self.cells, buckets))
        self._first = _Interval(starts, self._counted.copy(), counts.astype(WORD))
        self._last = self._first

    def add(self, part: Statistics) -> None:
        groups, values, counted = part.all_steps(self.statistic)
        if self._numbers is None:
            if groups is not None:
                self._counted += count_codes(groups, self.cells + 1)[: self.cells]
            else:
                self._counted += len(values) if counted is None else np.count_nonzero(counted)
        if not self._widths:
            self._kept.add(self._between(groups, values, counted))
            return
        intervals = [self._first] if self._last is self._first else [self._first, self._last]
        for block in row_blocks(len(values), 2 * self._first.counts.size):
            cells = None if groups is None else groups[block]
            own = None if counted is None else counted[block]
            for interval in intervals:
                interval.add(cells, values[block].astype(self._word), own, self._widths[0])

    def join(self, other: RefinedWindows) -> None:
        if self._numbers is None:
            self._counted += other._counted
        if not self._widths:
            self._kept.add(other._kept.all())
            return
        self._first.counts += other._first.counts
        if self._last is not self._first:
            self._last.counts += other._last.counts

    def _between(self, cells: Array | None, values: Array, counted: Bools | None) -> CellValues:
        """The counted values from the first interval to the last."""
        low, high = self._first.starts, self._last.starts + self._width
        if cells is None:
            there = (values >= int(low[0])) & (values < int(high[0]))
            kept = values[there if counted is None else there & counted].astype(WORD)
            return CellValues.of_rows(None, kept, 1)
        # No value is within the interval of the cell past the last one.
        low, high = np.append(low, 0), np.append(high, 0)
        there = (values >= low[cells]) & (values < high[cells])
        return CellValues.of(cells[there].astype(np.intp), values[there].astype(WORD))

    def settle(self) -> bool:
        self._numbers = self._counted
        if not self._widths:
            return True
        first, last = self._ranks()
        self._width = self._widths.pop(0)
        self._first, self._last = (
            self._first.refined(first, self._width),
            self._last.refined(last, self._width),
        )
        return False

    def _ranks(self) -> tuple[Array, Array]:
        """The first and the last rank of each cell that are within reach."""
        fraction, numbers = self.statistic.fraction, self._counted
        middle = [fraction.numerator * n // fraction.denominator for n in numbers.tolist()]
        first = np.maximum(np.array(middle, dtype=WORD) - self.reach, 0)
        last = np.minimum(np.array(middle, dtype=WORD) + self.reach, numbers - 1)
        return first, np.maximum(last, 0)

    def result(self) -> list[RankWindow]:
        found = self._kept.all()
        first, last = (ranks[found.cells] for ranks in self._ranks())
        upto = np.cumsum(found.counts)
        before = np.searchsorted(found.cells, np.arange(self.cells))
        upto += (self._first.below - np.append(0, upto)[before])[found.cells]
        within = (upto > first) & (upto - found.counts <= last)
        below = self._first.below.copy()
        np.add.at(below, found.cells[upto <= first], found.counts[upto <= first])
        kept = CellValues(found.cells[within], found.values[within], found.counts[within])
        return windows(kept, self._counted, below)


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
        """Number of sorted values at each rung: there are far more values than rungs."""
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
