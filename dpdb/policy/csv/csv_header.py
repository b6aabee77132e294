"""The header of a CSV file: how the file is written, the columns' names, where its records begin.

What a policy does not declare of the format is told from the file's name and its header, which are
public, and never from rows. Errors of the header are raised as DataFileError.
"""

from __future__ import annotations

import csv
import datetime
import io
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from dpdb.errors import DataFileError, InvalidOption
from dpdb.policy.csv.csv_format import (
    COMMA,
    FALLBACK,
    SEPARATORS,
    UTF8,
    CsvFormat,
    Punctuation,
    separator_by_name,
    valid_separator,
)
from dpdb.policy.csv.csv_stream import encoding_of, open_csv
from dpdb.policy.numbers import exact_number
from dpdb.records import dataclass

_SEPARATOR_LINE = re.compile(r'("?)sep=(.)\1(?:\r\n|\n|\r)')
"""The line in which Excel names the separator, before the header."""


@dataclass(frozen=True)
class FirstRecord:
    """The first record of a text that is not blank."""

    cells: list[str]
    length: int
    """The number of characters up to its end."""


def first_record(
    text: str, separator: str, quote: str, *, strict: bool = True, one_line: bool = False
) -> FirstRecord | None:
    """The first record of a text; None if all lines are blank.

    Raises csv.Error; for quotes that are left open, or followed by other text, only if `strict`.
    With `one_line` a quote that is open at the end of the line is an error, and the next line,
    which may be a row, is not looked at.
    """
    length = 0

    def lines() -> Iterator[str]:
        nonlocal length
        for written in io.StringIO(text, newline=""):
            length += len(written)
            yield written
            if one_line and written.strip("\r\n"):
                raise csv.Error("a quote is not closed on its line")

    reader = csv.reader(
        lines(),
        delimiter=separator,
        quotechar=quote or None,
        quoting=csv.QUOTE_MINIMAL if quote else csv.QUOTE_NONE,
        strict=strict,
    )
    record = next((cells for cells in reader if cells), None)
    return None if record is None else FirstRecord(record, length)


def separator_of(path: Path, form: CsvFormat, start: str) -> tuple[str, int, tuple[str, ...]]:
    """The separator, the length of a line before the header that names it, and what is guessed."""
    named = _SEPARATOR_LINE.match(start)
    skipped = named.end() if named else 0
    known = form.separator or separator_by_name(path)
    if known is None and named:
        try:
            known = valid_separator(named[2])
        except InvalidOption:
            skipped = 0
    if known is not None:
        return known, skipped, ()
    line = _first_line(start[skipped:])
    cells = {one: _cells(line, one, form.quote) for one in SEPARATORS}
    likeliest = max(SEPARATORS, key=lambda one: cells[one])
    if likeliest == COMMA or cells[likeliest] < 2:
        return COMMA, skipped, ()
    guess = f"cells are separated by {SEPARATORS[likeliest]}, by the look of the first line"
    if (likeliest, form.decimal) == (";", "."):
        # Where commas are decimal marks, they separate no cells.
        guess += '; numbers such as 12,50 need a policy with decimal = ","'
    return likeliest, skipped, (guess,)


def _first_line(text: str) -> str:
    """The first line that is not blank; what comes after it may be rows."""
    return next((line for line in io.StringIO(text, newline="") if line.strip("\r\n")), "")


def _cells(line: str, separator: str, quote: str) -> int:
    """The number of cells that a separator makes of a line; 0 if it makes none."""
    try:
        record = first_record(line, separator, quote, strict=False)
    except csv.Error:
        return 0
    return 0 if record is None else len(record.cells)


_HEADER_LIMIT = 1 << 20
"""The most bytes of a header."""

_QUOTES = (
    'a policy can say quote = "" where quotes are text, or header = false and name the columns'
)
_NAME = "name the encoding that the file has, or save it as UTF-8"
_LOOKS_LIKE_A_ROW = "the header looks like a row: if the file has none, say --no-header"
_LOOKS_LIKE_A_COMMENT = (
    'the header looks like a comment: if it is one, a policy can say comment = "#" (dpdb init '
    "drafts it)"
)


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
    """Notes on guesses from the header about the format, which could be wrong."""
    oddities: tuple[str, ...] = ()
    """Notes on names that the header lacks or repeats."""


