"""Files whose rows come as cells, one by one: SQLite, JSON, Excel."""

from __future__ import annotations

import codecs
import json
import re
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO, Protocol

from dpdb.engines.protocol import Progress, Witness
from dpdb.engines.sources.cells.builders import Builder, builders_of, finished
from dpdb.engines.sources.cells.records import Cells
from dpdb.engines.sources.protocol import FileSource, Loaded, Names, Written
from dpdb.errors import DataFileError
from dpdb.policy.catalog import Table
from dpdb.policy.csv.csv_format import NO_QUOTES
from dpdb.policy.names import quoted
from dpdb.policy.schemas.database_files import open_sqlite, sqlite_columns
from dpdb.policy.schemas.stored_types import bool_cell, float_cell, int_cell, names_in_file
from dpdb.policy.schemas.workbook import open_workbook, sheet_columns
from dpdb.records import dataclass
from dpdb.vectors.grammar import LONGEST

BATCH = 1 << 16
"""The rows of a block."""
Row = Sequence[bytes]
"""The cells of one row."""


class CellReader(Protocol):
    """Reads files of one kind; raises DataFileError where it cannot."""

    def files(self, table: Table) -> tuple[Path, ...]:
        """All files that the rows are in, in the order in which they are read."""
        return table.files

    @abstractmethod
    def rows(self, table: Table, names: Sequence[str]) -> Iterator[Row]:
        """The cells of the columns called `names`, row by row; empty for what is missing."""


@dataclass(frozen=True)
class CellSource(FileSource):
    """Reads the rows of a table as cells."""

    table: Table
    reader: CellReader

    def files(self) -> tuple[Path, ...]:
        return self.reader.files(self.table)

    def load(
        self, names: Names, progress: Progress | None = None, witness: Witness | None = None
    ) -> Loaded:
        version = self.witnessed(witness)
        builders, rows = builders_of(self.table, names, NO_QUOTES), 0
        for block in self._blocks([*builders]):
            rows += _add(block, builders)
        self.check(version)
        return Loaded(finished(builders), rows, version)

    def blocks(
        self, names: Names, progress: Progress | None = None, witness: Witness | None = None
    ) -> Iterator[Loaded]:
        version = self.witnessed(witness)
        builders = builders_of(self.table, names, NO_QUOTES)
        for block in self._blocks([*builders]):
            rows = _add(block, builders)
            yield Loaded(finished(builders), rows, version)
        self.check(version)

    def written(self) -> Iterator[tuple[Written, ...]]:
        for block in self._blocks([column.name for column in self.table.columns]):
            yield tuple(_written(cells) for cells in zip(*block, strict=True))

    def _blocks(self, names: Sequence[str]) -> Iterator[list[Row]]:
        rows = self.reader.rows(self.table, names)
        while block := [*islice(rows, BATCH)]:
            yield block


def _add(block: Sequence[Row], builders: dict[str, Builder]) -> int:
    """Give every builder its cells; returns the number of rows."""
    for builder, cells in zip(builders.values(), zip(*block, strict=True), strict=True):
        builder.add(Cells.of([cell if len(cell) <= LONGEST else b"" for cell in cells]))
    return len(block)


def _written(cells: Sequence[bytes]) -> Written:
    kept = [cell if len(cell) <= LONGEST else b"" for cell in cells]
    return Written(kept, sum(len(cell) > LONGEST for cell in cells))


class SqliteReader(CellReader):
    """Reads a table in the order in which SQLite keeps its rows, whatever its columns hold."""

    def files(self, table: Table) -> tuple[Path, ...]:
        # Rows that are not yet in the file are in the log beside it.
        log = table.path.with_name(f"{table.path.name}-wal")
        return (*table.files, *([log] if log.exists() else []))

    def rows(self, table: Table, names: Sequence[str]) -> Iterator[Row]:
        held = names_in_file(table, sqlite_columns(table))
        listed = ", ".join(_sqlite_cell(quoted(held[name])) for name in names) or "NULL"
        asked = f"SELECT {listed} FROM {quoted(table.name_in_file)} NOT INDEXED"  # noqa: S608
        with open_sqlite(table.path) as connection:
            for row in connection.execute(asked):
                yield [_cell(value) for value in row] if names else ()


def _sqlite_cell(name: str) -> str:
    """A column in SQL; a shorter text, that is too long as well, stands for each that is."""
    long = f"length(CAST({name} AS BLOB)) > {LONGEST}"
    return f"CASE WHEN {long} THEN printf('%.*c', {LONGEST + 1}, 'x') ELSE {name} END"


