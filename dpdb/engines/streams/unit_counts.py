"""How many rows units have, counted by hashes of the units in memory of public size.

Each unit has a place among the counters, which others may share: so a counter is never less than
what one of its units has. Counting ends at one more than the cap, as all beyond is the same.
"""

from __future__ import annotations

from dataclasses import field

import numpy as np

from dpdb.records import dataclass
from dpdb.vectors.relational.keys import changes
from dpdb.vectors.vector import Array, Bools

_HASH_BITS = 32
FEWEST, MOST = 2**16, 2**26
"""The bytes of all counters."""


@dataclass
class UnitCounts:
    """Counters of rows, of which so many count for a unit."""

    limit: int
    size: int
    """The bytes of the table's files. No row takes less than a few of them."""
    _counts: Array = field(init=False, repr=False)

    def __post_init__(self) -> None:
        kind = np.min_scalar_type(self.limit + 1)
        taken = min(max(2 ** self.size.bit_length() // 4, FEWEST), MOST)
        self._counts = np.zeros(taken // kind.itemsize, dtype=kind)

    def add(self, hashes: Array) -> None:
        """Count a row for the unit of each hash."""
        ordered = np.sort(self._places(hashes))
        first = np.flatnonzero(changes([ordered], len(ordered)))
        there, more = ordered[first], np.diff(first, append=len(ordered))
        sums = self._counts[there] + more
        self._counts[there] = np.minimum(sums, self.limit + 1)

    def may_be_overfull(self, hashes: Array) -> Bools:
        """Where the unit of a hash may have more rows than count."""
        return np.asarray(self._counts[self._places(hashes)] > self.limit)

    def _places(self, hashes: Array) -> Array:
        bits = len(self._counts).bit_length() - 1
        return hashes >> np.uint32(_HASH_BITS - bits)
