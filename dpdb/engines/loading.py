"""A CSV file into columns.

A cell's value depends on its own text and its column's declaration alone. pandas
is asked only for what it does like that: it gets blocks of UTF-8 in which every
record has as many cells as the header and every quote is where it belongs, and
it infers nothing. A block that is not so is first made so.
"""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import BinaryIO, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dpdb.csvfile import Records, clean, column_positions, header_and_offset
from dpdb.engines import cells
from dpdb.engines.columns import Builder, Codes, Floats, Numbers, OrdinalBuilder, builder
from dpdb.errors import DataFileError
from dpdb.policy import Kind, Table

Cells = Floats | Sequence[str]
"""One column of one block: numbers already read, or texts."""

_BLOCK = 1 << 22
_PATIENCE = 4
_MISSING = ("", "NA", "N/A", "n/a", "na", "#N/A", "NULL", "null", "None", "none", "-", "?", ".")
"""Often written where a number is missing. To the grammar none of them is a number
anyway; pandas is told so that it need not give up on the block."""
_COMMA, _LF, _CR, _QUOTE = b',\n\r"'


def load(
    table: Table, progress: Callable[[float], None] | None = None
) -> tuple[dict[str, Numbers | Codes], int]:
    """The columns of the table by name, and the number of its rows.

    Columns that are not declared are not read. `progress` is told, block by
    block, the fraction of the file that is read.
    """
    names, offset = header_and_offset(table.path)
    positions = column_positions(table, names)
    fields = [_Field(positions[c.name], c.kind, builder(c)) for c in table.columns]
    try:
        with open(table.path, "rb") as file:
            file.seek(offset)
            rows = _gather(file, len(names), fields, progress)
    except OSError as error:
        raise DataFileError(f"cannot read {table.path}: {error.strerror}") from error
    # Each is taken out, so that its blocks are freed before the next is joined.
    columns = {column.name: fields.pop(0).builder.finish() for column in table.columns}
    return columns, rows


class _Field(NamedTuple):
    """A declared column: where it stands, what it is, what gathers it."""

    position: int
    kind: Kind
    builder: Builder

    def add(self, column: Cells) -> None:
        if isinstance(column, np.ndarray):
            assert isinstance(self.builder, OrdinalBuilder)
            self.builder.add_floats(column)
        else:
            self.builder.add(column)


class _Block(NamedTuple):
    """Whole records, all of the same width."""

    text: bytes
    rows: int


def _gather(
    file: BinaryIO,
    width: int,
    fields: Sequence[_Field],
    progress: Callable[[float], None] | None,
) -> int:
    """Give every field all its cells, and count the rows."""
    size = os.fstat(file.fileno()).st_size
    records = Records(file, _BLOCK)
    parser = _Parser(width, fields)
    rows = 0
    while records.fill():
        block = _next_block(records, width)
        columns = parser.columns(block)
        for field in fields:
            field.add(columns[field.position])
        rows += block.rows
        if progress is not None:
            progress(min(records.offset / size, 1.0))
    return rows


def _next_block(records: Records, width: int) -> _Block:
    length = records.whole()
    block = _reshaped(clean(records.buffer[:length]), width) if length else None
    if block is None:
        return _rewritten(records.rows(), width)
    records.take(length)
    return block


def _rewritten(rows: Sequence[list[str]], width: int) -> _Block:
    """Records that only the standard library reads without fail, for pandas to read."""
    text = io.StringIO()
    # With this terminator the writer quotes cells that hold either character.
    writer = csv.writer(text, lineterminator="\r\n")
    padding = [""] * width
    writer.writerows((row + padding)[:width] for row in rows)
    return _Block(text.getvalue().encode(), len(rows))


def _reshaped(text: bytes, width: int) -> _Block | None:
    """The same records with `width` cells each; None if it is in doubt what they are."""
    if b"\r" in text and text.count(b"\r") != text.count(b"\r\n"):
        return None
    raw = np.frombuffer(text, np.uint8)
    ends = raw == _LF
    marks = ends | (raw == _COMMA)
    if b'"' in text:
        if not _quotes_are_in_place(raw):
            return None
        # The sum wraps at 256, which leaves it odd or even.
        outside = np.cumsum(raw == _QUOTE, dtype=np.uint8) % 2 == 0
        ends &= outside
        marks &= outside
    at = np.flatnonzero(marks)
    return _evened(text, at, np.flatnonzero(ends[at]), width)