def read_header(path: Path, form: CsvFormat | None = None, named: str = "") -> Header:
    """The header of a file, `named` in messages, that has one and is written as declared."""
    form, named = form or CsvFormat(), named or str(path)
    encoding, mark = encoding_of(path, form, named)
    with open_csv(path, encoding, mark, named, form.lines) as stream:
        # In Latin-1 every byte is one character, so the lengths of texts count bytes.
        start = stream.read(_HEADER_LIMIT + 1).decode("latin-1")
    separator, skipped, guesses = separator_of(path, form, start)
    if not start[skipped:].strip("\r\n"):
        raise DataFileError(f"{named} is empty", hint="the first line must name the columns")
    where = f"{named}, line {_blank_lines(start[skipped:]) + bool(skipped) + 1}"
    record = _record(where, start[skipped:], separator, form.quote)
    cells = _decoded(record, UTF8)
    if cells is None and form.encoding is None and encoding == UTF8 and not mark:
        if _decoded(record, FALLBACK) is None:
            raise DataFileError(f"{where}: the header is neither UTF-8 nor {FALLBACK}", hint=_NAME)
        header = read_header(path, replace(form, encoding=FALLBACK), named)
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
    if names[0].startswith("#"):
        oddities = (_LOOKS_LIKE_A_COMMENT, *oddities)
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


SPACE = " \t\r\n\N{NO-BREAK SPACE}"
"""Characters that are stripped from around a name in a header."""

_SHOWN = 3


def numbered_name(position: int) -> str:
    """The name of a column that has none, by its position from 1."""
    return f"column_{position}"


def distinct_names(cells: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The names that a header's cells give to its columns, and what is to be said of them.

    Names differ in more than case, and have no space around them. An empty cell is `column_` and
    its position; of names that are repeated the second becomes `name_2`, and where that is taken,
    too, the next number that is not.
    """
    cells = [cell.strip(SPACE) for cell in cells]
    taken = {cell.casefold() for cell in cells}
    named: set[str] = set()
    next_number: dict[str, int] = {}
    names: list[str] = []
    unnamed: list[str] = []
    repeated: list[str] = []
    for position, cell in enumerate(cells, 1):
        name = cell or numbered_name(position)
        if name.casefold() in named or (name != cell and name.casefold() in taken):
            name = _free_name(name, taken, next_number)
        if name != cell:
            (repeated if cell else unnamed).append(name)
        taken.add(name.casefold())
        named.add(name.casefold())
        names.append(name)
    remarks = (
        *_remarks(unnamed, "a column has no name", "columns have no name"),
        *_remarks(repeated, "a column has the name of another", "columns have the name of another"),
    )
    return tuple(names), remarks


def _remarks(names: list[str], one: str, many: str) -> list[str]:
    """Notes on columns that are called otherwise than in the header: none if there are none."""
    if len(names) < 2:
        return [f"{one}: here it is {name}" for name in names]
    shown = ", ".join(names[:_SHOWN]) + (", …" if len(names) > _SHOWN else "")
    return [f"{len(names)} {many}: here they are {shown}"]


def _free_name(name: str, taken: set[str], next_number: dict[str, int]) -> str:
    """The name with the first number from 2 that makes it one that is not taken."""
    folded = name.casefold()
    number = next_number.get(folded, 2)
    while f"{folded}_{number}" in taken:
        number += 1
    next_number[folded] = number + 1
    return f"{name}_{number}"


def look_like_values(cells: Sequence[str]) -> bool:
    """Whether the cells of a header look like those of a row: at least a third are numbers.

    Dates and timestamps count as numbers; years and a column's own position do not, as headers
    have such, too.
    """
    values = sum(_looks_like_value(cell.strip(), at) for at, cell in enumerate(cells))
    return values > 0 and 3 * values >= len(cells)


def _looks_like_value(cell: str, at: int) -> bool:
    number = exact_number(cell)
    if number is not None:
        return number not in (at, at + 1) and not 1500 <= number <= 2200
    try:
        datetime.datetime.fromisoformat(cell)
    except ValueError:
        return False
    return True
