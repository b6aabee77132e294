"""Finds in the batches of a table, put together from time to time."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import field
from math import isqrt
from typing import Generic, Self, TypeVar

import numpy as np

from dpdb.engines.protocol import RankWindow
from dpdb.engines.sources.cells.words import random_factors
from dpdb.engines.statistics.statistics import Statistics
from dpdb.records import dataclass
from dpdb.vectors.keys import changes
from dpdb.vectors.vector import Array

T = TypeVar("T")

FEW = 8
"""Number of parts that may wait, however few were put together before."""


@dataclass
class Gathered(Generic[T]):
    """Parts that wait are put together when they are more than the square root of all before them.

    A part comes of each block of rows, so the number of blocks says when that is: what is found in
    them has no say in how often. Where most blocks have the same in them, it is the parts that wait
    that take memory; where all have their own, it is the time to put together that grows.
    """

    together: Callable[[list[T]], T]
    """Puts parts together, one at least; it may take them out of the list, to free them."""
    _settled: list[T] = field(default_factory=list, repr=False)
    _waiting: list[T] = field(default_factory=list, repr=False)
    _number: int = 0
    """Number of parts that were put together."""

    def __bool__(self) -> bool:
        """Whether a part was added."""
        return bool(self._settled or self._waiting)

    def add(self, part: T) -> None:
        """Add what is found in a part."""
        self._waiting.append(part)
        if len(self._waiting) > max(FEW, isqrt(self._number)):
            self.all()

    def all(self) -> T:
        """All that was added: one part at least."""
        parts = [*self._settled, *self._waiting]
        self._number += len(self._waiting)
        self._settled.clear()
        self._waiting.clear()
        self._settled.append(self.together(parts))
        return self._settled[0]


class Accumulator(ABC):
    """A statistic of all parts, which have no privacy unit in common."""

    @abstractmethod
    def add(self, part: Statistics) -> None:
        """Add what a part's rows come to."""

    @abstractmethod
    def join(self, other: Self) -> None:
        """Add what was added, in this pass, to a copy of this one as it was when the pass began."""

    def settle(self) -> bool:
        """End a pass over all parts; whether it was the last one that is needed."""
        return True

    @abstractmethod
    def result(self) -> Array | list[Array] | list[RankWindow]:
        """The statistic of all parts, of which there is one at least, as an engine gives it."""


@dataclass(frozen=True, repr=False)
class CellValues:
    """Pairs of a cell and a value, in order and each pair once."""

    cells: Array
    values: Array
    counts: Array
    """Number of times that each pair is there."""

    @classmethod
    def of(cls, cells: Array, values: Array, counts: Array | None = None) -> CellValues:
        """The pairs in order and each once, from pairs in any order, which may repeat."""
        order = np.lexsort((values, cells)) if cells.any() else np.argsort(values, kind="stable")
        cells, values = cells[order], values[order]
        first = np.flatnonzero(changes((cells, values), len(order)))
        if counts is None:
            sums = np.diff(first, append=len(order))
        else:
            sums = np.add.reduceat(counts[order], first) if len(first) else counts[:0]
        return cls(cells[first], values[first], sums.astype(np.int64, copy=False))

    @classmethod
    def of_rows(cls, groups: Array | None, values: Array, cells: int) -> CellValues:
        """The pairs of rows, by their groups; rows of no cell are in a group past the last one."""
        if groups is None:
            found, counts = np.unique(values, return_counts=True)
            return cls(np.zeros(len(found), dtype=np.intp), found, counts.astype(np.int64))
        inside = groups < cells
        return cls.of(groups[inside].astype(np.intp), values[inside])

    @classmethod
    def together(cls, parts: Sequence[CellValues]) -> CellValues:
        """The pairs of all parts."""
        joined = (
            np.concatenate([getattr(part, name) for part in parts])
            for name in ("cells", "values", "counts")
        )
        return cls.of(*joined)


@dataclass(frozen=True, repr=False)
class CellPairs:
    """Pairs of a cell and a value; after they are put together each pair once."""

    cells: Array | None
    """None where there is one cell."""
    values: Array

    @classmethod
    def together(cls, parts: list[CellPairs]) -> CellPairs:
        """The pairs of all parts, which are taken out, each once and in order."""
        values = np.concatenate([part.values for part in parts])
        named = [part.cells for part in parts if part.cells is not None]
        cells = np.concatenate(named) if named else None
        parts.clear()
        if cells is None:
            values.sort()
            return cls(None, values.compress(changes([values], len(values))))
        order = np.lexsort((values, cells))
        cells, values = cells[order], values[order]
        new = changes([cells, values], len(order))
        return cls(cells.compress(new), values.compress(new))

    def per_cell(self, cells: int) -> Array:
        """Number of pairs of each cell."""
        if self.cells is None:
            return np.array([len(self.values)])
        return np.bincount(self.cells, minlength=cells)


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
        """Number of different texts of each cell."""
        keys = self._keys.all()
        first = np.searchsorted(keys, self._begins(np.arange(self.number)))
        return np.diff(first, append=len(keys))

    @property
    def _cell_bits(self) -> np.uint64:
        return np.uint64((self.number - 1).bit_length())

    def _begins(self, cells: Array) -> Array:
        """The first bits of the keys of cells."""
        return np.asarray(cells.astype(np.uint64) << (np.uint64(_BITS) - self._cell_bits))


def _once(parts: list[Array]) -> Array:
    """The keys of all parts, which are taken out, each once and in order."""
    keys = np.concatenate(parts)
    parts.clear()
    keys.sort()
    return keys.compress(changes([keys], len(keys)))
