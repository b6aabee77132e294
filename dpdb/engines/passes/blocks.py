"""Works to which a pass adds blocks of a table, read by threads or by processes.

All of it can be pickled, so that another process can be given it: no field is a local function, and
what is random goes with it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import field, replace
from typing import ClassVar, Generic, TypeVar

import numpy as np

from dpdb.engines.loop import Work
from dpdb.engines.relations.row_unions import one_after_the_other
from dpdb.engines.sources.protocol import Loaded, Partition, Version, has_changed
from dpdb.engines.units.capped_rows import RowBits
from dpdb.engines.units.caps import PlanRows, Units
from dpdb.engines.units.held_rows import HeldRows
from dpdb.engines.units.row_hashes import UnitKey, numbered
from dpdb.engines.values.grid_values import row_blocks
from dpdb.plan.expressions.expressions import Slot
from dpdb.plan.physical.plan import Plan
from dpdb.policy.catalog import Table
from dpdb.records import dataclass
from dpdb.vectors.evaluate import Frame
from dpdb.vectors.vector import AnyVector, Array

Rows = TypeVar("Rows")
Result = TypeVar("Result")


def keep_freed() -> None:
    """Have this process keep the memory of a block for the next one.

    The C library keeps twice as much free memory as was once freed in one piece (mallopt(3)), and
    makes what is beyond that anew, page by page. These 8 MiB are more than a block's column has.
    """
    np.empty(2**20)


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
        if other.version is not None:
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
    key: UnitKey = field(default_factory=UnitKey)
    keeps_rows: ClassVar[bool] = True
    _turn: int = 0
    _chosen: list[Loaded] = field(default_factory=list)

    def copy(self) -> UnitsTogether[Result]:
        return replace(self, _chosen=[])

    def add(self, rows: Loaded) -> None:
        turns = self.key.hashes(self.key.words(rows.columns[self.unit])) % np.uint32(self.turns)
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
    owners = None if unit is None else numbered(UnitKey().words(loaded.columns[unit]))
    return PlanRows(Frame(loaded.columns, slots), loaded.rows, None, owners)


def as_read(rows: Loaded) -> Loaded:
    """The rows themselves."""
    return rows


def _with_bits(rows: Loaded, bits: RowBits) -> Loaded:
    return _taken(rows, np.flatnonzero(bits.among(rows.first, rows.rows)))


def _taken(block: Loaded, rows: Array) -> Loaded:
    """Some rows of a block."""
    columns = {name: column.taken(rows) for name, column in block.columns.items()}
    return Loaded(columns, len(rows), block.version, block.first)
