"""Made-up rows of the tables of a policy: a function of the policy and of a public seed.

Row by row each column draws words of 64 bits, word(table, column, i) from SHAKE-128 over the seed
and both names, and below(w, m) = ⌊w·m / 2^64⌋ makes a number below m of a word. Units are numbered
from 1 to 1,000. A table of rows that are units has 10,000 rows, a public one 100; a unit has from 0
to 8 rows in any other, at most its cap, and a row that others chain to has 0 to 4 of them.

A draw decides the second owner of a row: a unit, or the row of another table that names it.

Keys count up, references name rows of the same unit, ordered values are the mean of two draws on
the column's grid, other values are drawn evenly, and a cell is NULL in 1 of 32 rows if it may be.
"""

from __future__ import annotations

import hashlib
import math
import struct
from collections import Counter
from collections.abc import Callable, Sequence
from fractions import Fraction

from dpdb.policy.catalog import Column, Kind, Policy, Table, Value
from dpdb.policy.names import OwnedBy
from dpdb.policy.numbers import iso_date
from dpdb.policy.timestamps import SECOND, iso_timestamp
from dpdb.records import dataclass

SEED = "dpdb trial rows 1"
"""The seed of all trial rows; its number changes if the law of the rows does."""
UNITS, ROWS, PUBLIC_ROWS = 1_000, 10_000, 100
MOST_ROWS, MOST_CHAINED = 8, 4
"""The most rows of a unit, and of a row that others chain to."""
TEXTS = 1_000
"""The different texts of a column without declared values."""
NULL_IN = 32

Cell = str | None
"""A cell as a CSV file has it; None for NULL."""


@dataclass(frozen=True)
class TrialTable:
    """The made-up rows of a table, and the number of each row's unit."""

    columns: dict[str, list[Cell]]
    units: list[int | None]
    """None for rows of public tables."""


@dataclass(frozen=True)
class _Domain:
    """The texts that a column can have, in order."""

    text: Callable[[int], str]
    size: int | None
    """None where there is no end."""

    def ends_at(self, number: int) -> bool:
        """Whether there are no more texts than `number`."""
        return self.size is not None and number >= self.size


