"""Cells that stand for those of many rows, each of which has the place of its own among them."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpdb.engines.sources.csv_records import Cells, Places
from dpdb.policy.catalog import Value
from dpdb.vectors.columns import Codes
from dpdb.vectors.vector import Bools


def repeated(values: NDArray[Any], places: Places | None) -> NDArray[Any]:
    """For each row the value at its place; without places the values themselves."""
    if places is None:
        return values
    from dpdb.engines.sources.arrow_buffers import looked_up  # noqa: PLC0415 (pyarrow is optional)

    return looked_up(values, places)


def used(cells: Cells, places: Places) -> tuple[Cells, Places]:
    """The cells that have a place, and the same places among these alone."""
    there = np.zeros(len(cells), dtype=np.bool_)
    there[places] = True
    return cells.among(np.flatnonzero(there)), (np.cumsum(there) - 1)[places]


class RepeatedCodes(Codes):
    """Codes that are looked up by the place of each row's cell when they are first asked for.

    Which rows have one declared value is found without codes.
    """

    def __init__(self, places: Places, table: NDArray[Any], values: tuple[Value, ...]) -> None:
        self._places = places
        self._table = table
        self._values = values

    @property
    def values(self) -> tuple[Value, ...]:
        return self._values

    @cached_property
    def codes(self) -> NDArray[Any]:
        return repeated(self._table, self._places)

    def within(self, rows: slice) -> RepeatedCodes:
        return RepeatedCodes(self._places[rows], self._table, self._values)

    def with_code(self, code: int) -> Bools:
        # Several cells may mean one value: however many do, each row is looked up once.
        return repeated(self._table == code, self._places)
