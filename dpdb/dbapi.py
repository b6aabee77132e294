"""DB-API 2.0 (PEP 249): a session as a connection, for programs that know databases this way.

    from dpdb import dbapi

    connection = dbapi.connect("people.csv", epsilon=1, queries=10)
    cursor = connection.cursor()
    cursor.execute("SELECT zip, COUNT(*) FROM people WHERE age > ? GROUP BY zip", [30])
    cursor.fetchall()

The arguments are those of `dpdb.connect`, the address of a server among them. A connection is a
session with a budget of its own.
Nothing is ever written, so commit and rollback do nothing; in particular a rollback gives back
nothing of the budget.
"""

from __future__ import annotations

import datetime
import re
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NoReturn, Self

from dpdb.answers.formats.frames import TypedCell, columns
from dpdb.errors import (
    BudgetExceeded,
    DataFileError,
    DpdbError,
    InvalidOption,
    LedgerError,
    OutOfResources,
    SetupError,
    StatementError,
    Unsupported,
)
from dpdb.policy.catalog import Kind
from dpdb.session.connect import connect as _connect
from dpdb.sql.text.parameters import Parameters

if TYPE_CHECKING:
    from dpdb.session.connect import AnySession

apilevel = "2.0"
threadsafety = 2
"""Threads may share a connection, and have a cursor each."""
paramstyle = "qmark"


class Warning(Exception):  # noqa: A001 (PEP 249 has this name)
    """Is never raised: what there is to say of an answer is in `Answer.notes`."""


class Error(Exception):
    """Every error of this module; its cause is the error of dpdb, with its place."""


class InterfaceError(Error):
    """The arguments or the policy are wrong, or a connection or cursor is closed."""


class DatabaseError(Error):
    """The errors below."""


class DataError(DatabaseError):
    """Is never raised: what cannot be computed for a row is NULL."""


class OperationalError(DatabaseError):
    """The budget does not cover the statement, or data, ledger or machine are not there."""


class IntegrityError(DatabaseError):
    """Is never raised: nothing is written."""


class InternalError(DatabaseError):
    """dpdb is at fault."""


class ProgrammingError(DatabaseError):
    """The statement or its values are at fault."""


class NotSupportedError(DatabaseError):
    """The statement is SQL outside of what can be answered privately."""


def _error(error: DpdbError) -> Error:
    """The error of this module for one of dpdb."""
    kind: type[Error] = InternalError
    match error:
        case Unsupported():
            kind = NotSupportedError
        case StatementError() | InvalidOption():
            kind = ProgrammingError
        case BudgetExceeded() | OutOfResources() | DataFileError() | LedgerError():
            kind = OperationalError
        case SetupError():
            kind = InterfaceError
    return kind(f"{error.message} ({error.hint})" if error.hint else error.message)


@contextmanager
def translated_errors() -> Iterator[None]:
    """Every error of dpdb within is raised as one of this module."""
    try:
        yield
    except DpdbError as error:
        raise _error(error) from error


class _Types:
    """A type object of PEP 249: it is equal to the types of columns that it stands for."""

    def __init__(self, *kinds: Kind):
        self._kinds = kinds

    def __eq__(self, other: object) -> bool:
        return other is self or other in self._kinds

    def __hash__(self) -> int:
        return hash(self._kinds)


STRING = _Types(Kind.TEXT)
BINARY = _Types()
NUMBER = _Types(Kind.INTEGER, Kind.NUMBER)
DATETIME = _Types(Kind.DATE, Kind.TIMESTAMP)
ROWID = _Types()

Date = datetime.date
Time = datetime.time
Timestamp = datetime.datetime
Binary = bytes


def DateFromTicks(ticks: float) -> datetime.date:  # noqa: N802
    """The local date so many seconds after 1970 began."""
    return Date(*time.localtime(ticks)[:3])


def TimeFromTicks(ticks: float) -> datetime.time:  # noqa: N802
    """The local time of day so many seconds after 1970 began."""
    return Time(*time.localtime(ticks)[3:6])


def TimestampFromTicks(ticks: float) -> datetime.datetime:  # noqa: N802
    """The local time so many seconds after 1970 began."""
    return Timestamp(*time.localtime(ticks)[:6])


Row = tuple[TypedCell, ...]
Described = tuple[str, Kind, None, None, None, None, bool]
"""The name of a column, its type, and whether it may hold NULL; the rest is unknown."""