class TrialRows:
    """The made-up rows of all tables of a policy, each table made when it is first asked for."""

    def __init__(self, policy: Policy) -> None:
        self._tables = {table.name: table for table in policy.tables}
        self._made: dict[str, TrialTable] = {}
        kinds = {owner.kind for table in policy.tables for owner in table.owned_by}
        self._labels = {kind: _unit_labels(policy, kind) for kind in kinds}

    def cells(self, table: str) -> dict[str, list[Cell]]:
        """The cells of each column of a table."""
        return self._of(table).columns

    def _of(self, name: str) -> TrialTable:
        if name not in self._made:
            self._made[name] = self._rows(self._tables[name])
        return self._made[name]

    def _rows(self, table: Table) -> TrialTable:
        """The rows of a table; tables that it names are made before it."""
        units, parents = self._units(table)
        columns: dict[str, list[Cell]] = {}
        for other in table.owners[1:]:
            columns |= self._owner_cells(table, other, len(units))
        for column in table.columns:
            if table.unit and column.name in table.owned_by[0].columns:
                columns[column.name] = self._unit_cells(table, column.name, units, parents)
            elif column.name in columns:
                continue
            elif column.name not in table.key or column.references is not None:
                columns[column.name] = self._cells(table, column, units)
        counted = [each for each in table.told_apart_by if each.name not in columns]
        kept = _count_up(counted, table, columns, len(units), self)
        made = {name: [columns[name][i] for i in kept] for name in columns}
        in_order = {column.name: made[column.name] for column in table.columns}
        return TrialTable(in_order, [units[i] for i in kept])

    def _units(self, table: Table) -> tuple[list[int | None], list[int]]:
        """The unit of each row, and in a chain the row that it names in the other table."""
        if table.public:
            return [None] * PUBLIC_ROWS, []
        if table.unit is None:
            return list(range(ROWS)), []
        if table.chain is None:
            most = 1 if table.has_one_row_per_unit else min(table.rows_per_unit, MOST_ROWS) + 1
            labels = self._labels[table.owned_by[0].kind]
            numbers = words(table.name, table.unit, "rows", len(labels))
            rows = [1 if most == 1 else below(word, most) for word in numbers]
            return [unit for unit, number in enumerate(rows) for _ in range(number)], []
        above = self._of(table.chain.table)
        numbers = words(table.name, table.unit, "rows", len(above.units))
        units, parents, seen = list[int | None](), list[int](), Counter[int | None]()
        for parent, (unit, word) in enumerate(zip(above.units, numbers, strict=True)):
            number = min(below(word, MOST_CHAINED + 1), table.rows_per_unit - seen[unit])
            seen[unit] += number
            units += [unit] * number
            parents += [parent] * number
        return units, parents

    def _unit_cells(
        self, table: Table, name: str, units: Sequence[int | None], parents: Sequence[int]
    ) -> list[Cell]:
        if table.chain is None:
            labels = self._labels[table.owned_by[0].kind]
            return [None if unit is None else labels[unit] for unit in units]
        own = table.owned_by[0].columns
        keys = self.cells(table.chain.table)[table.chain.columns[own.index(name)]]
        return [keys[parent] for parent in parents]

    def _owner_cells(self, table: Table, owner: OwnedBy, rows: int) -> dict[str, list[Cell]]:
        """The cells that name the second owner of each row, whom a draw decides."""
        if owner.chain is None:
            named = {owner.column: list[Cell](self._labels[owner.kind])}
        else:
            above = self.cells(owner.chain.table)
            keys = zip(owner.columns, owner.chain.columns, strict=True)
            named = {here: above[there] for here, there in keys}
        drawn = words(table.name, owner.column, "owner", rows)
        return {
            name: [cells[below(word, len(cells))] if cells else None for word in drawn]
            for name, cells in named.items()
        }

    def _cells(self, table: Table, column: Column, units: Sequence[int | None]) -> list[Cell]:
        """The cells of a column that is no part of a key, or that names rows."""
        drawn = words(table.name, column.name, "", len(units))
        at_most = dict(table.at_most).get(column.name)
        if at_most is not None:
            domain, numbers = self.domain(column), (i // at_most for i in range(len(units)))
            return [None if domain.ends_at(n) else domain.text(n) for n in numbers]
        if column.references is not None:
            return self._references(column, units, drawn)
        if column.kind.ordinal and column.values is None and column.values_from is None:
            again = words(table.name, column.name, "second", len(units))
            spread = _spread(column)
            assert spread.size is not None
            cells: list[Cell] = [
                spread.text((below(one, spread.size) + below(other, spread.size)) // 2)
                for one, other in zip(drawn, again, strict=True)
            ]
        else:
            domain = self.domain(column)
            size = TEXTS if domain.size is None else domain.size
            cells = [domain.text(below(word, size)) if size else None for word in drawn]
        if column.nullable and column.name not in table.identifiers:
            missing = words(table.name, column.name, "null", len(units))
            pairs = zip(cells, missing, strict=True)
            cells = [None if below(word, NULL_IN) == 0 else cell for cell, word in pairs]
        return cells

    def _references(
        self, column: Column, units: Sequence[int | None], drawn: Sequence[int]
    ) -> list[Cell]:
        """Keys of rows of the same unit, or of any row of a public table; NULL where none is."""
        assert column.references is not None
        named, public = column.references, self._tables[column.references.table].public
        above = self._of(named.table)
        rows: dict[int | None, list[Cell]] = {}
        for unit, cell in zip(above.units, above.columns[named.column], strict=True):
            rows.setdefault(unit, []).append(cell)
        found = (rows.get(None if public else unit, []) for unit in units)
        return [
            keys[below(word, len(keys))] if keys else None
            for keys, word in zip(found, drawn, strict=True)
        ]

    def domain(self, column: Column) -> _Domain:
        """The texts that a column can have."""
        if column.values_from is not None:
            cells = self.cells(column.values_from.table)[column.values_from.column]
            texts = list(dict.fromkeys(cell for cell in cells if cell is not None))
            return _Domain(texts.__getitem__, len(texts))
        return _domain(column)


def words(table: str, column: str, purpose: str, number: int) -> tuple[int, ...]:
    """Words of 64 bits for the rows of a column, read in little-endian order."""
    named = "\0".join((SEED, table, column, purpose)).encode()
    return struct.unpack(f"<{number}Q", hashlib.shake_128(named).digest(8 * number))


def below(word: int, most: int) -> int:
    """The number below `most` that a word stands for."""
    return (word * most) >> 64


def _count_up(
    counted: Sequence[Column],
    table: Table,
    columns: dict[str, list[Cell]],
    rows: int,
    made: TrialRows,
) -> list[int]:
    """Fill the columns of a key that count up, and give the rows that differ in the key.

    Rows that are alike in the other columns of the key are numbered, and the number is written in
    the columns as digits are.
    """
    if not table.key:
        return list(range(rows))
    alike = [columns[name] for name in table.key if name in columns]
    domains = [made.domain(column) for column in counted]
    cells: list[list[Cell]] = [[] for _ in counted]
    seen, kept = Counter[tuple[Cell, ...]](), []
    for row in range(rows):
        fixed = tuple(column[row] for column in alike)
        number = seen[fixed]
        seen[fixed] += 1
        for digits, domain in zip(reversed(cells), reversed(domains), strict=True):
            number, digit = (0, number) if domain.size is None else divmod(number, domain.size)
            digits.append(domain.text(digit))
        if number == 0:
            kept.append(row)
    columns |= {column.name: each for column, each in zip(counted, cells, strict=True)}
    return kept


def _unit_labels(policy: Policy, kind: str) -> list[str]:
    """The name of each unit of a kind, which every table that has a column for them can hold."""
    named = [(table, each) for table in policy.tables for each in table.owned_by if not each.chain]
    columns = [
        column
        for table, owner in named
        for column in table.columns
        if column.name == owner.column and owner.kind == kind
    ]
    if not columns:
        return []
    listed = next((column for column in columns if column.values is not None), None)
    if listed is not None or columns[0].kind in (Kind.BOOLEAN, Kind.TEXT):
        domain = _domain(listed or columns[0])
        size = UNITS if domain.size is None else min(domain.size, UNITS)
        return [domain.text(number) for number in range(size)]
    lower = max((column.lower for column in columns if column.lower is not None), default=None)
    upper = min((column.upper for column in columns if column.upper is not None), default=None)
    step = math.lcm(*(column.step.numerator for column in columns))
    first = Fraction(1) if lower is None else lower
    size = UNITS if upper is None else min(int((upper - first) / step) + 1, UNITS)
    return [_text(first + step * number, columns[0].kind) for number in range(max(size, 0))]


def _domain(column: Column) -> _Domain:
    """The texts that a column's own declaration allows."""
    values: Sequence[Value] | None = column.values
    if values is None and column.kind is Kind.BOOLEAN:
        values = (False, True)
    if values is not None:
        listed = values
        return _Domain(lambda number: _text(listed[number], column.kind), len(values))
    if not column.kind.ordinal:
        prefix = f"{column.name} "
        room = column.length - len(prefix.encode()) - len(str(ROWS))
        return _Domain(lambda number: f"{prefix if room >= 0 else ''}{number + 1}", None)
    if column.bounds is None:
        start, step = _spread(column).text, None
        return _Domain(lambda number: start(number + 1), step)
    return _grid(column, *column.bounds, column.step)


_DAYS = (Fraction(10_957), Fraction(20_453))
"""From 2000 to 2025, in days since 1970-01-01."""


def _spread(column: Column) -> _Domain:
    """The values of an ordered column that are drawn: within its bounds, or usual ones."""
    if column.bounds is not None:
        return _grid(column, *column.bounds, column.step)
    match column.kind:
        case Kind.DATE:
            return _grid(column, *_DAYS, Fraction(1))
        case Kind.TIMESTAMP:
            lower, upper = (day * 86_400 * SECOND for day in _DAYS)
            return _grid(column, lower, upper, Fraction(SECOND))
        case Kind.INTEGER:
            return _grid(column, Fraction(0), Fraction(100), Fraction(1))
    return _grid(column, Fraction(0), Fraction(100), Fraction(1, 100))


def _grid(column: Column, lower: Fraction, upper: Fraction, step: Fraction) -> _Domain:
    """The multiples of a step within bounds."""
    first = math.ceil(lower / step)
    size = math.floor(upper / step) - first + 1
    if size < 1:  # no multiple is within the bounds: both ends are all there is
        return _Domain(lambda number: _text((lower, upper)[number], column.kind), 2)
    return _Domain(lambda number: _text((first + number) * step, column.kind), size)


def _text(value: Value, kind: Kind) -> str:
    """A value as a CSV file has it."""
    match kind, value:
        case _, bool():
            return str(value).lower()
        case Kind.DATE, int() | Fraction():
            return iso_date(int(value))
        case Kind.TIMESTAMP, int() | Fraction():
            return iso_timestamp(int(value))
        case _, Fraction() if value.denominator != 1:
            return repr(float(value))
    return str(value)
