"""The rows of each table that are held: of a unit at most so many, whatever is asked.

From a public number of rows that a unit can have in a table follows how many rows, bytes and steps
of work it can cause in whatever is made of that table. So the number is kept before any filter. Of
a unit with more rows those stay that have the least keyed hashes, as `row_hashes` says; hashed are
the unit and the columns of the key, or all declared ones where there is no key. The others are
nobody's from then on. Where no unit can have two rows, as the policy says, nothing is looked at.

Texts have a budget, too. The texts of a unit in one column have so many bytes at most: its rows
are gone through in the order of their hashes, and a cell is NULL once its bytes and those before it
are more. A number of rows alone would let a unit bring in 10,000 bytes with each.

Which rows and cells of a unit these are is a function of the rows of that unit alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field, replace

import numpy as np

from dpdb.engines.units.caps import Units
from dpdb.engines.units.filling import SharedRows
from dpdb.engines.units.keys import NONE, Owners, ReadColumns, TableOwners
from dpdb.engines.units.row_hashes import HashKey, row_hashes
from dpdb.policy.catalog import Column, Kind, Table, Value
from dpdb.records import dataclass
from dpdb.vectors.columns import Codes, Numbers
from dpdb.vectors.vector import Array, Bools


def has_budget(table: Table, column: Column) -> bool:
    """Whether the texts of a unit in a column may be more than their budget.

    What names the unit is the same in all its rows, and stays; the keys of a chain differ.
    """
    same = column.name == table.unit and table.chain is None
    free = column.kind is Kind.TEXT and column.values is None and not same
    return free and not table.owners and table.rows_held * column.length > table.text_budget


def decided_by(table: Table) -> frozenset[str]:
    """The columns that say whose the rows of a table are, and which of them are held.

    They are read with the first columns of a table, whatever the rows are.
    """
    if type(table) is not Table or table.unit is None:
        return frozenset()
    hashed = () if table.has_one_row_per_unit else table.told_apart_by
    return frozenset((table.unit, *(column.name for column in hashed)))


@dataclass(frozen=True, repr=False)
class OrderedRows:
    """The rows of a table that have an owner, unit by unit; those of one unit as they stand."""

    places: Array
    numbers: Array
    """Of each row the number of its unit."""


@dataclass
class HeldRows:
    """Whose the held rows of each table are, and their texts: worked out when first asked for."""

    tables: tuple[Table, ...]
    """The tables of the policy, all of them."""
    _owners: TableOwners = field(init=False, repr=False)
    _known: dict[tuple[str, str], Units | None] = field(default_factory=dict, repr=False)
    _counting: dict[tuple[str, str], Units] = field(default_factory=dict, repr=False)
    _shared: dict[tuple[str, str], SharedRows] = field(default_factory=dict, repr=False)
    _texts: dict[tuple[str, str, str], Codes] = field(default_factory=dict, repr=False)
    _ordered: dict[tuple[str, str], OrderedRows] = field(default_factory=dict, repr=False)
    _in_order: dict[tuple[str, str, str], Numbers | Codes] = field(default_factory=dict, repr=False)
    """Columns of the ordered rows."""

    def __post_init__(self) -> None:
        self._owners = TableOwners(self.tables)

    def owners(self, table: Table, columns: ReadColumns, sample_key: str) -> Owners | None:
        """The owners of the rows of a table, of which those that are not held are nobody's.

        None where each row is a unit, or the table public.
        """
        units = self._units(table, columns, sample_key)
        return None if units is None else units.owners

    def column(
        self, table: Table, column: Column, columns: ReadColumns, sample_key: str
    ) -> Numbers | Codes:
        """A column of a table, whose texts are within the budget of their units."""
        if table.unit is None or not has_budget(table, column):
            return columns(table, (column.name,))[column.name]
        name = table.name, column.name, sample_key
        if name not in self._texts:
            units = self._units(table, columns, sample_key)
            held = columns(table, (column.name,))[column.name]
            assert units is not None
            assert isinstance(held, Codes)
            kept = within_budget(held, units, table.text_budget)
            self._texts[name] = without(held, ~kept, nullable=column.nullable)
        return self._texts[name]

    def units(self, table: Table, columns: ReadColumns, sample_key: str) -> Units:
        """The held rows of a table with units, hashed by all declared columns."""
        held = self._units(table, columns, sample_key)
        assert held is not None
        if len(held.columns) == len(table.columns):
            return held
        known = table.name, sample_key
        if known not in self._counting:
            read = columns(table, [column.name for column in table.columns])
            self._counting[known] = Units.of(table, read, held.owners, sample_key)
        return self._counting[known]

    def shared(self, table: Table, columns: ReadColumns, sample_key: str) -> SharedRows:
        """The rows of a table that have two owners; none of them is left out."""
        known = table.name, sample_key
        if known not in self._shared:
            first, second = (
                self._owners.named_by(each, table, columns).numbers for each in table.owners
            )
            read = columns(table, [column.name for column in table.columns])
            hashed = HashKey.of(sample_key).columns(table.columns, read)
            self._shared[known] = SharedRows.of(
                first,
                second,
                lambda rows: row_hashes([each.terms for each in hashed], rows),
                same=len(table.kinds) == 1,
            )
        return self._shared[known]

    def ordered(self, table: Table, columns: ReadColumns, sample_key: str) -> OrderedRows:
        """The rows of a table in the order of their units, which are named by a column."""
        known = table.name, sample_key
        if known not in self._ordered:
            units = self._units(table, columns, sample_key)
            assert units is not None
            numbers = units.owners.numbers
            owned = np.flatnonzero(numbers != NONE)
            places = owned[np.argsort(numbers[owned], kind="stable")]
            self._ordered[known] = OrderedRows(places, numbers[places])
        return self._ordered[known]

    def ordered_column(
        self, table: Table, column: Column, columns: ReadColumns, sample_key: str
    ) -> Numbers | Codes:
        """A column of the rows in the order of their units."""
        name = table.name, column.name, sample_key
        if name not in self._in_order:
            places = self.ordered(table, columns, sample_key).places
            held = self.column(table, column, columns, sample_key)
            self._in_order[name] = held.taken(places)
        return self._in_order[name]

    def _units(self, table: Table, columns: ReadColumns, sample_key: str) -> Units | None:
        """The held rows of a table by their units."""
        known = table.name, sample_key
        if known not in self._known:
            owners = self._owners.of(table, columns)
            self._known[known] = (
                None if owners is None else held_units(table, owners, columns, sample_key)
            )
        return self._known[known]


def held_units(table: Table, owners: Owners, columns: ReadColumns, sample_key: str) -> Units:
    """The rows of a table that are held of each unit."""
    if table.has_one_row_per_unit:
        return Units.hashed_by((), {}, owners, sample_key)
    hashed = table.told_apart_by
    read = columns(table, [column.name for column in hashed])
    units = Units.hashed_by(hashed, read, owners, sample_key)
    held = units.capped(None, table.rows_held)
    numbers = np.where(held, owners.numbers, np.int32(NONE))
    return replace(units, owners=replace(owners, numbers=numbers))


def within_budget(column: Codes, units: Units, budget: int) -> Bools:
    """The cells that are kept: of a unit, in the order of hashes, as many as the budget holds."""
    owners = units.owners.numbers
    sizes = np.append(_sizes(column.values), 0)[column.codes]
    owned = np.flatnonzero(owners != NONE)
    kept = np.ones(len(owners), dtype=np.bool_)
    # Doubles add up whole numbers below 2^53 exactly.
    over = np.bincount(owners[owned], weights=sizes[owned]) > budget
    contested = owned[over[owners[owned]]]
    ordered = contested[units.order(contested)]
    ends = np.cumsum(sizes[ordered])
    _, first, unit = np.unique(owners[ordered], return_index=True, return_inverse=True)
    before = (ends[first] - sizes[ordered[first]])[unit]
    kept[ordered[ends - before > budget]] = False
    return kept


def _sizes(values: Sequence[Value]) -> Array:
    """The bytes of each text."""
    return np.fromiter((_size(str(value)) for value in values), np.int64, len(values))


def _size(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def without(column: Codes, lost: Bools, *, nullable: bool) -> Codes:
    """A column of texts without some cells: NULL, or empty where the policy says none is NULL."""
    if nullable:
        return Codes(np.where(lost, len(column.values), column.codes), column.values)
    values = tuple(column.values)
    values = values if "" in values else (*values, "")
    return Codes(np.where(lost, values.index(""), column.codes), values)
