"""An engine in plain Python over the rows of a CSV file: slow, and an oracle for the others.

Each row is a dictionary of what its columns hold: a fraction, a text or a truth value, a double for
numbers without a grid, None for NULL. Nothing is done to more than one row at a time but for
counting, adding up and sorting.
"""

from __future__ import annotations

import csv
import io
import math
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np

from dpdb.answers.estimates import vector
from dpdb.engines.protocol import WORD, Engine, Exact, KeyCounts, representation
from dpdb.errors import DataFileError
from dpdb.plan.expressions.expressions import ColumnRef, Expr, Slot
from dpdb.plan.expressions.single_values import SingleValue, UnitValue, single_value
from dpdb.plan.physical.plan import Plan
from dpdb.plan.ranges.grids import Grid
from dpdb.plan.ranges.statistics import (
    Count,
    Distinct,
    Histogram,
    Joint,
    LimitedDistinct,
    Ranks,
    Statistic,
    Tally,
    Total,
)
from dpdb.policy.catalog import Column, Kind, Table
from dpdb.policy.numbers import CALENDAR, MAGNITUDE_LIMIT, exact_number
from dpdb.policy.timestamps import TIMESTAMPS, read_timestamp
from dpdb.vectors import grammar
from dpdb.vectors.vector import AnyVector, TextVector
from tests.support.plain_values import Cell, Scalars, evaluate
from tests.support.row_hashes import ALL, mixed, row_hash, term
from tests.support.row_hashes import Cell as HashedCell

Row = dict[str, Cell]
GOLDEN = 0x9E3779B97F4A7C15
"""Times the number of a cell, this tells its values from those of other cells."""
OWNER = "whose the row is"
"""Stands in each row beside the names of its columns."""


@dataclass
class PlainEngine(Engine):
    """Reads each file once."""

    tables: tuple[Table, ...] = ()
    """Those through which chains of units lead."""
    _read: dict[Table, list[Row]] = field(default_factory=dict, repr=False)

    def rows(self, table: Table) -> int:
        return len(self._rows(table))

    def exact(self, plan: Plan, slots: Mapping[Slot, AnyVector]) -> tuple[Exact, ...]:
        scalars = {slot: _scalar(vector) for slot, vector in slots.items()}
        statistics = _Statistics(plan, self._rows(plan.table), scalars)
        return tuple(Exact(statistics.of(release.statistic)) for release in plan.exact_releases)

    def key_counts(self, plan: Plan, slots: Mapping[Slot, AnyVector]) -> KeyCounts:
        scalars = {slot: _scalar(vector) for slot, vector in slots.items()}
        return _Statistics(plan, self._rows(plan.table), scalars).key_counts()

    def _rows(self, table: Table) -> list[Row]:
        if table not in self._read:
            self._read[table] = [
                {
                    column.name: _held(column, cells[name], exact=column.name in table.identifiers)
                    for name, column in _columns(table, cells)
                }
                for cells in _records(table)
            ]
            owners = [self._owner(row, table) for row in self._read[table]]
            for row, owner in zip(self._read[table], owners, strict=True):
                row[OWNER] = owner
        return self._read[table]

    def _owner(self, row: Row, table: Table) -> Cell:
        """The unit that a row is about; None where it names none, and where each row is one."""
        named = None if table.unit is None else row[table.unit]
        [unit] = [c for c in table.columns if c.name == table.unit] or [None]
        clamped = unit is not None and unit.values is None and isinstance(named, (Fraction, float))
        if named is None or (clamped and abs(named) >= MAGNITUDE_LIMIT):
            return None
        if table.chain is None:
            return named
        [there] = [each for each in self.tables if each.name == table.chain.table]
        rows = [each for each in self._rows(there) if each[table.chain.column] == named]
        assert len(rows) <= 1
        return rows[0][OWNER] if rows else None


def _scalar(vector: AnyVector) -> Cell:
    """The value in a vector of one row."""
    if vector.null is not None and vector.null[0]:
        return None
    if isinstance(vector, TextVector):
        return vector.dictionary[vector.codes[0]]
    value: Cell = vector.values[0].item()
    return value


