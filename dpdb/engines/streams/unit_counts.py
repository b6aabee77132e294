"""How many rows units have, counted by hashes of the units in memory of public size.

Each unit has a place among the counters, which others may share: so a counter is never less than
what one of its units has. Counting ends at one more than the cap, as all beyond is the same.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field

import numpy as np

from dpdb.engines.memory.changes import changes
from dpdb.engines.memory.keys import is_text, named_numbers
from dpdb.vectors.columns import Codes, Numbers
from dpdb.vectors.vector import Array, Bools

_SPREAD = np.uint64(int.from_bytes(os.urandom(8)) | 1)
"""Multiplied by an odd number that nobody knows, two numbers have the same upper bits with at most
twice the probability of those drawn at random ([DHKP97] section 2)."""
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


def unit_hashes(column: Numbers | Codes) -> Array:
    """A number of 32 bits for each row, equal where the column names the same unit."""
    if is_text(column):
        assert isinstance(column, Codes)
        # Python has a key of its own for each process, so nobody can choose names for a counter.
        hashes = np.array([*map(hash, column.values), 0], dtype=np.int64)
        return np.asarray(hashes.astype(np.uint32)[column.codes])
    values, _ = named_numbers(column)
    spread = values.astype(np.int64).astype(np.uint64) * _SPREAD
    return np.asarray((spread >> np.uint64(64 - _HASH_BITS)).astype(np.uint32))


def names_unit(column: Numbers | Codes) -> Bools:
    """Which rows name a unit."""
    if is_text(column):
        assert isinstance(column, Codes)
        return np.asarray(column.codes != len(column.values))
    return named_numbers(column)[1]
