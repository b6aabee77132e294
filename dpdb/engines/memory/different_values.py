"""The different values of an argument in each cell of an answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dpdb.engines.memory.changes import changes
from dpdb.engines.memory.coded_values import CodedValues
from dpdb.engines.memory.groups import count_codes
from dpdb.vectors.vector import Array, Bools

FEW = 2**16
"""How many different values are counted one by one rather than sorted."""


@dataclass(frozen=True, repr=False)
class DifferentValues:
    """Pairs of a cell and a value that there is in it, each pair once."""

    number: int
    """The number of cells."""
    cells: Array
    codes: Array
    """What stands for the values."""
    texts: Sequence[object] | None = None
    """The values that the codes number, where these come from the rows."""

    def per_cell(self) -> Array:
        """How many different values each cell has."""
        return np.bincount(self.cells, minlength=self.number).astype(np.int64, copy=False)


def different(
    groups: Array | None, codes: Array, cells: int, texts: Sequence[object] | None
) -> DifferentValues:
    """The different values of the rows that count, in the cells that `groups` says.

    A row of no cell is in the group past the last one.
    """
    if groups is None:
        once = _once(codes) if texts is None else np.flatnonzero(present(codes, len(texts)))
        return DifferentValues(cells, np.zeros(len(once), dtype=np.intp), once, texts)
    order = np.lexsort((codes, groups))
    groups, codes = groups[order], codes[order]
    new = changes((groups, codes), len(order)) & (groups < cells)
    return DifferentValues(cells, groups[new], codes[new], texts)


def present(codes: Array, number: int) -> Bools:
    """Which of the whole numbers below a number are among the codes."""
    is_there = np.zeros(number, dtype=np.bool_)
    is_there[codes] = True
    return is_there


def different_among_few(
    values: CodedValues, groups: Array | None, counted: Bools | None, cells: int
) -> DifferentValues:
    """The different values where codes have a small public range: each of each cell is counted.

    All rows are given, and which of them count; without groups there is one cell.
    """
    assert values.range is not None
    low, high = values.range
    size = high - low + 1
    # So few bits wrap around on the way, and hold each place in the end.
    narrow = np.min_scalar_type((cells + 1) * size)
    places = values.codes.astype(narrow) - np.array(low).astype(narrow)
    if groups is not None:
        places += groups.astype(narrow) * narrow.type(size)
    if counted is not None:
        np.copyto(places, cells * size, where=~counted)
    counts = count_codes(places, (cells + 1) * size).reshape(cells + 1, size)
    present, codes = np.nonzero(counts[:cells])
    return DifferentValues(cells, present, codes + low)


def _once(codes: Array) -> Array:
    """Each code once, in order: sorting is faster than numpy's unique, which hashes."""
    ordered = np.sort(codes)
    return ordered.compress(changes([ordered], len(ordered)))
