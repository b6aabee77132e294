"""Which rows of a table count, where a column names their units and at most so many of each do.

A first pass reads that column and those of the filter, and counts the rows of units by a hash.
Where a counter is within the cap, so are all units that it stands for, and their rows count as they
are. The other rows are contested. They are ordered unit by unit, by their hashes: for these are
needed all declared columns. From then on there is a bit for each row, and a plan is worked out from
the rows that count as if each were a unit.

Of a small file one more pass orders all contested rows. Of a larger one there are more:

1. a pass over the units, after which a bit says which rows are contested, and counters are gone;
2. a pass over all declared columns, of which a byte is kept for each contested row, the first one
   of its hash;
3. turn by turn a pass over the units, each of which gathers the rows of some units, and takes out
   those whose byte is greater than that of as many others as count;
4. a pass over all declared columns, for the rows whose byte is that of the last one that counts,
   if more have it than may count. By chance these are one of a hundred rows; rows that are alike in
   all columns are further ones.

So memory holds, besides a block, for each row of the table a byte and two bits, and in a turn about
20 bytes for each row of some units; there are as many turns as keep both within 7·2^25. For 100
million contested rows in files of 2 GB these are 235 MB, whoever they are about. Only of rows that
are alike there may be more: 20 bytes for each that is undecided.

Which rows are held of each unit, before any filter, is found out in the same way, once for a table:
by the columns of its key, or by all of them. Where a plan has no filter that makes no difference.

The texts of a unit have no budget here, as memory holds a block whoever its rows are about; what
the time of a stream tells is not bounded by it.

How many passes there are, and of what, follows from the plan and from the size of the table's
files, which everybody knows who may list it. No pass is left out where no unit has too many rows.
One more row of a unit can have its other rows ordered, too, and those of units with which it shares
a counter; that takes the time of some rows, as the row does itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

import numpy as np

from dpdb.engines.sources.protocol import Loaded
from dpdb.engines.streams.least_hashes import LeastBytes, LeastHashes, Undecided
from dpdb.engines.streams.row_bits import RowBits
from dpdb.engines.streams.unit_counts import UnitCounts
from dpdb.engines.streams.unit_words import UnitWords, names_unit, unit_hashes, unit_words
from dpdb.engines.units.caps import Units, within_cap
from dpdb.engines.units.owners import Owners
from dpdb.engines.values import row_blocks
from dpdb.plan.expressions.expressions import Expr, Slot, columns_of
from dpdb.plan.physical.plan import Plan
from dpdb.policy.catalog import Column, Table
from dpdb.records import dataclass
from dpdb.vectors.evaluate import Frame
from dpdb.vectors.vector import AnyVector, Array, Bools

AT_ONCE = 2**27
"""The bytes of files of which all rows are ordered at once."""
_MEMORY, _OF_A_TURN = 7 * 2**25, 2**26
"""The bytes that turns and first bytes may take together, and what a turn may take in any case."""
_PER_ROW = 20
"""The bytes of a row in files, and in a turn. Files whose rows have fewer take more memory."""
_BUT_A_BYTE = np.uint64(56)
"""The bits of a hash that is kept in 64, without the first eight."""

Read = Callable[[frozenset[str]], Iterator[Loaded]]
"""Reads columns of all rows, in their order."""


@dataclass(frozen=True, repr=False)
class CappedRows:
    """What decides which rows count."""

    table: Table
    where: Expr | None
    sample_key: str
    limit: int
    """The most rows of a unit."""
    hashed: tuple[Column, ...]
    """The columns that say in which order the rows of a unit count."""
    alike: bool
    """Whether it makes no difference which rows of a unit count, as long as they are as many."""

    @classmethod
    def of(cls, plan: Plan) -> CappedRows:
        """What decides it for a plan."""
        table = plan.table
        assert isinstance(table, Table)
        alike = after_filter(plan).column_names <= {table.unit}
        cap = table.rows_per_unit
        return cls(table, plan.where, plan.sample_key, cap, table.columns, alike)

    @classmethod
    def held(cls, table: Table, sample_key: str) -> CappedRows:
        """The cap that decides which rows of a table are held, whatever the plan is."""
        limit, hashed = table.rows_held, table.told_apart_by
        return cls(table, None, sample_key, limit, hashed, alike=False)

    @property
    def for_all(self) -> CappedRows:
        """What decides it for all plans with the same filter."""
        return replace(self, alike=False)

    @property
    def asks_which_are_held(self) -> bool:
        """Whether rows that are not held could count.

        Without a filter the rows that count are the first ones of those that are held, or as many.
        """
        if self.table.has_one_row_per_unit:
            return False
        first = self.limit <= self.table.rows_held
        same_order = self.alike or self.hashed == self.table.told_apart_by
        return self.where is not None or not (first and same_order)

    def bits(
        self, read: Read, slots: Mapping[Slot, AnyVector], size: int, held: RowBits | None = None
    ) -> RowBits:
        """The rows that count of a table whose files have so many bytes, among those held."""
        counts = UnitCounts(self.limit, size)
        bits = RowBits.of(self._passed(read, slots, counts, held))
        if size <= AT_ONCE:
            self._cap_at_once(read, counts, bits)
            return bits
        contested = self._contested(read, counts, bits)
        del counts
        turns = _turns(size)
        first_bytes = None if self.alike else self._first_bytes(read, contested)
        undecided = [
            self._cap_some(read, contested, (turn, turns), first_bytes, bits)
            for turn in range(turns)
        ]
        del contested, first_bytes
        if not self.alike:
            self._decide(read, Undecided.joined(undecided), bits)
        return bits

    @property
    def _unit(self) -> str:
        assert self.table.unit is not None
        return self.table.unit

    @property
    def _ordering(self) -> frozenset[str]:
        """The columns that say in which order the rows of a unit count."""
        if self.alike:
            return frozenset({self._unit})
        return frozenset({self._unit, *(column.name for column in self.hashed)})

    def _passed(
        self, read: Read, slots: Mapping[Slot, AnyVector], counts: UnitCounts, held: RowBits | None
    ) -> Iterator[Bools]:
        """Which rows name a unit and pass the filter; they are counted."""
        where, first = self.where, 0
        names = frozenset({self._unit, *(() if where is None else columns_of(where))})
        for block in read(names):
            unit = block.columns[self._unit]
            passed = names_unit(unit)
            if held is not None:
                passed &= held.among(first, block.rows)
            first += block.rows
            if where is not None:
                passed &= row_blocks.mask(where, Frame(block.columns, slots), block.rows)
            counts.add(unit_hashes(unit)[passed])
            yield passed

    def _rows(
        self, read: Read, names: frozenset[str], bits: RowBits
    ) -> Iterator[tuple[Loaded, int, Array]]:
        """Each block, how many rows are before it, and which of its own have a bit."""
        first = 0
        for block in read(names):
            rows = block.rows
            yield block, first, bits.within(first, rows)
            first += rows
            del block

    def _cap_at_once(self, read: Read, counts: UnitCounts, bits: RowBits) -> None:
        """Take out rows past the caps, of all units in one pass."""
        least = LeastHashes(self.limit, bits.number)
        for block, first, rows in self._rows(read, self._ordering, bits):
            chosen = rows[counts.may_be_overfull(self._unit_hashes(block, rows))]
            numbers, words = _numbers(first, chosen), self._unit_words(block, chosen)
            hashes = _by_place(numbers) if self.alike else self._row_hashes(block, chosen)
            bits.remove(least.add(numbers, words, hashes))
        over, _ = least.settle()
        bits.remove(over)

    def _contested(self, read: Read, counts: UnitCounts, bits: RowBits) -> RowBits:
        """The rows of units that may have too many."""
        contested = bits.copy()
        for block, first, rows in self._rows(read, frozenset({self._unit}), bits):
            overfull = counts.may_be_overfull(self._unit_hashes(block, rows))
            contested.remove(first + rows[~overfull])
        return contested

    def _first_bytes(self, read: Read, contested: RowBits) -> Array:
        """The first byte of the hash of each contested row."""
        found, done = np.empty(contested.number, dtype=np.uint8), 0
        for block, _, rows in self._rows(read, self._ordering, contested):
            found[done : done + len(rows)] = self._row_hashes(block, rows) >> _BUT_A_BYTE
            done += len(rows)
            del block
        return found

    def _of_turn(
        self, read: Read, contested: RowBits, turn: int, turns: int
    ) -> Iterator[tuple[Array, UnitWords, Array]]:
        """Of each block the rows of a turn's units: numbers, units, places among all contested."""
        done = 0
        for block, first, rows in self._rows(read, frozenset({self._unit}), contested):
            own = np.flatnonzero(self._unit_hashes(block, rows) % np.uint32(turns) == turn)
            chosen = rows[own]
            yield _numbers(first, chosen), self._unit_words(block, chosen), done + own
            done += len(rows)

    def _cap_some(
        self,
        read: Read,
        contested: RowBits,
        turn: tuple[int, int],
        first_bytes: Array | None,
        bits: RowBits,
    ) -> Undecided:
        """Take out the rows of some units that are surely past the caps; returns the undecided.

        These units are those of a turn, which has a number and is one of so many.
        """
        kind = LeastHashes if first_bytes is None else LeastBytes
        least = kind(self.limit, contested.number)
        for numbers, words, places in self._of_turn(read, contested, *turn):
            hashes = _by_place(numbers) if first_bytes is None else first_bytes[places]
            bits.remove(least.add(numbers, words, hashes))
        over, undecided = least.settle()
        bits.remove(over)
        return undecided

    def _decide(self, read: Read, undecided: Undecided, bits: RowBits) -> None:
        """Take out those of the undecided rows that do not have the least hashes."""
        hashes, first = np.empty(len(undecided.rows), dtype=np.uint64), 0
        for block in read(self._ordering):
            ends = np.searchsorted(undecided.rows, (first, first + block.rows))
            own = slice(*ends.tolist())
            hashes[own] = self._row_hashes(block, undecided.rows[own] - first)
            first += block.rows
        kept = within_cap(undecided.units, undecided.limits, lambda places: hashes[places])
        bits.remove(undecided.rows[~kept])

    def _unit_hashes(self, block: Loaded, rows: Array) -> Array:
        return unit_hashes(block.columns[self._unit].taken(rows))

    def _unit_words(self, block: Loaded, rows: Array) -> UnitWords:
        return unit_words(block.columns[self._unit].taken(rows))

    def _row_hashes(self, block: Loaded, rows: Array) -> Array:
        """The hashes of some rows."""
        nobody = Owners(np.empty(0, dtype=np.int32), block.columns[self._unit])
        units = Units.hashed_by(self.hashed, block.columns, nobody, self.sample_key)
        return units.hashes(rows)


def _turns(size: int) -> int:
    """In how many turns rows are ordered of files of so many bytes."""
    rows = size // _PER_ROW
    return 1 + _PER_ROW * rows // max(_MEMORY - rows * 5 // 4, _OF_A_TURN)


def after_filter(plan: Plan) -> Plan:
    """The plan for rows that have passed its filter."""
    return replace(plan, where=None)


def _numbers(first: int, rows: Array) -> Array:
    """The numbers of rows in the table, of which there are so many before theirs."""
    # A table of more rows has been refused when the first pass ended.
    return (first + rows).astype(np.uint32)


def _by_place(numbers: Array) -> Array:
    """Hashes that leave rows in their order."""
    return numbers.astype(np.uint64) << np.uint64(32)
