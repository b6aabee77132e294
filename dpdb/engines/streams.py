"""The engine for tables larger than memory: it goes over blocks of rows and keeps none of them.

Statistics of rows that have no unit in common add up to those of the whole, so one evaluator says
what a query means. A plan that does not add up is worked out in memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import field
from functools import partial
from typing import TYPE_CHECKING, Generic, TypeGuard, TypeVar

import numpy as np

from dpdb.engines.loop import Runner, Threads, Work, processors, run
from dpdb.engines.memory import MemoryEngine
from dpdb.engines.passes.blocks import (
    Blocks,
    RowCount,
    UnitsTogether,
    as_read,
    counted_from,
    counted_rows,
    keep_freed,
    whole_units,
)
from dpdb.engines.passes.shared_blocks import SharedBlocks
from dpdb.engines.protocol import MAX_ROWS, Exact, KeyCounts, too_large
from dpdb.engines.sources.csv_source import can_be_cut
from dpdb.engines.sources.protocol import Loaded, Partition, Version, has_changed
from dpdb.engines.statistics.accumulators import PlanStatistics, UnitedKeys, adds_up
from dpdb.engines.units.capped_rows import Cap, CappedRows, RowBits, after_filter
from dpdb.engines.units.caps import PlanRows
from dpdb.engines.units.keys import declared_of
from dpdb.engines.units.row_hashes import UnitKey
from dpdb.plan.expressions.expressions import Slot
from dpdb.plan.expressions.single_values import UnitValue, single_value
from dpdb.plan.logical.query import are_sought
from dpdb.plan.physical.plan import Plan
from dpdb.plan.ranges.statistics import LimitedDistinct
from dpdb.plan.relations.relations import Source
from dpdb.policy.catalog import Kind, Table
from dpdb.policy.storage import Storage
from dpdb.records import dataclass
from dpdb.vectors.vector import AnyVector

if TYPE_CHECKING:
    from dpdb.engines.passes.pool import Pool

# ruff: noqa: PLC0415 - most sessions begin no pool, for which sockets would be imported

BLOCK = 2**19
"""The rows of a block: what is held of them at a time is a few times what they take as columns."""
TURN = 2**25
"""The bytes of a file for each pass in which whole units are gathered."""
POOLED = 2**26
"""The least bytes of files that a pool goes over faster than threads, for free texts and CSV."""
STARTED = 2**30
"""The bytes of files that are gone over, pass by pass, before a pool starts."""

Rows = TypeVar("Rows")
Result = TypeVar("Result")


@dataclass
class StreamEngine(MemoryEngine):
    """Reads the columns that a plan names anew for each plan, block by block.

    A block is cut by the number of its rows. Where each row is a unit, blocks are added up as they
    come: each thread holds one at a time, and besides sums of public size, the windows of
    quantiles, and the different values or keys that are counted. Where a column names the units, it
    is found out first which rows count, and kept for further plans with the same filter. Only where
    a plan needs all rows of a unit together are they gathered, those of some units in each pass.
    Rows of two owners are gathered, with what a plan reads of them, and filled at once. Joins, made
    tables, public tables and what teaching shows are the memory engine's.
    """

    block: int = BLOCK
    threads: int = field(default_factory=processors)
    """Number of threads that go over a table at once."""
    pools: int = 1
    """Number of processes that may have a pool, this one among them, and share the memory."""
    versions: dict[str, tuple[Version, int]] = field(default_factory=dict, repr=False)
    _counted: tuple[Cap, RowBits] | None = field(default=None, repr=False)
    """The rows that counted last of a table with units."""
    _gone_over: int = field(default=0, repr=False)
    """The bytes of files that a pool would have gone over faster."""
    _pool: Pool | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        keep_freed()

    def streams(self, table: Table) -> bool:
        """Whether the rows of a table are read block by block."""
        return table.is_streamed and can_stream(table)

    def turns(self, table: Table) -> int:
        """In how many passes whole units are gathered: as many as the files' size asks for."""
        return 1 + self.size(table) // TURN

    def size(self, table: Table) -> int:
        """The bytes of a table's files; the size of a server's table is not asked for."""
        if table.server is not None:
            return 0
        return sum(path.stat().st_size for path in table.files)

    def rows(self, table: Table) -> int:
        """The number of rows, which is public where it is asked for."""
        if not self.streams(table):
            return super().rows(table)
        if table.name not in self.versions:
            run(RowCount(), Scan(self, table, frozenset(), as_read))
        return self.versions[table.name][1]

    # numpy's warnings about overflow and the like would tell of rows.
    @np.errstate(all="ignore")
    def exact(self, plan: Plan, slots: Mapping[Slot, AnyVector]) -> tuple[Exact, ...]:
        """The exact result of each of the plan's own releases, in order."""
        if self.fills(plan.table):
            names = frozenset(column.name for column in plan.table.columns)
            return run(SharedBlocks(plan, slots), Scan(self, plan.table, names, as_read))
        if not self.goes_over(plan):
            return super().exact(plan, slots)
        return self.go_over(PlanStatistics.of, plan, slots)

    def fills(self, table: Source) -> TypeGuard[Table]:
        """Whether rows of two owners, whom columns name, are gathered block by block."""
        if not isinstance(table, Table) or type(table) is not Table or not table.owners:
            return False
        named = not any(owner.chain for owner in table.owners)
        return named and (table.is_streamed or table.in_spark) and self.turns(table) > 1

    @np.errstate(all="ignore")
    def key_counts(self, plan: Plan, slots: Mapping[Slot, AnyVector]) -> KeyCounts:
        """The keys that are found in the data, with the number of units of each."""
        if not self.goes_over(plan):
            return super().key_counts(plan, slots)
        return self.go_over(UnitedKeys, plan, slots)

    def goes_over(self, plan: Plan) -> bool:
        """Whether the plan can be worked out from parts of its table, and there are several."""
        table = plan.table
        return (
            isinstance(table, Table)
            and self.streams(table)
            and adds_up(plan)
            and (table.unit is None or self.turns(table) > 1)
        )

    def go_over(
        self,
        work_of: Callable[[Plan], Work[PlanRows, Result]],
        plan: Plan,
        slots: Mapping[Slot, AnyVector],
    ) -> Result:
        """The result of a plan's work over the rows of its table."""
        table = plan.table
        assert isinstance(table, Table)
        if table.unit is None:
            rows = partial(counted_rows, slots, None)
            return run(work_of(plan), Scan(self, table, plan.column_names, rows))
        if plan.keys and table.groups_per_unit is not None:
            # Which groups of a unit count is decided before its rows are capped, with all of them.
            names, bits = frozenset(column.name for column in table.columns), None
            work, of_units = work_of(plan), partial(whole_units, plan, slots)
        else:
            passed, bits = after_filter(plan), self._bits(plan, slots)
            names, work = passed.column_names, work_of(passed)
            of_units = partial(counted_rows, slots, table.unit)
            if not _looks_at_units(plan):
                rows = partial(counted_rows, slots, None)
                return run(work, Scan(self, table, names, rows, bits))
        gathered = UnitsTogether(work, table.unit, self.turns(table), of_units)
        return run(gathered, Scan(self, table, names | {table.unit}, as_read, bits))

    def _bits(self, plan: Plan, slots: Mapping[Slot, AnyVector]) -> RowBits:
        """The rows that count for a plan, if its units can be in any number of groups."""
        cap = Cap.of(plan)
        if self._counted is None or self._counted[0] not in (cap, cap.for_all) or slots:
            work = CappedRows(cap, slots, self.size(cap.table), UnitKey())
            self._counted = cap, run(work, Scan(self, cap.table, cap.names, as_read))
        return self._counted[1]

    def pool(self, table: Table, names: frozenset[str], pieces: int) -> Pool | None:
        """The pool for a pass over some columns of a table; None if threads go over it.

        Policy, plan and the sizes of files say which, and whether a pool has started yet. Numbers
        of Parquet files are gone over by threads about as fast, so a pool is for free texts and for
        CSV unless the policy has `workers`. It starts once so much is gone over that it has saved
        what it takes to start.
        """
        of_csv = table.storage is Storage.CSV
        if not (can_be_cut(table) if of_csv else pieces > 1 and table.storage is Storage.PARQUET):
            return None
        workers = table.workers
        if workers is None:
            size, columns = self.size(table), (c for c in table.columns if c.name in names)
            texts = any(c.kind is Kind.TEXT and not c.values for c in columns)
            if size < POOLED or not (of_csv or texts):
                return None
            self._gone_over += size
            if self._gone_over < STARTED:
                return None
        from dpdb.engines.passes.pool import can_start, started, usual_workers

        workers = workers or usual_workers(self.pools)
        if workers < 2 or not can_start():
            return None
        if self._pool is None or not self._pool.holds(workers):
            self._pool = started(workers)
        return self._pool if self._pool is not None and self._pool.is_ready() else None

    def check(self, table: Table, version: Version, rows: int) -> None:
        """Refuse a table of which other data have been seen, or of more rows than sums hold."""
        if rows > MAX_ROWS:
            raise too_large(table)
        if self.versions.setdefault(table.name, (version, rows)) != (version, rows):
            raise has_changed(table)


