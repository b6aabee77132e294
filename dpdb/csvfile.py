"""A CSV file without knowing what is in it: its header, and its records as texts.

The records are read by the standard library's `csv`, which never refuses one:
surplus quotes are text, and a quoted cell that is not closed ends with the file.
"""

from __future__ import annotations

import codecs
import csv
import io
import os
import stat
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import BinaryIO

from dpdb.errors import DataFileError, did_you_mean
from dpdb.policy import Table

_HEADER_LIMIT = 1 << 20
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
    """The names of the columns of the file, as they are written."""
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
    try:
        # Asked before opening: to open a pipe may wait for ever.
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
    """The first record that is not a blank line, its first line, and where it ends."""
    length = 0
    line = 1

    def lines() -> Iterator[str]:
        nonlocal length
        # As Latin-1 every byte is a character, so that characters count bytes.
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


def clean(data: bytes) -> bytes:
    """UTF-8, with U+FFFD for what is none and for NUL, at which readers in C stop.

    What belongs to one cell stays in it: no byte that separates is ever replaced.
    """
    if not data.isascii():
        data = data.decode("utf-8", "replace").encode()
    return data.replace(b"\0", "\N{REPLACEMENT CHARACTER}".encode())


class Records:
    """The bytes after the header, taken from the front in whole records."""

    def __init__(self, file: BinaryIO, block: int) -> None:
        self.buffer = b""
        self._file = file
        self._block = block
        self._at = 0  # within `rows`: what of the buffer is read

    def fill(self) -> bool:
        """Read on until a block is at hand; False at the end of the file."""
        if len(self.buffer) < self._block:
            self.buffer += self._file.read(self._block - len(self.buffer))
        return bool(self.buffer)

    @property
    def offset(self) -> int:
        """The place in the file up to which everything was taken."""
        return self._file.tell() - len(self.buffer)

    def whole(self) -> int:
        """The length of the whole records in the buffer, if its quotes are in place."""
        end = len(self.buffer)
        quotes = self.buffer.count(b'"')
        # Back to the last line that does not end within quotes.
        while (line_feed := self.buffer.rfind(b"\n", 0, end)) >= 0:
            quotes -= self.buffer.count(b'"', line_feed, end)
            if quotes % 2 == 0:
                return line_feed + 1
            end = line_feed
        return 0

    def take(self, length: int) -> None:
        """Drop bytes that were whole records."""
        self.buffer = self.buffer[length:]

    def rows(self) -> list[list[str]]:
        """Take all records that begin in the buffer; a blank line is none."""
        _lift_field_limit()
        self._at = 0
        goal = len(self.buffer)
        rows = []
        # The reader asks for a line only within a record, so that after each
        # record what is not read begins with the next one.
        for row in csv.reader(self._lines()):
            if row:
                rows.append(row)
            if self._at >= goal:
                break
        self.take(self._at)
        return rows

    def _lines(self) -> Iterator[str]:
        while self._has_line():
            end = self.buffer.rfind(b"\n", self._at) + 1 or len(self.buffer)
            # Unlike that of texts, the lines of bytes end with CR, LF or CRLF only.
            for line in self.buffer[self._at : end].splitlines(keepends=True):
                self._at += len(line)
                yield clean(line).decode()

    def _has_line(self) -> bool:
        while self.buffer.find(b"\n", self._at) < 0:
            more = self._file.read(max(self._block, len(self.buffer)))
            if not more:
                return self._at < len(self.buffer)
            self.buffer += more
        return True


def _lift_field_limit() -> None:
    # A long cell must not raise. The limit is a C long, of 32 bits on Windows.
    csv.field_size_limit(2**31 - 1 if sys.platform == "win32" else sys.maxsize)


def column_positions(table: Table, names: Sequence[str]) -> dict[str, int]:
    """Where in a record each declared column stands."""
    exact = {name: position for position, name in enumerate(names)}
    declared = {column.name for column in table.columns}
    # A name that one column has exactly is not free for another in another case.
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
