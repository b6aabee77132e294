"""Which rows of a table count, where a column names their units and at most so many of each do.

A first pass reads that column and those of the filter, and counts the rows of units by a hash.
Where a counter is within the cap, so are all units that it stands for, and their rows count as they
are. In a second pass the other rows are ordered by their hashes, unit by unit: for these are needed
all declared columns. From then on there is a bit for each row, and a plan is worked out from the
rows that count as if each were a unit.

How many passes there are follows from the size of the table's files, which everybody knows who may
list it: in each one the rows of some units are ordered, so that memory is bounded even if all have
more rows than count. No pass is left out where there are none. One more row of a unit can have its
other rows ordered, too, and those of units with which it shares a counter; that takes the time
of some rows, as the row does itself.
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
"""The bytes of files for each pass in which rows are ordered."""

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
        """That of a plan."""
        assert isinstance(plan.table, Table)
        alike = after_filter(plan).column_names <= {plan.table.unit}
        return cls(plan.table, plan.where, plan.sample_key, alike)

    @property
    def for_all(self) -> CappedRows:
        """That which serves all plans with the same filter."""
        return replace(self, alike=False)

    def bits(self, read: Read, slots: Mapping[Slot, AnyVector], size: int) -> RowBits:
        """The rows that count of a table whose files have so many bytes."""
        counts = UnitCounts(self.table.rows_per_unit, size)
        bits = RowBits.of(self._passed(read, slots, counts))
        passes = 1 + size // ORDERED
        for number in range(passes):
            self._order(read, counts, bits, number, passes)
        return bits

    @property
    def _unit(self) -> str:
        assert self.table.unit is not None
        return self.table.unit

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
            counts.add(counts.places(unit)[passed])
            yield passed

    def _order(
        self, read: Read, counts: UnitCounts, bits: RowBits, number: int, passes: int
    ) -> None:
        """Take out the rows past the caps, of the units whose turn it is in this pass."""
        least, numbers, first = LeastHashes(self.table.rows_per_unit), UnitNumbers(), 0
        names = {self._unit} if self.alike else {column.name for column in self.table.columns}
        for block in read(frozenset(names)):
            unit = block.columns[self._unit]
            rows = bits.within(first, block.rows)
            rows = rows[counts.may_be_overfull(counts.places(unit)[rows])]
            rows = rows[unit_hashes(unit)[rows] % passes == number]
            keys = () if self.alike else self._keys(block, rows)
            over = least.add(rows + first, _units(unit, rows, numbers), keys)
            bits.remove(over)
            first += block.rows
        bits.remove(least.settle())

    def _keys(self, block: Loaded, rows: Array) -> tuple[Array, ...]:
        """What rows of one unit are ordered by."""
        nobody = Owners(np.empty(0, dtype=np.int32), block.columns[self._unit])
        units = Units.of(self.table, block.columns, nobody)
        return (*units.hashes(rows, self.sample_key), *units.tied(rows))


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
