"""The engine for tables larger than memory: it goes over blocks of rows and keeps none of them.

Statistics of rows that have no unit in common add up to those of the whole, so one evaluator says
what a query means. A plan that does not add up is worked out in memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import field, replace
from functools import partial
from typing import Generic, TypeVar

import numpy as np

from dpdb.engines.loop import Runner, Threads, Work, processors, run
from dpdb.engines.memory import MemoryEngine
from dpdb.engines.protocol import MAX_ROWS, Exact, KeyCounts, too_large
from dpdb.engines.relations.row_unions import one_after_the_other
from dpdb.engines.sources.protocol import Loaded, Partition, Version, has_changed
from dpdb.engines.statistics.accumulators import PlanStatistics, UnitedKeys, adds_up
from dpdb.engines.units.capped_rows import Cap, CappedRows, RowBits, after_filter
from dpdb.engines.units.caps import PlanRows, Units
from dpdb.engines.units.held_rows import HeldRows
from dpdb.engines.units.keys import declared_of
from dpdb.engines.units.row_hashes import numbered, unit_words, word_hashes
from dpdb.engines.values.grid_values import row_blocks
from dpdb.plan.expressions.expressions import Slot
from dpdb.plan.expressions.single_values import UnitValue, single_value
from dpdb.plan.logical.query import are_sought
from dpdb.plan.physical.plan import Plan
from dpdb.plan.ranges.statistics import LimitedDistinct
from dpdb.policy.catalog import Table
from dpdb.records import dataclass
from dpdb.vectors.evaluate import Frame
from dpdb.vectors.vector import AnyVector, Array

BLOCK = 2**19
"""The rows of a block: what is held of them at a time is a few times what they take as columns."""
TURN = 2**25
"""The bytes of a file for each pass in which whole units are gathered."""

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
    Joins, made tables, public tables and what teaching shows are the memory engine's.
    """

    block: int = BLOCK
    threads: int = field(default_factory=processors)
    """Number of threads that go over a table at once."""
    versions: dict[str, tuple[Version, int]] = field(default_factory=dict, repr=False)
    _counted: tuple[Cap, RowBits] | None = field(default=None, repr=False)
    """The rows that counted last of a table with units."""

    def __post_init__(self) -> None:
        super().__post_init__()
        # The C library keeps twice as much free memory as was once freed in one piece (mallopt(3)),
        # and makes what is beyond that anew, page by page. This is more than a block's column has.
        np.empty(2 * BLOCK)

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
            run(RowCount(), Scan(self, table, frozenset(), _as_read))
        return self.versions[table.name][1]

    # numpy's warnings about overflow and the like would tell of rows.
    @np.errstate(all="ignore")
    def exact(self, plan: Plan, slots: Mapping[Slot, AnyVector]) -> tuple[Exact, ...]:
        """The exact result of each of the plan's own releases, in order."""
        if not self.goes_over(plan):
            return super().exact(plan, slots)
        return self.go_over(PlanStatistics.of, plan, slots)

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
        return run(gathered, Scan(self, table, names | {table.unit}, _as_read, bits))

    def _bits(self, plan: Plan, slots: Mapping[Slot, AnyVector]) -> RowBits:
        """The rows that count for a plan, if its units can be in any number of groups."""
        cap = Cap.of(plan)
        if self._counted is None or self._counted[0] not in (cap, cap.for_all) or slots:
            work = CappedRows(cap, slots, self.size(cap.table))
            self._counted = cap, run(work, Scan(self, cap.table, cap.names, _as_read))
        return self._counted[1]

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

        Threads(partitions, read, max(1, min(engine.threads, len(partitions)))).each(blocks)
        if blocks.version is None:
            blocks.add(source.load(self.names))
        assert blocks.version is not None
        engine.check(table, blocks.version, blocks.rows)


