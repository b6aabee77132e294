"""What a CSV file shows, before its first row, of how it is written."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator
from pathlib import Path

from dpdb.errors import DataFileError, InvalidOption
from dpdb.policy.csv_format import COMMA, SEPARATORS, CsvFormat, separator_by_name, valid_separator
from dpdb.policy.csv_stream import open_csv
from dpdb.policy.encodings import MARKED, MARKS, UTF8
from dpdb.records import dataclass

_SEPARATOR_LINE = re.compile(r'("?)sep=(.)\1(?:\r\n|\n|\r)')
"""The line in which Excel names the separator, before the header."""
_FOREIGN = (
    (b"PK\x03\x04", "is a zip archive or a workbook", "unpack it, or save it as CSV"),
    (b"\x1f\x8b", "is compressed by gzip", "give it a name that ends in .gz"),
)
_FIRST_BYTES = 64
"""How many bytes are searched for byte-order marks."""


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


def encoding_of(path: Path, form: CsvFormat) -> tuple[str, int]:
    """The encoding of a file, and the number of bytes of the marks that it begins with.

    Without a header the file is looked at only where the name of the encoding says that there is
    a mark, as anything else would be a row's.
    """
    declared = form.encoding
    if not form.header and declared not in MARKED:
        return declared or UTF8, 0
    with open_csv(path) as stream:
        start = stream.read(_FIRST_BYTES)
    for magic, what, hint in _FOREIGN if form.header else ():
        if start.startswith(magic):
            raise DataFileError(f"{path} {what}, and no CSV file", hint=hint)
    mark, marked = next(((m, name) for m, name in MARKS if start.startswith(m)), (b"", UTF8))
    if declared in MARKED:
        family = declared.removesuffix("-sig")
        if not marked.startswith(family):
            raise DataFileError(
                f"{path} does not begin with the mark of {family}",
                hint=f"{family}-le and {family}-be are the encodings without one",
            )
    elif declared not in (None, marked):
        return declared, 0
    # Programs that join files repeat the mark. After the first, without a header, it is a row's.
    most = len(start) if form.header else 1
    length = 0
    while mark and start.startswith(mark, length) and length < most * len(mark):
        length += len(mark)
    return marked, length


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
