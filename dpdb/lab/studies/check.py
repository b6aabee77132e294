"""The fit of a file to its policy: the cells of each column that are lost, and those clamped."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import field

import numpy as np

from dpdb.engines.sources.cells.records import Block, Cells
from dpdb.engines.sources.opening import open_source
from dpdb.engines.units.filling import SharedRows
from dpdb.engines.units.keys import NONE, Columns, TableOwners, declared_of, most_rows, repeats
from dpdb.lab.studies.cells import Fate, FateOf, record_blocks
from dpdb.policy.catalog import Column, Table
from dpdb.policy.csv.csv_format import NO_QUOTES, Punctuation
from dpdb.policy.csv.csv_header import Header
from dpdb.policy.schemas.stored_types import column_positions
from dpdb.policy.storage import Storage
from dpdb.records import dataclass
from dpdb.vectors import grammar

_EXAMPLES = 3


@dataclass(frozen=True, repr=False)
class ColumnCheck:
    """The fates of a column's cells, and the first few different cells of each fate."""

    column: Column
    fates: Counter[Fate] = field(default_factory=Counter)
    examples: dict[Fate, list[str]] = field(default_factory=dict)

    def add(self, fate: Fate, number: int, text: str = "") -> None:
        """Count cells of a fate, which read `text`."""
        if number:
            self.fates[fate] += number
            known = self.examples.setdefault(fate, [])
            if text and text not in known and len(known) < _EXAMPLES:
                known.append(text)


@dataclass(frozen=True)
class UnitsCheck:
    """The units of a table, and the rows of them that no query counts."""

    units: int
    nameless_rows: int
    """Rows whose unit is NULL."""
    overfull_units: int
    surplus_rows: int
    """Rows of those units over the cap, in a query without WHERE."""
    cut_units: int = 0
    """Units with more rows than are held."""
    cut_rows: int = 0
    """Rows of those units that no query sees."""


@dataclass(frozen=True)
class RecordsCheck:
    """The rows of a file as they are cut into cells."""

    rows: int
    header: Header | None = None
    """The header of a CSV file; None for others, of which the fields below say nothing."""
    blank_lines: int = 0
    short_rows: int = 0
    long_rows: int = 0
    open_quotes: int = 0
    """The cells that begin with a quote which is not closed, and is text."""


@dataclass(frozen=True, repr=False)
class TableCheck:
    """A file as its policy reads it."""

    table: Table
    records: RecordsCheck
    columns: tuple[ColumnCheck, ...]
    units: UnitsCheck | None
    repeated_keys: int
    """Rows that repeat the key of another row; if there are any, no query is answered."""
    most_rows: tuple[int, ...]
    """Of each column with an `at_most` the greatest number of rows that share a value."""


def check(table: Table, tables: tuple[Table, ...] = ()) -> TableCheck:
    """Read the file of a table, cell by cell; chains of units lead through `tables`."""
    columns = tuple(ColumnCheck(column) for column in table.columns)
    walk = _walk_records if table.storage is Storage.CSV else _walk_written
    records = walk(table, columns)
    declared = open_source(table).load(names).columns if (names := declared_of(table)) else {}
    return TableCheck(
        table,
        records,
        columns,
        _units(table, tables),
        repeats(table, declared),
        tuple(most_rows(declared[name]) for name, _ in table.at_most),
    )


def _fates(table: Table, punctuation: Punctuation) -> list[FateOf]:
    return [
        FateOf(column, punctuation, named=column.name in table.identifiers)
        for column in table.columns
    ]


def _walk_written(table: Table, columns: tuple[ColumnCheck, ...]) -> RecordsCheck:
    """Count the fates of cells as a source writes them."""
    fates, rows = _fates(table, NO_QUOTES), 0
    for held in open_source(table).written():
        rows += len(held[0].cells)
        for checked, fate_of, column in zip(columns, fates, held, strict=True):
            different = Counter(column.cells)
            different[b""] -= column.too_long
            checked.add(Fate.LONG, column.too_long)
            _count_cells(checked, fate_of, different)
    return RecordsCheck(rows)


def _walk_records(table: Table, columns: tuple[ColumnCheck, ...]) -> RecordsCheck:
    """Count the fates of the cells of CSV files, and their lines that are unlike others."""
    rows = blank = short = long = unclosed = 0
    header = None
    for header, records in record_blocks(table):
        positions = column_positions(table, header.names)
        fates = _fates(table, header.punctuation)
        for block in records:
            lengths = block.last - block.first + 1
            rows += block.rows
            blank += block.blank
            short += int(np.count_nonzero(lengths < len(header.names)))
            long += int(np.count_nonzero(lengths > len(header.names)))
            unclosed += _open_quotes(block, header.punctuation.quote)
            for checked, fate_of in zip(columns, fates, strict=True):
                _count(checked, fate_of, block, positions[checked.column.name])
    return RecordsCheck(rows, header, blank, short, long, unclosed)


def _open_quotes(block: Block, quote: bytes) -> int:
    """The number of cells that begin with a quote that is text."""
    if not quote or not len(block.starts):
        return 0
    raw = np.frombuffer(block.text, np.uint8)
    begins = (raw[block.starts] == ord(quote)) & (block.ends > block.starts)
    # A last byte that is no quote is rare in a cell that begins with one.
    others = np.flatnonzero(begins & (raw[block.ends - 1] != ord(quote)))
    cells = Cells(block.text, block.starts, block.ends).among(others).written()
    return sum(grammar.is_open(cell, quote) for cell in cells)