def _quotes_are_in_place(raw: NDArray[np.uint8]) -> bool:
    """Whether quotes open before a cell, close after it, and are double within."""
    at = np.flatnonzero(raw == _QUOTE)
    # The first byte's predecessor, at -1, is the last: a line feed, as it should be.
    before, after = raw[at[::2] - 1], raw[at[1::2] + 1]
    opening = np.isin(before, (_COMMA, _LF, _QUOTE))
    closing = np.isin(after, (_COMMA, _LF, _CR, _QUOTE))
    return bool(opening.all() and closing.all())


def _evened(text: bytes, marks: NDArray[np.intp], last: NDArray[np.intp], width: int) -> _Block:
    """Cut long records, fill up short ones, drop blank lines.

    Cells end at `marks` in the text; `last` are those marks at which a record does.
    """
    ends = marks[last]
    starts = np.concatenate(([0], ends[:-1] + 1))
    counts = np.diff(last, prepend=-1)
    # A line with at most a CR in it may be blank.
    odd = np.flatnonzero((counts != width) | (ends - starts <= 1))
    pieces: list[bytes] = []
    done = blank = 0
    for row in odd.tolist():
        start, end, count = int(starts[row]), int(ends[row]), int(counts[row])
        if count > width:
            end = int(marks[last[row] - count + width])
        line = text[start:end].removesuffix(b"\r")
        pieces.append(text[done:start])
        if line or count > 1:
            # Quotes tell an empty cell from a blank line.
            pieces += (line or b'""', b"," * (width - count), b"\n")
        else:
            blank += 1
        done = int(ends[row]) + 1
    if pieces:
        text = b"".join((*pieces, text[done:]))
    return _Block(text, len(last) - blank)


class _Parser:
    """Cells by position, numbers where all of a column's cells in the block are some."""

    def __init__(self, width: int, fields: Iterable[_Field]) -> None:
        kinds = {field.position: field.kind for field in fields}
        self._names = [str(position) for position in range(width)]
        self._wanted = kinds.keys()
        self._numeric = {at for at, kind in kinds.items() if kind in (Kind.INTEGER, Kind.NUMBER)}
        self._odd: set[int] = set()
        self._blocks = 0

    def columns(self, block: _Block) -> dict[int, Cells]:
        """The columns that are wanted, of one block."""
        self._blocks += 1
        if self._blocks % _PATIENCE == 0:
            self._odd.clear()
        numeric = self._numeric - self._odd
        columns = self._parse(block, numeric)
        if columns is None and numeric:
            # Some cell is no number. Its column is read as texts for a while, as
            # trying in vain takes longer.
            columns = self._parse(block, ())
            if columns is not None:
                self._odd |= {at for at in numeric if _has_oddity(columns[at])}
        return columns if columns is not None else self._texts(block)

    def _parse(self, block: _Block, numeric: Collection[int]) -> dict[int, Cells] | None:
        """None if a numeric column has a cell that pandas does not take for a number.

        What it does take is a number in our grammar, and rounded the same (a test
        compares), but for two things that the first row prevents: it drops a byte
        order mark at the beginning, and a column of true and false is 1 and 0.
        """
        first = b",".join([b"0.5"] * len(self._names)) + b"\n"
        try:
            frame = pd.read_csv(
                io.BytesIO(first + block.text),
                engine="c",
                header=None,
                names=self._names,
                index_col=False,
                usecols=[self._names[at] for at in self._wanted],
                dtype={
                    self._names[at]: "float64" if at in numeric else "object" for at in self._wanted
                },
                na_values={self._names[at]: _MISSING for at in numeric},
                keep_default_na=False,
                skip_blank_lines=False,
                low_memory=False,
            )
        except ValueError:
            return None
        if len(frame) != block.rows + 1:
            return None
        arrays = {at: frame[self._names[at]].to_numpy()[1:] for at in self._wanted}
        return {at: array if at in numeric else array.tolist() for at, array in arrays.items()}

    def _texts(self, block: _Block) -> dict[int, Cells]:
        """What is left if ever pandas should refuse: the same, slowly."""
        rows = list(csv.reader(io.StringIO(block.text.decode(), newline="")))
        return {at: [row[at] for row in rows] for at in self._wanted}


def _has_oddity(texts: Iterable[str]) -> bool:
    return any(cells.number(text) is None for text in set(texts).difference(_MISSING))
