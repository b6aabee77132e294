"""The format of a CSV file, by the look of its first lines: for a draft alone.

An engine never looks at rows for this. A policy that says what was found here does not, either.
"""

from __future__ import annotations

import codecs
import csv
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from dpdb.errors import DataFileError
from dpdb.policy.csv.csv_format import (
    BLANK,
    COMMA,
    FALLBACK,
    SEPARATORS,
    UTF8,
    CsvFormat,
    separator_by_name,
)
from dpdb.policy.csv.csv_header import first_record, look_like_values, numbered_name, separator_of
from dpdb.policy.csv.csv_stream import encoding_of, open_csv

_FIRST_BYTES = 1 << 20
_LINES = 200
"""The lines that are looked at."""
_MOST_TITLES = 30
"""The most lines above a header that a draft proposes to skip."""
_COMMENTS = "#%"
"""The characters that lines of comments are known by."""
_MARKED_NAME = {"utf-16-le": "utf-16", "utf-16-be": "utf-16",
                "utf-32-le": "utf-32", "utf-32-be": "utf-32"}  # fmt: skip


def as_written(path: Path, form: CsvFormat) -> tuple[CsvFormat, list[str], list[str]]:
    """The format to declare of a file, names for columns without a header, and notes."""
    notes = []
    as_if_header = replace(form, header=True)
    encoding, mark = encoding_of(path, as_if_header)
    if form.encoding is None and encoding == UTF8 and not _is_utf8(path):
        encoding = FALLBACK
        notes.append(f"{path}: not all is UTF-8, so the file is taken for {FALLBACK}")
    with open_csv(path, encoding, mark) as stream:
        start = stream.read(_FIRST_BYTES).decode("latin-1")
    known = form.separator or separator_by_name(path)
    written = _with_lines(form, start, known)
    with open_csv(path, encoding, mark, lines=written.lines) as stream:
        start = stream.read(_FIRST_BYTES).decode("latin-1")
    separator, _, guesses = separator_of(path, replace(written, header=True), start)
    notes.extend(f"{path}: {guess}" for guess in guesses)
    if separator != (separator_by_name(path) or COMMA):
        written = replace(written, separator=separator)
    if form.encoding is None and (encoding != UTF8 or (mark and not form.header)):
        name = _MARKED_NAME.get(encoding, "utf-8-sig") if mark else encoding
        written = replace(written, encoding=name)
    if form.header:
        return written, [], notes
    try:
        record = first_record(start, separator, form.quote)
    except csv.Error as error:
        raise DataFileError(f"{path}, line 1: the first row is not CSV: {error}") from error
    if record is None:
        raise DataFileError(f"{path} is empty")
    return written, [numbered_name(at) for at in range(1, len(record.cells) + 1)], notes


def _is_utf8(path: Path) -> bool:
    """Whether the file begins as a text in UTF-8 does."""
    with open_csv(path) as stream:
        start = stream.read(_FIRST_BYTES)
    try:
        codecs.getincrementaldecoder(UTF8)().decode(start)
    except UnicodeDecodeError:
        return False
    return True


def _with_lines(form: CsvFormat, start: str, known: str | None) -> CsvFormat:
    """The format with the lines to leave out, and with blanks where nothing else separates."""
    lines = start.split("\n", _LINES)[:_LINES]
    mark = next((mark for mark in _COMMENTS if start.startswith(mark)), "")
    for separator in [known] if known else [*SEPARATORS, BLANK]:
        widths = {
            at: _cells(line, separator, form.quote)
            for at, line in enumerate(lines)
            if line.strip("\r")
        }
        rows = {at: cells for at, cells in widths.items() if not (mark and lines[at][:1] == mark)}
        width = _table_width([*rows.values()], exact=separator == BLANK)
        if not width:
            continue
        form = replace(form, separator=BLANK) if separator == BLANK else form
        marked = [at for at in widths if at not in rows]
        if not marked:
            return replace(form, skip=_titles(lines, rows, width))
        last = max(at for at in marked if at < min(rows))
        # Its mark may be a cell of its own.
        named = widths[last] in (width, width + 1 if separator == BLANK else width)
        values = look_like_values(lines[min(rows)].split(separator))
        if named and (len(marked) == 1 or values):  # the names look like a comment
            return replace(form, skip=last)
        if 2 * sum(widths[at] == width for at in marked) < len(marked):
            return replace(form, comment=mark, skip=_titles(lines, rows, width))
        return form
    return form


def _titles(lines: Sequence[str], cells: dict[int, int], width: int) -> int:
    """The number of lines above the header, which has as many cells as a row."""
    header = next(at for at, number in cells.items() if number >= width)
    above = [at for at in cells if at < header]
    # R leaves out the name above the names of rows: that line is the header, and no title.
    short = all(cells[at] < width - 1 for at in above)
    sentence = width == 2 and all(" " in lines[at].strip() for at in above)
    return header if above and header <= _MOST_TITLES and (short or sentence) else 0


def _table_width(widths: Sequence[int], *, exact: bool) -> int:
    """The number of cells that the lines of a table have; 0 if they differ.

    Some lines may be above the header, or parts of cells; with `exact` none is.
    """
    if len(widths) < 2:
        return 0
    [(width, lines)] = Counter(widths).most_common(1)
    enough = lines == len(widths) > 2 if exact else 2 * lines >= len(widths)
    return width if width > 1 and enough else 0


def _cells(line: str, separator: str, quote: str) -> int:
    """The number of cells of a line."""
    if separator == BLANK:
        line = re.sub(r"[ \t]+", BLANK, line.strip(" \t\r"))
    try:
        record = first_record(line, separator, quote, strict=False)
    except csv.Error:
        return 0
    return 0 if record is None else len(record.cells)
