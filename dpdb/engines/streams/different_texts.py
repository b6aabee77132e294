"""The different texts of each cell, of which hashes are kept."""

from __future__ import annotations

import os
from dataclasses import dataclass, field

import numpy as np

from dpdb.engines.memory.changes import changes
from dpdb.engines.sources.text_hashes import random_factors
from dpdb.engines.streams.gathered import Gathered
from dpdb.vectors.vector import Array


@dataclass(frozen=True, repr=False)
class _Pairs:
    """Cells, each with a text of it; one cell without groups."""

    keys: Array
    """What tells the pairs apart: a hash of the text, to which that of the cell is added."""
    cells: Array | None

    @classmethod
    def once(cls, parts: list[_Pairs]) -> _Pairs:
        """The pairs of all parts, which are taken out, each once and in the order of their keys."""
        keys = np.concatenate([part.keys for part in parts])
        groups = [part.cells for part in parts if part.cells is not None]
        cells = np.concatenate(groups) if groups else None
        parts.clear()
        if cells is None:
            keys.sort()
            return cls(keys.compress(changes([keys], len(keys))), None)
        order = np.argsort(keys)
        keys, cells = keys[order], cells[order]
        new = changes([keys], len(keys))
        if (changes([cells], len(keys)) & ~new).any():  # Two cells have a key in common.
            order = np.lexsort((cells, keys))
            keys, cells = keys[order], cells[order]
            new = changes([keys, cells], len(keys))
        return cls(keys.compress(new), cells.compress(new))


@dataclass(eq=False)
class DifferentTexts:
    """Pairs of a cell and a text that there is in it: as many as there are, but no text itself.

    Two pairs of one cell are taken for one where they have the same key, and `text_hashes` says
    how seldom that is. Noise has nothing to fear of it: a row still adds one pair at most, and
    never takes the place of a pair of another cell.
    """

    number: int
    """The number of cells."""
    factors: Array = field(default_factory=random_factors, repr=False)
    """The factors of the hashes, which all copies have in common."""
    _cell_hashes: Array = field(init=False, repr=False)
    _pairs: Gathered[_Pairs] = field(default_factory=lambda: Gathered(_Pairs.once), repr=False)

    def __post_init__(self) -> None:
        self._cell_hashes = np.frombuffer(os.urandom(8 * self.number), np.uint64)

    def __bool__(self) -> bool:
        """Whether a part was added."""
        return bool(self._pairs)

    def add(self, groups: Array | None, hashes: Array) -> None:
        """Add rows by their groups, of which those past the last cell are no cell."""
        if groups is None:
            self._pairs.add(_Pairs.once([_Pairs(hashes, None)]))
            return
        inside = groups < self.number
        cells = groups[inside].astype(np.min_scalar_type(self.number))
        self._pairs.add(_Pairs.once([_Pairs(hashes[inside] + self._cell_hashes[cells], cells)]))

    def join(self, other: DifferentTexts) -> None:
        """Add what was added to a copy of this one."""
        self._pairs.add(other._pairs.all())

    def per_cell(self) -> Array:
        """How many different texts each cell has."""
        found = self._pairs.all()
        if found.cells is None:
            return np.array([len(found.keys)])
        return np.bincount(found.cells, minlength=self.number)
