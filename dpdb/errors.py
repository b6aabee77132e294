"""Every error a user can see, as one tree.

    DpdbError                      exit code 1: a statement failed
    ├── StatementError             the statement's text is at fault
    │   ├── SyntaxFault            it is not SQL
    │   ├── Unsupported            it is SQL, outside the safe subset
    │   ├── UnknownName            no such table, column, function or setting
    │   ├── TypeMismatch           the types do not fit
    │   ├── MissingBounds          a sensitivity cannot be worked out
    │   └── TooLarge               over a size limit
    ├── InvalidOption              an option's value is out of range
    ├── InternalError              dpdb is at fault
    ├── OutOfResources             the machine is: it lacks memory, threads, files or disk space
    ├── BudgetExceeded             exit code 3: epsilon or the query limit is used up
    └── SetupError                 exit code 2: before any statement runs
        ├── UsageError             the command line, or the arguments of a call
        ├── PolicyError            the policy file
        ├── DataFileError          the data of a table
        ├── LedgerError            the ledger of a lasting budget
        ├── ServerError            a server that answers for a session, or the way to it
        └── StudentFileError       a file with an attack or a mechanism for the lab

A message is a function of the query and the policy, never of rows. `reportable` makes one of these
of whatever else fails. `error_text` is how the command line, the prompt and a notebook show it.
"""

from __future__ import annotations

import os
import re
import unicodedata
from contextlib import contextmanager
from difflib import get_close_matches
from typing import TYPE_CHECKING, ClassVar

from dpdb.records import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

LONGEST = 300
"""The most characters of a message or a hint that are shown."""
_SHOWN = 76
"""The most characters of a statement's line that are shown."""


@dataclass(frozen=True)
class Place:
    """A place in a statement; lines and columns are counted from 1."""

    line: int
    column: int


class DpdbError(Exception):
    """An error that dpdb reports in one line instead of a traceback."""

    exit_code: ClassVar[int] = 1

    def __init__(self, message: str, *, hint: str | None = None, place: Place | None = None):
        super().__init__(message)
        self.message = _clipped(message)
        self.hint = None if hint is None else _clipped(hint)
        self.place = place
        self.statement = ""
        """The statement that failed, in which `place` is; empty where no statement did."""
        self.trial = False
        """Whether the statement was about made-up rows."""

    @property
    def kind(self) -> str:
        """The name by which scripts tell errors apart."""
        return type(self).__name__

    def _render_traceback_(self) -> list[str]:
        """The lines that IPython shows in place of a traceback (IPython calls this method)."""
        return error_text(self.statement, self).split("\n")


class StatementError(DpdbError):
    """The text of a statement is at fault."""


class SyntaxFault(StatementError):
    """The text is not SQL."""


class Unsupported(StatementError):
    """The text is SQL, but not in the subset that can be answered privately."""


class UnknownName(StatementError):
    """A table, column, function or setting does not exist."""

    def __init__(
        self, message: str, *, hint: str | None = None, place: Place | None = None, table: str = ""
    ):
        super().__init__(message, hint=hint, place=place)
        self.table = table
        """The name of the table, if that is what does not exist."""


class TypeMismatch(StatementError):
    """An operation is applied to a type for which it has no meaning."""


class MissingBounds(StatementError):
    """An aggregate has no declared bounds, so its sensitivity is infinite."""


class TooLarge(StatementError):
    """A statement, a list, a nesting or a result is over its limit."""


class InvalidOption(DpdbError):
    """A setting or option has a value outside its range."""


class BudgetExceeded(DpdbError):
    """The privacy budget does not cover the query."""

    exit_code = 3


class InternalError(DpdbError):
    """A fault in dpdb. The text of its cause may hold a cell, and so is never shown."""


class OutOfResources(DpdbError):
    """The machine lacks memory or files. The lack may depend on rows, and so is not named."""


class Busy(DpdbError):
    """A server has too many statements of this analyst in its queue; nothing was charged."""

    def __init__(
        self,
        message: str = "too many statements wait for answers",
        *,
        hint: str | None = "ask again later",
        place: Place | None = None,
    ):
        super().__init__(message, hint=hint, place=place)


class SetupError(DpdbError):
    """Something is wrong before the first statement."""

    exit_code = 2
    outline: ClassVar[str | None] = None
    """The message for analysts at a server, if what is wrong is for its owner alone."""

    def __init__(
        self,
        message: str,
        *,
        hint: str | None = None,
        place: Place | None = None,
        told: bool = False,
    ):
        """`told` says that message and hint name no path and no host, and analysts see them."""
        super().__init__(message, hint=hint, place=place)
        self.told = told


class UsageError(SetupError):
    """The command line, or the arguments of a call, are at fault."""


class PolicyError(SetupError):
    """The policy file is at fault."""

    outline = "the policy of this server cannot be used now"


class DataFileError(SetupError):
    """The data of a table cannot be read."""

    outline = "the data of a table cannot be used now"


class LedgerError(SetupError):
    """The ledger of a lasting budget cannot be relied on, or does not allow this session.

    Nothing is answered then. A statement that failed after its debit stays paid.
    """

    outline = "the ledger of this budget cannot be used now"


class ServerError(SetupError):
    """A server cannot be reached, or what it sends is no answer."""


class StudentFileError(SetupError):
    """A file with an attack or a mechanism for the lab cannot be run to its end."""


STAYS_PAID = "its cost stays spent"
PERHAPS = "it may have been charged: the same statement again is then free"
"""The hint where the connection to a server was lost after the statement was sent."""


