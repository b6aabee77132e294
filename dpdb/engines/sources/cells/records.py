"""The records of a CSV file, as places in its bytes.

The rules are those of the standard library's `csv`, which refuses nothing, with the
separator and the quote that the file has: a
quote opens a cell only where the cell begins, and is text anywhere else; within
quotes only a quote counts, and two of them are one; a record ends with LF, CR or
CRLF outside quotes, or with the file. Unlike there, a quote opens a cell only if another
closes it within the bytes that a cell can have, and on the same line where the file has no
cells of several lines: so a lone quote takes no more of the rows after it into its cell.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from dpdb.policy.csv.csv_format import ORDINARY, Punctuation
from dpdb.records import dataclass
from dpdb.vectors.grammar import LONGEST, content

Places = NDArray[np.intp]

BLOCK = 1 << 20
"""Bytes that are read at a time; more where a record is longer."""
_SHARED = 4
"""The most blocks that are read as one where threads share its columns.

Of smaller blocks they wait for each other more often, and less of larger ones stays in the cache.
"""
MARGIN = 32
"""Bytes before the first record of a block, so that what stands before a cell can be looked at."""
WITHIN = 2 * LONGEST + 1
"""The most bytes from a quote that opens a cell to the one that closes it.

All bytes of the longest cell can be quotes, each of which is doubled.
"""
BEFORE, AFTER = b"\n" * MARGIN, b"\n"
_LF, _CR = b"\n\r"


class Readable(Protocol):
    """Bytes in order."""

    def read(self, size: int) -> bytes:
        """The next `size` bytes; fewer only at the end."""


@dataclass(frozen=True, repr=False, eq=False)
class Cells:
    """A column of a block: the cell of row i is `text[starts[i]:ends[i]]`."""

    text: bytes
    starts: Places
    ends: Places

    @classmethod
    def of(cls, written: Sequence[bytes]) -> Cells:
        """Cells that have these bytes."""
        sizes = np.fromiter(map(len, written), np.intp, len(written))
        ends = MARGIN - 1 + np.cumsum(sizes + 1)
        return cls(b"".join((BEFORE, AFTER.join(written), AFTER)), ends - sizes, ends)

    def __len__(self) -> int:
        return len(self.starts)

    def among(self, rows: Places) -> Cells:
        """The cells of these rows."""
        return Cells(self.text, self.starts[rows], self.ends[rows])

    def written(self) -> list[bytes]:
        """The bytes of the cells, as the file has them."""
        text = self.text
        places = zip(self.starts.tolist(), self.ends.tolist(), strict=True)
        return [text[start:end] for start, end in places]


@dataclass(frozen=True, repr=False, eq=False)
class Block:
    """Whole records. They are cut into cells when the first column is asked for."""

    text: bytes
    marks: Places
    """Where the line ends are that end the records."""
    _record_ends: Places
    """Where the records' last cells end: before the mark, if that is the LF of a CRLF."""
    _turns: Places
    """By turns the quotes that open a cell and those that close it."""
    _punctuation: Punctuation
    _blank_counts: bool

    @cached_property
    def blank(self) -> int:
        """The number of blank lines, of which none is a record."""
        return len(self.marks) - int(np.count_nonzero(self._counts))

    @property
    def rows(self) -> int:
        """The number of records."""
        return len(self.marks) - self.blank

    @property
    def starts(self) -> Places:
        """Where each cell starts."""
        return self._cells[0]

    @property
    def ends(self) -> Places:
        """Where each cell ends."""
        return self._cells[1]

    @property
    def first(self) -> Places:
        """The first cell of each record."""
        return self._cells[2]

    @property
    def last(self) -> Places:
        """The last cell of each record."""
        return self._cells[3]

    def cut(self) -> Block:
        """The same records, once they are cut into cells."""
        assert self._cells
        return self

    def column(self, position: int) -> Cells:
        """A cell for each record; empty where the record is too short, or the cell too long."""
        starts, ends, first, last = self._cells
        wanted = first + position
        place = np.minimum(wanted, last)
        starts, ends = starts[place], ends[place]
        short = np.flatnonzero(wanted > last)
        ends[short] = starts[short]
        long = self.too_long(starts, ends)
        ends[long] = starts[long]
        return Cells(self.text, starts, ends)

    def too_long(self, starts: Places, ends: Places) -> Places:
        """The cells, of those at these places, that hold more than a cell may."""
        sizes, quote = ends - starts, self._punctuation.quote
        long = np.flatnonzero(sizes > LONGEST)
        if not quote:
            return long
        cells = Cells(self.text, starts, ends).among(long).written()
        inner = np.fromiter((len(content(cell, quote)) for cell in cells), np.intp, len(long))
        return np.asarray(long[inner > LONGEST])

    @cached_property
    def _counts(self) -> NDArray[np.bool_]:
        """Mask of lines that are records: all, or those that are not blank."""
        if self._blank_counts:
            return np.ones(len(self.marks), dtype=np.bool_)
        return np.asarray(self._record_ends != _starts(self.marks))

    @cached_property
    def _cells(self) -> tuple[Places, Places, Places, Places]:
        stop = int(self.marks[-1]) + 1 if len(self.marks) else MARGIN
        raw = np.frombuffer(self.text, np.uint8)[:stop]
        separator = ord(self._punctuation.separator)
        ending = raw == separator
        ending[self.marks] = True
        marks = _outside(np.flatnonzero(ending), self._turns, len(self.text) - 1)
        last = np.flatnonzero(raw[marks] != separator)
        starts = _starts(marks)
        marks[last] = self._record_ends
        first = _starts(last, 0)
        return starts, marks, first[self._counts], last[self._counts]


