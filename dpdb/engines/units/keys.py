"""Columns that name things, and the units of all tables of a policy, numbered together.

The unit of a row is named by a column, or is that of the row of another table which a column
names, and so on. A row that names none, or a row that is not there, is nobody's. The numbers go by
the order in which tables are first asked about; nothing is sorted by them but to bring the rows of
each unit together.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import field
from fractions import Fraction

import numpy as np

from dpdb.errors import DataFileError
from dpdb.policy.catalog import Table, Value
from dpdb.policy.names import OwnedBy, Reference
from dpdb.policy.numbers import MAGNITUDE_LIMIT
from dpdb.records import dataclass
from dpdb.vectors.columns import Codes, Numbers
from dpdb.vectors.stored_texts import StoredTexts
from dpdb.vectors.vector import Array, Bools

Columns = Mapping[str, Numbers | Codes]

NONE = -1
"""Stands for no row, and for no unit."""


def is_text(column: Numbers | Codes) -> bool:
    """Whether the values are texts; those of other kinds are listed, so that there are some."""
    if isinstance(column, StoredTexts):
        return True
    return isinstance(column, Codes) and all(isinstance(v, str) for v in column.values[:1])


def named_numbers(column: Numbers | Codes) -> tuple[Array, Bools]:
    """The whole numbers that a column holds, as doubles, and where it names one."""
    if isinstance(column, Codes):
        values = np.array([*map(float, column.values), 0.0])
        return values[column.codes], ~column.null
    values = column.units * float(column.step or 1)
    named = np.abs(values) < MAGNITUDE_LIMIT
    return values, named if column.null is None else named & ~column.null


def rows_named(wanted: Numbers | Codes, keys: Numbers | Codes) -> Array:
    """For each cell of `wanted` the row where `keys`, in which no value repeats, holds its value.

    NONE where it names no row.
    """
    if is_text(keys):
        assert isinstance(wanted, Codes)
        assert isinstance(keys, Codes)
        row_of = np.full(len(keys.values) + 1, NONE, dtype=np.int32)
        row_of[keys.codes] = np.arange(len(keys.codes), dtype=np.int32)
        row_of[-1] = NONE
        return np.asarray(row_of[translated(wanted, keys.values)])
    return _rows_equal(*named_numbers(wanted), *named_numbers(keys))


def rows_named_together(
    wanted: Sequence[Numbers | Codes], keys: Sequence[Numbers | Codes]
) -> Array:
    """For each row of `wanted` the row that holds its values in all `keys`, which are unique.

    NONE where it names no row, as where one of its cells is NULL.
    """
    numbers, named, here = np.zeros(1, dtype=np.int64), np.ones(1, dtype=bool), 0
    for one, other in zip(wanted, keys, strict=True):
        known = UnitNumbers()
        looked_for = known.of(one)
        here = len(looked_for)
        cells = np.append(looked_for, known.of(other))
        named = named & (cells != NONE)
        # The numbers so far, and those of this column, are numbered together anew.
        together = numbers * (int(cells.max(initial=0)) + 1) + cells
        numbers = np.unique(together, return_inverse=True)[1].astype(np.int64)
    return _rows_equal(numbers[:here], named[:here], numbers[here:], named[here:])


def _rows_equal(looked_for: Array, names: Bools, values: Array, named: Bools) -> Array:
    """For each value that is looked for the row of `values` that is equal; NONE if there is none.

    Only values that are `named` are found, and only for those that `names` marks.
    """
    rows = np.flatnonzero(named)
    rows = rows[np.argsort(values[rows])].astype(np.int32)
    ascending = values[rows]
    places = np.searchsorted(ascending, looked_for)
    there = names & (np.append(ascending, np.inf)[places] == looked_for)
    return np.where(there, np.append(rows, np.int32(NONE))[places], np.int32(NONE))


def translated(column: Codes, values: Sequence[object]) -> Array:
    """For each row the place of its value among other `values`; their number if it is not there."""
    [codes] = all_translated([column], values)
    return codes


def all_translated(columns: Sequence[Codes], values: Sequence[object]) -> list[Array]:
    """The columns as `translated` gives them, with the places of the values looked up once."""
    if all(column.values == values for column in columns):
        return [column.codes for column in columns]
    code_of, missing = {value: code for code, value in enumerate(values)}, len(values)
    tables = ([*(code_of.get(v, missing) for v in column.values), missing] for column in columns)
    return [
        np.array(table, dtype=np.int32)[column.codes]
        for column, table in zip(columns, tables, strict=True)
    ]


def declared_of(table: Table) -> frozenset[str]:
    """The columns of whose values together the policy says something."""
    return frozenset((*table.key, *(name for name, _ in table.at_most)))


def check_declarations(table: Table, columns: Columns) -> None:
    """Raise DataFileError where a value of the key repeats, or has more rows than `at_most`.

    What a policy declares of keys is what privacy and exact answers rest on, so that a session on
    other data is no session of this policy. The value is not told.
    """
    if repeats(table, columns):
        named = ", ".join(f"{table.name}.{name}" for name in table.key)
        raise DataFileError(f"{named} is declared a unique key, but a value repeats")
    for name, most in table.at_most:
        if most_rows(columns[name]) > most:
            raise DataFileError(
                f"{table.name}.{name} is declared at_most {most}, but a value has more rows"
            )


def repeats(table: Table, columns: Columns) -> int:
    """The number of rows of a table whose key another row has, too."""
    if not table.key:
        return 0
    codes, there = _held(columns[table.key[0]])
    for name in table.key[1:]:
        more, also = _held(columns[name])
        codes, more = (np.unique(each, return_inverse=True)[1] for each in (codes, more))
        codes, there = codes * (int(more.max(initial=0)) + 1) + more, there & also
    chosen = codes[there]
    return len(chosen) - len(np.unique(chosen))


def most_rows(column: Numbers | Codes) -> int:
    """The greatest number of rows that share a value."""
    values, there = _held(column)
    return int(np.unique(values[there], return_counts=True)[1].max(initial=0))


def _held(column: Numbers | Codes) -> tuple[Array, Bools]:
    """For each row a number that stands for its value, and whether it has one."""
    if isinstance(column, Codes):
        return column.codes, ~column.null
    there = np.ones(len(column.units), dtype=bool) if column.null is None else ~column.null
    return column.units, there


ReadColumns = Callable[[Table, Collection[str]], Columns]
"""Reads columns of a table."""


@dataclass(frozen=True, repr=False)
class Owners:
    """The units of the rows of one table."""

    numbers: Array
    """For each row the number of its unit, as int32; NONE where it is nobody's."""
    names: Numbers | Codes
    """The column that names the units: the table's own, or that of the table a chain ends in."""
    rows: Array | None = None
    """For each row the row that `names` refers to; None where that is the row itself."""

    def of_rows(self, places: Array) -> Owners:
        """The units of some rows."""
        return Owners(self.numbers[places], self.names, self.naming(places))

    def naming(self, places: Array) -> Array:
        """The rows of `names` that say whose some rows are."""
        return places if self.rows is None else self.rows[places]


