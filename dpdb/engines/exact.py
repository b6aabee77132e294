"""The exact results of a plan, kept from being shown."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy.typing as npt


@dataclass(frozen=True, repr=False)
class Exact:
    """What one release's mechanism is to be given, for every cell.

    One integer a cell; for ranks a sorted array a cell, for tallies a row of
    counts. Nothing formats it: its repr says nothing.
    """

    cells: npt.NDArray[Any] | list[npt.NDArray[Any]]

    def __repr__(self) -> str:
        return "<exact results>"
