"""Files of statements: how much of one is read, and what an error may say about it.

Somebody may name the wrong file, even one of data. So an error shows nothing of a text that is no
SQL.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import TextIO

from dpdb.errors import (
    DpdbError,
    Place,
    StatementError,
    SyntaxFault,
    TooLarge,
    Unsupported,
    UsageError,
    did_you_mean,
)
from dpdb.interfaces.console.entries import Command, Sql, placed_entries
from dpdb.records import dataclass
from dpdb.sql.text.splitting import BEGINNINGS, CLAUSES

LONGEST_FILE = 10_000_000
"""The most characters that are read from a file of statements, or from standard input."""
_NAME = r"""(?:\w+|"[^"\n]*"|`[^`\n]*`)"""
_STATEMENT = re.compile(
    r"(explain\s+)?(select|with|from)\b(?!\s*,)(?s:.*)|show\s+(budget|history|tables|all)"
    r"|(explain\s+)?pivot\s(?s:.*)\son\s(?s:.*)\susing\s(?s:.*)"
    rf"|(explain\s+)?summarize[ \t]+{_NAME}|create\s+(or\s+replace\s+)?temp(orary)?\s+(table|view)"
    rf"\s+{_NAME}\s+as\s+(select|with|from)\b(?s:.*)"
    rf"|desc(ribe)?[ \t]+{_NAME}|set[ \t]+\w+[ \t]*=[^\n,]*",
    re.IGNORECASE,
)
"""A text that may be a statement. Rows under a header match only if it begins SELECT or WITH."""
_OTHER_SQL = re.compile(
    rf"create\s+(or\s+replace\s+)?(temp\s+|temporary\s+)?(table|view)\s+{_NAME}\s*(as\b|\()(?s:.*)"
    rf"|drop\s+(table|view)\s+{_NAME}|pragma\s+\w+(\s*=\s*\w+|\(\w*\))?"
    rf"|(un)?pivot\s+{_NAME}\s+on\s+(?s:.*)",
    re.IGNORECASE,
)
"""Statements of other shells; a file that has one is still a file of statements."""
_OTHER_COMMAND = re.compile(r"[.\\][A-Za-z]+[+?]?")
"""A command, even one that is not there, such as `.echo on` or one that is mistyped."""


@dataclass(frozen=True)
class Scripted(Sql):
    """A statement in a file."""

    file: str
    """The name of the file, for errors."""
    begins: Place
    """The place in the file at which the statement begins."""
    trusted: bool
    """Whether all that stands before it in the file looks like statements."""

    def presentable(self, error: DpdbError) -> tuple[str, DpdbError]:
        """The text and the error that may be shown: neither has any text that is no SQL."""
        if self.trusted and self._is_sql():
            return super().presentable(error)
        match error:
            case TooLarge():  # its message has numbers alone
                return "", TooLarge(f"line {self.begins.line} of {self.file}: {error.message}")
            case StatementError():
                at = self._in_file(error.place or Place(1, 1))
                message = f"this is no SQL at column {at.column}, or some of its file is none"
                hint = self.hint or (error.hint if _is_of_clauses(error) else None)
                return "", SyntaxFault(
                    f"line {at.line} of {self.file}: {message}", hint=hint, place=at
                )
        return "", error

    def _in_file(self, place: Place) -> Place:
        """A place in the statement as one in the file."""
        first = place.line == 1
        column = place.column + (self.begins.column - 1 if first else 0)
        return Place(self.begins.line + place.line - 1, column)

    def _is_sql(self) -> bool:
        if not re.match(r"(explain|select|with|from)\b", self.text, re.IGNORECASE):
            return True
        from dpdb.sql.selects.statements import reads_a_table  # noqa: PLC0415 (sqlglot, for errors alone)

        return reads_a_table(self.text)


def statements(name: str, commands: Collection[str]) -> Iterator[Scripted | Command | Unsupported]:
    """The statements in the file `name`, and dot commands if they are `commands`.

    `-` is standard input. What looks like neither gives an error in its place.
    """
    shown = _shown(name)
    trusted = True
    for begins, entry in placed_entries(_text(name)):
        match entry:
            case Command(name=command) if trusted and command.lower() in commands:
                yield entry
            case Sql(text=text) if _STATEMENT.fullmatch(text):
                yield Scripted(text, shown, begins, trusted)
            case _:
                trusted &= _is_of_other_shells(entry)
                yield Unsupported(
                    "only SELECT, EXPLAIN SELECT, SHOW, DESCRIBE table, SET and dot commands are "
                    f"understood: line {begins.line} of {shown} is something else",
                    hint=_instead(entry),
                )


def _is_of_other_shells(entry: Command | Sql) -> bool:
    """Whether other shells understand an entry, so that its file is one of statements."""
    if isinstance(entry, Command):
        return _OTHER_COMMAND.fullmatch(entry.name) is not None
    return _OTHER_SQL.fullmatch(entry.text) is not None


def _instead(entry: Command | Sql) -> str | None:
    """A hint in words of ours alone."""
    if isinstance(entry, Command):
        return ".help lists the commands"
    word = re.match(r"[A-Za-z]{3,10}\b", entry.text)
    return did_you_mean(word[0], BEGINNINGS) if word else None


def _is_of_clauses(error: StatementError) -> bool:
    """Whether the hint of an error names words of SQL alone, and no name of the file's."""
    known = {f"did you mean {word}?" for word in (*CLAUSES, *BEGINNINGS)}
    return isinstance(error, SyntaxFault | Unsupported) and error.hint in known


def _shown(name: str) -> str:
    return "standard input" if name == "-" else name


def _text(name: str) -> str:
    try:
        if name == "-":
            return _bounded(sys.stdin, _shown(name))
        with Path(name).expanduser().open(encoding="utf-8-sig") as file:
            return _bounded(file, name)
    except UnicodeError:
        raise UsageError(f"{_shown(name)} is not UTF-8 text") from None
    except OSError as error:
        raise UsageError(f"cannot read {name}: {error.strerror}") from None
    except (ValueError, RuntimeError):  # a NUL, or nobody's home
        raise UsageError(f"{name} is not the name of a file") from None


def _bounded(file: TextIO, name: str) -> str:
    """The text of the file; one that is too long, such as /dev/zero, is an error."""
    text = file.read(LONGEST_FILE + 1)
    if len(text) > LONGEST_FILE:
        raise UsageError(f"{name} holds more than {LONGEST_FILE} characters of statements")
    return text
