"""A text split into statements at each `;` outside strings and comments."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

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
    position = 0
    while match := _TOKEN.search(text, position):
        position = match.end()
        if match.lastgroup == "open":
            position = _comment_end(text, position)
        elif match.lastgroup == "loose":
            break
        elif match.lastgroup == "end":
            yield from _piece(text[start : match.start()], complete=True)
            start = position
    yield from _piece(text[start:], complete=False)


def _comment_end(text: str, position: int) -> int:
    """Where the comment that `position` is in ends. Comments nest, as in PostgreSQL and DuckDB."""
    depth = 1
    while depth and (match := _COMMENT.search(text, position)):
        position = match.end()
        depth += 1 if match.group() == "/*" else -1
    return len(text) if depth else position


def _piece(text: str, *, complete: bool) -> Iterator[Piece]:
    """The statement in `text`; none if there is only space and comments."""
    start = 0
    while True:
        ignored = _IGNORED.match(text, start)
        start = ignored.end() if ignored else start
        if not text.startswith("/*", start):
            break
        start = _comment_end(text, start + 2)
    if body := text[start:].rstrip():
        yield Piece(body, complete)
