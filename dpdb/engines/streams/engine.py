"""The engine that goes over blocks of rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np

from dpdb.engines.memory.engine import MemoryEngine
from dpdb.engines.memory.keys import declared_of
from dpdb.engines.memory.row_blocks import row_blocks
from dpdb.engines.protocol import CountedValues, Exact, KeyCounts, OpenEngine, Progress, Witness
from dpdb.engines.sources.protocol import Loaded, Version, has_changed
from dpdb.engines.streams.accumulators import accumulators, adds_up
from dpdb.engines.streams.parts import Part
from dpdb.engines.streams.unit_parts import part_of
from dpdb.engines.streams.united_keys import UnitedKeys
from dpdb.plan.expressions import Slot
from dpdb.plan.plan import Plan
from dpdb.policy.catalog import Table
from dpdb.policy.storage import files_of
from dpdb.vectors.vector import AnyVector

BLOCK = 2**18
"""The rows of a block: what is held of them at a time is a few times what they take as columns."""
PART = 2**26
"""The bytes of a file for each part of a table that has a unit."""


@dataclass
class StreamEngine(OpenEngine):
    """Reads the columns that a plan names anew for each plan, block by block.

    A block is cut by the number of its rows. Where each row is a unit, blocks are added up as they
    come: a block is held at a time, and besides sums of public size, the windows of quantiles, and
    the different values or keys that are counted. Rows of units that a column names are gathered
    part by part. Joins, tables that are made of others, public tables and what teaching shows are
    the memory engine's.
    """

    progress: Progress | None = None
    witness: Witness | None = None
    tables: tuple[Table, ...] = ()
    block: int = BLOCK
    _memory: MemoryEngine = field(init=False, repr=False)
    _versions: dict[str, tuple[Version, int]] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        self._memory = MemoryEngine(self.progress, self.witness, self.tables)

    def streams(self, table: Table) -> bool:
        """Whether the rows of a table are read block by block."""
        return table.is_streamed and can_stream(table)

    def parts(self, table: Table) -> int:
        """In how many parts units are gathered: as many as the size of the files asks for.

        The size of a server's table is not asked for.
        """
        if table.server is not None:
            return 1
        return 1 + sum(path.stat().st_size for path in files_of(table.path)) // PART

    def rows(self, table: Table) -> int:
        """The number of rows, which is public where it is asked for."""
        if not self.streams(table):
            return self._memory.rows(table)
        if table.name not in self._versions:
            for _ in self._blocks(table, frozenset()):
                pass
        return self._versions[table.name][1]

    # numpy's warnings about overflow and the like would tell of rows.
    @np.errstate(all="ignore")
    def exact(self, plan: Plan, slots: Mapping[Slot, AnyVector]) -> tuple[Exact, ...]:
        """The exact result of each of the plan's own releases, in order."""
        if not self._goes_over(plan):
            return self._memory.exact(plan, slots)
        cells = plan.cells if plan.keys else 1
        results = accumulators(plan.exact_releases, cells)
        waiting = list(dict.fromkeys(results))
        while waiting:
            for part in self._parts(plan, slots):
                statistics = part.statistics(plan)
                for each in waiting:
                    each.add(statistics)
            waiting = [each for each in waiting if not each.settle()]
        return tuple(Exact(each.result()) for each in results)

    @np.errstate(all="ignore")
    def key_counts(self, plan: Plan, slots: Mapping[Slot, AnyVector]) -> KeyCounts:
        """The keys that are found in the data, with the number of units of each."""
        if not self._goes_over(plan):
            return self._memory.key_counts(plan, slots)
        keys = UnitedKeys()
        for part in self._parts(plan, slots):
            keys.add(part.key_counts(plan))
        return keys.all()

    def values(self, plan: Plan, slots: Mapping[Slot, AnyVector]) -> list[CountedValues]:
        return self._memory.values(plan, slots)

    def _goes_over(self, plan: Plan) -> bool:
        """Whether the plan can be worked out from parts of its table, and there are several."""
        table = plan.table
        return (
            isinstance(table, Table)
            and self.streams(table)
            and adds_up(plan)
            and (table.unit is None or self.parts(table) > 1)
        )

    def _parts(self, plan: Plan, slots: Mapping[Slot, AnyVector]) -> Iterator[Part]:
        """The rows of the plan's table."""
        table = plan.table
        assert isinstance(table, Table)
        if table.unit is None:
            for block in self._blocks(table, plan.column_names):
                yield Part.of(table, block, slots)
            return
        # Which of a unit's rows count depends on all declared columns.
        names = frozenset(column.name for column in table.columns)
        parts = self.parts(table)
        for number in range(parts):
            loaded = part_of(self._blocks(table, names), table.unit, number, parts)
            yield Part.of(table, loaded, slots)

    def _blocks(self, table: Table, names: frozenset[str]) -> Iterator[Loaded]:
        """All rows, some at a time; there is one block at least.

        What is declared of the table's values together is checked before, once.
        """
        if declared_of(table):
            self._memory.rows(table)
        source, rows, none_yet = self._memory.sources.of(table), 0, True
        # A digest is that of a version, and other versions are refused.
        witness = None if table.name in self._versions else self.witness
        for read in source.blocks(names, self.progress, witness):
            for cut in row_blocks(read.rows, self.block):
                columns = {name: column.within(cut) for name, column in read.columns.items()}
                yield Loaded(columns, cut.stop - cut.start, read.version)
            rows, version, none_yet = rows + read.rows, read.version, False
        if none_yet:
            loaded = source.load(names, self.progress, witness)
            rows, version = loaded.rows, loaded.version
            yield loaded
        if self._versions.setdefault(table.name, (version, rows)) != (version, rows):
            raise has_changed(table)


def can_stream(table: Table) -> bool:
    """Whether a table has rows of its own, and its units names of their own."""
    return type(table) is Table and table.chain is None and not table.public
