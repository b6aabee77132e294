"""The book in a PostgreSQL server, for processes of several machines.

A ledger is a schema of a database. Its table `head` has one row, the number and the seal of the
last entry. A transaction begins with `SELECT … FOR UPDATE` of that row, so that nobody else writes
before it ends, and each of its statements sees all that was committed (READ COMMITTED). COMMIT
returns when the entry is on the disk: each transaction asks for `synchronous_commit`, and a server
without `fsync` or `full_page_writes` is refused, as it could lose what it has committed.

The database does not have the key: it is in a file beside the policy, and entries are stored
without it. Their seals are of the entry with the key, as in a file, so that a ledger can be moved.
"""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import Any

import psycopg

from dpdb.errors import InternalError, LedgerError
from dpdb.ledger.book.book import Book, Contents, Row, Sealed
from dpdb.ledger.book.database import Anchor, check_folder
from dpdb.ledger.book.server import BEGIN, Server, Statement
from dpdb.policy.budget import LedgerServer

_TABLES = {
    "entries": "number bigint, text text, seal bytea",
    "head": "number bigint, seal bytea",
    "kept": "number bigint, scope text, who text, text text, seal bytea",
    "users": "name text, text text, seal bytea",
}
_SCHEMA = (
    "CREATE TABLE {0}entries (number bigint PRIMARY KEY, text text NOT NULL, seal bytea NOT NULL)",
    "CREATE TABLE {0}head (number bigint NOT NULL, seal bytea NOT NULL)",
    "CREATE TABLE {0}kept (number bigint PRIMARY KEY, scope text NOT NULL, who text NOT NULL, "
    "text text NOT NULL, seal bytea NOT NULL)",
    "CREATE INDEX kept_of_scope ON {0}kept (scope, number)",
    "CREATE TABLE {0}users (name text PRIMARY KEY, text text NOT NULL, seal bytea NOT NULL)",
)
_FOUND = """
SELECT c.relname, string_agg(a.attname || ' ' || format_type(a.atttypid, a.atttypmod), ', '
                             ORDER BY a.attnum),
       c.relkind = 'r' AND c.relpersistence = 'p'
       AND NOT (c.relhasrules OR c.relhastriggers OR c.relrowsecurity)
FROM pg_catalog.pg_class c JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid
WHERE c.relnamespace = (SELECT oid FROM pg_catalog.pg_namespace WHERE nspname = ?)
      AND c.relname IN ('entries', 'head', 'kept', 'users')
      AND a.attnum > 0 AND NOT a.attisdropped
GROUP BY c.oid
"""
"""The tables of a ledger with their columns, and whether what is written stays as it is."""
_SAFE = "current_setting('fsync') = 'on' AND current_setting('full_page_writes') = 'on'"
_LOCK = f"SELECT number, seal, {_SAFE} FROM {{0}}head FOR UPDATE"  # noqa: S608 (constants)
_AGREES = f"""
SELECT head.number = last.number AND head.seal = last.seal, {_SAFE}
FROM {{0}}head AS head, (SELECT number, seal FROM {{0}}entries ORDER BY 1 DESC LIMIT 1) AS last
"""  # noqa: S608 (constants)
_LAST = """
SELECT number, text, seal, extract(epoch FROM clock_timestamp())::bigint
FROM {0}entries ORDER BY 1 DESC LIMIT 2
"""
_AT_ONCE = 200
"""The rows that are sent in one step."""


class ServerBook(Book):
    """A book in a schema of a PostgreSQL database."""

    def __init__(self, named: LedgerServer, key: Path | None, anchor: Anchor | None = None) -> None:
        if named.has_standby and anchor is None:
            raise LedgerError(
                f"{named.place} has several hosts, and one that takes over may lack charges",
                hint='anchor = "/elsewhere/NAME.anchor" in the policy notices that',
            )
        self.place, self._schema = named.place, named.schema
        self._key, self.owner, self._key_file = *_read_key(key, self.place), key
        self._server = Server(named)
        self._pending: list[Statement] = []
        self._locked: list[Row] | None = None
        """Within a transaction the last entries, which nobody changes meanwhile."""
        self._clock = 0
        super().__init__(anchor)

    def _open(self) -> None:
        [found] = self._server.send((_FOUND, self._schema))
        if not found:
            raise LedgerError(
                f"there is no ledger {self.place}, and none is made by asking",
                hint="its data owner makes it once: dpdb budget open POLICY",
            )
        if {name: (columns, True) for name, columns in _TABLES.items()} != {
            name: (columns, stays) for name, columns, stays in found
        }:
            raise self._damaged()
        self._server.send((BEGIN[0],), ("ROLLBACK",))  # which a standby refuses
        [agrees] = self._server.send((_AGREES,))
        self._check_head(agrees)

    def now(self) -> int:
        return self._clock

    @property
    def accounts_version(self) -> object:
        """The second: accounts are read anew once in each."""
        return int(time.monotonic())

    def _ask(self, query: str, *values: object) -> list[Row]:
        send = self._server.begin if self._locked is None else self._server.send
        return send((query, *values))[0]

    def _write(self, query: str, *values: object) -> None:
        self._pending.append((query, *values))

    def _last_rows(self) -> list[Row]:
        if self._locked is not None:
            return self._locked
        return self._with_clock(self._ask(_LAST))

    def _with_clock(self, rows: list[Row]) -> list[Row]:
        """The rows of the last entries, of which the server's clock is taken note of."""
        self._clock = max((row[3] for row in rows), default=0)
        return self._with_key([row[:3] for row in rows])

    def _entries(self, condition: str, *values: object) -> list[Row]:
        return self._with_key(super()._entries(condition, *values))

    def _with_key(self, rows: list[Row]) -> list[Row]:
        return [(number, with_key(text, self._key), seal) for number, text, seal in rows]

    def _insert(self, sealed: Sealed) -> None:
        super()._insert(sealed)
        self._write("UPDATE {0}head SET number = ?, seal = ?", sealed.entry.number, sealed.seal)

    def _stored(self, text: str) -> str:
        return without_key(text, self._key)

    @contextmanager
    def _writing(self) -> Iterator[None]:
        self._pending.clear()
        try:
            *_, head, last = self._server.begin(*((each,) for each in BEGIN), (_LOCK,), (_LAST,))
            self._check_head([(tuple(row) == last[0][0:3:2], safe) for *row, safe in head if last])
            self._locked = self._with_clock(last)
            yield
            self._commit()
        except BaseException:
            self._server.roll_back()
            raise
        finally:
            self._locked = None

    def _commit(self) -> None:
        """Send what was written, and COMMIT, in one step.

        An error that the server tells, and after which it listens, was before COMMIT. If the
        connection is lost, nobody knows.
        """
        try:
            self._server.send(*self._pending, ("COMMIT",))
        except psycopg.Error:
            if not self._server.is_lost:
                raise
            raise LedgerError(
                "the connection to the ledger was lost during COMMIT: the charge may have been "
                "taken, and nothing is answered",
                hint="ask again: what is left is read anew",
                told=True,
            ) from None

    def _check_head(self, found: list[Row]) -> None:
        """Refuse a head that is not that of the last entry, and a server that can forget."""
        if [agrees for agrees, _ in found] != [True]:
            raise self._damaged()
        if not found[0][1]:
            raise LedgerError(
                f"the server of the ledger {self.place} can lose what it has committed",
                hint="fsync = on and full_page_writes = on in its postgresql.conf",
            )

    def _check_stored(self) -> None:
        self._open()

    def _errors(self) -> AbstractContextManager[None]:
        return self._server.errors()

    def _damaged(self) -> LedgerError:
        return LedgerError(
            f"{self.place} is damaged, no ledger of dpdb, or {self._key_file} is not its key",
            hint="dpdb budget verify POLICY looks at all of it; a backup can take its place",
        )


