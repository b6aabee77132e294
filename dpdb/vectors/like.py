"""LIKE, in time at most the length of the text times that of the pattern."""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import groupby

Pattern = tuple[str | None, ...]
"""The parts of a pattern: literal text, the empty string for `_`, None for `%`."""


@lru_cache(maxsize=256)
def expression(pattern: Pattern) -> re.Pattern[str]:
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
