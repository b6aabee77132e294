"""Which rows of a table count, where a column names their units and at most so many of each do.

A first pass reads that column and those of the filter, and counts the rows of units by a hash.
Where a counter is within the cap, so are all units that it stands for, and their rows count as they
are. The other rows are ordered unit by unit, by their hashes: for these are needed all declared
columns. From then on there is a bit for each row, and a plan is worked out from the rows that count
as if each were a unit.

Memory holds the rows of some units at a time. Of a small file one pass orders all. Of a larger one
a pass keeps a byte for each row, the first of its hash; turn by turn, a pass over the units takes
out the rows whose byte is greater than that of as many others as count; and a last pass orders the
units for which bytes do not decide: few, but for those with equal rows. Of none of them it keeps
more rows than count.

How many passes there are, and of what, follows from the plan and from the size of the table's
files, which everybody knows who may list it. No pass is left out where no unit has too many rows.
One more row of a unit can have its other rows ordered, too, and those of units with which it shares
a counter; that takes the time of some rows, as the row does itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np

from dpdb.engines.memory import row_blocks
from dpdb.engines.memory.contribution_bounds import Units
from dpdb.engines.memory.keys import is_text
from dpdb.engines.memory.leaves import taken
from dpdb.engines.memory.owners import Owners, UnitNumbers
from dpdb.engines.sources.protocol import Loaded
from dpdb.engines.streams.least_hashes import LeastHashes
from dpdb.engines.streams.row_bits import RowBits
from dpdb.engines.streams.unit_counts import UnitCounts, names_unit, unit_hashes
from dpdb.plan.expressions import Expr, Slot, columns_of
from dpdb.plan.plan import Plan
from dpdb.policy.catalog import Table
from dpdb.vectors.columns import Codes, Numbers
from dpdb.vectors.evaluate import Frame
from dpdb.vectors.vector import AnyVector, Array, Bools

ORDERED = 2**28
"""The bytes of files for each turn in which rows of some units are ordered."""
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
    alike: bool
    """Whether it makes no difference which rows of a unit count, as long as they are as many."""

    @classmethod
    def of(cls, plan: Plan) -> CappedRows:
        """What decides it for a plan."""
        assert isinstance(plan.table, Table)
        alike = after_filter(plan).column_names <= {plan.table.unit}
        return cls(plan.table, plan.where, plan.sample_key, alike)

    @property
    def for_all(self) -> CappedRows:
        """What decides it for all plans with the same filter."""
        return replace(self, alike=False)

    def bits(self, read: Read, slots: Mapping[Slot, AnyVector], size: int) -> RowBits:
        """The rows that count of a table whose files have so many bytes."""
        counts, turns = UnitCounts(self.table.rows_per_unit, size), 1 + size // ORDERED
        bits = RowBits.of(self._passed(read, slots, counts))
        if self.alike:
            self._take_turns(read, counts, bits, turns, None)
            return bits
        if turns > 1:
            self._take_turns(read, counts, bits, turns, self._first_bytes(read, counts, bits))
            counts = UnitCounts(self.table.rows_per_unit, size)
            for block, _, rows in self._rows(read, frozenset({self._unit}), bits):
                counts.add(self._hashes(block, rows))
        least, numbers = LeastHashes(self.table.rows_per_unit), UnitNumbers()
        for block, first, rows in self._contested(read, self._declared, counts, bits):
            units = _units(block.columns[self._unit], rows, numbers)
            bits.remove(least.add(rows + first, units, self._row_hashes(block, rows)))
        bits.remove(least.settle())
        return bits

    @property
    def _unit(self) -> str:
        assert self.table.unit is not None
        return self.table.unit

    @property
    def _declared(self) -> frozenset[str]:
        return frozenset(column.name for column in self.table.columns)

    def _passed(
        self, read: Read, slots: Mapping[Slot, AnyVector], counts: UnitCounts
    ) -> Iterator[Bools]:
        """Which rows name a unit and pass the filter; they are counted."""
        where = self.where
        names = frozenset({self._unit, *(() if where is None else columns_of(where))})
        for block in read(names):
            unit = block.columns[self._unit]
            passed = names_unit(unit)
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
            yield block, first, bits.within(first, block.rows)
            first += block.rows

    def _contested(
        self, read: Read, names: frozenset[str], counts: UnitCounts, bits: RowBits
    ) -> Iterator[tuple[Loaded, int, Array]]:
        """Each block, how many rows are before it, and its rows of units that may have too many."""
        for block, first, rows in self._rows(read, names, bits):
            yield block, first, rows[counts.may_be_overfull(self._hashes(block, rows))]

    def _hashes(self, block: Loaded, rows: Array) -> Array:
        """The hashes of the units of some rows."""
        return unit_hashes(taken(block.columns[self._unit], rows))

    def _first_bytes(self, read: Read, counts: UnitCounts, bits: RowBits) -> Array:
        """The first byte of the hash of each contested row."""
        found = []
        for block, _, rows in self._contested(read, self._declared, counts, bits):
            found.append((self._row_hashes(block, rows) >> _BUT_A_BYTE).astype(np.uint8))
        return np.concatenate(found)

    def _take_turns(
        self, read: Read, counts: UnitCounts, bits: RowBits, turns: int, first_bytes: Array | None
    ) -> None:
        """Take out rows past the caps, of some units in each turn.

        Without bytes any rows do; with them, rows stay that have the same as the last that counts.
        """
        before = bits.copy()
        for turn in range(turns):
            least = LeastHashes(self.table.rows_per_unit, ties=first_bytes is not None)
            numbers, done = UnitNumbers(), 0
            blocks = self._contested(read, frozenset({self._unit}), counts, before)
            for block, first, rows in blocks:
                own = self._hashes(block, rows) % turns == turn
                hashes = np.zeros(np.count_nonzero(own), dtype=np.uint64)
                if first_bytes is not None:
                    chosen = first_bytes[done : done + len(rows)][own]
                    hashes = chosen.astype(np.uint64) << _BUT_A_BYTE
                done += len(rows)
                units = _units(block.columns[self._unit], rows[own], numbers)
                bits.remove(least.add(rows[own] + first, units, hashes))
            bits.remove(least.settle())

    def _row_hashes(self, block: Loaded, rows: Array) -> Array:
        """The hashes of some rows."""
        nobody = Owners(np.empty(0, dtype=np.int32), block.columns[self._unit])
        return Units.of(self.table, block.columns, nobody, self.sample_key).hashes(rows)


def after_filter(plan: Plan) -> Plan:
    """The plan for rows that have passed its filter."""
    return replace(plan, where=None)


def _units(column: Numbers | Codes, rows: Array, numbers: UnitNumbers) -> Array:
    """A number for the unit of each of some rows, all of which name one."""
    own = taken(column, rows)
    if isinstance(own, Numbers):
        return own.units
    if not is_text(own):
        return own.codes
    used, codes = np.unique(own.codes, return_inverse=True)
    return numbers.of(Codes(codes, tuple(own.values[code] for code in used.tolist())))
