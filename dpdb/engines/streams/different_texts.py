"""The different texts of each cell, where texts are as a source has them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from dpdb.engines.memory.changes import changes
from dpdb.engines.streams.cell_values import CellValues, GrowingCellValues
from dpdb.vectors.stored_texts import StoredTexts, TextNumbers
from dpdb.vectors.vector import Array

_WAITING = 2**26
"""So many bytes of texts may wait before they are numbered together."""


@dataclass(eq=False)
class DifferentTexts:
    """Pairs of a cell and the number of a text that there is in it."""

    _numbers: TextNumbers | None = field(default=None, repr=False)
    _waiting: list[tuple[Array | None, StoredTexts]] = field(default_factory=list, repr=False)
    _bytes: int = 0
    _found: GrowingCellValues = field(default_factory=GrowingCellValues, repr=False)

    def __bool__(self) -> bool:
        """Whether a part was added."""
        return self._numbers is not None

    def add(self, groups: Array | None, texts: StoredTexts, cells: int) -> None:
        """Add rows by their groups, of which those from `cells` on are no cell."""
        if groups is not None:
            inside = np.flatnonzero(groups < cells)
            groups, texts = groups[inside], texts.taken(inside)
        if self._numbers is None:
            self._numbers = texts.numbers()
        self._waiting.append((groups, texts))
        self._bytes += texts.size
        if self._bytes > _WAITING:
            self._settle()

    def join(self, other: DifferentTexts) -> None:
        """Add what was added to another one."""
        other._settle()
        assert other._numbers is not None
        if self._numbers is None:
            self._numbers = other._numbers.known().numbers()
        self._settle()
        [numbers] = self._numbers.of([other._numbers.known()])
        found = other._found.all()
        self._found.add(CellValues.of(found.cells, numbers[found.values]))

    def cells(self) -> Array:
        """The cell of each pair, each pair once."""
        self._settle()
        assert self._numbers is not None
        found = self._found.all()
        pairs = np.sort(found.cells << 32 | self._numbers.same()[found.values].astype(np.int64))
        return np.asarray(pairs[changes([pairs], len(pairs))] >> 32)

    def _settle(self) -> None:
        """Number the texts that are waiting."""
        if not self._waiting:
            return
        assert self._numbers is not None
        groups, texts = zip(*self._waiting, strict=True)
        self._waiting, self._bytes = [], 0
        new = _different(groups, self._numbers.of(texts))
        ones = np.ones(len(new), dtype=np.int64)
        self._found.add(CellValues(new >> 32, new & (2**32 - 1), ones))


def _different(groups: Sequence[Array | None], numbers: Sequence[Array]) -> Array:
    """Each cell, in the high bits, with each number in it, in order; one cell without groups."""
    pairs = [
        number | group.astype(np.int64) << 32
        for group, number in zip(groups, numbers, strict=True)
        if group is not None
    ]
    if not pairs:
        there = np.zeros(1 + max(int(each.max(initial=-1)) for each in numbers), dtype=np.bool_)
        for each in numbers:
            there[each] = True
        return np.flatnonzero(there)
    ordered = np.sort(np.concatenate(pairs))
    return np.asarray(ordered[changes([ordered], len(ordered))])