_WORD = r'(?:[^\W\d]\w*|"(?:[^"]|"")+")'
_NAMED = re.compile(rf"(?:{_WORD}\.)?({_WORD})")


def _bare(name: str) -> str:
    """The name of a column without its table and quotes, as other drivers have it."""
    named = _NAMED.fullmatch(name)
    if named is None or not named[1].startswith('"'):
        return name if named is None else named[1]
    return named[1][1:-1].replace('""', '"')


def connect(*sources: Any, **options: Any) -> Connection:  # noqa: ANN401 (those of dpdb.connect)
    """A connection to files or policies, with the arguments of `dpdb.connect`."""
    with translated_errors():
        return Connection(_connect(*sources, **options), owned=True)


class Connection:
    """A session as a connection. With `owned` the session is closed together with it."""

    Warning, Error, InterfaceError, DatabaseError = Warning, Error, InterfaceError, DatabaseError
    DataError, OperationalError, IntegrityError = DataError, OperationalError, IntegrityError
    InternalError, ProgrammingError = InternalError, ProgrammingError
    NotSupportedError = NotSupportedError

    def __init__(self, session: AnySession, *, owned: bool = False):
        self._session = session
        self._owned = owned
        self._closed = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if not self._closed:
            self.close()

    @property
    def session(self) -> AnySession:
        """The session; raises InterfaceError once the connection is closed."""
        if self._closed:
            raise InterfaceError("the connection is closed")
        return self._session

    def cursor(self) -> Cursor:
        """A new cursor."""
        _ = self.session
        return Cursor(self)

    def commit(self) -> None:
        """Do nothing: nothing is written."""
        _ = self.session

    def rollback(self) -> None:
        """Do nothing: what was answered stays paid."""
        _ = self.session

    def close(self) -> None:
        """Close the connection and its cursors; raises InterfaceError the second time."""
        session = self.session
        self._closed = True
        if self._owned:
            with translated_errors():
                session.close()


class Cursor:
    """Executes statements, and holds the rows of the last answer."""

    def __init__(self, connection: Connection):
        self.connection = connection
        self.arraysize = 1
        self.lastrowid = None
        self._closed = False
        self._forget()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _forget(self) -> None:
        self.description: tuple[Described, ...] | None = None
        self.rowcount = -1
        self._rows: Iterator[Row] | None = None

    def _open(self) -> AnySession:
        """The session, while cursor and connection are open."""
        if self._closed:
            raise InterfaceError("the cursor is closed")
        return self.connection.session

    def execute(self, operation: str, parameters: Parameters = None) -> Self:
        """Answer a statement, with a value for each `?`, or for each `:name` of a dict."""
        session = self._open()
        self._forget()
        with translated_errors():
            answer = session.execute(operation, parameters)
            named = list(columns(answer, intervals=False))
        rows = list(zip(*(cells for _, _, cells in named), strict=True))
        self.description = tuple(
            (_bare(name), kind, None, None, None, None, True) for name, kind, _ in named
        )
        self.rowcount = len(rows)
        self._rows = iter(rows)
        return self

    def executemany(self, operation: str, seq_of_parameters: Sequence[Any]) -> NoReturn:
        """Raise NotSupportedError: nothing is written, and each question is one of the budget's."""
        self._open()
        self._forget()
        raise NotSupportedError("executemany writes rows, and nothing is written (use execute)")

    def __iter__(self) -> Iterator[Row]:
        """The rows that are left."""
        return self._left()

    def _left(self) -> Iterator[Row]:
        self._open()
        if self._rows is None:
            raise ProgrammingError("there is no answer to fetch rows from")
        return self._rows

    def fetchone(self) -> Row | None:
        """The next row; None after the last."""
        return next(self._left(), None)

    def fetchmany(self, size: int | None = None) -> list[Row]:
        """The next rows, `arraysize` of them where no size is given."""
        rows, most = self._left(), self.arraysize if size is None else size
        return [row for _, row in zip(range(most), rows, strict=False)]

    def fetchall(self) -> list[Row]:
        """The rows that are left."""
        return list(self._left())

    def close(self) -> None:
        """Forget the rows; the cursor answers nothing more."""
        self._forget()
        self._closed = True

    def setinputsizes(self, sizes: Sequence[Any]) -> None:
        """Do nothing, as PEP 249 allows."""

    def setoutputsize(self, size: int, column: int | None = None) -> None:
        """Do nothing, as PEP 249 allows."""
