"""The different texts of each cell, of which hashes are kept."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from dpdb.engines.memory.changes import changes
from dpdb.engines.sources.text_hashes import random_factors
from dpdb.engines.streams.gathered import Gathered
from dpdb.vectors.vector import Array

_BITS = 64
"""The bits of a key."""


@dataclass(eq=False)
class DifferentTexts:
    """Pairs of a cell and a text that there is in it: as many as there are, but no text itself.

    The key of a pair begins with the number of its cell, and the rest is the hash of its text, as
    far as there is room. Two pairs of one cell are taken for one where they have the same key, and
    `text_hashes` says how seldom that is: of its 62 bits those of the cell are missing. Noise has
    nothing to fear of it: a row still adds one pair at most, and never takes the place of a pair of
    another cell.

    A pair takes eight bytes. The pairs of blocks that wait to be put together take no more than so
    many for each row, and `Gathered` says how many blocks wait.
    """

    number: int
    """The number of cells."""
    factors: Array = field(default_factory=random_factors, repr=False)
    """The factors of the hashes, which all copies have in common."""
    _keys: Gathered[Array] = field(default_factory=lambda: Gathered(_once), repr=False)

    def __bool__(self) -> bool:
        """Whether a part was added."""
        return bool(self._keys)

    def add(self, groups: Array | None, hashes: Array) -> None:
        """Add rows by their groups, of which those past the last cell are no cell."""
        if groups is not None:
            inside = groups < self.number
            hashes = self._begins(groups[inside]) | (hashes[inside] >> self._cell_bits)
        self._keys.add(_once([hashes]))

    def join(self, other: DifferentTexts) -> None:
        """Add what was added to a copy of this one."""
        self._keys.add(other._keys.all())

    def per_cell(self) -> Array:
        """How many different texts each cell has."""
        keys = self._keys.all()
        first = np.searchsorted(keys, self._begins(np.arange(self.number)))
        return np.diff(first, append=len(keys))

    @property
    def _cell_bits(self) -> np.uint64:
        return np.uint64((self.number - 1).bit_length())

    def _begins(self, cells: Array) -> Array:
        """What the keys of cells begin with."""
        return np.asarray(cells.astype(np.uint64) << (np.uint64(_BITS) - self._cell_bits))


def _once(parts: list[Array]) -> Array:
    """The keys of all parts, which are taken out, each once and in order."""
    keys = np.concatenate(parts)
    parts.clear()
    keys.sort()
    return keys.compress(changes([keys], len(keys)))