@dataclass(repr=False)
class Blocks(Work[Loaded, Result], Generic[Rows, Result]):
    """Adds the rows of blocks to another work, cut to as many as a block may have, in one pass."""

    work: Work[Rows, Result]
    table: Table
    of: Callable[[Loaded], Rows]
    bits: RowBits | None
    most: int
    rows: int = 0
    version: Version | None = None

    def copy(self) -> Blocks[Rows, Result]:
        return replace(self, work=self.work.copy(), rows=0, version=None)

    def add(self, rows: Loaded) -> None:
        self._count(rows.rows, rows.version)
        for cut in row_blocks(rows.rows, self.most):
            columns = {name: column.within(cut) for name, column in rows.columns.items()}
            block = Loaded(columns, cut.stop - cut.start, rows.version, rows.first + cut.start)
            self.work.add(self.of(block if self.bits is None else _with_bits(block, self.bits)))

    def join(self, other: Blocks[Rows, Result]) -> None:
        assert other.version is not None
        self._count(other.rows, other.version)
        self.work.join(other.work)

    def _count(self, rows: int, version: Version) -> None:
        if self.version not in (None, version):
            raise has_changed(self.table)
        self.rows, self.version = self.rows + rows, version

    def result(self) -> Result:
        return self.work.result()


@dataclass(repr=False)
class RowCount(Work[Loaded, int]):
    """The number of rows."""

    _rows: int = 0

    def copy(self) -> RowCount:
        return RowCount()

    def add(self, rows: Loaded) -> None:
        self._rows += rows.rows

    def join(self, other: RowCount) -> None:
        self._rows += other._rows

    def result(self) -> int:
        return self._rows


@dataclass(repr=False)
class UnitsTogether(Work[Loaded, Result], Generic[Result]):
    """Gives another work all rows of some units at a time: those of one turn in each pass.

    Which turn a unit has follows from a hash of its name, and the number of turns from the size of
    the table's files.
    """

    work: Work[PlanRows, Result]
    unit: str
    """The name of the column that names units."""
    turns: int
    of: Callable[[Loaded], PlanRows]
    _turn: int = 0
    _chosen: list[Loaded] = field(default_factory=list)

    def copy(self) -> UnitsTogether[Result]:
        return replace(self, _chosen=[])

    def add(self, rows: Loaded) -> None:
        turns = word_hashes(unit_words(rows.columns[self.unit])) % np.uint32(self.turns)
        self._chosen.append(_taken(rows, np.flatnonzero(turns == self._turn)))

    def join(self, other: UnitsTogether[Result]) -> None:
        self._chosen += other._chosen

    def settle(self) -> bool:
        # No name holds the rows of a turn, so that they are freed before the next one is gathered.
        self.work.add(self.of(self._together()))
        self._turn = (self._turn + 1) % self.turns
        return not self._turn and self.work.settle()

    def result(self) -> Result:
        return self.work.result()

    def _together(self) -> Loaded:
        """The rows of all blocks, each column freed once it is joined."""
        blocks = sorted(self._chosen, key=lambda block: block.first)
        self._chosen = []
        columns = {
            name: one_after_the_other([block.columns.pop(name) for block in blocks])
            for name in [*blocks[0].columns]
        }
        return Loaded(columns, sum(block.rows for block in blocks), blocks[0].version)


def counted_from(partition: Partition, blocks: Iterator[Loaded]) -> Iterator[Loaded]:
    """The blocks of a partition, with the number of rows before each of them."""
    first = partition.first
    for block in blocks:
        yield replace(block, first=first)
        first += block.rows
        del block  # nothing of a block is kept while the next one is made


def whole_units(plan: Plan, slots: Mapping[Slot, AnyVector], loaded: Loaded) -> PlanRows:
    """The rows of a plan: all rows of some units, with all declared columns."""
    table = plan.table
    assert isinstance(table, Table)
    if table.unit is None:
        return counted_rows(slots, None, loaded)
    owners = HeldRows((table,)).owners(table, lambda *_: loaded.columns, plan.sample_key)
    assert owners is not None
    units = Units.of(table, loaded.columns, owners, plan.sample_key)
    return PlanRows(Frame(loaded.columns, slots), loaded.rows, units, owners.numbers)


def counted_rows(slots: Mapping[Slot, AnyVector], unit: str | None, loaded: Loaded) -> PlanRows:
    """The rows of a plan, of which no unit has more than count."""
    owners = None if unit is None else numbered(unit_words(loaded.columns[unit]))
    return PlanRows(Frame(loaded.columns, slots), loaded.rows, None, owners)


def _as_read(rows: Loaded) -> Loaded:
    return rows


def _with_bits(rows: Loaded, bits: RowBits) -> Loaded:
    return _taken(rows, np.flatnonzero(bits.among(rows.first, rows.rows)))


def _taken(block: Loaded, rows: Array) -> Loaded:
    """Some rows of a block."""
    columns = {name: column.taken(rows) for name, column in block.columns.items()}
    return Loaded(columns, len(rows), block.version, block.first)


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
