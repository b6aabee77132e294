"""One moment of a database server, at which all tables of a session are read."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from weakref import finalize

from dpdb.policy.postgres_server import connected
from dpdb.policy.server_tables import ServerTable

if TYPE_CHECKING:
    from psycopg import Connection


@dataclass(repr=False, eq=False)
class ServerMoment:
    """What is seen of a database from when it is first asked about until the session ends."""

    number: int = 0
    """Is counted up when the connection breaks, as the moment has passed then."""
    digests: dict[tuple[str, bytes], str] = field(default_factory=dict)
    """The digests that were worked out, by the table's name in the policy and the key."""
    _connection: Connection | None = None

    def of(self, table: ServerTable) -> Connection:
        """The connection through which the moment of this table's database is seen."""
        if self._connection is not None and self._connection.closed:
            self._connection = None
            self.number += 1
            self.digests.clear()
        if self._connection is None:
            self._connection = connected(table)
            finalize(self, self._connection.close)
        return self._connection
