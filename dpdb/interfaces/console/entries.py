"""Typed text as entries, which are dot commands and statements, and whether it is complete."""

from __future__ import annotations

import re
from collections.abc import Iterator

from dpdb.errors import DpdbError, Place, StatementError
from dpdb.interfaces.console.habits import command_of
from dpdb.records import dataclass
from dpdb.sql.text.splitting import Piece, next_piece, skip_ignored, split

_INTERJECTION = re.compile(r"\s*(?:[.\\][A-Za-z?!].*|help|quit|exit)\s*", re.IGNORECASE)
"""A line that is a command even within a statement, where `.5` and `exit;` are none."""
_SENT = re.compile(r"\\(g|gx|G)\s*$")
"""The end of a statement in psql and MySQL: its error says how one ends here."""
_NEXT = "next"
"""A word appended to a text, to see whether it begins a statement of its own."""


@dataclass(frozen=True)
class Command:
    """A line such as `.mode csv`."""

    name: str
    argument: str


@dataclass(frozen=True)
class Sql:
    """A statement, without its `;`."""

    text: str

    def presentable(self, error: DpdbError) -> tuple[str, DpdbError]:
        """The text and the error that may be shown: who typed the statement knows it."""
        if isinstance(error, StatementError):
            error.hint = self.hint or error.hint
        return self.text, error

    @property
    def hint(self) -> str | None:
        """A hint for a statement with a line in it that looks like a command."""
        _, *later = self.text.split("\n")
        if any(map(_INTERJECTION.fullmatch, later)):
            return "before a command, a statement has to end with ;"
        return None


def entries(text: str) -> Iterator[Command | Sql]:
    """The commands and statements in `text`, in order; the last may be incomplete."""
    for _, entry in placed_entries(text, typed=True):
        yield entry


def placed_entries(text: str, *, typed: bool = False) -> Iterator[tuple[Place, Command | Sql]]:
    """The entries of a file, or of what was typed, each with the place at which it begins."""
    position, line = 0, 1
    while position < len(text):
        begins = skip_ignored(text, position)
        line += text.count("\n", position, begins)
        entry, after = _next_entry(text, position, typed=typed)
        place = Place(line, begins - text.rfind("\n", 0, begins))
        if isinstance(entry, Piece):
            yield place, Sql(entry.text)
        elif entry is not None:
            yield place, entry
        line += text.count("\n", begins, after)
        position = after


def finished(text: str) -> bool:
    """Whether Enter runs `text`, rather than going on to the next line."""
    return not _unfinished(text) or _SENT.search(text) is not None


def interjection(text: str) -> tuple[str, Command] | None:
    """The unfinished text and the command in its last line; None if the last line is none.

    A command within a statement is obeyed at once, as in psql, and the statement goes on after it.
    """
    before, _, line = text.rpartition("\n")
    command = command_of(line, typed=False) if _INTERJECTION.fullmatch(line) else None
    if command is None or finished(before):
        return None
    # In an open string or comment, a semicolon would not end the statement.
    *_, last = split(before + "\n;")
    return (before, Command(*command)) if last.complete else None


def open_text(text: str) -> str:
    """The unfinished entry at the end of `text`: all after the last complete one."""
    pending = _unfinished(text)
    if not pending:
        last = text.rpartition("\n")[2].lstrip()
        return last if last.startswith(".") else ""
    # Two statements may share a line, and split drops the space at the end.
    pieces = list(split(pending + _NEXT))
    return pieces[-1].text.removesuffix(_NEXT) if pieces else ""


def open_statement(text: str) -> str:
    """The last statement in `text`, complete or not; empty if there is none."""
    statements = [entry.text for entry in entries(text) if isinstance(entry, Sql)]
    return statements[-1] if statements else ""


def _unfinished(text: str) -> str:
    """The text after the last complete entry; empty if only space and comments are there."""
    position = 0
    while position < len(text):
        entry, after = _next_entry(text, position, typed=True)
        if entry is None or (isinstance(entry, Piece) and not entry.complete):
            break
        position = after
    rest = text[position:]
    # After a complete entry, a word on the next line begins a statement of its own.
    closed = [*split(f"{rest}\n{_NEXT}")][-1:] == [Piece(_NEXT, complete=False)]
    return "" if closed else rest


def _next_entry(text: str, position: int, *, typed: bool) -> tuple[Command | Piece | None, int]:
    """The entry that begins at `position`, and where the text after it begins."""
    start = skip_ignored(text, position)
    at_start = position == 0 or text[position - 1] == "\n"
    _, newline, indent = text[position:start].rpartition("\n")
    if (newline or at_start) and not indent.strip():
        end = text.find("\n", start)
        end = len(text) if end < 0 else end
        command = command_of(text[start:end], typed=typed)
        if command is not None:
            return Command(*command), end + 1
    return next_piece(text, position)
