"""Of each unit the rows that come first in the order of their hashes, as many as its cap."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from dpdb.engines.memory.changes import changes
from dpdb.engines.memory.hash_order import hash_order
from dpdb.vectors.vector import Array

SMALL = 2**20
"""So many rows may wait, however few are settled."""


@dataclass
class LeastHashes:
    """Rows to which more are added; those past the cap are given back, and kept no longer.

    So there are kept, besides those that wait and ties, at most as many as count.
    """

    limit: int
    ties: bool = False
    """Whether rows are kept, too, whose key is that of the last row within the cap."""
    _settled: list[tuple[Array, ...]] = field(default_factory=list, repr=False)
    """Numbers of rows, their units, and what they are ordered by."""
    _waiting: list[tuple[Array, ...]] = field(default_factory=list, repr=False)

    def add(self, rows: Array, units: Array, keys: tuple[Array, ...]) -> Array:
        """Add rows of units, which are ordered by `keys`; returns the rows that count no more."""
        # A table has no more rows than 32 bits can number.
        self._waiting.append((rows.astype(np.int32), units, *keys))
        settled = sum(len(each[0]) for each in self._settled)
        if sum(len(each[0]) for each in self._waiting) > max(settled // 2, SMALL):
            return self.settle()
        return rows[:0]

    def settle(self) -> Array:
        """Keep no more rows of a unit than its cap; returns the others."""
        parts = [list(each) for each in (*self._settled, *self._waiting)]
        self._settled.clear()
        self._waiting.clear()
        # Each array is taken out, so that it is freed when joined.
        joined = [np.concatenate([part.pop(0) for part in parts]) for _ in range(len(parts[0]))]
        rows, units, *keys = joined
        numbers = np.unique(units, return_inverse=True)[1]
        order = hash_order(numbers, keys)
        first = np.flatnonzero(changes([numbers[order]], len(order)))
        sizes = np.diff(first, append=len(order))
        if self.ties:
            ordered = keys[0][order]
            last = ordered[first + np.minimum(sizes, self.limit) - 1]
            kept = ordered <= np.repeat(last, sizes)
        else:
            kept = np.arange(len(order)) - np.repeat(first, sizes) < self.limit
        over = rows[order[~kept]]
        order = order[kept]
        self._settled.append(tuple(each[order] for each in joined))
        return np.asarray(over)