def each_its_own(rows: int, first: int = 0) -> Owners:
    """The owners of rows of which each is a unit; a hash of one is that of its values alone."""
    nameless = Numbers(np.zeros(rows, dtype=np.int8), Fraction(1), None, 0)
    return Owners(np.arange(first, first + rows, dtype=np.int32), nameless)


@dataclass
class UnitNumbers:
    """Numbers for the values that name units, equal where the values are."""

    _texts: dict[Value, int] = field(default_factory=dict, repr=False)
    _numbers: Array = field(default_factory=lambda: np.empty(0), repr=False)
    """The whole numbers that are known, in ascending order."""
    _given: Array = field(default_factory=lambda: np.empty(0, dtype=np.int32), repr=False)
    """The numbers that were given to them."""

    def of(self, column: Numbers | Codes) -> Array:
        """The number of each row's unit, as int32; NONE where the column names none."""
        return self._of_texts(column) if is_text(column) else self._of_numbers(column)

    def _of_texts(self, column: Numbers | Codes) -> Array:
        assert isinstance(column, Codes)
        fresh = [value for value in column.values if value not in self._texts]
        self._texts.update((value, at) for at, value in enumerate(fresh, len(self._texts)))
        given = np.fromiter(map(self._texts.__getitem__, column.values), np.int32)
        return np.asarray(np.append(given, np.int32(NONE))[column.codes])

    def _of_numbers(self, column: Numbers | Codes) -> Array:
        values, named = named_numbers(column)
        distinct, place = np.unique(values[named], return_inverse=True)
        at = np.searchsorted(self._numbers, distinct)
        fresh = np.append(self._numbers, np.inf)[at] != distinct
        following = np.cumsum(fresh, dtype=np.int32) - np.int32(1) + np.int32(len(self._given))
        given = np.where(fresh, following, np.append(self._given, np.int32(NONE))[at])
        owners = np.full(len(values), NONE, dtype=np.int32)
        owners[named] = given[place]
        order = np.argsort(numbers := np.append(self._numbers, distinct[fresh]))
        self._numbers = numbers[order]
        self._given = np.append(self._given, given[fresh])[order]
        return owners


@dataclass
class TableOwners:
    """The owners of the rows of each table, worked out when they are first asked for."""

    tables: tuple[Table, ...]
    """The tables of the policy, through which a chain of keys leads."""
    _numbers: dict[str, UnitNumbers] = field(default_factory=dict, repr=False)
    """The numbers of the units of each kind: customer 5 and supplier 5 are two units."""
    _known: dict[str, Owners] = field(default_factory=dict, repr=False)

    def of(self, table: Table, columns: ReadColumns) -> Owners | None:
        """The owners of the rows of a table; None where each row is a unit, or the table public."""
        if table.unit is None:
            return None
        assert not table.owners
        if table.name not in self._known:
            [owner] = table.owned_by
            self._known[table.name] = self.named_by(owner, table, columns)
        return self._known[table.name]

    def named_by(self, owner: OwnedBy, table: Table, columns: ReadColumns) -> Owners:
        """The owners of the rows of a table that one of its columns names."""
        read = columns(table, owner.columns)
        naming = [read[name] for name in owner.columns]
        if owner.chain is not None:
            return self._chained(naming, owner.chain, columns)
        numbers = self._numbers.setdefault(owner.kind, UnitNumbers())
        return Owners(numbers.of(naming[0]), naming[0])

    def _chained(
        self, naming: Sequence[Numbers | Codes], chain: Reference, columns: ReadColumns
    ) -> Owners:
        """The owners of rows whose `naming` columns together name a row of another table."""
        there = next(table for table in self.tables if table.name == chain.table)
        read = columns(there, chain.columns)
        keys = [read[name] for name in chain.columns]
        above = self.of(there, columns)
        assert above is not None
        alone = len(keys) == 1
        rows = rows_named(naming[0], keys[0]) if alone else rows_named_together(naming, keys)
        owners = np.append(above.numbers, np.int32(NONE))[rows]
        if above.rows is not None:
            rows = np.append(above.rows, np.int32(NONE))[rows]
        return Owners(owners, above.names, rows)
