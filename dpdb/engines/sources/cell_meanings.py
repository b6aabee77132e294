"""What cells mean: each distinct one is read once."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpdb.engines.sources.csv_records import Cells
from dpdb.engines.sources.distinct_cells import DistinctCells

_REMEMBERED = 1 << 16
"""Where more cells are known, they are forgotten before the next block."""


class Meanings:
    """What cells mean, of which each distinct one is read once."""

    def __init__(self, read: Callable[[bytes], float], dtype: np.dtype[Any]) -> None:
        self._read = read
        self._read_before = lru_cache(_REMEMBERED)(read)
        self._cells = DistinctCells()
        self._known: NDArray[Any] = np.empty(0, dtype)

    def of_different(self, cells: Cells) -> NDArray[Any]:
        """The meanings of cells that hardly repeat, such as those of a dictionary."""
        return np.fromiter(map(self._read_before, cells.written()), self._known.dtype, len(cells))

    def of(self, cells: Cells) -> NDArray[Any]:
        """The meanings of all of these."""
        numbers = self._cells.numbers(cells)
        new = self._cells.cells(np.arange(len(self._known), len(self._cells)))
        meanings = np.fromiter(map(self._read, new.written()), self._known.dtype, len(new))
        self._known = np.concatenate((self._known, meanings))
        found = self._known[numbers]
        if len(self._known) > _REMEMBERED:
            self._cells, self._known = DistinctCells(), self._known[:0]
        return found
