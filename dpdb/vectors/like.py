"""LIKE, in time at most the length of the text times that of the pattern.

Without `_` it is the length of the text alone, as literal text is searched for as such. What a
statement may spend on patterns counts on that: a row must not be slow for what it says.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from itertools import groupby

Pattern = tuple[str | None, ...]
"""The parts of a pattern: literal text, the empty string for `_`, None for `%`."""
Search = Callable[[str, int, int], re.Match[str] | None]
"""Finds something in a text, from one place to another."""


@lru_cache(maxsize=256)
def fitting(pattern: Pattern) -> Callable[[str], bool]:
    """Says of a text whether the whole of it fits `pattern`."""
    if "" in pattern or None not in pattern:
        fits = _expression(pattern).fullmatch
        return lambda text: fits(text) is not None
    first, *middle, last = literal_pieces(pattern)
    # A regular expression of literal text is searched for in linear time, and str.find is not.
    searches = [re.compile(re.escape(piece)).search for piece in middle if piece]
    return partial(_has, first, searches, last)


def literal_pieces(pattern: Pattern) -> list[str]:
    """The texts before, between and after the `%` of a pattern, some of which may be empty."""
    pieces = [""]
    for part in pattern:
        if part is None:
            pieces.append("")
        else:
            pieces[-1] += part
    return pieces


def _has(first: str, searches: Sequence[Search], last: str, text: str) -> bool:
    """Whether a text begins with one piece, ends with another, and has those between in order."""
    place, end = len(first), len(text) - len(last)
    if end < place or not (text.startswith(first) and text.endswith(last)):
        return False
    for search in searches:
        match = search(text, place, end)
        if match is None:
            return False
        place = match.end()
    return True


def _expression(pattern: Pattern) -> re.Pattern[str]:
    """A regular expression that the whole of a text matches if it fits `pattern`.

    What is between two `%`s is searched from left to right, and kept by an atomic group at the
    first place where it fits: a later place could not help, so none is tried. What follows the
    last `%` has one length, and so one place where it can fit.
    """
    runs = [(anything, list(parts)) for anything, parts in groupby(pattern, lambda p: p is None)]
    last = len(runs) - 1
    written = ""
    for place, (anything, parts) in enumerate(runs):
        piece = "".join(re.escape(part) if part else "." for part in parts)
        if anything:
            written += ".*" * (place == last)
        elif place == 0:
            written += piece
        elif place == last:
            written += f".*{piece}"
        else:
            written += f"(?>.*?{piece})"
    return re.compile(written, re.DOTALL)