def _cell(value: bytes | int | float | None) -> bytes:
    """The cell that writes a value of SQLite, whatever type its column declares."""
    match value:
        case bytes():
            return value
        case int():
            return int_cell(value)
        case float():
            return float_cell(value)
    return b""


_LINE = 1 << 20
"""The most bytes of a line or an element: a longer one is a row without values.

A line of so many keys or objects takes a third of a second and 50 MB.
"""


_MOST_JSON = 1 << 30
"""The most bytes of a file that is an array: all of it is held."""
_TEXT, _REST = rb'"(?:[^"\\]|\\.)*+"', rb'[^][{}"]*+'
_TOKEN = re.compile(rb"\{%b(?:%b%b)*+\}|%b|[][{},]" % (_REST, _TEXT, _REST, _TEXT), re.DOTALL)
"""An object without others in it, a text, or what begins, ends or separates values."""


class JsonReader(CellReader):
    """Reads one object in each line, or in each element of an array."""

    def rows(self, table: Table, names: Sequence[str]) -> Iterator[Row]:
        for item in json_objects(table):
            yield [_json_cell(item.get(name)) for name in names]


def json_objects(table: Table) -> Iterator[dict[str, Any]]:
    """The objects of a table's files, with numbers as they are written.

    A line or an element of an array that is no object, or is too long, has no values; a blank
    line is no row. A file is an array if its name ends in .json, and it begins with a bracket.
    """
    for path in table.files:
        try:
            with path.open("rb") as file:
                start = file.read(_LINE).removeprefix(codecs.BOM_UTF8).lstrip()
                file.seek(0)
                array = path.suffix.lower() == ".json" and start.startswith(b"[")
                for item in _elements(file, table.named(path)) if array else _lines(file):
                    if item.strip():
                        yield _object(item) if len(item) <= _LINE else {}
        except OSError as error:
            raise DataFileError(f"cannot read {table.named(path)}: {error.strerror}") from None


def _lines(file: BinaryIO) -> Iterator[bytes]:
    """The lines of a file; of one that is too long, its beginning and a byte more."""
    while line := file.readline(_LINE):
        rest = line
        while len(rest) == _LINE and not rest.endswith(b"\n"):
            rest = file.readline(_LINE)
        yield line if rest is line else line + b"x"


def _elements(file: BinaryIO, named: str) -> Iterator[bytes]:
    """The elements of an array, cut at its commas: each is then read by itself, as a line is."""
    text = file.read(_MOST_JSON + 1)
    if len(text) > _MOST_JSON:
        raise DataFileError(
            f"{named} is an array of over {_MOST_JSON >> 30} GiB", hint="write one object a line"
        )
    depth = start = 0
    for token in _TOKEN.finditer(text):
        mark = token[0]
        if len(mark) > 1:
            continue
        if mark in b"[{":
            depth += 1
            start = token.end() if depth == 1 else start
        elif mark == b"," and depth == 1:
            yield text[start : token.start()].strip() or b"null"
            start = token.end()
        elif mark in b"]}":
            depth -= 1
            if not depth:
                yield text[start : token.start()]
                return
    yield text[start:]


def _object(line: bytes) -> dict[str, Any]:
    text = line.decode("utf-8-sig", "surrogateescape")
    try:
        found = json.loads(text, parse_int=str, parse_float=str, parse_constant=str)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _json_cell(value: object) -> bytes:
    """The cell that writes a value; arrays and objects are none."""
    match value:
        case bool():
            return bool_cell(value)
        case str() if len(value) <= LONGEST:
            try:
                return value.encode("utf-8", "surrogateescape")
            except UnicodeEncodeError:  # half of a pair
                return value.encode("utf-8", "surrogatepass")
        case str():
            return b"x" * (LONGEST + 1)
    return b""


class WorkbookReader(CellReader):
    """Reads a sheet, whose first row names the columns."""

    def rows(self, table: Table, names: Sequence[str]) -> Iterator[Row]:
        stored = sheet_columns(table)
        held = names_in_file(table, stored)
        places = {column.name: place for place, column in enumerate(stored)}
        wanted = [places[held[name]] for name in names]
        with open_workbook(table.path) as workbook:
            rows = workbook.rows(table.stored_as)
            next(rows, None)
            for row in rows:
                yield [row[place] for place in wanted]
