"""Typed text as entries, which are dot commands and statements, and whether it is complete."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from dpdb.sql.splitting import Piece, split

WORDS = {"help": ".help", "quit": ".quit", "exit": ".quit", ".exit": ".quit"}
"""The words of other shells, and the dot command that each stands for."""
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


def entries(text: str) -> Iterator[Command | Sql]:
    """The commands and statements in `text`, in order."""
    commands, rest = _read(text)
    yield from commands
    yield from (Sql(piece.text) for piece in split(rest))


def finished(text: str) -> bool:
    """Whether Enter runs `text`, rather than going on to the next line."""
    return not _read(text)[1]


def open_text(text: str) -> str:
    """The unfinished entry at the end of `text`: all after the last complete one."""
    pending = _read(text)[1].removesuffix("\n")
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


def _read(text: str) -> tuple[list[Command | Sql], str]:
    """The complete entries, and the text after them."""
    complete: list[Command | Sql] = []
    pending = ""
    for line in text.split("\n"):
        stripped = line.strip().rstrip("; ")
        stripped = WORDS.get(stripped.lower(), stripped)
        if not pending and stripped.startswith("."):
            name, _, argument = stripped.partition(" ")
            complete.append(Command(name, argument.strip()))
            continue
        pending += line + "\n"
        if _is_closed(pending):
            complete += [Sql(piece.text) for piece in split(pending)]
            pending = ""
    return complete, pending


def _is_closed(text: str) -> bool:
    """Whether a word on the next line would begin a statement of its own."""
    pieces = list(split(text + _NEXT))
    return bool(pieces) and pieces[-1] == Piece(_NEXT, complete=False)
