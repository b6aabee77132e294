"""The places between records where a CSV file is cut, so that several processes read it.

A piece ends at the first line end after every `PIECE` bytes. Whether that is within quotes depends
on all text before it. But a run of quotes does one of three things, as `QuoteRuns` says. So a piece
is a function of one bit, which is found for all pieces before any bit is known:

    within(after) = turned xor (within(before) and not left)

Where a line end is within quotes, the first record that ends after it is the end of a range. The
number of ranges follows from the size of the file alone.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import pairwise

import numpy as np

from dpdb.engines.sources.cells.records import AFTER, BEFORE, MARGIN, WITHIN, QuoteRuns, scanned
from dpdb.engines.sources.read_ahead import side_by_side
from dpdb.policy.csv.csv_format import Punctuation

Read = Callable[[int, int], bytes]
"""Reads from a place a number of bytes; fewer only at the end."""

PIECE = 1 << 20
"""The bytes of a piece, about."""
RANGE = 8
"""The pieces of a range."""
_VIEW = 1 << 12
"""The bytes in which the end of a line or of a record is looked for first."""
_LINE_END = re.compile(rb"\r?\n|\r")


def ranges(read: Read, start: int, stop: int, punctuation: Punctuation) -> list[tuple[int, int]]:
    """The ranges of whole records from the first one's start to the end of the file."""
    cuts = [start]
    for wanted in range(start + PIECE, stop, PIECE):
        cuts.append(cuts[-1] if wanted < cuts[-1] else _line_end(read, wanted))
    within = [*_within(read, cuts, punctuation)]
    starts = [
        _record_end(read, cut, punctuation) if inside else cut
        for cut, inside in zip(cuts[::RANGE], within[::RANGE], strict=True)
    ]
    return [*pairwise(min(each, stop) for each in (*starts, stop))]


def _line_end(read: Read, place: int) -> int:
    """The place after the first line end; that of the file's end if there is none."""
    size = _VIEW
    while True:
        text = read(place, size)
        found = _LINE_END.search(text)
        # The CR of a CRLF ends no line.
        if found and (found.end() < len(text) or found[0].endswith(b"\n")):
            return place + found.end()
        if len(text) < size:
            return place + len(text)
        size *= 2


def _within(read: Read, cuts: Sequence[int], punctuation: Punctuation) -> Iterator[bool]:
    """Whether each cut is within quotes."""
    found: dict[int, tuple[bool, bool]] = {}

    def find(start: int, stop: int) -> None:
        # No quote that is closed farther off than `WITHIN` opens a cell.
        text = b"".join((BEFORE, read(start, stop - start + WITHIN), AFTER))
        raw = np.frombuffer(text, np.uint8)
        runs = QuoteRuns.of(raw, np.empty(0, np.intp), punctuation, len(text) + WITHIN)
        own = runs.odd & (runs.quotes[runs.first] < MARGIN + stop - start)
        begins = runs.begins[own]
        left = np.flatnonzero(~begins)
        turns = len(begins) - (int(left[-1]) + 1 if len(left) else 0)
        found[start] = turns % 2 == 1, len(left) > 0

    pieces = [(start, stop) for start, stop in pairwise(cuts) if start < stop]
    if punctuation.quote and punctuation.multiline:
        side_by_side([partial(find, *piece) for piece in pieces])
    within = False
    yield within
    for start, stop in pairwise(cuts):
        if start < stop:
            turned, left = found.get(start, (False, False))
            within = turned ^ (within and not left)
        yield within


def _record_end(read: Read, place: int, punctuation: Punctuation) -> int:
    """The place after the first record that ends after a line end, which is within quotes.

    A quote before the line end stands for the one that opened the cell.
    """
    size, before = _VIEW, punctuation.quote + b"\n"
    while True:
        read_now = read(place, size)
        text = b"".join((BEFORE, before, read_now, AFTER))
        block, _ = scanned(text, punctuation, blank_counts=False, more=len(read_now) == size)
        if len(block.marks):
            return place + int(block.marks[0]) + 1 - MARGIN - len(before)
        size *= 2