def without_key(text: str, key: str) -> str:
    """An entry's text as the database keeps it.

    In JSON a quote within a text has a backslash, so only a key of an object is meant.
    """
    kept = text.replace(f'"key":"{key}"', '"key":""')
    if with_key(kept, key) != text:
        raise InternalError("an entry of the ledger would not read as it was written")
    return kept


def with_key(kept: str, key: str) -> str:
    """The text of an entry that `without_key` has made."""
    return kept.replace('"key":""', f'"key":"{key}"')


def create(
    named: LedgerServer, key: Path | None, contents: Contents, anchor: Anchor | None
) -> None:
    """Make a ledger in a schema; it is there as a whole or not at all.

    Raises LedgerError where there is one already, a key of another, or an anchor.
    """
    server, pending = Server(named), list[Statement]()

    def add(*statement: Any) -> None:  # noqa: ANN401 (values of SQL)
        pending.append(statement)
        if len(pending) >= _AT_ONCE:
            server.send(*pending)
            pending.clear()

    made = False
    try:
        with server.errors():
            [there] = server.send(
                ("SELECT 1 FROM pg_catalog.pg_namespace WHERE nspname = ?", named.schema)
            )
            schema = [] if there else [(f'CREATE SCHEMA "{named.schema}"',)]
            server.send(*((each,) for each in BEGIN), *schema, *((each,) for each in _SCHEMA))
            made = _make_key(key, contents.key, named.place)
            contents.add_to(add, lambda text: without_key(text, contents.key))
            last = "SELECT number, seal FROM {0}entries ORDER BY 1 DESC LIMIT 1"
            server.send(*pending, (f"INSERT INTO {{0}}head {last}",))
            if anchor is not None:
                (first,) = contents.entries
                anchor.begin(first.entry.number, first.seal)
            server.send(("COMMIT",))
    except BaseException:
        server.roll_back()
        if made:
            with suppress(OSError):
                os.unlink(str(key))
        raise


def _read_key(path: Path | None, place: str) -> tuple[str, int]:
    """The key in a file that its owner alone can read, and the owner; raises LedgerError."""
    path = _key_path(path, place)
    try:
        check_folder(path)
        file = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        with os.fdopen(file, encoding="ascii", errors="replace") as text:
            status, key = os.fstat(file), text.read(1000).strip()
    except OSError as error:
        raise LedgerError(
            f"cannot read {path}, the key of the ledger {place}: {error.strerror}",
            hint="it was made with the ledger; copy it from the machine that has it, chmod 600",
        ) from None
    # The mode says that it is a file, too.
    if status.st_uid != os.geteuid() or status.st_mode != stat.S_IFREG | 0o600 or not key:
        raise LedgerError(
            f"{path} is no key that its owner alone can read", hint=f"chmod 600 {path}"
        )
    return key, status.st_uid


def _make_key(path: Path | None, key: str, place: str) -> bool:
    """Keep the key in a file, which may have it already; whether it was made now."""
    path = _key_path(path, place)
    check_folder(path)
    try:
        file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        if _read_key(path, place)[0] != key:
            raise LedgerError(
                f"{path} is the key of another ledger, and stays as it is",
                hint="if that ledger is not used any more, move its key away",
            ) from None
        return False
    except OSError as error:
        raise LedgerError(f"cannot make {path}: {error.strerror}") from None
    with os.fdopen(file, "w") as text:
        text.write(f"{key}\n")
        text.flush()
        os.fsync(file)
    return True


def _key_path(path: Path | None, place: str) -> Path:
    if path is None:
        raise LedgerError(
            f"the key of {place} is in a file beside the policy, and this policy is in none"
        )
    return path
