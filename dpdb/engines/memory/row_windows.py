"""Where each row stands among those of its unit and partition: ROW_NUMBER, RANK and DENSE_RANK."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dpdb.engines.memory.coded_values import coded
from dpdb.engines.memory.contribution_bounds import Units
from dpdb.engines.memory.owners import Owners
from dpdb.engines.sources.grid_rounding import grid_of
from dpdb.plan.derived import Window
from dpdb.plan.query import Ordering
from dpdb.plan.row_windows import RankedRows
from dpdb.policy.catalog import Column
from dpdb.vectors.columns import Codes, Numbers
from dpdb.vectors.evaluate import Frame, evaluate
from dpdb.vectors.vector import Array, TextVector


@dataclass(frozen=True, repr=False)
class RowsOfUnits:
    """The rows of a table, and whose they are."""

    table: RankedRows
    columns: Mapping[str, Numbers | Codes]
    owners: Owners

    def ranks(self) -> dict[str, Numbers]:
        """The columns of the windows."""
        pairs = zip(self.table.ranks, self.table.windows, strict=True)
        return {column.name: self._column(column, window) for column, window in pairs}

    @property
    def _rows(self) -> int:
        return len(self.owners.numbers)

    @cached_property
    def _tie_breaks(self) -> Array:
        """Of each row its place among those of its unit by a hash of its values."""
        assert self.table.rows is not None
        units = Units.of(self.table.rows, self.columns, self.owners)
        places = np.empty(self._rows, dtype=np.int64)
        places[units.order(np.arange(self._rows), self.table.sample_key)] = np.arange(self._rows)
        return places

    def _column(self, column: Column, window: Window) -> Numbers:
        grid = grid_of(column)
        assert grid is not None
        ranks = np.clip(self._ranks(window), grid.lowest, grid.highest)
        return Numbers(ranks.astype(grid.dtype), grid.step, None, grid.lowest)

    def _ranks(self, window: Window) -> Array:
        # The owner is one more key, so that no row is ranked among those of another unit.
        within = [self.owners.numbers, *self._partition(window)]
        by = [key for each in window.order for key in self._keys(each)]
        # The last of the keys is the first to be sorted by.
        order = np.lexsort((self._tie_breaks, *reversed(by), *reversed(within)))
        places = np.arange(self._rows)
        begins = _changes(within, order)
        start = np.maximum.accumulate(np.where(begins, places, 0))
        peers = begins | _changes(by, order)
        match window.function:
            case "row_number":
                found = places - start
            case "rank":
                found = np.maximum.accumulate(np.where(peers, places, 0)) - start
            case _:
                number = np.cumsum(peers)
                found = number - number[start]
        ranks = np.empty(self._rows, dtype=np.int64)
        ranks[order] = found + 1
        return ranks

    def _partition(self, window: Window) -> list[Array]:
        """What the rows of a partition have in common, as numbers; NULL is a value of its own."""
        found: list[Array] = []
        for each in window.partition:
            values = coded(each, Frame(self.columns))
            found += [values.codes, *([] if values.null is None else [values.null])]
        return [np.broadcast_to(each, self._rows) for each in found]

    def _keys(self, ordering: Ordering) -> list[Array]:
        """What rows are sorted by, as ascending numbers: whether there is NULL, and the value."""
        vector = evaluate(ordering.expression, Frame(self.columns))
        if isinstance(vector, TextVector):
            _, place = np.unique(np.array([*vector.dictionary, ""], object), return_inverse=True)
            values = place[vector.codes].astype(np.float64)
        else:
            values = vector.values.astype(np.float64)
        null = np.zeros(1, dtype=np.bool_) if vector.null is None else vector.null
        values = np.where(null, 0.0, -values if ordering.descending else values)
        keys = (null != ordering.nulls_first, values)
        return [np.broadcast_to(key, self._rows) for key in keys]


def _changes(keys: list[Array], order: Array) -> Array:
    """Where, in this order, a row is the first or differs in a key from the one before."""
    new = np.zeros(len(order), dtype=np.bool_)
    new[:1] = True
    for key in keys:
        ordered = key[order]
        new[1:] |= ordered[1:] != ordered[:-1]
    return new
