"""A CSV file into columns.

A cell's value depends on its own text and its column's declaration alone. Two
readers keep to that: pandas reads blocks of UTF-8 in which every record has as
many cells and every quote is where it belongs; Python's `csv` reads whatever is
left. Which of them reads a block decides only how fast.
"""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import BinaryIO, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dpdb.csvfile import Records, header_and_offset
from dpdb.engines import cells
from dpdb.engines.columns import Builder, Codes, Floats, Numbers, OrdinalBuilder, builder
from dpdb.errors import DataFileError, did_you_mean
from dpdb.policy import Kind, Table

Cells = Floats | Sequence[str]
"""One column of one block: numbers already read, or texts."""

_BLOCK = 1 << 22
_PATIENCE = 16
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
    positions = _positions(table, names)
    fields = [_Field(positions[c.name], c.kind, builder(c)) for c in table.columns]
    try:
        with open(table.path, "rb") as file:
            file.seek(offset)
            rows = _gather(fields, file, progress)
    except OSError as error:
        raise DataFileError(f"cannot read {table.path}: {error.strerror}") from error
    # Each is taken out, so that its blocks are freed before the next is joined.
    columns = {column.name: fields.pop(0).builder.finish() for column in table.columns}
    return columns, rows


def _positions(table: Table, names: Sequence[str]) -> dict[str, int]:
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


def _gather(
    fields: Sequence[_Field], file: BinaryIO, progress: Callable[[float], None] | None
) -> int:
    """Give every field all its cells, and count the rows."""
    size = os.fstat(file.fileno()).st_size
    reader = _BlockReader(Records(file, _BLOCK), fields)
    rows = 0
    while (block := reader.read()) is not None:
        rows += block.rows
        for field in fields:
            # A record may end before the field.
            field.add(block.columns.get(field.position, [""] * block.rows))
        if progress is not None:
            progress(min(block.offset / size, 1.0))
    return rows


class _Block(NamedTuple):
    """Some records: how many, their cells by position, where in the file they end."""

    rows: int
    columns: dict[int, Cells]
    offset: int


class _BlockReader:
    """Reads the next records, whichever way they can be read."""

    def __init__(self, records: Records, fields: Iterable[_Field]) -> None:
        fields = tuple(fields)
        self._records = records
        self._wanted = {field.position for field in fields}
        self._numeric = {f.position for f in fields if f.kind in (Kind.INTEGER, Kind.NUMBER)}
        self._odd: set[int] = set()
        self._blocks = 0

    def read(self) -> _Block | None:
        """The next records; None at the end."""
        records = self._records
        if not records.fill():
            return None
        front = _regular_front(records.buffer)
        columns = front and self._by_pandas(records.buffer[: front.length], front.width)
        if front is not None and columns is not None:
            records.take(front.length)
            return _Block(front.rows, columns, records.offset)
        rows = records.rows()
        columns = {at: [row[at] if at < len(row) else "" for row in rows] for at in self._wanted}
        return _Block(len(rows), columns, records.offset)

    def _by_pandas(self, block: bytes, width: int) -> dict[int, Cells] | None:
        self._blocks += 1
        if self._blocks % _PATIENCE == 0:
            self._odd.clear()
        wanted = {at for at in self._wanted if at < width}
        numeric = wanted & self._numeric - self._odd
        columns = _parse(block, width, wanted, numeric)
        if columns is None and numeric:
            # Some cell is no number. Its column is read as texts for a while, as
            # trying again and again takes longer.
            columns = _parse(block, width, wanted, set())
            if columns is not None:
                self._odd |= {at for at in numeric if _has_oddity(columns[at])}
        return columns


def _has_oddity(texts: Iterable[str]) -> bool:
    return any(cells.number(text) is None for text in set(texts).difference(_MISSING))


class _Front(NamedTuple):
    """Whole records at the beginning of a buffer, all with `width` cells."""

    length: int
    width: int
    rows: int


def _regular_front(buffer: bytes) -> _Front | None:
    """All whole records in the buffer, if there is no doubt about how they are read."""
    raw = np.frombuffer(buffer, np.uint8)
    ends = raw == _LF
    marks = ends | (raw == _COMMA)
    if b'"' in buffer:
        # The sum wraps at 256, which leaves it odd or even.
        outside = np.cumsum(raw == _QUOTE, dtype=np.uint8) % 2 == 0
        ends &= outside
        marks &= outside
    at = np.flatnonzero(marks)
    last = np.flatnonzero(ends[at])
    if not len(last):
        return None
    front = _Front(length=int(at[last[-1]]) + 1, width=int(last[0]) + 1, rows=len(last))
    block = buffer[: front.length]
    regular = (
        np.array_equal(last, np.arange(len(last)) * front.width + front.width - 1)
        and _is_plain(block, front.width)
        and (b'"' not in block or _quotes_are_in_place(raw[: front.length]))
    )
    return front if regular else None


def _is_plain(block: bytes, width: int) -> bool:
    """Whether the block is UTF-8 without NULs, blank lines and single CRs."""
    if b"\0" in block or (b"\r" in block and block.count(b"\r") != block.count(b"\r\n")):
        return False
    # A blank line has one cell, so that others cannot be among more.
    if width == 1 and (block[:1] in b"\r\n" or b"\n\n" in block or b"\n\r" in block):
        return False
    try:
        return block.isascii() or bool(block.decode())
    except UnicodeDecodeError:
        return False


def _quotes_are_in_place(raw: NDArray[np.uint8]) -> bool:
    """Whether quotes open before a cell, close after it, and are double within."""
    at = np.flatnonzero(raw == _QUOTE)
    # The first byte's predecessor, at -1, is the last: a line feed, as it should be.
    before, after = raw[at[::2] - 1], raw[at[1::2] + 1]
    opening = np.isin(before, (_COMMA, _LF, _QUOTE))
    closing = np.isin(after, (_COMMA, _LF, _CR, _QUOTE))
    return bool(opening.all() and closing.all())


def _parse(
    block: bytes, width: int, wanted: Collection[int], numeric: Collection[int]
) -> dict[int, Cells] | None:
    """The wanted columns of a regular block, texts but for the numeric ones.

    None if a numeric column has a cell that pandas does not take for a number.
    What it does take is in our grammar, and rounded the same (a test compares),
    with these exceptions, which the first row is there to prevent: it drops a
    byte order mark at the beginning, and a column of true and false is 1 and 0.
    """
    if not wanted:
        return {}
    first = b",".join([b"0.5"] * width) + b"\n"
    names = {at: str(at) for at in sorted(wanted)}
    try:
        frame = pd.read_csv(
            io.BytesIO(first + block),
            engine="c",
            header=None,
            names=[str(at) for at in range(width)],
            index_col=False,
            usecols=list(names.values()),
            dtype={name: "float64" if at in numeric else "object" for at, name in names.items()},
            na_values={names[at]: _MISSING for at in numeric},
            keep_default_na=False,
            skip_blank_lines=False,
            low_memory=False,
        )
    except ValueError:
        return None
    arrays = {at: frame[name].to_numpy()[1:] for at, name in names.items()}
    return {at: array if at in numeric else array.tolist() for at, array in arrays.items()}
