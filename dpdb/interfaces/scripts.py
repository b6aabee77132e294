"""Files of statements: how much of one is read, and what an error may say about it."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TextIO

from dpdb.errors import Unsupported, UsageError
from dpdb.sql.splitting import split

LONGEST_FILE = 10_000_000
"""How many characters are read from one file of statements, or from standard input."""
_STATEMENT = re.compile(
    r"(explain\s+)?select\b(?!\s*,)(?s:.*)|(show|describe|desc|set)[ \t]+[^\n,]*", re.IGNORECASE
)
"""What may be shown where it is wrong: no rows under a header that begins like a statement."""


def statements(name: str) -> Iterator[str | Unsupported]:
    """The statements in the file `name`; `-` is standard input.

    Somebody may name the wrong file, even one of data. So a piece of text that does not look
    like a statement gives an error in its place, and the error shows nothing of the text.
    """
    shown = "standard input" if name == "-" else name
    for number, piece in enumerate(split(_text(name)), 1):
        if _STATEMENT.fullmatch(piece.text):
            yield piece.text
        else:
            yield Unsupported(
                "only SELECT, EXPLAIN SELECT, SHOW, DESCRIBE table and SET are answered: "
                f"statement {number} in {shown} is something else"
            )


def _text(name: str) -> str:
    try:
        if name == "-":
            return _bounded(sys.stdin, "standard input")
        with Path(name).expanduser().open(encoding="utf-8-sig") as file:
            return _bounded(file, name)
    except UnicodeDecodeError:
        raise UsageError(f"{name} is not UTF-8 text") from None
    except OSError as error:
        raise UsageError(f"cannot read {name}: {error.strerror}") from None
    except ValueError:
        raise UsageError(f"{name} is not the name of a file") from None


def _bounded(file: TextIO, name: str) -> str:
    """The text of the file; one that is too long, such as /dev/zero, is an error."""
    text = file.read(LONGEST_FILE + 1)
    if len(text) > LONGEST_FILE:
        raise UsageError(f"{name} holds more than {LONGEST_FILE} characters of statements")
    return text
