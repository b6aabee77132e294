"""The engine over blocks of rows, for tables of whose engine the policy says nothing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from unittest import mock

import numpy as np

from dpdb.engines.protocol import Exact
from dpdb.engines.sources.protocol import Loaded
from dpdb.engines.statistics import accumulators, gathered, rank_windows
from dpdb.engines.statistics.rank_windows import AllValues
from dpdb.engines.streams import capped_rows, least_hashes, unit_counts
from dpdb.engines.streams.engine import StreamEngine, can_stream
from dpdb.plan.expressions.expressions import Slot
from dpdb.plan.physical.plan import Plan
from dpdb.policy.catalog import Table
from dpdb.vectors.columns import Codes, Numbers
from dpdb.vectors.stored_texts import StoredTexts
from dpdb.vectors.vector import AnyVector


@dataclass
class SmallBlocks(StreamEngine):
    """Cuts every table that can be cut into blocks of a few rows, and units into several parts.

    What a pass over a file has cut is there for the next ones.
    """

    block: int = 7
    threads: int = 2
    _cut: dict[tuple[Table, frozenset[str]], list[Loaded]] = field(default_factory=dict, repr=False)

    def streams(self, table: Table) -> bool:
        return can_stream(table)

    def parts(self, table: Table) -> int:
        return 3

    def size(self, table: Table) -> int:
        return 4 * capped_rows.AT_ONCE

    def exact(self, plan: Plan, slots: Mapping[Slot, AnyVector]) -> tuple[Exact, ...]:
        """Windows hold all values, however few of them a mechanism looks at.

        Units have four counters in common, and few rows wait to be put in order, a few at a time.
        """
        with (
            mock.patch.object(accumulators, "_reach", return_value=2**40),
            mock.patch.object(accumulators, "RungCounts", AllValues),
            mock.patch.object(rank_windows, "BUCKETS", 2**7),
            mock.patch.object(unit_counts, "MOST", 4),
            mock.patch.object(gathered, "FEW", 1),
            mock.patch.object(least_hashes, "SORTED", 5),
        ):
            return super().exact(plan, slots)

    def _strands(self, table: Table, names: frozenset[str], most: int) -> list[Iterator[Loaded]]:
        """Blocks are dealt to as many strands as there may be."""
        if (table, names) not in self._cut:
            self._cut[table, names] = list(self._cut_anew(table, names))
        blocks = self._cut[table, names]
        return [iter(blocks[first::most]) for first in range(most)]

    def _cut_anew(self, table: Table, names: frozenset[str]) -> Iterator[Loaded]:
        """The values of texts are those of the block alone, as sources may have them."""
        private = {column.name for column in table.columns if column.values is None}
        [strand] = super()._strands(table, names, 1)
        for block in strand:
            columns = {
                name: _own(column) if name in private else column
                for name, column in block.columns.items()
            }
            yield Loaded(columns, block.rows, block.version)


def _own(column: Numbers | Codes) -> Numbers | Codes:
    if isinstance(column, StoredTexts):
        return column
    if not isinstance(column, Codes) or column.values == (False, True):
        return column
    missing = len(column.values)
    used = [code for code in np.unique(column.codes).tolist() if code != missing]
    places = np.full(missing + 1, len(used))
    places[used] = np.arange(len(used))
    return Codes(places[column.codes], tuple(column.values[code] for code in used))
