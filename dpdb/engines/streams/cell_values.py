"""Values in the cells of an answer: each with how often it is there, or once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dpdb.engines.memory.changes import changes
from dpdb.vectors.vector import Array


@dataclass(frozen=True, repr=False)
class CellValues:
    """Pairs of a cell and a value, in order and each pair once."""

    cells: Array
    values: Array
    counts: Array
    """How often each pair is there."""

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
        """How many pairs each cell has."""
        if self.cells is None:
            return np.array([len(self.values)])
        return np.bincount(self.cells, minlength=cells)
