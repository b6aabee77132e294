"""The header of a CSV file: the names of its columns, and where its records begin.

What a policy does not declare of how the file is written is told from its name and its header,
which are public, and never from rows. Errors of the header are raised as DataFileError.
"""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from dpdb.errors import DataFileError, did_you_mean
from dpdb.policy.catalog import Table
from dpdb.policy.csv_clues import FirstRecord, encoding_of, first_record, separator_of
from dpdb.policy.csv_format import COMMA, CsvFormat, Punctuation, separator_by_name
from dpdb.policy.csv_stream import open_csv
from dpdb.policy.encodings import FALLBACK, UTF8
from dpdb.policy.names import SPACE, distinct_names, look_like_values
from dpdb.records import dataclass

_HEADER_LIMIT = 1 << 20
"""The most bytes of a header."""

_QUOTES = (
    'a policy can say quote = "" where quotes are text, or header = false and name the columns'
)
_NAME = "name the encoding that the file has, or save it as UTF-8"
_LOOKS_LIKE_A_ROW = "the header looks like a row: if the file has none, say --no-header"


@dataclass(frozen=True)
class Header:
    """The columns of a file and how it is written, by its policy, its name and its header."""

    names: tuple[str, ...]
    encoding: str
    mark: int
    """The number of bytes of byte-order marks that the file begins with."""
    length: int
    """The number of bytes, in UTF-8, from there to the first record."""
    punctuation: Punctuation
    guesses: tuple[str, ...] = ()
    """What is told from the header of how the file is written, and could be wrong."""
    oddities: tuple[str, ...] = ()
    """What is to be said of the names."""


def header_of(table: Table) -> Header:
    """The header of a table's file; where it has none, the columns are those declared."""
    if table.csv.header:
        return read_header(table.path, table.csv)
    encoding, mark = encoding_of(table.path, table.csv)
    separator = table.csv.separator or separator_by_name(table.path) or COMMA
    names = tuple(column.name for column in table.columns)
    return Header(names, encoding, mark, 0, table.csv.punctuation(separator))


def remarks(table: Table) -> list[str]:
    """What whoever asks about a table must know of its header.

    What the names are is said only where no policy declares them.
    """
    header = header_of(table)
    undeclared = any(column.guessed for column in table.columns)
    said = (*header.guesses, *header.oddities) if undeclared else header.guesses
    return [f"{table.path}: {remark}" for remark in said]


def read_header(path: Path, form: CsvFormat | None = None) -> Header:
    """The header of a file that has one and is written as declared."""
    form = form or CsvFormat()
    encoding, mark = encoding_of(path, form)
    with open_csv(path, encoding, mark) as stream:
        # In Latin-1 every byte is one character, so the lengths of texts count bytes.
        start = stream.read(_HEADER_LIMIT + 1).decode("latin-1")
    separator, skipped, guesses = separator_of(path, form, start)
    if not start[skipped:].strip("\r\n"):
        raise DataFileError(f"{path} is empty", hint="the first line must name the columns")
    where = f"{path}, line {_blank_lines(start[skipped:]) + bool(skipped) + 1}"
    record = _record(where, start[skipped:], separator, form.quote)
    cells = _decoded(record, UTF8)
    if cells is None and form.encoding is None and encoding == UTF8 and not mark:
        if _decoded(record, FALLBACK) is None:
            raise DataFileError(f"{where}: the header is neither UTF-8 nor {FALLBACK}", hint=_NAME)
        header = read_header(path, replace(form, encoding=FALLBACK))
        guess = f"the header is not UTF-8, so the file is read as {FALLBACK}"
        return replace(header, guesses=(guess, *header.guesses))
    if cells is None:
        raise DataFileError(f"{where}: the header is not {encoding}", hint=_NAME)
    if any("\0" in cell for cell in cells):
        raise DataFileError(
            f"{where}: the header holds a NUL",
            hint="if the file is UTF-16 without a mark, its encoding is utf-16-le or utf-16-be",
        )
    if encoding != UTF8 and form.encoding is None:
        guesses = (f"the file is read as {encoding}, by its byte-order mark", *guesses)
    names, oddities = distinct_names(cells)
    if look_like_values(cells):
        oddities = (_LOOKS_LIKE_A_ROW, *oddities)
    punctuation = form.punctuation(separator)
    return Header(names, encoding, mark, skipped + record.length, punctuation, guesses, oddities)


def _decoded(record: FirstRecord, encoding: str) -> list[str] | None:
    """The texts of cells of which each byte is a character yet; None if they are not decoded."""
    try:
        return [cell.encode("latin-1").decode(encoding) for cell in record.cells]
    except UnicodeDecodeError:
        return None


def _blank_lines(text: str) -> int:
    """The number of blank lines that a text begins with."""
    return len(text[: len(text) - len(text.lstrip("\r\n"))].splitlines())


def _record(where: str, start: str, separator: str, quote: str) -> FirstRecord:
    """The record of the header, checked: it ends with its line, or rows would be names."""
    try:
        record = first_record(start, separator, quote, one_line=True)
    except csv.Error as error:
        raise DataFileError(f"{where}: the header is not CSV: {error}", hint=_QUOTES) from error
    assert record is not None
    if record.length >= _HEADER_LIMIT:
        raise DataFileError(f"{where}: the header is over {_HEADER_LIMIT} bytes")
    return record


def column_positions(table: Table, names: Sequence[str]) -> dict[str, int]:
    """The position of each declared column in a record, by the name of the column.

    Names of the header, which have no space around them, are also found in another case.
    """
    exact = {name: position for position, name in enumerate(names)}
    declared = {column.name for column in table.columns}
    # A header name that matches one declared column exactly is not used for another column that
    # differs from it in case.
    folded = {name.casefold(): at for name, at in exact.items() if name not in declared}
    positions = {}
    for column in table.columns:
        position = exact.get(column.name)
        if position is None:
            position = folded.pop(column.name.strip(SPACE).casefold(), None)
        if position is None:
            where = table.place if table.storage.typed else f"{table.path}, line 1"
            raise DataFileError(
                f"{where}: there is no column {column.name}", hint=did_you_mean(column.name, names)
            )
        positions[column.name] = position
    return positions
