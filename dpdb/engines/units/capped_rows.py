"""The rows of a table that count, if a column names their units and caps apply to each unit.

One bounded pass reads the column of the unit, those of the filter and all that rows are hashed by.
Of each row are kept the word of its unit (8 bytes, 16 for a text), its hash (8), its number (4) and
whether it passes the filter (1), in buckets by the unit's hash. Once the pass is over, each bucket
is sorted by unit and hash, and the rows past the cap are known. From then on there is a bit for
each row, and a plan is worked out from the rows that count as if each were a unit.

The files of a table say how many buckets there are, and whether the pass is repeated: memory holds
at most 7·2^25 bytes of words, hashes and numbers, if a row has 20 bytes in the files, so that files
of 100 million rows in 2 GB take nine turns, each for a range of units. No turn is left out where no
unit has too many rows.

Which rows are held of each unit, before any filter, is found out beside it: by the columns of the
table's key, or by all of them. Where a plan has no filter that makes no difference.

The texts of a unit have no budget here, as memory holds a block whoever its rows are about; what
the time of a stream tells is not bounded by it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, replace

import numpy as np

from dpdb.engines.loop import Threads, Work, processors
from dpdb.engines.sources.protocol import Loaded
from dpdb.engines.units.caps import Units, within_cap
from dpdb.engines.units.keys import Owners
from dpdb.engines.units.row_hashes import UnitKey, names_unit, numbered
from dpdb.engines.values.grid_values import mask
from dpdb.plan.expressions.expressions import Expr, Slot, columns_of
from dpdb.plan.physical.plan import Plan
from dpdb.policy.catalog import Column, Table
from dpdb.records import dataclass
from dpdb.vectors.evaluate import Frame
from dpdb.vectors.vector import AnyVector, Array, Bools

MEMORY = 7 * 2**25
"""The bytes that rows may take in a turn."""
BUCKET = 2**18
"""The rows of a bucket, about."""
_PER_ROW = 20
"""The bytes of a row in files, and in a turn. Files whose rows have fewer take more memory."""


@dataclass(frozen=True, repr=False)
class RowBits:
    """Some rows of a table: a bit for each row, in the order in which rows are read."""

    _bits: Array
    """Eight rows in a byte, the first one in its highest bit."""

    @classmethod
    def none_of(cls, rows: int) -> RowBits:
        """No row, of so many."""
        return cls(np.zeros((rows + 7) // 8, dtype=np.uint8))

    def set(self, rows: Array) -> None:
        """Add rows by their numbers."""
        np.bitwise_or.at(self._bits, rows >> 3, np.right_shift(0x80, rows & 7).astype(np.uint8))

    def among(self, first: int, rows: int) -> Bools:
        """For each of so many rows after the first ones, whether it has a bit."""
        byte = first // 8
        bits = np.unpackbits(self._bits[byte : (first + rows + 7) // 8]).view(np.bool_)
        return bits[first - 8 * byte :][:rows]


@dataclass(frozen=True, repr=False)
class Cap:
    """A cap on the rows of a unit, and the columns that say which of them count."""

    table: Table
    where: Expr | None
    sample_key: str
    alike: bool
    """Whether it makes no difference which rows of a unit count, as long as they are as many."""

    @classmethod
    def of(cls, plan: Plan) -> Cap:
        """The cap of a plan."""
        table = plan.table
        assert isinstance(table, Table)
        alike = after_filter(plan).column_names <= {table.unit}
        return cls(table, plan.where, plan.sample_key, alike)

    @property
    def for_all(self) -> Cap:
        """The cap for all plans with the same filter."""
        return replace(self, alike=False)

    @property
    def asks_which_are_held(self) -> bool:
        """Whether rows that are not held could count.

        Without a filter the rows that count are the first ones of those that are held, or as many.
        """
        table = self.table
        if table.has_one_row_per_unit:
            return False
        first = table.rows_per_unit <= table.rows_held
        same_order = self.alike or table.columns == table.told_apart_by
        return self.where is not None or not (first and same_order)

    @property
    def orders(self) -> tuple[tuple[Column, ...], ...]:
        """The columns that say in which order rows count, and then in which they are held.

        Empty where any rows of a unit may count. There is one order if both are the same.
        """
        count, held = self.table.columns, self.table.told_apart_by
        if not self.asks_which_are_held:
            return () if self.alike else (count,)
        if self.alike:
            return (held,)
        return (count,) if count == held else (count, held)

    @property
    def unit(self) -> str:
        """The name of the column that names units."""
        assert self.table.unit is not None
        return self.table.unit

    @property
    def names(self) -> frozenset[str]:
        """The columns that decide which rows count."""
        hashed = (column.name for columns in self.orders for column in columns)
        read = () if self.where is None else columns_of(self.where)
        return frozenset({self.unit, *hashed, *read})


@dataclass(frozen=True, repr=False)
class _Batch:
    """Rows of a block, bucket by bucket."""

    first: int
    """The number of rows before the block."""
    ends: Array
    """The number of rows in each bucket and all before it; 0 comes first."""
    arrays: tuple[Array, ...]
    """Numbers of rows, whether the filter passes them, a hash in each order, words of units."""

    def bucket(self, place: int) -> list[Array]:
        """The rows of a bucket."""
        return [each[self.ends[place] : self.ends[place + 1]] for each in self.arrays]


@dataclass(repr=False)
class CappedRows(Work[Loaded, RowBits]):
    """The rows of a table that count, of those held, whose files have so many bytes."""

    cap: Cap
    slots: Mapping[Slot, AnyVector]
    size: int
    key: UnitKey
    _turn: int = 0
    _rows: int = 0
    """The number of rows that were read."""
    _batches: list[_Batch] = field(default_factory=list)
    _bits: RowBits | None = None

    @property
    def _turns(self) -> int:
        """The number of passes."""
        return 1 + self.size // MEMORY

    @property
    def _buckets(self) -> int:
        """The number of buckets in a turn."""
        return 1 + self.size // self._turns // (_PER_ROW * BUCKET)

    def copy(self) -> CappedRows:
        return replace(self, _batches=[])

    def add(self, rows: Loaded) -> None:
        cap, buckets, unit = self.cap, self._buckets, rows.columns[self.cap.unit]
        passed, words = names_unit(unit), self.key.words(unit)
        places = self.key.hashes(words) % np.uint32(self._turns * buckets)
        places -= np.uint32(self._turn * buckets)  # those of turns before become the greatest
        chosen = passed & (places < buckets)
        if cap.where is not None:
            passed = mask(cap.where, Frame(rows.columns, self.slots), rows.rows)
            chosen = chosen if cap.asks_which_are_held else chosen & passed
        kept = np.flatnonzero(chosen)
        places = places[kept].astype(np.uint16)
        kept = kept[np.argsort(places, kind="stable")]
        ends = np.append(0, np.cumsum(np.bincount(places, minlength=buckets)))
        # A table of more rows than 32 bits can number is refused when the pass ends.
        numbers = (rows.first + kept).astype(np.uint32)
        nobody = Owners(np.empty(0, dtype=np.int32), unit)
        orders = [Units.hashed_by(c, rows.columns, nobody, cap.sample_key) for c in cap.orders]
        hashes = [order.hashes(kept) for order in orders]
        arrays = (numbers, passed[kept], *hashes, *(each[kept] for each in words))
        self._batches.append(_Batch(rows.first, ends, arrays))
        self._rows = max(self._rows, rows.first + rows.rows)

    def join(self, other: CappedRows) -> None:
        self._batches += other._batches
        self._rows = max(self._rows, other._rows)

    def settle(self) -> bool:
        self._bits = RowBits.none_of(self._rows) if self._bits is None else self._bits
        self._batches.sort(key=lambda batch: batch.first)
        kept = _Kept(self)
        Threads(range(self._buckets), lambda place: [place], processors()).each(kept)
        for rows in kept.rows:
            self._bits.set(rows)
        self._batches.clear()
        self._turn += 1
        return self._turn == self._turns

    def kept(self, place: int) -> Array:
        """The rows of a bucket that count: of each unit those with the least hashes."""
        found = zip(*(batch.bucket(place) for batch in self._batches), strict=True)
        rows, passed, *more = map(np.concatenate, found)
        cap, number = self.cap, len(self.cap.orders)
        hashes, units = more[:number], numbered(tuple(more[number:]))
        if cap.asks_which_are_held:
            passed = passed & within_cap(units, cap.table.rows_held, lambda at: hashes[-1][at])
        kept = np.flatnonzero(passed)
        # Where any rows may count, they count as they stand.
        order = rows.astype(np.uint64) << np.uint64(32) if cap.alike else hashes[0]
        stay = within_cap(units[kept], cap.table.rows_per_unit, lambda at: order[kept[at]])
        return np.asarray(rows[kept[stay]])

    def result(self) -> RowBits:
        assert self._bits is not None
        return self._bits


@dataclass(repr=False)
class _Kept(Work[int, None]):
    """The rows that count, bucket by bucket; threads sort several buckets at once."""

    of: CappedRows
    rows: list[Array] = field(default_factory=list)

    def copy(self) -> _Kept:
        return _Kept(self.of)

    def add(self, rows: int) -> None:
        self.rows.append(self.of.kept(rows))

    def join(self, other: _Kept) -> None:
        self.rows += other.rows

    def result(self) -> None:
        """Nothing more: the rows are taken as they are."""


def after_filter(plan: Plan) -> Plan:
    """The plan for rows that have passed its filter."""
    return replace(plan, where=None)