def reportable(error: Exception) -> DpdbError:
    """The error to show for one that was raised: the text of any that is not ours may hold a cell.

    A lack of memory, files or threads is Python's MemoryError, OSError or RecursionError, a
    RuntimeError if no thread can be started, and an ImportError if a library cannot be loaded.
    """
    if isinstance(error, DpdbError):
        return error
    no_thread = isinstance(error, RuntimeError) and str(error) == "can't start new thread"
    unloaded = isinstance(error, ImportError) and not isinstance(error, ModuleNotFoundError)
    if no_thread or unloaded or isinstance(error, MemoryError | OSError | RecursionError):
        return OutOfResources(
            "this machine lacks memory, threads, open files or disk space to answer this statement"
        )
    return InternalError("dpdb failed to answer this statement")


@contextmanager
def paid_for(*, charged: bool = True) -> Iterator[None]:
    """Every error within says, where something was `charged`, that the price stays paid."""
    try:
        yield
    except Exception as error:
        shown = reportable(error)
        if charged and STAYS_PAID not in (shown.hint or ""):
            shown.hint = STAYS_PAID if shown.hint is None else f"{STAYS_PAID}; {shown.hint}"
        raise shown from None


def for_analysts(error: DpdbError) -> DpdbError:
    """The error as analysts at a server see it: nothing of the owner's paths and hosts."""
    if not isinstance(error, SetupError) or error.outline is None or error.told:
        return error
    paid = f"{STAYS_PAID}; " if STAYS_PAID in (error.hint or "") else ""
    shown = type(error)(error.outline, hint=f"{paid}the data owner finds the reason in the log")
    shown.statement, shown.trial = error.statement, error.trial
    return shown


def of_trial(error: DpdbError) -> DpdbError:
    """The error, marked as one of a trial, in which nothing is paid."""
    error.trial = True
    if error.hint is not None:
        error.hint = error.hint.removeprefix(STAYS_PAID).removeprefix("; ") or None
    return error


@contextmanager
def traceback_shown() -> Iterator[None]:
    """Print the traceback of an error within if `DPDB_TRACEBACK` is set, for teaching mode only.

    A traceback can quote cells.
    """
    try:
        yield
    except Exception as error:
        if os.environ.get("DPDB_TRACEBACK"):
            import traceback  # noqa: PLC0415 (for developers alone)

            error.__suppress_context__ = False
            traceback.print_exception(error)
        raise


def _clipped(text: str) -> str:
    """`text` cut to `LONGEST` characters, as names in it can be of any length."""
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}…"


def did_you_mean(
    name: str, known: Iterable[str], written: Callable[[str], str] = str
) -> str | None:
    """A hint with the known name that is closest to `name`, as `written`; None if none is close."""
    if len(name) > LONGEST:
        return None
    by_folded = {candidate.casefold(): candidate for candidate in known}
    close = get_close_matches(name.casefold(), by_folded, n=1)
    return f"did you mean {written(by_folded[close[0]])}?" if close else None


_INVISIBLE = ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp")
"""The categories of Unicode whose characters are not shown as they are."""


def printable(text: str) -> str:
    """`text` with control, format and other invisible characters written out.

    Escape sequences would move the cursor, and bidirectional marks reorder the line.
    """
    if text.isprintable():  # Nearly all texts are, and they are shown as they are.
        return text
    hidden = {c for c in text if unicodedata.category(c) in _INVISIBLE}
    return "".join(c.encode("unicode_escape").decode() if c in hidden else c for c in text)


_COMBINING = "\u0300"
"""The first character whose width is not one; `±` and most letters of Europe are below it."""


def display_width(text: str) -> int:
    """The number of columns that a text takes on a terminal."""
    if text.isprintable() and max(text, default="") < _COMBINING:
        return len(text)
    from wcwidth import wcswidth  # noqa: PLC0415 (10 ms, for few texts)

    return wcswidth(text)


def folded(text: str, columns: int | None, lead: str = "", hanging: str = "") -> list[str]:
    """`text` in lines of at most so many columns, broken at spaces; a longer word stays whole.

    Without `columns` it is one line. The first line begins with `lead`, the others with
    `hanging`. `±` stays with its number.
    """
    if columns is None:
        return [lead + text]
    first, *words = re.split(r"(?<!±) ", text)
    lines = [lead + first]
    for word in words:
        if display_width(f"{lines[-1]} {word}") <= columns:
            lines[-1] += f" {word}"
        else:
            lines.append(hanging + word)
    return lines


def error_text(statement: str, error: DpdbError, columns: int | None = None) -> str:
    """`error: …`, the line of the statement with a caret, and a hint, within so many columns."""
    parts = folded(printable(error.message), columns, "error: ", " " * 7)
    lines = statement.split("\n")
    # Other errors are not about one place in the statement.
    wrong = not isinstance(error, BudgetExceeded | SetupError | InternalError | OutOfResources)
    if wrong and statement and error.place and error.place.line <= len(lines):
        room = _SHOWN if columns is None else max(min(_SHOWN, columns - 5), 20)
        parts += _pointed(lines[error.place.line - 1], error.place.column, room)
    if error.hint:
        parts += folded(printable(error.hint), columns, "hint: ", " " * 6)
    return "\n".join(parts)


def _pointed(line: str, column: int, room: int) -> list[str]:
    """The part of the line around the column, and a caret below it."""
    start = max(0, column - room * 2 // 3) if len(line) > room else 0
    shown = printable(line[start : start + room])
    caret = display_width(printable(line[start : column - 1]))
    lead = "… " if start else ""
    return [f"  {lead}{shown}", " " * (2 + len(lead) + caret) + "^"]
