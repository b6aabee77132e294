"""A connection to the PostgreSQL server that has a ledger.

All statements of one step are sent as one text of the simple protocol. No state of a session is
used and nothing is prepared, so that a pooler can give each transaction another connection.
"""

from __future__ import annotations

import os
import time
import weakref
from collections.abc import Generator, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import psycopg
from psycopg import ClientCursor, Connection

from dpdb.errors import LedgerError
from dpdb.ledger.book.database import held_by_another
from dpdb.policy.budget import LedgerServer

WAIT = 20
"""The seconds after which a server that waits for others, or for this process, gives up."""
PATIENCE = WAIT + 5.0
"""The seconds after which a server that has not answered is given up, as one that is frozen."""
_LIVELINESS: dict[str, Any] = {
    "connect_timeout": 10, "keepalives_idle": 10, "keepalives_interval": 5, "keepalives_count": 2,
    "tcp_user_timeout": WAIT * 1000,
}  # fmt: skip
"""The options of a connection by which a machine that is off is noticed."""
_STEP = (
    "SET LOCAL search_path = pg_catalog, pg_temp",
    f"SET LOCAL statement_timeout = '{WAIT}s'",
)
"""Each step finds functions and operators of PostgreSQL alone, whoever makes others, and ends."""
BEGIN = (
    "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE",
    "SET LOCAL synchronous_commit = on",
    *(
        f"SET LOCAL {each} = '{WAIT}s'"
        for each in ("lock_timeout", "idle_in_transaction_session_timeout")
    ),
)
"""Another process that holds the ledger and is gone loses its hold after a while."""
_REASONS = {
    "42501": ("the role may not do this", "dpdb help ledger has the grants that a role needs"),
    "25006": ("it is a standby, or can only be read", "the address is that of the primary server"),
    "0A000": ("it is a standby, or can only be read", "the address is that of the primary server"),
    "53100": ("the disk is full", None),
    **dict.fromkeys(
        ("42P06", "42P07", "23505"),
        (
            "there is a ledger already, and it stays as it is",
            "name another schema, or rename that of a ledger that was moved away: "
            "ALTER SCHEMA … RENAME TO …",
        ),
    ),
}
"""The meanings of the server's errors, by their codes, with hints."""

_HELD = ("55P03", "57014")
"""The codes of errors that a server raises when it has waited for another process."""


class UnansweredError(psycopg.OperationalError):
    """The server has not answered in time, and the connection is closed."""


class _Connection(Connection[tuple[Any, ...]]):
    """A connection that ends if its server does not answer in time.

    A server that is frozen, or behind a network that loses what is sent, gives no error.
    """

    def wait(self, gen: Generator[Any, Any, Any], *more: Any, **named: Any) -> Any:  # noqa: ANN401
        try:
            return super().wait(_in_time(gen), *more, **named)
        except UnansweredError:
            self.close()
            raise


def _in_time(steps: Generator[Any, Any, Any]) -> Generator[Any, Any, Any]:
    """The steps of a statement, each in time: psycopg takes ten a second, or more."""
    until, ready = time.monotonic() + PATIENCE, None
    while time.monotonic() < until:
        try:
            wanted = steps.send(ready)
        except StopIteration as done:
            return done.value
        ready = yield wanted
    raise UnansweredError


Statement = tuple[Any, ...]
"""SQL, in which `?` stands for a value and `{0}` for the schema, and the values."""


class Server:
    """A database of a server, to which each text of statements goes in one step.

    The connection is made when it is needed, and anew after it was lost.
    """

    def __init__(self, named: LedgerServer) -> None:
        self._named, self.place = named, named.place
        self._connection: Connection[tuple[Any, ...]] | None = None

    def send(self, *statements: Statement) -> list[list[tuple[Any, ...]]]:
        """The rows of each of the statements; raises psycopg.Error."""
        cursor = ClientCursor(self._connected())
        prefix = f'"{self._named.schema}".'
        texts = (
            cursor.mogrify(text.format(prefix).replace("?", "%s"), values)
            if values
            else text.format(prefix)
            for text, *values in statements
        )
        cursor.execute(";".join((*_STEP, *texts)).encode())
        results = []
        while True:
            results.append([] if cursor.description is None else cursor.fetchall())
            if not cursor.nextset():
                return results[len(_STEP) :]

    def begin(self, *statements: Statement) -> list[list[tuple[Any, ...]]]:
        """Send statements that change nothing yet, once more where the connection had ended."""
        had = self._connection
        try:
            return self.send(*statements)
        except psycopg.OperationalError as error:
            if had is None or not had.closed or isinstance(error, UnansweredError):
                raise
        return self.send(*statements)

    @property
    def is_lost(self) -> bool:
        """Whether there was a connection, which has ended."""
        return self._connection is not None and self._connection.closed

    def roll_back(self) -> None:
        """End a transaction that failed; if that is not possible, the connection."""
        connection = self._connection
        if connection is None or connection.closed:
            return
        with suppress(psycopg.Error):
            connection.execute("ROLLBACK")
        if connection.info.transaction_status is not psycopg.pq.TransactionStatus.IDLE:
            connection.close()

    @contextmanager
    def errors(self) -> Iterator[None]:
        """Errors as LedgerError: the server's own words could quote what is kept."""
        try:
            yield
        except psycopg.Error as error:
            raise self._refused(error) from None

    def _refused(self, error: psycopg.Error) -> LedgerError:
        if error.sqlstate in _HELD:
            return held_by_another()
        reason, hint = _REASONS.get(error.sqlstate or "", (None, None))
        if reason is not None:
            return LedgerError(f"cannot use the ledger {self.place}: {reason}", hint=hint)
        if self._connection is None or self._connection.closed:
            late = isinstance(error, UnansweredError)
            return LedgerError(
                f"the server of the ledger {'does not answer' if late else 'went away'}, and "
                "nothing is answered",
                hint="ask again when it is back",
                told=True,
            )
        return LedgerError(
            f"cannot use the ledger {self.place}: the server refuses (SQLSTATE {error.sqlstate})"
        )

    def _connected(self) -> Connection[tuple[Any, ...]]:
        if self._connection is None or self._connection.closed:
            self._connection = None
            self._connection = self._connect()
            weakref.finalize(self, _close, self._connection, os.getpid())
        return self._connection

    def _connect(self) -> Connection[tuple[Any, ...]]:
        """A new connection; raises LedgerError, which tells no password."""
        try:
            connection = _Connection.connect(
                self._named.address, autocommit=True, prepare_threshold=None,
                application_name="dpdb", client_encoding="UTF8", **_LIVELINESS,
            )  # fmt: skip
        except psycopg.ProgrammingError:  # it quotes the address, in which a password may be
            raise LedgerError(
                f"cannot connect to the ledger {self.place}: libpq does not read its address",
                hint="signs that mean something in an address are written as %20, %25, %40",
            ) from None
        except psycopg.Error as error:
            said = str(error).strip().partition("\n")[0]
            raise LedgerError(
                f"cannot connect to the ledger {self.place}, and nothing is answered", hint=said
            ) from None
        if connection.info.parameter_status("server_encoding") != "UTF8":
            connection.close()
            raise LedgerError(
                f"the database of the ledger {self.place} is not in UTF-8",
                hint="createdb -E UTF8 -T template0 makes one that is",
            )
        return connection


def _close(connection: Connection[Any], process: int) -> None:
    """Close a connection, but in no process that was forked: it is the other's, too."""
    if os.getpid() == process:
        connection.close()
