"""The records of a CSV file, as places in its bytes.

The rules are those of the standard library's `csv`, which refuses nothing, with the
separator and the quote that the file has: a
quote opens a cell only where the cell begins, and is text anywhere else; within
quotes only a quote counts, and two of them are one; a record ends with LF, CR or
CRLF outside quotes, or with the file. What a record's cells are follows from its
own bytes alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from dpdb.policy.csv_format import ORDINARY, Punctuation
from dpdb.vectors.grammar import LONGEST

Places = NDArray[np.intp]

BLOCK = 1 << 20
"""Bytes that are read at a time; more where a record is longer."""
MARGIN = 16
"""Bytes before the first record of a block, so that what stands before a cell can be looked at."""
_LF, _CR = b"\n\r"


class Readable(Protocol):
    """Bytes in order."""

    def read(self, size: int) -> bytes:
        """The next `size` bytes; fewer only at the end."""


@dataclass(frozen=True, repr=False, eq=False)
class Cells:
    """One column of one block: the cell of row i is `text[starts[i]:ends[i]]`."""

    text: bytes
    starts: Places
    ends: Places

    def written(self, rows: Places | slice = slice(None)) -> list[bytes]:
        """The bytes of these rows' cells, as the file has them."""
        text = self.text
        places = zip(self.starts[rows].tolist(), self.ends[rows].tolist(), strict=True)
        return [text[start:end] for start, end in places]


@dataclass(frozen=True, repr=False, eq=False)
class Block:
    """Whole records: where each cell starts and ends, and each record's first and last cell."""

    text: bytes
    starts: Places
    ends: Places
    first: Places
    last: Places
    blank: int
    """The number of blank lines, of which none is a record."""

    @property
    def rows(self) -> int:
        """The number of records."""
        return len(self.first)

    def column(self, position: int) -> Cells:
        """A cell for each record; empty where the record is too short, or the cell too long."""
        wanted = self.first + position
        place = np.minimum(wanted, self.last)
        starts, ends = self.starts[place], self.ends[place]
        missing = (wanted > self.last) | (ends - starts > LONGEST)
        return Cells(self.text, starts, np.where(missing, starts, ends))


def blocks(file: Readable, width: int, punctuation: Punctuation = ORDINARY) -> Iterator[Block]:
    """The records from where the file stands to its end, block by block.

    A blank line is a record only in a file of one column, where it is an empty cell.
    """
    rest, goal, more = b"", BLOCK, True
    while more:
        read = file.read(goal)
        more = len(read) == goal
        data = rest + read
        block, taken = _scanned(data, punctuation, blank_counts=width == 1, more=more)
        if taken:
            yield block
        rest = data[taken:]
        goal = BLOCK if taken else len(data)


def _scanned(
    data: bytes, punctuation: Punctuation, *, blank_counts: bool, more: bool
) -> tuple[Block, int]:
    """The whole records that the data begin with, and their length."""
    separator = ord(punctuation.separator)
    text = b"\n" * MARGIN + data + b"\n"
    raw = np.frombuffer(text, np.uint8)
    inner = raw[MARGIN:-1]
    turns = _structural(raw, _quotes(inner, punctuation.quote) + MARGIN, separator)
    marks = np.flatnonzero((inner == separator) | (inner == _LF) | (inner == _CR)) + MARGIN
    kinds, ends = raw[marks], marks.copy()
    # The CR of a CRLF ends no record. Whether one at the end of the data is such a CR is
    # seen when there are more.
    returns = np.flatnonzero(kinds == _CR)
    returns = returns[raw[marks[returns] + 1] == _LF]
    ends[returns[returns + 1 < len(ends)] + 1] -= 1
    count = _outside(marks, turns, len(text))
    count[returns] = False
    marks, ends = marks[count], ends[count]
    last = np.flatnonzero(raw[marks] != separator)
    stop = int(marks[last[-1]]) + 1 if len(last) else MARGIN
    if not more and stop < len(text) - 1:
        # The end of the file ends the record.
        stop = len(text) - 1
        last = np.append(last, len(marks))
        marks = np.append(marks, stop)
        ends = np.append(ends, stop - (len(turns) % 2 == 0 and text[stop - 1] == _CR))
    starts = np.concatenate(([MARGIN], marks[:-1] + 1))
    first = np.concatenate(([0], last[:-1] + 1))[: len(last)]
    blank = 0
    if not blank_counts:
        there = (first != last) | (starts[first] != ends[last])
        blank = int(np.count_nonzero(~there))
        first, last = first[there], last[there]
    return Block(text, starts, ends, first, last, blank), stop - MARGIN


def _outside(marks: Places, turns: Places, end: int) -> NDArray[np.bool_]:
    """Which marks are not within quotes; a cell that is never closed lasts to the end."""
    opened, closed = turns[::2], turns[1::2]
    if len(opened) > len(closed):
        closed = np.append(closed, end)
    depth = np.zeros(len(marks) + 1, dtype=np.int8)
    np.add.at(depth, np.searchsorted(marks, opened), 1)
    np.add.at(depth, np.searchsorted(marks, closed), -1)
    return np.asarray(np.cumsum(depth[:-1], dtype=np.int8) == 0)


def _quotes(raw: NDArray[np.uint8], quote: bytes) -> Places:
    """Where the quotes are; nowhere in a file that has none."""
    return np.flatnonzero(raw == ord(quote)) if quote else np.empty(0, np.intp)


def _structural(raw: NDArray[np.uint8], quotes: Places, separator: int) -> Places:
    """The quotes that are no text: by turns one that opens a cell and one that closes it.

    Quotes that touch are a run. Outside a cell, one where a cell begins opens it with its
    first quote, and closes it with its last where pairs are all that is between; any other
    is text. Within a cell all are pairs but the last of an odd number, which closes it.
    So what a run does is one of three things: nothing, to turn outside into within and
    back, or (an odd one that begins no cell) to leave us outside. That takes the same
    steps wherever the quotes stand.
    """
    first = np.flatnonzero(np.diff(quotes, prepend=-1) > 1)
    lengths = np.diff(first, append=len(quotes))
    odd = lengths % 2 == 1
    begins = np.isin(raw[quotes[first] - 1], (separator, _LF, _CR))
    turned = np.cumsum(odd & begins)
    last_left = np.maximum.accumulate(np.where(odd & ~begins, turned, 0))
    within = np.append(False, (turned - last_left) % 2 == 1)[:-1]
    opens = begins & ~within
    structural = np.zeros(len(quotes), dtype=np.bool_)
    structural[first[opens]] = True
    structural[(first + lengths - 1)[(within & odd) | (opens & ~odd)]] = True
    return quotes[structural]