# ------------------------------------------------------------------------------------- the file


def _records(table: Table) -> list[dict[str, bytes]]:
    """The cells of each row, by column, as bytes without quotes."""
    try:
        # As Latin-1 every byte is a character.
        text = table.path.read_bytes().decode("latin-1").removeprefix("\xef\xbb\xbf")
    except OSError as error:
        raise DataFileError(f"cannot read {table.path}") from error
    csv.field_size_limit(2**31 - 1)
    header, *records = list(csv.reader(io.StringIO(text, newline="")))
    names = [name.encode("latin-1").decode() for name in header]
    if len(names) > 1:
        records = [record for record in records if record]
    # A cell that is too long is missing, and so is one at the end of a short record.
    shown = ([cell if len(cell) <= grammar.LONGEST else "" for cell in each] for each in records)
    padded = ([*record, *[""] * len(names)] for record in shown)
    return [
        {name: cell.encode("latin-1") for name, cell in zip(names, record, strict=False)}
        for record in padded
    ]


def _held(column: Column, raw: bytes, *, exact: bool) -> Cell:
    """What a column holds of a cell."""
    text = raw.decode("utf-8", "replace").replace("\0", "\N{REPLACEMENT CHARACTER}")
    nullable = column.nullable or exact
    if column.kind.ordinal:
        return _number(column, text, nullable=nullable, exact=exact)
    if column.kind is Kind.TEXT and column.values is None:
        whole = text.encode() == raw
        return None if (nullable and not text) or (exact and not whole) else text
    value = grammar.boolean(text) if column.kind is Kind.BOOLEAN else text
    values = (False, True) if column.values is None else column.values
    if value in values and text:
        return value
    return None if nullable else _cell(values[0])


_READERS = {Kind.DATE: grammar.date, Kind.TIMESTAMP: read_timestamp}
_CALENDARS = {Kind.DATE: CALENDAR, Kind.TIMESTAMP: TIMESTAMPS}


def _number(column: Column, text: str, *, nullable: bool, exact: bool) -> Cell:
    value = _READERS.get(column.kind, grammar.number)(text)
    held: Fraction | float | None = None
    if value is not None and column.values is not None:
        sought = round(value) if column.kind is Kind.INTEGER else value
        known = [Fraction(each) for each in column.values if float(each) == sought]  # type: ignore[arg-type]
        held = known[0] if known else None
    elif value is not None:
        held = _on_column_grid(column, value)
    if held is not None and exact:
        written = value if column.kind.temporal else exact_number(text.strip(grammar.SPACE))
        held = held if held == written else None
    if held is None and not nullable:
        if column.values is not None:
            return _cell(column.values[0])
        return _on_column_grid(column, float(column.lower or 0))
    return held


def _on_column_grid(column: Column, value: float) -> Fraction | float:
    bounds = column.bounds
    if bounds is None and column.kind is Kind.NUMBER:
        return float(value)
    if bounds is None and column.kind.temporal:
        first, last = _CALENDARS[column.kind]
        bounds = Fraction(first), Fraction(last)
    limit = MAGNITUDE_LIMIT * column.step
    lower, upper = bounds or (-limit, limit)
    clamped = min(max(float(value), float(lower)), float(upper))
    steps = round(Fraction(clamped) / column.step)
    lowest, highest = math.ceil(lower / column.step), math.floor(upper / column.step)
    return min(max(steps, lowest), highest) * column.step


def _cell(value: object) -> Cell:
    return value if isinstance(value, (str, bool)) else Fraction(value)  # type: ignore[arg-type]


# --------------------------------------------------------------------------------- whose rows count


def _capped(
    rows: list[Row], table: Table, limit: int, hashed: tuple[Column, ...], sample_key: str
) -> list[Row]:
    """At most so many rows of each unit, as `engines.units.caps` words it."""
    if table.unit is None:
        return rows
    of_unit = defaultdict(list)
    for row in rows:
        if row[OWNER] is not None:
            of_unit[row[OWNER]].append(row)
    ordered = (sorted(own, key=lambda row: _place(row, hashed, sample_key))
               for own in of_unit.values())  # fmt: skip
    return [row for own in ordered for row in own[:limit]]


