"""Of each unit the rows that come first in the order of their hashes, as many as its cap."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from dpdb.engines.memory.changes import changes
from dpdb.engines.memory.hash_order import hash_order
from dpdb.engines.streams.gathered import Gathered
from dpdb.vectors.vector import Array

_Ordered = tuple[Array, Array, Array]


@dataclass
class LeastHashes:
    """Rows to which more are added; those past the cap are given back, and kept no longer.

    So there are kept, besides those that wait and ties, at most as many as count.
    """

    limit: int
    ties: bool = False
    """Whether rows are kept, too, whose hash is that of the last row within the cap."""
    _kept: Gathered[_Ordered] = field(init=False, repr=False)
    """Numbers of rows, their units and their hashes."""
    _over: list[Array] = field(default_factory=list, repr=False)

    def __post_init__(self) -> None:
        self._kept = Gathered(self._within)

    def add(self, rows: Array, units: Array, hashes: Array) -> Array:
        """Add rows of units; returns the rows that count no more."""
        self._kept.add((rows, units, hashes))
        return self._taken_out()

    def settle(self) -> Array:
        """Keep no more rows of a unit than its cap; returns the others."""
        self._kept.all()
        return self._taken_out()

    def _taken_out(self) -> Array:
        """The rows that were found to be past the cap since they were last asked for."""
        over = np.concatenate([np.empty(0, dtype=np.intp), *self._over])
        self._over.clear()
        return over

    def _within(self, parts: list[_Ordered]) -> _Ordered:
        """The rows of all parts that are kept."""
        arrays = [list(part) for part in parts]
        parts.clear()
        # Each array is taken out, so that it is freed when joined.
        joined = [np.concatenate([each.pop(0) for each in arrays]) for _ in arrays[0].copy()]
        rows, units, hashes = joined
        numbers = np.unique(units, return_inverse=True)[1]
        order = hash_order(numbers, hashes)
        first = np.flatnonzero(changes([numbers[order]], len(order)))
        sizes = np.diff(first, append=len(order))
        if self.ties:
            ordered = hashes[order]
            last = ordered[first + np.minimum(sizes, self.limit) - 1]
            kept = ordered <= np.repeat(last, sizes)
        else:
            kept = np.arange(len(order)) - np.repeat(first, sizes) < self.limit
        self._over.append(rows[order[~kept]])
        order = order[kept]
        return rows[order], units[order], hashes[order]