def _count(checked: ColumnCheck, fate_of: FateOf, block: Block, position: int) -> None:
    """Count the fates of a column's cells in one block."""
    wanted = block.first + position
    place = np.minimum(wanted, block.last)
    starts, ends = block.starts[place], block.ends[place]
    short = wanted > block.last
    long = np.zeros(len(short), dtype=np.bool_)
    long[block.too_long(starts, ends)] = True
    long &= ~short
    checked.add(Fate.SHORT, int(np.count_nonzero(short)))
    checked.add(Fate.LONG, int(np.count_nonzero(long)))
    there = ~(short | long)
    _count_cells(checked, fate_of, Counter(Cells(block.text, starts[there], ends[there]).written()))


def _count_cells(checked: ColumnCheck, fate_of: FateOf, cells: Counter[bytes]) -> None:
    """Count the fates of cells, given as how often each different cell occurs."""
    read = 0
    for raw, number in cells.items():
        fate = fate_of(raw)
        if fate is Fate.READ:
            read += number
        else:
            checked.add(fate, number, fate_of.text(raw))
    checked.add(Fate.READ, read)


def _units(table: Table, tables: tuple[Table, ...]) -> UnitsCheck | None:
    def read(each: Table, names: Collection[str]) -> Columns:
        return open_source(each).load(frozenset(names)).columns

    owners = TableOwners(tables)
    if table.unit is None:
        return None
    numbers = [owners.named_by(each, table, read).numbers for each in table.owned_by]
    if table.owners:
        shared = SharedRows.of(numbers[0], numbers[1], same=len(table.kinds) == 1)
        numbers = [shared.first, shared.second[shared.second != shared.first]]
    rows = len(numbers[0])
    owned = np.concatenate([each[each != NONE] for each in numbers])
    sizes = [size for size in np.bincount(owned).tolist() if size]
    surplus = [size - table.rows_per_unit for size in sizes if size > table.rows_per_unit]
    nameless = rows - int(np.count_nonzero(numbers[0] != NONE))
    most = max(sizes, default=0) if table.owners else table.rows_held
    cut = [size - most for size in sizes if size > most]
    return UnitsCheck(len(sizes), nameless, len(surplus), sum(surplus), len(cut), sum(cut))


def report(found: TableCheck) -> Iterator[str]:
    """The lines that tell the data owner what was found."""
    table, records = found.table, found.records
    yield f"{table.name}: {records.rows:,} rows in {table.place}, {_form(found)}"
    remarks = [*_record_lines(records)]
    if found.units is not None:
        remarks.extend(_unit_lines(table, found.units))
    remarks.extend(_declaration_lines(found))
    yield from (f"  {remark}" for remark in remarks)
    for checked in found.columns:
        yield from _column_lines(checked, records.rows)


def _form(found: TableCheck) -> str:
    """Encoding and separator of the file."""
    header = found.records.header
    if header is None:
        return found.table.storage.value.label
    separator = header.punctuation.separator.decode()
    return f"{header.encoding}, separated by {'tabs' if separator == chr(9) else separator}"


def _record_lines(found: RecordsCheck) -> Iterator[str]:
    """Lines about the header and the rows of a CSV file."""
    if found.header is not None:
        yield from (*found.header.guesses, *found.header.oddities)
    for number, what in (
        (found.blank_lines, "blank lines, which are skipped"),
        (found.short_rows, "rows with fewer cells than columns"),
        (found.long_rows, "rows with more cells than columns, which have no name and are ignored"),
    ):
        if number:
            yield f"{what}: {number:,}"
    if 0 < found.rows == found.long_rows:
        yield "every row has more cells than the header: is the first one a row's name?"
    if found.open_quotes:
        yield f"cells with a quote that is not closed, and so is text: {found.open_quotes:,}"


def _unit_lines(table: Table, units: UnitsCheck) -> Iterator[str]:
    yield f"units, by {table.unit_as_written}: {units.units:,}"
    if units.nameless_rows:
        yield f"rows that name no unit and are left out: {units.nameless_rows:,}"
    if table.finds_cap:
        yield f"each query finds how many rows of a unit count, at most {table.rows_per_unit}"
    if units.overfull_units:
        yield f"units cut to rows_per_unit = {table.rows_per_unit}: {units.overfull_units:,}"
        yield f"rows of theirs that are not counted: {units.surplus_rows:,}"
    if units.cut_units:
        yield f"units cut to rows_held_per_unit = {table.rows_held}: {units.cut_units:,}"
        yield f"rows of theirs that no query sees: {units.cut_rows:,}"


def _declaration_lines(found: TableCheck) -> Iterator[str]:
    """Lines about keys and `at_most` that the rows do not keep."""
    if found.repeated_keys:
        key = ", ".join(found.table.key)
        yield f"rows that repeat a value of the key {key}, so that no query is answered: " + (
            f"{found.repeated_keys:,}"
        )
    for (name, most), number in zip(found.table.at_most, found.most_rows, strict=True):
        if number > most:
            yield f"rows that share a value of {name}, at_most {most:,}: {number:,}"


def _column_lines(checked: ColumnCheck, rows: int) -> Iterator[str]:
    column = checked.column
    lost = sum(number for fate, number in checked.fates.items() if not fate.kept)
    into = "NULL" if column.nullable else "filled in"
    yield f"  {column.name} ({column.kind}): {lost:,} of {rows:,} cells {into}"
    for fate in Fate:
        if fate is Fate.READ or not checked.fates[fate]:
            continue
        shown = ", ".join(
            repr(text if len(text) <= 30 else f"{text[:30]}…") for text in checked.examples[fate]
        )
        like = f", as {shown}" if shown else ""
        clamped = "clamped, being " if fate.clamped else ""
        yield f"    {checked.fates[fate]:,} {clamped}{fate.value.format(kind=column.kind)}{like}"
