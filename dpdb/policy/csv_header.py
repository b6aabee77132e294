"""The header of a CSV file: the names of its columns, and where its records begin.

Errors of the header are raised as DataFileError.
"""

from __future__ import annotations

import codecs
import csv
import io
import os
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path

from dpdb.errors import DataFileError, did_you_mean
from dpdb.policy.catalog import Table

_HEADER_LIMIT = 1 << 20
"""The most bytes of a header."""
_NAME_THE_INDEX = "give every column a name; pandas leaves the name of an index column empty"
_SAVE_AS_UTF8 = "save the file as UTF-8"
# UTF-32 first: its little-endian mark begins with that of UTF-16.
_WIDE_MARKS = (
    (codecs.BOM_UTF32_LE, "UTF-32"),
    (codecs.BOM_UTF32_BE, "UTF-32"),
    (codecs.BOM_UTF16_LE, "UTF-16"),
    (codecs.BOM_UTF16_BE, "UTF-16"),
)


def read_header(path: Path) -> tuple[str, ...]:
    """The names of the columns of the file, as the header writes them."""
    return header_and_offset(path)[0]


def header_and_offset(path: Path) -> tuple[tuple[str, ...], int]:
    """The names of the columns, and the number of bytes before the first record."""
    start = _first_bytes(path)
    for mark, encoding in _WIDE_MARKS:
        if start.startswith(mark):
            raise DataFileError(
                f"{path}, line 1: the file is {encoding}, not UTF-8", hint=_SAVE_AS_UTF8
            )
    skipped = len(codecs.BOM_UTF8) if start.startswith(codecs.BOM_UTF8) else 0
    cells, line, length = _first_record(path, start[skipped:])
    names = _decoded(path, line, cells)
    _check_names(path, line, names)
    return names, skipped + length


def _first_bytes(path: Path) -> bytes:
    """The first bytes of the file, enough for the longest header that is allowed."""
    try:
        # The kind of file is checked before opening, because opening a pipe may wait for ever.
        if not stat.S_ISREG(os.stat(path).st_mode):
            kind = "a directory" if path.is_dir() else "not a regular file"
            raise DataFileError(f"{path} is {kind}")
        with open(path, "rb") as file:
            return file.read(_HEADER_LIMIT + len(codecs.BOM_UTF8))
    except OSError as error:
        raise DataFileError(f"cannot read {path}: {error.strerror}") from error
    except ValueError as error:  # a NUL in the path
        raise DataFileError(f"cannot read {path}: {error}") from error


def _first_record(path: Path, start: bytes) -> tuple[list[str], int, int]:
    """The first record that is not blank, the number of its line, and the length up to its end."""
    length = 0
    line = 1

    def lines() -> Iterator[str]:
        nonlocal length
        # In Latin-1 every byte is one character, so the lengths of texts count bytes.
        for text in io.StringIO(start.decode("latin-1"), newline=""):
            length += len(text)
            yield text

    reader = csv.reader(lines(), strict=True)
    record: list[str] = []
    try:
        while not record:
            line = reader.line_num + 1
            record = next(reader)
    except StopIteration:
        raise DataFileError(
            f"{path} is empty", hint="the first line must name the columns"
        ) from None
    except csv.Error as error:
        raise DataFileError(f"{path}, line {line}: the header is not CSV: {error}") from error
    if length >= _HEADER_LIMIT:
        raise DataFileError(f"{path}, line {line}: the header is over {_HEADER_LIMIT} bytes")
    return record, line, length


def _decoded(path: Path, line: int, cells: list[str]) -> tuple[str, ...]:
    """The cells of the header, read as Latin-1, decoded from UTF-8."""
    try:
        names = tuple(cell.encode("latin-1").decode("utf-8") for cell in cells)
    except UnicodeDecodeError as error:
        byte = error.object[error.start]
        raise DataFileError(
            f"{path}, line {line}: the header is not UTF-8 (byte 0x{byte:02x})",
            hint=_SAVE_AS_UTF8,
        ) from error
    if any("\0" in name for name in names):
        raise DataFileError(
            f"{path}, line {line}: the header holds a NUL", hint="is it UTF-16, or not text?"
        )
    return names


def _check_names(path: Path, line: int, names: tuple[str, ...]) -> None:
    """Raise DataFileError for names that are missing, repeated or not separated by commas."""
    where = f"{path}, line {line}"
    for delimiter, called in ((";", "semicolons"), ("\t", "tabs")):
        if len(names) == 1 and delimiter in names[0]:
            raise DataFileError(
                f"{where}: the header has no comma", hint=f"use commas, not {called}"
            )
    seen: dict[str, int] = {}
    for position, name in enumerate(names, 1):
        if not name.strip():
            raise DataFileError(f"{where}: column {position} has no name", hint=_NAME_THE_INDEX)
        first = seen.setdefault(name.casefold(), position)
        if first != position:
            raise DataFileError(
                f"{where}: columns {first} and {position} are both called {name}",
                hint="names must differ in more than case",
            )


def column_positions(table: Table, names: Sequence[str]) -> dict[str, int]:
    """The position of each declared column in a record, by the name of the column."""
    exact = {name: position for position, name in enumerate(names)}
    declared = {column.name for column in table.columns}
    # A header name that matches one declared column exactly is not used for another column that
    # differs from it in case.
    folded = {name.casefold(): at for name, at in exact.items() if name not in declared}
    positions = {}
    for column in table.columns:
        position = exact.get(column.name)
        if position is None:
            position = folded.pop(column.name.casefold(), None)
        if position is None:
            raise DataFileError(
                f"{table.path}, line 1: there is no column {column.name}",
                hint=did_you_mean(column.name, names),
            )
        positions[column.name] = position
    return positions