@dataclass(repr=False)
class Scan(Runner[Rows], Generic[Rows]):
    """All rows of a stored table, or those that have a bit: partitions are shared by threads."""

    engine: StreamEngine
    table: Table
    names: frozenset[str]
    of: Callable[[Loaded], Rows]
    """Makes of a block what is added."""
    bits: RowBits | None = None

    def each(self, work: Work[Rows, Result]) -> None:
        """Add all rows. What is declared of the table's values together is checked before, once."""
        engine, table = self.engine, self.table
        if declared_of(table):
            MemoryEngine.rows(engine, table)
        source = engine.sources.of(table)
        # A digest is that of a version, and other versions are refused.
        witness = None if table.name in engine.versions else engine.witness
        partitions = source.partitions(self.names, witness)
        told = engine.progress if len(partitions) == 1 else None
        blocks = Blocks(work, table, self.of, self.bits, engine.block)

        def read(partition: Partition) -> Iterator[Loaded]:
            return counted_from(partition, source.read(partition, self.names, told, witness))

        pool = None if work.keeps_rows else engine.pool(table, self.names, len(partitions))
        if pool is not None and len(partitions) < 2:
            partitions = source.cut(witness) or partitions
        if pool is None:
            Threads(partitions, read, max(1, min(engine.threads, len(partitions)))).each(blocks)
        else:
            from dpdb.engines.passes.pool import Processes

            Processes(pool, source, self.names, partitions).each(blocks)
        if blocks.version is None:
            blocks.add(source.load(self.names))
        assert blocks.version is not None
        engine.check(table, blocks.version, blocks.rows)


def _looks_at_units(plan: Plan) -> bool:
    """Whether a plan needs the rows of a unit that count together."""
    arguments = (estimate.aggregate.argument for estimate in plan.estimates)
    return (
        are_sought(plan.found)
        or any(isinstance(each.statistic, LimitedDistinct) for each in plan.releases)
        or any(isinstance(single_value(argument), UnitValue) for argument in arguments)
    )


def can_stream(table: Table) -> bool:
    """Whether a table has rows of its own, and its units names of their own; one for each row."""
    alone = table.chain is None and not table.owners
    return type(table) is Table and alone and not table.public
