"""Counts and sums over rows of two owners, each filled by itself in each cell."""

from __future__ import annotations

import numpy as np

from dpdb.engines.protocol import representation
from dpdb.engines.units.filling import SharedRows
from dpdb.engines.values import exact_sums
from dpdb.plan.ranges.statistics import Total
from dpdb.records import dataclass
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
        return self._filled(counted, np.ones(len(counted), np.int64), rooms, 1)

    def total(self, counted: Bools, steps: Array, statistic: Total) -> Array:
        """For each cell the total of the counted rows, whose values are `steps` of the grid.

        Terms above 0 and below 0 are filled apart.
        """
        low, high = statistic.bounds
        largest = max(abs(low), abs(high), 1)
        rooms = tuple(room * largest for room in statistic.rooms)
        constant, linear = statistic.coefficients
        terms = np.broadcast_to(steps, len(counted)).astype(np.int64) - statistic.centre
        terms = constant + linear * terms
        result = self._filled(counted & (terms > 0), terms, rooms, largest)
        if low < 0:
            result = result - self._filled(counted & (terms < 0), -terms, rooms, largest)
        return result

    def _filled(
        self, counted: Bools, weights: Array, rooms: tuple[int, ...], largest: int
    ) -> Array:
        """For each cell the filled sum of weights up to `largest` over the counted rows."""
        if self.groups is None:
            parts = self.shared.filled(counted, weights, rooms)
            return np.array([exact_sums.total(parts, largest)], representation(largest))
        counted = counted & (self.groups < self.cells)
        parts = self.shared.filled(counted, weights, rooms, self.groups)
        return exact_sums.grouped_total(self.groups, parts, self.cells, largest)
