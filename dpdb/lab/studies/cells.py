"""The cells of a file, cut as the engine cuts them, and the fate of each."""

from __future__ import annotations

import math
from collections.abc import Iterator
from enum import Enum
from fractions import Fraction

from dpdb.engines.sources.cells.records import Block, blocks
from dpdb.engines.sources.opening import open_source
from dpdb.policy.catalog import Column, Kind, Table
from dpdb.policy.cell_format import PLAIN
from dpdb.policy.csv.csv_format import Punctuation
from dpdb.policy.csv.csv_header import Header
from dpdb.policy.numbers import MAGNITUDE_LIMIT, exact_number
from dpdb.policy.schemas.stored_types import column_positions
from dpdb.policy.schemas.table_files import header_of, open_table
from dpdb.policy.storage import Storage
from dpdb.policy.timestamps import read_timestamp
from dpdb.vectors import grammar


def record_blocks(table: Table) -> Iterator[tuple[Header, Iterator[Block]]]:
    """The header of each of a table's CSV files, and the records after it."""
    for path in table.files:
        header = header_of(table, path)
        with open_table(table, header, path) as stream:
            stream.read(header.length)
            yield header, blocks(stream, len(header.names), header.punctuation)


def text_rows(table: Table) -> Iterator[tuple[str, ...]]:
    """The cells of the declared columns, row by row; a missing one is empty.

    Numbers have a point, whatever decimal mark the file has.
    """
    if table.storage is not Storage.CSV:
        for held in open_source(table).written():
            written = (
                [column.cells.plain(grammar.text(raw, b""), column.kind) for raw in cells.cells]
                for column, cells in zip(table.columns, held, strict=True)
            )
            yield from zip(*written, strict=True)
        return
    for header, records in record_blocks(table):
        positions = column_positions(table, header.names)
        quote, decimal = header.punctuation.quote, header.punctuation.decimal.decode()
        for block in records:
            columns = []
            for column in table.columns:
                cells = block.column(positions[column.name]).written()
                texts = (grammar.text(raw, quote) for raw in cells)
                columns.append([column.cells.plain(text, column.kind, decimal) for text in texts])
            yield from zip(*columns, strict=True)


class Fate(Enum):
    """The fate of a cell; most fates leave the column without its value."""

    READ = "read"
    REPLACED = "text with bytes that the encoding does not know"
    LOW = "below the bounds"
    HIGH = "above the bounds"
    EMPTY = "empty"
    NULL = "NULL by the policy"
    SHORT = "missing in a row that is too short"
    LONG = f"over {grammar.LONGEST:,} bytes"
    LONGER = "longer than its length"
    UNDECODABLE = "with bytes that the encoding does not know"
    UNREADABLE = "no {kind}"
    UNEXPLAINED = "no {kind}: no format or null of the policy explains it"
    INFINITE = "out of range"
    UNDECLARED = "not among the declared values"
    INEXACT = "a number that is not held exactly, and so names nothing"

    @property
    def kept(self) -> bool:
        """Whether the column has a value for it."""
        return self in (Fate.READ, Fate.REPLACED, Fate.LOW, Fate.HIGH)

    @property
    def clamped(self) -> bool:
        """Whether the value is a bound instead of its own."""
        return self in (Fate.LOW, Fate.HIGH)


class FateOf:
    """Tells the fate of the cells of a column; what names a unit or a row must be read whole."""

    def __init__(self, column: Column, punctuation: Punctuation, *, named: bool) -> None:
        self._column = column
        self._quote = punctuation.quote
        self._decimal = punctuation.decimal.decode()
        self._named = named
        self._free = column.kind is Kind.TEXT and column.values is None
        # Declared numbers are compared as the engine does it, as doubles.
        values = map(float, column.values or ()) if column.kind.ordinal else column.values or ()
        self._listed = frozenset(values)
        limit = MAGNITUDE_LIMIT if column.kind is Kind.INTEGER else math.inf
        lower, upper = column.bounds or (-limit, limit)
        self._lower, self._upper = float(lower), float(upper)

    def __call__(self, raw: bytes) -> Fate:
        written = self.text(raw)
        text = self._column.cells.plain(written, self._column.kind, self._decimal)
        whole = grammar.is_whole(raw)
        if not text:
            kept = self._free and not (self._column.nullable or self._named)
            return Fate.READ if kept else Fate.NULL if written else Fate.EMPTY
        if self._named and not whole:
            return Fate.UNDECODABLE
        if self._free and len(text.encode()) > self._column.length:
            return Fate.LONGER
        if self._free:
            return Fate.READ if whole else Fate.REPLACED
        fate = self._fate(text)
        return fate if whole or fate.kept else Fate.UNDECODABLE

    def text(self, raw: bytes) -> str:
        """The text of a cell, without its quotes."""
        return grammar.text(raw, self._quote)

    def _fate(self, text: str) -> Fate:
        value: str | float | None = text
        match self._column.kind:
            case Kind.BOOLEAN:
                value = grammar.boolean(text)
            case Kind.DATE:
                value = grammar.date(text)
            case Kind.TIMESTAMP:
                value = read_timestamp(text)
            case Kind.INTEGER | Kind.NUMBER:
                value = grammar.number(text)
                if value is None and exact_number(text.strip(grammar.SPACE)) is not None:
                    return Fate.INFINITE
        if value is None:
            return Fate.UNREADABLE if self._column.cells == PLAIN else Fate.UNEXPLAINED
        if self._column.kind is Kind.INTEGER:
            value = round(float(value))
        if self._listed and value not in self._listed:
            return Fate.UNDECLARED
        if isinstance(value, str):
            return Fate.READ
        low, high = value < self._lower, value > self._upper
        if self._named and (low or high or not self._holds(text, value)):
            return Fate.INEXACT
        return Fate.LOW if low else Fate.HIGH if high else Fate.READ

    def _holds(self, text: str, value: float) -> bool:
        """Whether the column holds what a cell writes as it is."""
        if self._column.kind.temporal:
            return Fraction(value) % self._column.step == 0
        return exact_number(text.strip(grammar.SPACE)) == value
