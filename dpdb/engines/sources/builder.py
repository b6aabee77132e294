"""What gathers the cells of one column, block by block.

Whatever a builder does to a cell depends on the cell and on the column's
declaration, never on the other cells: nothing is inferred, nothing raises.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from dpdb.engines.sources.csv_records import Cells, Places
from dpdb.engines.sources.grid_rounding import Floats
from dpdb.policy.catalog import Value
from dpdb.vectors.columns import Codes, Numbers
from dpdb.vectors.vector import Bools


class Builder(Protocol):
    """Gathers the cells of one column."""

    def add(self, column: Cells, places: Places | None = None) -> None:
        """Append the cells of a block, or those at `places` among them; an empty one is missing."""

    def finish(self) -> Numbers | Codes:
        """The column of all cells added since it was last asked for."""


class NumberBuilder(Builder, Protocol):
    """Gathers a column of integers, numbers or dates, whose cells can be read already."""

    def add_numbers(self, floats: Floats) -> None:
        """Append numbers, dates in days or timestamps in microseconds; NULL is not finite.

        For an `exact` column they are whole numbers.
        """

    def holds_multiples(self, step: Fraction) -> bool:
        """Whether multiples of `step` can be added as integers, with the same result."""

    def add_multiples(self, multiples: NDArray[Any], null: Bools) -> None:
        """Append such multiples, of at most 64 bits with a sign; `null` says which are NULL."""


def joined(parts: list[NDArray[Any]], dtype: np.dtype[Any]) -> NDArray[Any]:
    """All parts in one array of a type that they have; afterwards there are none."""
    whole = np.concatenate(parts) if len(parts) > 1 else [*parts, np.empty(0, dtype)][0]
    parts.clear()
    return whole


def code_type(values: tuple[Value, ...]) -> np.dtype[Any]:
    """The type of codes of these values, and of one more."""
    return np.min_scalar_type(len(values))
