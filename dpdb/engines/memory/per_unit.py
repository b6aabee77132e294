"""What the rows of each unit come to, group by group: exact, in whole steps."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dpdb.engines.memory.changes import changes
from dpdb.engines.memory.row_groups import RowGroups
from dpdb.plan.per_unit import PerUnit
from dpdb.vectors.columns import Codes, Numbers
from dpdb.vectors.evaluate import Frame
from dpdb.vectors.vector import Array


@dataclass(frozen=True, repr=False)
class GroupedRows:
    """The rows of a table per unit, in groups of one owner and one value of each key."""

    table: PerUnit
    frame: Frame
    owners: Array

    @property
    def _rows(self) -> int:
        return len(self.owners)

    @cached_property
    def _order(self) -> Array:
        """The rows group by group."""
        return np.lexsort((*self._keys, self.owners))

    @cached_property
    def _keys(self) -> list[Array]:
        """The keys as numbers, equal where the values are; NULL is a value of its own."""
        arrays: list[Array] = []
        for key in self.table.keys:
            column = self.frame.columns[key.column.name]
            if isinstance(column, Codes):
                arrays.append(column.codes)
            else:
                arrays += [column.units, *([] if column.null is None else [column.null])]
        return arrays

    @cached_property
    def _starts(self) -> Array:
        """Where each group starts in the order."""
        ordered = (each[self._order] for each in (*self._keys, self.owners))
        return np.flatnonzero(changes(ordered, self._rows))

    @property
    def first(self) -> Array:
        """One row of each group."""
        return self._order[self._starts]

    def columns(self) -> dict[str, Numbers | Codes]:
        """The keys and the aggregates of every group."""
        table = self.table
        groups = RowGroups(self.frame, self._rows, self._order, self._starts, table.where)
        columns = {
            column.name: self.frame.columns[key.column.name].taken(self.first)
            for column, key in zip(table.key_columns, table.keys, strict=True)
        }
        for column, aggregate in zip(table.aggregate_columns, table.aggregates, strict=True):
            columns[column.name] = groups.aggregated(column, aggregate)
        return columns
