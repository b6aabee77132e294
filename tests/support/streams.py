"""The engine over blocks of rows, for tables of whose engine the policy says nothing."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import field, replace
from unittest import mock

import numpy as np

from dpdb.engines.protocol import Exact, Progress, Witness
from dpdb.engines.sources.opening import Sources
from dpdb.engines.sources.protocol import Loaded, Partition, Source
from dpdb.engines.statistics import accumulators, gathered, rank_windows
from dpdb.engines.statistics.rank_windows import AllValues
from dpdb.engines.streams import StreamEngine, can_stream
from dpdb.engines.units import capped_rows
from dpdb.engines.values.grid_values import row_blocks
from dpdb.plan.expressions.expressions import Slot
from dpdb.plan.physical.plan import Plan
from dpdb.policy.catalog import Table
from dpdb.records import dataclass
from dpdb.vectors.columns import Codes, Numbers
from dpdb.vectors.stored_texts import StoredTexts
from dpdb.vectors.vector import AnyVector


@dataclass
class SmallBlocks(StreamEngine):
    """Cuts every table that can be cut into partitions of a few rows; units are read in turns.

    What a pass over a file has cut is there for the next ones.
    """

    block: int = 7
    threads: int = 2

    def __post_init__(self) -> None:
        super().__post_init__()
        self.sources = _Cut(rows=self.block)

    def streams(self, table: Table) -> bool:
        return can_stream(table)

    def turns(self, table: Table) -> int:
        return 3

    def size(self, table: Table) -> int:
        """Bytes that rows are capped for in three turns, of three buckets each."""
        return 450

    def exact(self, plan: Plan, slots: Mapping[Slot, AnyVector]) -> tuple[Exact, ...]:
        """Windows hold all values, however few of them a mechanism looks at.

        Rows of units are capped in several turns, and in several buckets in each of them.
        """
        with (
            mock.patch.object(accumulators, "_reach", return_value=2**40),
            mock.patch.object(accumulators, "RungCounts", AllValues),
            mock.patch.object(rank_windows, "BUCKETS", 2**7),
            mock.patch.object(capped_rows, "MEMORY", 200),
            mock.patch.object(capped_rows, "BUCKET", 3),
            mock.patch.object(gathered, "FEW", 1),
        ):
            return super().exact(plan, slots)


@dataclass(frozen=True)
class _Cut(Sources):
    """Sources whose tables have a partition for each of a few rows."""

    rows: int = 0
    cut: dict[tuple[str, frozenset[str]], list[Loaded]] = field(default_factory=dict, repr=False)

    def of(self, table: Table) -> Source:
        source = super().of(table)
        return _CutSource(source, self) if can_stream(table) else source


@dataclass(frozen=True)
class _CutSource(Source):
    source: Source
    by: _Cut

    def partitions(self, names: Collection[str], witness: Witness | None = None) -> list[Partition]:
        return [Partition(block.first, groups=(at,)) for at, block in enumerate(self._cut(names))]

    def read(
        self,
        partition: Partition,
        names: Collection[str],
        progress: Progress | None = None,
        witness: Witness | None = None,
    ) -> Iterator[Loaded]:
        """A block of its own, whose dictionary is taken out when it is added."""
        [place] = partition.groups
        block = self._cut(names)[place]
        yield replace(block, columns={**block.columns})

    def load(self, names: Collection[str], *rest: object) -> Loaded:
        return self.source.load(names)

    blocks = digest = None  # type: ignore[assignment]

    def _cut(self, names: Collection[str]) -> Sequence[Loaded]:
        table = self.source.table
        known = self.by.cut.get((table.name, frozenset(names)))
        if known is None:
            known = self.by.cut[table.name, frozenset(names)] = [*self._cut_anew(names)]
        return known

    def _cut_anew(self, names: Collection[str]) -> Iterator[Loaded]:
        """The values of texts are those of the block alone, as sources may have them."""
        private = {column.name for column in self.source.table.columns if column.values is None}
        first = 0
        for partition in self.source.partitions(names):
            for block in self.source.read(partition, names):
                for cut in row_blocks(block.rows, self.by.rows):
                    columns = {
                        name: _own(column.within(cut)) if name in private else column.within(cut)
                        for name, column in block.columns.items()
                    }
                    yield Loaded(columns, cut.stop - cut.start, block.version, first)
                    first += cut.stop - cut.start


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
