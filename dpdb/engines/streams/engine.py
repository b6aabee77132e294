"""The engine that goes over blocks of rows."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping
from copy import deepcopy
from dataclasses import field
from functools import partial

import numpy as np
import pyarrow

from dpdb.engines.memory import MemoryEngine
from dpdb.engines.protocol import (
    MAX_ROWS,
    CountedValues,
    Exact,
    KeyCounts,
    OpenEngine,
    Progress,
    Witness,
    too_large,
)
from dpdb.engines.sources.protocol import Loaded, Version, has_changed
from dpdb.engines.statistics.accumulators import adds_up, exact_results
from dpdb.engines.statistics.found_keys import UnitedKeys
from dpdb.engines.streams.capped_rows import CappedRows, after_filter
from dpdb.engines.streams.found import Found, add_part, join
from dpdb.engines.streams.parts import Part
from dpdb.engines.streams.reading import Reading
from dpdb.engines.streams.row_bits import RowBits
from dpdb.engines.streams.threads import go_over, threads
from dpdb.engines.streams.unit_parts import caps_groups, looks_at_units, part_of, rows_of
from dpdb.engines.units.keys import declared_of
from dpdb.plan.expressions.expressions import Slot
from dpdb.plan.physical.plan import Plan
from dpdb.policy.catalog import Table
from dpdb.records import dataclass
from dpdb.vectors.vector import AnyVector

BLOCK = 2**19
"""The rows of a block: what is held of them at a time is a few times what they take as columns."""
PART = 2**25
"""The bytes of a file for each part of a table that has a unit."""


@dataclass
class StreamEngine(OpenEngine):
    """Reads the columns that a plan names anew for each plan, block by block.

    A block is cut by the number of its rows. Where each row is a unit, blocks are added up as they
    come: each thread holds one at a time, and besides sums of public size, the windows of
    quantiles, and the different values or keys that are counted. Where a column names the units, it
    is found out first which rows count, and kept for further plans with the same filter. Only where
    a plan needs all rows of a unit together are they gathered, part by part. Joins, tables that are
    made of others, public tables and what teaching shows are the memory engine's.
    """

    progress: Progress | None = None
    witness: Witness | None = None
    tables: tuple[Table, ...] = ()
    block: int = BLOCK
    threads: int = field(default_factory=threads)
    """How many go over a table at once."""
    _memory: MemoryEngine = field(init=False, repr=False)
    _versions: dict[str, tuple[Version, int]] = field(default_factory=dict, repr=False)
    _kept: tuple[CappedRows, RowBits] | None = field(default=None, repr=False)
    """The rows that counted last of a table with units."""
    _held: dict[tuple[str, str], RowBits] = field(default_factory=dict, repr=False)
    """The rows that are held of tables with units, by their names and the key of hashes."""

    def __post_init__(self) -> None:
        self._memory = MemoryEngine(self.progress, self.witness, self.tables)
        # The C library keeps twice as much free memory as was once freed in one piece (mallopt(3)),
        # and makes what is beyond that anew, page by page. This is more than a block's column has.
        np.empty(2 * BLOCK)

    def streams(self, table: Table) -> bool:
        """Whether the rows of a table are read block by block."""
        return table.is_streamed and can_stream(table)

    def parts(self, table: Table) -> int:
        """In how many parts units are gathered: as many as the size of the files asks for."""
        return 1 + self.size(table) // PART

    def size(self, table: Table) -> int:
        """The bytes of a table's files; the size of a server's table is not asked for."""
        if table.server is not None:
            return 0
        return sum(path.stat().st_size for path in table.files)

    def rows(self, table: Table) -> int:
        """The number of rows, which is public where it is asked for."""
        if not self.streams(table):
            return self._memory.rows(table)
        if table.name not in self._versions:
            for strand in self._strands(table, frozenset(), 1):
                deque(strand, maxlen=0)
        return self._versions[table.name][1]

    # numpy's warnings about overflow and the like would tell of rows.
    @np.errstate(all="ignore")
    def exact(self, plan: Plan, slots: Mapping[Slot, AnyVector]) -> tuple[Exact, ...]:
        """The exact result of each of the plan's own releases, in order."""
        if not self._goes_over(plan):
            return self._memory.exact(plan, slots)
        counted = self._counted(plan, slots)
        return exact_results(plan, lambda waiting: self._add_up(plan, slots, waiting, counted))

    @np.errstate(all="ignore")
    def key_counts(self, plan: Plan, slots: Mapping[Slot, AnyVector]) -> KeyCounts:
        """The keys that are found in the data, with the number of units of each."""
        if not self._goes_over(plan):
            return self._memory.key_counts(plan, slots)
        keys = UnitedKeys()
        self._add_up(plan, slots, keys, self._counted(plan, slots))
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

    def _counted(self, plan: Plan, slots: Mapping[Slot, AnyVector]) -> RowBits | None:
        """The rows that count of a table with units, if these can be in any number of groups."""
        table = plan.table
        assert isinstance(table, Table)
        if table.unit is None or caps_groups(plan):
            return None
        capped = CappedRows.of(plan)
        if self._kept is None or self._kept[0] not in (capped, capped.for_all) or slots:
            held = self._held_of(table, plan.sample_key) if capped.asks_which_are_held else None
            bits = capped.bits(partial(self._in_order, table), slots, self.size(table), held)
            self._kept = capped, bits
        return self._kept[1]

    def _held_of(self, table: Table, sample_key: str) -> RowBits:
        """The rows of a table that are held of each unit, whatever the plan is."""
        known = table.name, sample_key
        if known not in self._held:
            capped, read = CappedRows.held(table, sample_key), partial(self._in_order, table)
            self._held[known] = capped.bits(read, {}, self.size(table))
        return self._held[known]

    def _add_up(
        self, plan: Plan, slots: Mapping[Slot, AnyVector], found: Found, counted: RowBits | None
    ) -> None:
        """Add all rows of the plan's table to what is found, or those that count."""
        table = plan.table
        assert isinstance(table, Table)
        if counted is not None:
            self._add_counted(after_filter(plan), slots, found, counted)
        elif table.unit is not None:
            # Which of a unit's rows count depends on all declared columns.
            names = frozenset(column.name for column in table.columns)
            parts = self.parts(table)
            for number in range(parts):
                # No name holds a part, so that it is freed before the next one is gathered.
                blocks = self._in_order(table, names)
                add_part(
                    found, Part.of(plan, part_of(blocks, table.unit, number, parts), slots), plan
                )
        else:
            self._add_strands(plan, slots, found)

    def _add_strands(self, plan: Plan, slots: Mapping[Slot, AnyVector], found: Found) -> None:
        """Add all rows of a table, each of which is a unit."""
        table = plan.table
        assert isinstance(table, Table)
        strands = self._strands(table, plan.column_names, self.threads)
        each = [found, *(deepcopy(found) for _ in strands[1:])]

        def adding(own: Found) -> Callable[[Loaded], None]:
            return lambda block: add_part(own, Part.of_counted(block, slots), plan)

        parts = go_over(strands, [adding(own) for own in each])
        for number, own in zip(parts[1:], each[1:], strict=True):
            if number:
                join(found, own)

    def _add_counted(
        self, plan: Plan, slots: Mapping[Slot, AnyVector], found: Found, counted: RowBits
    ) -> None:
        """Add the rows that count, with units as they are or with those of each together."""
        table = plan.table
        assert isinstance(table, Table)
        if table.unit is not None and looks_at_units(plan):
            names, parts = plan.column_names | {table.unit}, self.parts(table)
            for number in range(parts):
                blocks = self._those(table, names, counted)
                add_part(
                    found,
                    Part.of_counted(part_of(blocks, table.unit, number, parts), slots, table.unit),
                    plan,
                )
            return
        for block in self._those(table, plan.column_names, counted):
            add_part(found, Part.of_counted(block, slots), plan)

    def _those(self, table: Table, names: frozenset[str], counted: RowBits) -> Iterator[Loaded]:
        """The rows that count, some at a time."""
        first = 0
        for block in self._in_order(table, names):
            yield rows_of(block, counted.within(first, block.rows))
            first += block.rows

    def _in_order(self, table: Table, names: frozenset[str]) -> Iterator[Loaded]:
        """All rows in their order, some at a time."""
        [blocks] = self._strands(table, names, 1)
        for block in blocks:
            yield block
            # Nothing of a block is kept while the next one is made: Arrow would keep it, too.
            del block
            pyarrow.default_memory_pool().release_unused()

    def _strands(self, table: Table, names: frozenset[str], most: int) -> list[Iterator[Loaded]]:
        """All rows, some at a time, in at most so many strands.

        What is declared of the table's values together is checked before, once.
        """
        if declared_of(table):
            self._memory.rows(table)
        # A digest is that of a version, and other versions are refused.
        witness = None if table.name in self._versions else self.witness
        source = self._memory.sources.of(table)
        strands = source.strands(names, most, self.progress, witness)
        reading = Reading(source, names, len(strands), self._check)
        return [reading.strand(blocks, self.block) for blocks in strands]

    def _check(self, table: Table, version: Version, rows: int) -> None:
        """Refuse a table of which other data have been seen, or of more rows than sums hold."""
        if rows > MAX_ROWS:
            raise too_large(table)
        if self._versions.setdefault(table.name, (version, rows)) != (version, rows):
            raise has_changed(table)


def can_stream(table: Table) -> bool:
    """Whether a table has rows of its own, and its units names of their own."""
    return type(table) is Table and table.chain is None and not table.public
