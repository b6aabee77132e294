"""Of each unit the rows that come first in the order of their hashes, as many as its cap.

Rows are added block by block. Those past the cap in their block are given back at once, so that a
unit that has most rows of a table does not fill memory with them.
"""

from __future__ import annotations

from dataclasses import field

import numpy as np

from dpdb.engines.streams.unit_words import UnitWords, by_units, numbered
from dpdb.engines.units.caps import within_cap
from dpdb.records import dataclass
from dpdb.vectors.vector import Array, Bools

SORTED = 2**18
"""About so many rows are sorted at a time."""
_BITS = np.uint64(8)
_BYTE = np.uint64(0xFF)


@dataclass(frozen=True, repr=False)
class Undecided:
    """Rows of which some count: those of a unit whose first bytes tie at its cap."""

    rows: Array
    """Their numbers, in ascending order."""
    units: Array
    """Numbers of their units."""
    limits: Array
    """How many of them count of each unit."""

    @classmethod
    def joined(cls, parts: list[Undecided]) -> Undecided:
        """The rows of several parts, one at least, none of which has a unit of another."""
        numbers = [len(part.limits) for part in parts]
        before = np.cumsum([0, *numbers[:-1]], dtype=np.int32)
        units = [part.units + first for part, first in zip(parts, before, strict=True)]
        rows = np.concatenate([part.rows for part in parts])
        order = np.argsort(rows)
        limits = np.concatenate([part.limits for part in parts])
        return cls(rows[order], np.concatenate(units)[order], limits)


@dataclass
class LeastHashes:
    """The rows with the least hashes, the first of those with the same one."""

    limit: int
    most: int
    """No more rows are added: memory is only taken by those that are."""
    _arrays: list[Array] = field(default_factory=list, repr=False)
    """Numbers of rows, their hashes, and the words of their units, with room for more."""
    _number: int = 0

    def add(self, rows: Array, units: UnitWords, hashes: Array) -> Array:
        """Add rows of units; returns those that do not count."""
        stay = self._stay(numbered(units), hashes)
        before, self._number = self._number, self._number + int(np.count_nonzero(stay))
        added = (rows, hashes, *units)
        if not self._arrays:
            self._arrays = [np.empty(self.most, dtype=each.dtype) for each in added]
        for held, each in zip(self._arrays, added, strict=True):
            held[before : self._number] = each[stay]
        return rows[~stay]

    def settle(self) -> tuple[Array, Undecided]:
        """The other rows that do not count, and those of which that is not decided."""
        rows, hashes, *units = (each[: self._number] for each in self._arrays)
        over, undecided = [], []
        for places, numbers in by_units(tuple(units), SORTED):
            own = hashes[places]
            stay = self._stay(numbers, own)
            over.append(rows[places[~stay]])
            undecided.append(self._undecided(rows[places[stay]], numbers[stay], own[stay]))
        return np.concatenate(over), Undecided.joined(undecided)

    def _stay(self, numbers: Array, hashes: Array) -> Bools:
        """Which rows may count, as far as these tell."""
        return within_cap(numbers, self.limit, lambda places: hashes[places])

    def _undecided(self, rows: Array, numbers: Array, hashes: Array) -> Undecided:
        """Those that stay, and of which some are too many."""
        return Undecided(rows[:0], numbers[:0], numbers[:0])


@dataclass
class LeastBytes(LeastHashes):
    """The rows whose first byte is not beyond that of the last row within the cap."""

    def _stay(self, numbers: Array, hashes: Array) -> Bools:
        sizes = np.bincount(numbers)
        overfull = sizes > self.limit
        contested = np.flatnonzero(overfull[numbers])
        ordered = numbers[contested].astype(np.uint64) << _BITS | hashes[contested]
        ordered.sort()
        ends = np.cumsum(sizes[overfull])
        last = np.full(len(sizes), _BYTE, dtype=hashes.dtype)
        last[overfull] = ordered[ends - sizes[overfull] + self.limit - 1] & _BYTE
        return np.asarray(hashes <= last[numbers])

    def _undecided(self, rows: Array, numbers: Array, hashes: Array) -> Undecided:
        sizes = np.bincount(numbers)
        chosen = np.flatnonzero((sizes > self.limit)[numbers])
        rows, hashes = rows[chosen], hashes[chosen]
        named, units = np.unique(numbers[chosen], return_inverse=True)
        last = np.zeros(len(named), dtype=hashes.dtype)
        np.maximum.at(last, units, hashes)
        ties = hashes == last[units]
        sure = np.bincount(units[~ties], minlength=len(named))
        return Undecided(rows[ties], units[ties].astype(np.int32), self.limit - sure)
