"""The moment of a database server at which all tables of a session are read.

Between readings no transaction is open, as one that has read a table keeps others from altering it.
A later transaction sees the same moment if nothing was committed since, or if everything that was
read before reads the same again. Otherwise nothing more is read in the session.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import field
from typing import TYPE_CHECKING
from weakref import finalize

from dpdb.policy.schemas.postgres_server import connected, server_errors
from dpdb.policy.storage import ServerTable
from dpdb.records import dataclass

if TYPE_CHECKING:
    from psycopg import Connection

_SNAPSHOT = "SELECT pg_current_snapshot()::text"


@dataclass(frozen=True, repr=False)
class Reading:
    """The columns of a table that were read, and the key of their digest."""

    table: str
    """The table's name in the policy."""
    names: tuple[str, ...]
    """The columns, in the order in which they were read; without any, the rows were counted."""
    key: bytes
    """The key of the digest."""


@dataclass(frozen=True, repr=False)
class _Read:
    """The digest of a reading, and what reads the same again."""

    digest: str
    again: Callable[[], object]


@dataclass(repr=False, eq=False)
class ServerMoment:
    """The view of a database from its first reading until the session ends."""

    _connection: Connection | None = None
    _snapshot: str | None = None
    """The transactions that are seen; None where that is not known of this connection."""
    _read: dict[Reading, _Read] = field(default_factory=dict)
    _nodes: dict[str, tuple[int, ...]] = field(default_factory=dict)
    """The files that each table is stored in, by its name in the policy."""
    _open: bool = False

    def of(self, table: ServerTable) -> Connection:
        """The connection to this table's database."""
        if self._connection is not None and self._connection.closed:
            # The server may have become another one since, of which a snapshot tells nothing.
            self._connection = self._snapshot = None
        if self._connection is None:
            self._connection = connected(table)
            finalize(self, self._connection.close)
        return self._connection

    @contextmanager
    def seen(self, table: ServerTable) -> Iterator[Connection]:
        """A connection that sees the moment; raises DataFileError where that has passed.

        Its transaction ends with the block, or with the one around it.
        """
        connection = self.of(table)
        if self._open:
            yield connection
            return
        with server_errors(table), connection.transaction():
            self._open = True
            try:
                self._see_again(connection)
                yield connection
            finally:
                self._open = False

    def digest(self, reading: Reading) -> str | None:
        """The digest of a reading that was kept."""
        kept = self._read.get(reading)
        return None if kept is None else kept.digest

    def keep(self, reading: Reading, digest: str, again: Callable[[], object]) -> bool:
        """Whether a reading has the digest that it had before, if there was one, which is kept.

        `again` reads the same and raises where it has another digest.
        """
        return self._read.setdefault(reading, _Read(digest, again)).digest == digest

    def check_storage(self, table: str, nodes: tuple[int, ...]) -> None:
        """Check a table that is stored in other files than when it was read before.

        TRUNCATE empties a table for transactions that began before it, too, once they have not
        locked it yet.
        """
        before = self._nodes.setdefault(table, nodes)
        if before != nodes:
            # Unless the check ends well, the next transaction checks everything.
            seen, self._snapshot, self._nodes[table] = self._snapshot, None, nodes
            self._check(lambda reading: reading.table == table)
            self._snapshot = seen

    def _see_again(self, connection: Connection) -> None:
        """Check that the transaction, which has just begun, sees what those before it saw."""
        found = connection.execute(_SNAPSHOT).fetchone()
        assert found is not None
        if self._snapshot != found[0]:
            self._check(lambda _: True)
            self._snapshot = found[0]

    def _check(self, wanted: Callable[[Reading], bool]) -> None:
        """Read again what was read, the widest readings first, which say it of narrower ones."""
        checked: list[Reading] = []
        for reading in sorted(filter(wanted, self._read), key=lambda each: -len(each.names)):
            if not any(
                other.table == reading.table and {*other.names} >= {*reading.names}
                for other in checked
            ):
                self._read[reading].again()
                checked.append(reading)
