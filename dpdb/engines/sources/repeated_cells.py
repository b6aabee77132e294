"""Cells that stand for those of many rows, each of which has the place of its own among them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpdb.engines.sources.csv_records import Cells, Places


def at(values: NDArray[Any], places: Places | None) -> NDArray[Any]:
    """The values at some places; without places all of them."""
    return values if places is None else values[places]


def used(cells: Cells, places: Places) -> tuple[Cells, Places]:
    """The cells that have a place, and the same places among these alone."""
    there = np.zeros(len(cells), dtype=np.bool_)
    there[places] = True
    return cells.among(np.flatnonzero(there)), (np.cumsum(there) - 1)[places]
