"""LIKE, in time at most the length of the text times that of the pattern."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from itertools import groupby

Pattern = Sequence[str | None]
"""The parts of a pattern: literal text, the empty string for `_`, None for `%`."""


def matches(text: str, pattern: Pattern) -> bool:
    """Whether the whole of `text` fits `pattern`.

    The pieces between `%`s are searched from left to right, each at the first place where it
    fits: a later place could not help.
    """
    pieces, open_start, open_end = _pieces(tuple(pattern))
    if not pieces:
        return open_start or text == ""
    position = 0
    last = len(pieces) - 1
    for index, piece in enumerate(pieces):
        anchored_end = index == last and not open_end
        if index == 0 and not open_start:
            if not _fits(text, 0, piece):
                return False
            position = _length(piece)
            if anchored_end:
                return position == len(text)
        elif anchored_end:
            start = len(text) - _length(piece)
            return start >= position and _fits(text, start, piece)
        else:
            start = _find(text, position, piece)
            if start < 0:
                return False
            position = start + _length(piece)
    return True


@lru_cache(maxsize=256)
def _pieces(pattern: tuple[str | None, ...]) -> tuple[list[list[str]], bool, bool]:
    """The pieces between the `%`s, and whether the pattern starts and ends with `%`."""
    runs = [(anything, list(parts)) for anything, parts in groupby(pattern, lambda p: p is None)]
    pieces = [[p for p in parts if p is not None] for anything, parts in runs if not anything]
    return pieces, bool(runs) and runs[0][0], bool(runs) and runs[-1][0]


def _length(piece: list[str]) -> int:
    return sum(len(part) or 1 for part in piece)


def _fits(text: str, start: int, piece: list[str]) -> bool:
    for part in piece:
        if part and not text.startswith(part, start):
            return False
        start += len(part) or 1
    return start <= len(text)


def _find(text: str, start: int, piece: list[str]) -> int:
    """The first place from `start` on at which the piece fits; -1 if there is none.

    The regular expression has no repetition, and so never backtracks.
    """
    match = _expression(tuple(piece)).search(text, start)
    return -1 if match is None else match.start()


@lru_cache(maxsize=256)
def _expression(piece: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile("".join(re.escape(part) or "." for part in piece), re.DOTALL)