def _place(row: Row, hashed: tuple[Column, ...], sample_key: str) -> int:
    steps = {each.name: None if _has_no_step(each) else each.step for each in hashed}
    cells = [(f"column {name}", _hashed(row[name], step)) for name, step in steps.items()]
    return row_hash(sample_key, [("owner ", _hashed(row[OWNER], Fraction(1))), *cells])


def _has_no_step(column: Column) -> bool:
    return column.kind is Kind.NUMBER and column.bounds is None and column.values is None


def _hashed(value: Cell, step: Fraction | None) -> HashedCell:
    """A value as it is hashed: a number in steps, or as a double where there is none."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool):
        return int(value)
    return float(value) if step is None else int(Fraction(value) / step)


# --------------------------------------------------------------------------------------- statistics


class _Statistics:
    """The statistics of one plan."""

    def __init__(self, plan: Plan, every: list[Row], slots: Scalars) -> None:
        self.plan, self.slots = plan, slots
        table, key = plan.table, plan.sample_key
        # Those that are held of each unit, before any filter.
        apart = tuple(each for each in table.columns if not table.key or each.name in table.key)
        held = _capped(every, table, table.rows_held, apart, key)
        rows = [row for row in held if self._holds(plan.where, row)]
        if plan.keys and plan.table.groups_per_unit is not None:
            rows = self._within_groups(rows, plan.table.groups_per_unit)
        self.rows = _capped(rows, table, table.rows_per_unit, table.columns, key)
        self.cells = [self.rows]
        if plan.keys:
            places = {group: place for place, group in enumerate(self._groups())}
            self.cells = [[] for _ in places]
            for row in self.rows:
                place = places.get(self._keys(row))
                if place is not None:
                    self.cells[place].append(row)
        for estimate in plan.estimates:
            value = single_value(estimate.aggregate.argument)
            if value is not None:
                self._add_single(value)

    def _add_single(self, value: SingleValue) -> None:
        """Add a column with what the rows of each unit in a cell come to, or each value once."""
        for row in self.rows:
            row[value.name] = None
        for rows in self.cells:
            together: dict[object, list[Row]] = defaultdict(list)
            for row in rows:
                if self._holds(value.where, row):
                    of_unit = isinstance(value, UnitValue)
                    key = row[OWNER] if of_unit else evaluate(value.argument, row, self.slots)
                    if key is not None:
                        together[key].append(row)
            for own in together.values():
                own[0][value.name] = self._single(value, own)

    def _single(self, value: SingleValue, rows: list[Row]) -> Cell:
        if not isinstance(value, UnitValue):
            if isinstance(value.argument, ColumnRef):
                return rows[0][value.argument.column.name]
            return evaluate(value.argument, rows[0], self.slots)
        known = self._values(rows, value.argument, None)
        if value.function != "count" and not known:
            return None
        found = Fraction(len(known)) if value.function == "count" else sum(map(Fraction, known))
        if value.function == "avg":
            found /= len(known)
        clamped = min(max(found, Fraction(value.lower)), Fraction(value.upper))
        return round(clamped / value.step) * value.step

    def _groups(self) -> list[tuple[object, ...]]:
        """The keys of each cell: those that were found change slowest."""
        found = () if self.plan.found is None else self.plan.found.places
        shown = ((),) if self.plan.found is None else self.plan.found.shown or ()
        declared = [v for at, v in enumerate(self.plan.key_values) if at not in found]
        groups = []
        for own, others in product(shown, product(*declared)):
            rest = iter(others)
            groups.append(tuple(
                own[found.index(at)] if at in found else next(rest)
                for at in range(len(self.plan.keys))
            ))  # fmt: skip
        return groups

    def _within_groups(self, rows: list[Row], limit: int) -> list[Row]:
        """The rows in the groups that each unit keeps: those with the smallest hashes."""
        table = self.plan.table
        [unit] = [column for column in table.columns if column.name == table.unit]
        groups: dict[Cell, dict[tuple[Cell, ...], int]] = defaultdict(dict)
        for row in rows:
            keys = self._keys(row)
            owner = _hashed(row[unit.name], Fraction(1))
            cells = [(f"key {at}", _hashed(value, None)) for at, value in enumerate(keys)]
            hashed = row_hash(self.plan.sample_key, [("owner ", owner), *cells])
            groups[row[unit.name]][keys] = hashed
        kept = {
            owner: set(sorted(own, key=own.__getitem__)[:limit]) for owner, own in groups.items()
        }
        return [row for row in rows if self._keys(row) in kept[row[unit.name]]]

    def key_counts(self) -> KeyCounts:
        """The keys that are found, in their order with NULL last, and how many units have each."""
        plan, found = self.plan, self.plan.found
        assert found is not None
        units: dict[tuple[Cell, ...], set[object]] = defaultdict(set)
        for number, row in enumerate(self.rows):
            keys = self._keys(row)
            if all(
                at in found.places or keys[at] in plan.key_values[at] for at in range(len(keys))
            ):
                owner = number if plan.table.unit is None else row[plan.table.unit]
                units[tuple(keys[at] for at in found.places)].add(owner)
        ordered = sorted(units, key=lambda keys: [(value is None, value or 0) for value in keys])
        counts = np.array([len(units[keys]) for keys in ordered], dtype=WORD)
        columns = [
            (vector([keys[at] for keys in ordered], plan.keys[place].kind), plan.keys[place].kind)  # type: ignore[misc]
            for at, place in enumerate(found.places)
        ]
        own: dict[object, int] = defaultdict(int)
        for owner in (owner for those in units.values() for owner in those):
            own[owner] += 1
        weights = [sum(math.isqrt(2**60 // own[o]) for o in units[keys]) for keys in ordered]
        counted = np.arange(len(ordered))
        return KeyCounts(counts, counted, tuple(columns), np.array(weights, dtype=WORD))

    def _keys(self, row: Row) -> tuple[Cell, ...]:
        return tuple(self._key(key, row) for key in self.plan.keys)

    def _key(self, key: Expr, row: Row) -> Cell:
        """The value of a key; None, which no group has, where it is NULL."""
        if isinstance(key, ColumnRef):
            return row[key.column.name]
        return evaluate(key, row, self.slots)

    def of(self, statistic: Statistic) -> Any:
        match statistic:
            case Count(argument=argument, nulls=True):
                known = Count(argument, statistic.where)
                return self.of(Count(None, statistic.where)) - self.of(known)
            case Count(argument=argument):
                return self._words(len(self._values(rows, argument, statistic.where))
                                   for rows in self.cells)  # fmt: skip
            case Histogram(conditions=conditions, segments=segments):
                found = [
                    [tuple(self._holds(each, row) for each in conditions) for row in rows]
                    for rows in self.cells
                ]
                return np.array(
                    [[true.count(segment) for segment in segments] for true in found], WORD
                )
            case LimitedDistinct(limits=limits):
                return self._limited(statistic, limits)
            case Distinct(argument=argument):
                return self._words(len(set(self._values(rows, argument, statistic.where)))
                                   for rows in self.cells)  # fmt: skip
            case Total(grid=grid):
                largest = max(abs(end) for end in statistic.bounds)
                return np.array(
                    [
                        sum(c * (x - statistic.centre) ** power
                            for x in self._steps(rows, statistic, grid)
                            for power, c in enumerate(statistic.coefficients))
                        for rows in self.cells
                    ],
                    dtype=representation(largest),
                )  # fmt: skip
            case Joint(parts=parts):
                largest = max(abs(end) for ends in statistic.signed_bounds for end in ends)
                columns = [
                    [part.weight * int(n) for n in self.of(part.statistic)] for part in parts
                ]
                return np.array(columns, dtype=representation(largest)).T
            case Ranks(grid=grid):
                return [self._words(sorted(self._steps(rows, statistic, grid)))
                        for rows in self.cells]  # fmt: skip
            case Tally(weight=Total() as weight, argument=column):
                largest = max(abs(end) for end in weight.bounds)
                name = column.column.name
                return [
                    np.array([sum(self._steps([row for row in rows if row[name] == value],
                                              weight, weight.grid))
                              for value in statistic.values], representation(largest))
                    for rows in self.cells
                ]  # fmt: skip
            case Tally(argument=column):
                name = column.column.name
                return [
                    self._words(sum(row[name] == value for row in self._rows(rows, statistic.where))
                                for value in statistic.values)
                    for rows in self.cells
                ]  # fmt: skip

    def _limited(self, statistic: LimitedDistinct, limits: Iterable[int]) -> Any:
        """The values that units have taken after so many passes, for each cell and limit."""
        of_unit: dict[Cell, set[tuple[int, int]]] = defaultdict(set)
        column, key = statistic.argument, self.plan.sample_key
        step = None
        if isinstance(column, ColumnRef) and not _has_no_step(column.column):
            step = column.column.step
        for cell, rows in enumerate(self.cells):
            for row in rows:
                for value in self._values([row], statistic.argument, statistic.where):
                    place = term(key, "value ", _hashed(value, step))
                    of_unit[row[OWNER]].add((cell, mixed(place + cell * GOLDEN & ALL)))
        units = {
            mixed(sum(place for _, place in own) & ALL): own for own in of_unit.values() if own
        }
        left = [
            sorted(own, key=lambda value: mixed(value[1] + unit & ALL), reverse=True)
            for unit, own in sorted(units.items())
            for _ in range(sum(own == other for other in of_unit.values()))
        ]
        taken: set[tuple[int, int]] = set()
        after = {0: taken}
        while any(left):
            for own in left:
                while own and own[-1] in taken:
                    own.pop()
                if own:
                    taken = taken | {own.pop()}
            after[len(after)] = taken
        return np.array([
            [sum(cell == at for cell, _ in after[min(p, len(after) - 1)]) for p in limits]
            for at in range(len(self.cells))
        ], WORD)  # fmt: skip

    def _words(self, numbers: Iterable[int]) -> Any:
        return np.array([*numbers], dtype=WORD)

    def _holds(self, condition: Expr | None, row: Row) -> bool:
        return condition is None or evaluate(condition, row, self.slots) is True

    def _rows(self, rows: list[Row], where: Expr | None) -> list[Row]:
        return [row for row in rows if self._holds(where, row)]

    def _values(self, rows: list[Row], argument: Expr | None, where: Expr | None) -> list[Cell]:
        """The values that are not NULL; without an argument something for every row."""
        rows = self._rows(rows, where)
        if argument is None:
            return [True for _ in rows]
        values = [evaluate(argument, row, self.slots) for row in rows]
        return [value for value in values if value is not None]

    def _steps(self, rows: list[Row], statistic: Total | Ranks, grid: Grid) -> list[int]:
        """The values in steps of the grid, halves to even, clamped to it."""
        argument = statistic.argument
        if isinstance(argument, ColumnRef) and _is_on(argument.column, grid):
            name = argument.column.name
            held = [row[name] for row in self._rows(rows, statistic.where)]
            steps = [int(Fraction(value) / grid.step) for value in held if value is not None]
        else:
            values = self._values(rows, argument, statistic.where)
            steps = [_nearest(float(value), grid) for value in values]  # type: ignore[arg-type]
        return [min(max(step, grid.lower), grid.upper) for step in steps]


def _is_on(column: Column, grid: Grid) -> bool:
    return column.values is None and not _has_no_step(column) and column.step == grid.step


def _nearest(value: float, grid: Grid) -> int:
    steps = value * float(grid.step.denominator) / float(grid.step.numerator)
    return round(min(max(steps, float(grid.lower)), float(grid.upper)))


def _columns(table: Table, cells: Mapping[str, bytes]) -> list[tuple[str, Column]]:
    """The table's columns and their names in the file, which may be in another case."""
    folded = {name.casefold(): name for name in cells}
    return [(c.name if c.name in cells else folded[c.name.casefold()], c) for c in table.columns]
