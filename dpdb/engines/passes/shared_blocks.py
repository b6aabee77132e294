"""Rows of two owners that come block by block: what is filled is gathered, and then filled at once.

Of each row that passes the filter are kept the columns that a plan reads, the words of its owners
(8 bytes each, 16 for a text) and its hash (8 bytes), however rows share owners.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, replace
from typing import ClassVar

import numpy as np

from dpdb.engines.loop import Work
from dpdb.engines.protocol import Exact
from dpdb.engines.relations.row_unions import one_after_the_other
from dpdb.engines.sources.protocol import Loaded
from dpdb.engines.statistics.accumulators import PlanStatistics
from dpdb.engines.units.capped_rows import after_filter
from dpdb.engines.units.caps import PlanRows
from dpdb.engines.units.filling import SharedRows
from dpdb.engines.units.keys import is_text, named_numbers
from dpdb.engines.units.row_hashes import HashKey, UnitKey, names_unit, numbered, row_hashes
from dpdb.engines.values.grid_values import mask
from dpdb.plan.expressions.expressions import Slot
from dpdb.plan.physical.plan import Plan
from dpdb.policy.catalog import Table
from dpdb.records import dataclass
from dpdb.vectors.columns import Codes, Numbers
from dpdb.vectors.evaluate import Frame
from dpdb.vectors.vector import AnyVector, Array


@dataclass(frozen=True, repr=False)
class _Batch:
    """The rows of a block that pass and are somebody's."""

    first: int
    """The number of rows before the block."""
    columns: dict[str, Numbers | Codes]
    arrays: dict[tuple[int, int], Array]
    """The hashes of rows, at _HASHES; and the words of owner 0 or 1, at (owner, word)."""


_HASHES = (2, 0)
"""The key of the hashes: rows have no owner 2."""


@dataclass(repr=False)
class SharedBlocks(Work[Loaded, tuple[Exact, ...]]):
    """The exact results of a plan over a table whose columns name both owners of each row."""

    keeps_rows: ClassVar[bool] = True

    plan: Plan
    slots: Mapping[Slot, AnyVector]
    key: UnitKey = field(default_factory=UnitKey)
    _batches: list[_Batch] = field(default_factory=list)

    @property
    def _table(self) -> Table:
        table = self.plan.table
        assert isinstance(table, Table)
        return table

    def copy(self) -> SharedBlocks:
        return replace(self, _batches=[])

    def add(self, rows: Loaded) -> None:
        plan, table = self.plan, self._table
        naming = [rows.columns[owner.column] for owner in table.owners]
        passed = names_unit(naming[0]) & names_unit(naming[1])
        if plan.where is not None:
            passed &= mask(plan.where, Frame(rows.columns, self.slots), rows.rows)
        kept = np.flatnonzero(passed)
        hashed = HashKey.of(plan.sample_key).columns(table.columns, rows.columns)
        arrays = {_HASHES: row_hashes([each.terms for each in hashed], kept)}
        for at, column in enumerate(naming):
            words = self.key.words(column) if is_text(column) else named_numbers(column)[:1]
            arrays |= {(at, number): word[kept] for number, word in enumerate(words)}
        columns = {name: rows.columns[name].taken(kept) for name in self._names}
        self._batches.append(_Batch(rows.first, columns, arrays))

    @property
    def _names(self) -> frozenset[str]:
        return after_filter(self.plan).column_names

    def join(self, other: SharedBlocks) -> None:
        self._batches += other._batches

    def result(self) -> tuple[Exact, ...]:
        """The result; each array of a batch is freed once it is joined with those of the others."""
        batches = sorted(self._batches, key=lambda batch: batch.first)
        self._batches = []

        def joined(*at: tuple[int, int]) -> Array:
            return np.concatenate([each.arrays.pop(key) for key in at for each in batches])

        def numbers(*owners: int) -> Array:
            words = [word for owner, word in batches[0].arrays if owner == owners[0]]
            return numbered(tuple(joined(*((owner, word) for owner in owners)) for word in words))

        same = len(self._table.kinds) == 1
        first, second = np.split(numbers(0, 1), 2) if same else (numbers(0), numbers(1))
        hashes = joined(_HASHES)
        shared = SharedRows.of(first, second, lambda rows: hashes[rows], same=same)
        del first, second
        columns = {
            name: one_after_the_other([each.columns.pop(name) for each in batches])
            for name in self._names
        }
        whole = PlanRows(Frame(columns, self.slots), len(hashes), None, None, shared)
        work = PlanStatistics.of_sums(after_filter(self.plan))
        work.add(whole)
        work.settle()
        return work.result()
