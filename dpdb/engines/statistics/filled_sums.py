"""Counts and sums over rows of two owners, each filled by itself in each cell."""

from __future__ import annotations

from functools import cached_property
from itertools import pairwise

import numpy as np

from dpdb.engines.protocol import representation
from dpdb.engines.units.filling import SharedRows, Weights
from dpdb.plan.ranges.statistics import Total
from dpdb.records import dataclass
from dpdb.vectors.keys import changes
from dpdb.vectors.vector import Array, Bools


@dataclass(frozen=True, repr=False)
class FilledSums:
    """Rows of two owners, and the cell of each."""

    shared: SharedRows
    groups: Array | None
    """The cell of each row, past the last one for rows of none; None where there is one cell."""
    cells: int

    def count(self, counted: Bools, rooms: tuple[int, ...]) -> Array:
        """For each cell the number of the counted rows."""
        return self._filled(counted, lambda rows: [1] * len(rows), rooms, 1)

    def total(self, counted: Bools, steps: Array, statistic: Total) -> Array:
        """For each cell the total of the counted rows, whose values are `steps` of the grid.

        Terms above 0 and below 0 are filled apart.
        """
        low, high = statistic.bounds
        largest = max(abs(low), abs(high), 1)
        rooms = tuple(room * largest for room in statistic.rooms)
        (constant, linear), steps = statistic.coefficients, np.broadcast_to(steps, len(counted))

        def terms(rows: Array | slice) -> Array:
            own = steps[rows].astype(np.int64) - statistic.centre
            return np.asarray(constant + linear * own)

        def filled(sign: int) -> Array:
            own = counted & (sign * terms(slice(None)) > 0) if low < 0 else counted
            return self._filled(own, lambda rows: (sign * terms(rows)).tolist(), rooms, largest)

        return filled(1) - filled(-1) if low < 0 else filled(1)

    @cached_property
    def _cells(self) -> Array:
        """The cell of each row, in as few bits as hold all: these are sorted in fewer steps."""
        cells = np.zeros(len(self.shared.first), np.int8) if self.groups is None else self.groups
        return cells.astype(np.min_scalar_type(self.cells))

    @cached_property
    def _ordered(self) -> Array:
        """The rows of all cells, cell by cell in the order in which they are filled in."""
        rows = self.shared.order
        if self.groups is None:
            return rows
        rows = rows[self._cells[rows] < self.cells]
        return np.asarray(rows[np.argsort(self._cells[rows], kind="stable")])

    def _filled(
        self, counted: Bools, weights: Weights, rooms: tuple[int, ...], largest: int
    ) -> Array:
        """For each cell the filled sum of weights up to `largest` over the counted rows."""
        rows = self._ordered[counted[self._ordered]]
        cells = self._cells[rows]
        # Cells without rows take no step: else one row could add a step for each cell.
        starts = np.flatnonzero(changes([cells], len(rows)))
        runs = (rows[start:end] for start, end in pairwise([*starts.tolist(), len(rows)]))
        sums = np.zeros(self.cells, representation(largest))
        sums[cells[starts]] = self.shared.sums(runs, weights, rooms)
        return sums
