"""A text split into statements at each `;` outside strings and comments."""

from __future__ import annotations

import re
from collections.abc import Iterator

from dpdb.records import dataclass

BEGINNINGS = ("SELECT", "WITH", "FROM", "EXPLAIN", "SHOW", "DESCRIBE", "SET")
"""The words that begin a statement."""
CLAUSES = ("FROM", "WHERE", "GROUP", "HAVING", "ORDER", "LIMIT", "JOIN", "UNION")
"""The words that begin a clause."""
_TOKEN = re.compile(
    r"""
      (?P<skip> --[^\r\n]* | '(?:[^']|'')*' | "(?:[^"]|"")*" | `(?:[^`]|``)*` )
    | (?P<open> /\* )
    | (?P<end> ; )
    | (?P<loose> ['"`] )     # a quote that never closes
    """,
    re.VERBOSE,
)
_COMMENT = re.compile(r"/\*|\*/")
_IGNORED = re.compile(r"(?:\s|--[^\r\n]*(?:[\r\n]|$))*")


@dataclass(frozen=True)
class Piece:
    """The text of one statement from its first word on; `complete` says that a `;` ended it."""

    text: str
    complete: bool


def split(text: str) -> Iterator[Piece]:
    """The statements in `text`, without their `;`, leading space and comments."""
    start = 0
    while start < len(text):
        piece, start = next_piece(text, start)
        if piece is not None:
            yield piece


def next_piece(text: str, start: int) -> tuple[Piece | None, int]:
    """The statement that begins at `start`, and the position after its `;`.

    The statement is None if only space and comments stand before the next `;` or the end.
    """
    position = start
    while match := _TOKEN.search(text, position):
        position = match.end()
        if match.lastgroup == "open":
            position = _comment_end(text, position) or len(text)
        elif match.lastgroup == "loose":
            break
        elif match.lastgroup == "end":
            return _piece(text[start : match.start()], complete=True), position
    return _piece(text[start:], complete=False), len(text)


def without_hints(text: str) -> str:
    """The text with each `/*+`, which begins a hint for an optimiser, as the comment `/* `."""
    if "/*+" not in text:
        return text
    characters, position = list(text), 0
    while match := _TOKEN.search(text, position):
        position = match.end()
        if match.lastgroup == "open":
            if text.startswith("+", position):
                characters[position] = " "
            position = _comment_end(text, position) or len(text)
    return "".join(characters)


def unclosed(text: str) -> int | None:
    """The start of a quote or comment that is not closed; None if all are."""
    position = 0
    while match := _TOKEN.search(text, position):
        comment = match.lastgroup == "open"
        end = _comment_end(text, match.end()) if comment else match.end()
        if match.lastgroup == "loose" or end is None:
            return match.start()
        position = end
    return None


def skip_ignored(text: str, start: int) -> int:
    """The position of the first character from `start` on outside space and comments.

    A comment that is never closed is not skipped.
    """
    while True:
        ignored = _IGNORED.match(text, start)
        start = ignored.end() if ignored else start
        end = _comment_end(text, start + 2) if text.startswith("/*", start) else None
        if end is None:
            return start
        start = end


def _comment_end(text: str, position: int) -> int | None:
    """The end of the comment around `position`; None if it is not closed.

    Comments nest, as in PostgreSQL and DuckDB.
    """
    depth = 1
    while depth and (match := _COMMENT.search(text, position)):
        position = match.end()
        depth += 1 if match.group() == "/*" else -1
    return None if depth else position


def _piece(text: str, *, complete: bool) -> Piece | None:
    """The statement in `text`; None if there is only space and comments."""
    body = text[skip_ignored(text, 0) :].rstrip()
    return Piece(body, complete) if body else None
