"""The exact results of a plan, kept from being shown."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

MAX_ROWS = 2**31

WORD: np.dtype[Any] = np.dtype(np.int64)
_ENDLESS: np.dtype[Any] = np.dtype(object)
"""Python's integers."""


def representation(largest: int) -> np.dtype[Any]:
    """How sums are held to which each row adds at most ±`largest`.

    64-bit integers where those of the largest table fit, with room for noise, and
    Python's integers otherwise. That follows from the plan: what the rows add up to
    has no say in it, or whatever treats the two differently would tell of it.
    """
    return WORD if largest * MAX_ROWS < 2**62 else _ENDLESS


@dataclass(frozen=True, repr=False)
class Exact:
    """What one release's mechanism is to be given, for every cell.

    One integer a cell; for ranks a sorted array a cell, for tallies a row of
    counts. Nothing formats it: its repr says nothing.
    """

    cells: npt.NDArray[Any] | list[npt.NDArray[Any]]

    def __post_init__(self) -> None:
        for array in self.cells if isinstance(self.cells, list) else [self.cells]:
            assert array.dtype in (WORD, _ENDLESS), array.dtype

    def __repr__(self) -> str:
        return "<exact results>"