def blocks(
    file: Readable, width: int, punctuation: Punctuation = ORDINARY, *, shared: int = 1
) -> Iterator[Block]:
    """The records from where the file stands to its end, block by block.

    The file has `width` columns, of which threads share so many. A blank line is a record only in a
    file of one column, where it is an empty cell.
    """
    size = BLOCK * min(max(shared, 1), _SHARED)
    rest, goal, more = b"", size, True
    while more:
        read = file.read(goal)
        more = len(read) == goal
        text = b"".join((BEFORE, rest, read, AFTER))
        block, stop = scanned(text, punctuation, blank_counts=width == 1, more=more)
        if stop > MARGIN:
            yield block
        rest = text[stop:-1]
        goal = size if stop > MARGIN else len(rest)


def scanned(
    text: bytes, punctuation: Punctuation, *, blank_counts: bool, more: bool
) -> tuple[Block, int]:
    """The whole records that the text begins with, and where they stop."""
    end = len(text) - 1
    raw = np.frombuffer(text, np.uint8)
    ending = raw == _LF
    ending |= raw == _CR
    lines = np.flatnonzero(ending)
    # Whether a quote near the end is closed is seen when there is more: until then it may be.
    closed = end if more else end + WITHIN + 1
    turns = QuoteRuns.of(raw, lines, punctuation, closed).structural()
    marks = lines[MARGIN:-1]
    # The CR of a CRLF ends no record. Whether one at the end of the text is such a CR is
    # seen when there is more.
    marks = marks[(raw[marks] == _LF) | (raw[marks + 1] != _LF)]
    marks = _outside(marks, turns, end)
    ends = marks - ((raw[marks] == _LF) & (raw[marks - 1] == _CR))
    stop = int(marks[-1]) + 1 if len(marks) else MARGIN
    if not more and stop < end:
        # The end of the file ends the record.
        stop = end
        marks = np.append(marks, end)
        ends = np.append(ends, end - (text[end - 1] == _CR))
    return Block(text, marks, ends, turns, punctuation, blank_counts), stop


def _starts(marks: Places, least: int = MARGIN) -> Places:
    """Where begins what ends at each of these, the first at `least`."""
    starts = np.empty_like(marks)
    starts[:1] = least
    np.add(marks[:-1], 1, out=starts[1:])
    return starts


def _outside(marks: Places, turns: Places, end: int) -> Places:
    """The marks that are not within quotes; a cell that is not closed yet lasts to the end."""
    opened, closed = turns[::2], turns[1::2]
    if len(opened) > len(closed):
        closed = np.append(closed, end)
    first, stop = np.searchsorted(marks, opened), np.searchsorted(marks, closed)
    within = runs(first, stop - first)
    return np.delete(marks, within) if len(within) else marks


def runs(starts: Places, lengths: Places, step: int = 1) -> Places:
    """Places from each start on, as many as asked for, `step` apart."""
    if not len(starts):
        return starts
    before = np.cumsum(lengths) - lengths
    places = step * np.arange(lengths.sum())
    places += np.repeat(starts - step * before, lengths)
    return places


@dataclass(frozen=True, repr=False, eq=False)
class QuoteRuns:
    """The quotes of a text; those that touch are a run.

    Outside a cell, a run where a cell begins opens it with its first quote, and closes it with its
    last where pairs are all that is between; any other is text. Within a cell all are pairs but the
    last of an odd number, which closes it. So an odd run is closed by the next odd one, and opens
    nothing where that is too far away.
    What a run does is one of three things: nothing, to turn outside into within and
    back, or (an odd one that opens no cell) to leave us outside. That takes the same
    steps wherever the quotes stand.
    """

    quotes: Places
    first: Places
    """The index of each run's first quote among the quotes."""
    last: Places
    odd: NDArray[np.bool_]
    """Whether a run has an odd number of quotes."""
    begins: NDArray[np.bool_]
    """Whether a run opens a cell where we are outside."""

    @classmethod
    def of(
        cls, raw: NDArray[np.uint8], lines: Places, punctuation: Punctuation, closed: int
    ) -> QuoteRuns:
        """The runs; `closed` is taken for the place of the odd one after the last."""
        quote = punctuation.quote
        quotes = np.flatnonzero(raw == ord(quote)) if quote else np.empty(0, np.intp)
        first = np.flatnonzero(np.diff(quotes, prepend=-1) > 1)
        lengths = np.diff(first, append=len(quotes))
        odd, last = lengths % 2 == 1, first + lengths - 1
        before = raw[quotes[first] - 1]
        begins = (before == ord(punctuation.separator)) | (before == _LF) | (before == _CR)
        starts, lasts = quotes[first[odd]], quotes[last[odd]]
        nexts = np.append(lasts[1:], closed)[: len(lasts)]
        begins[odd] &= nexts - starts <= WITHIN
        if not punctuation.multiline:
            # The last of `lines` is at the end of the text.
            ends = lines[np.searchsorted(lines, starts)]
            begins[odd] &= ends >= np.minimum(nexts, lines[-1])
        return cls(quotes, first, last, odd, begins)

    def structural(self) -> Places:
        """The quotes that are no text: by turns one that opens a cell and one that closes it."""
        odd, begins = self.odd, self.begins
        turned = np.cumsum(odd & begins)
        last_left = np.maximum.accumulate(np.where(odd & ~begins, turned, 0))
        within = np.append(False, (turned - last_left) % 2 == 1)[:-1]
        opens = begins & ~within
        structural = np.zeros(len(self.quotes), dtype=np.bool_)
        structural[self.first[opens]] = True
        structural[self.last[(within & odd) | (opens & ~odd)]] = True
        return self.quotes[structural]
