"""Files of statements: how much of one is read, and what of it may be shown."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TextIO

from dpdb.errors import Unsupported, UsageError
from dpdb.sql.splitting import split

LONGEST_FILE = 10_000_000
"""Characters of statements that are read from one file, or from standard input."""
_STATEMENT = re.compile(
    r"(explain\s+)?select\b(?!\s*,)(?s:.*)|(show|describe|desc|set)[ \t]+[^\n,]*", re.IGNORECASE
)
"""What is shown where it is wrong: no rows under a header that begins like a statement."""


def statements(name: str) -> Iterator[str | Unsupported]:
    """The statements in the file `name`; `-` is standard input.

    The wrong file can be named, one of rows: of what does not look like a statement there is
    an error in its place, which says nothing of its text.
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
    """What the file holds; a device such as /dev/zero holds more than will ever be read."""
    text = file.read(LONGEST_FILE + 1)
    if len(text) > LONGEST_FILE:
        raise UsageError(f"{name} holds more than {LONGEST_FILE} characters of statements")
    return text
