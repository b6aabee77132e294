"""A table of a PostgreSQL server into columns.

The server writes the rows as CSV, so that a cell is read as that of a file is. All that is read in
a session is of one moment of the database.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from psycopg import Copy, OperationalError, pq, sql

from dpdb.engines.protocol import Progress, Witness
from dpdb.engines.sources.csv_records import Block, blocks
from dpdb.engines.sources.file_versions import PIECE, keyed
from dpdb.engines.sources.protocol import Loaded, Source, Version
from dpdb.engines.sources.record_columns import RecordColumns
from dpdb.engines.sources.server_moment import ServerMoment
from dpdb.policy.catalog import Table
from dpdb.policy.csv_format import ORDINARY
from dpdb.policy.postgres_server import server_columns, server_errors
from dpdb.policy.server_tables import ServerTable
from dpdb.policy.stored_types import names_in_file


@dataclass(frozen=True, repr=False)
class PostgresSource(Source):
    """Reads a table of a server."""

    table: Table
    server_table: ServerTable
    moment: ServerMoment

    def load(
        self,
        names: Collection[str],
        progress: Progress | None = None,
        witness: Witness | None = None,
    ) -> Loaded:
        self._show(witness)
        if not names:
            return Loaded({}, self._rows(), self._version)
        columns = self._columns(names)
        rows = sum(columns.add(block) for block in self._told(names, progress))
        return Loaded(columns.finish(), rows, self._version)

    def blocks(
        self,
        names: Collection[str],
        progress: Progress | None = None,
        witness: Witness | None = None,
    ) -> Iterator[Loaded]:
        self._show(witness)
        if not names:
            yield Loaded({}, self._rows(), self._version)
            return
        columns = self._columns(names)
        for block in self._told(names, progress):
            rows = columns.add(block)
            yield Loaded(columns.finish(), rows, self._version)

    def digest(self, key: bytes) -> str:
        known, place = self.moment.digests, (self.table.name, key)
        if place not in known:
            seen = keyed(key)
            with self._copied([column.name for column in self.table.columns]) as written:
                while piece := written.read(PIECE):
                    seen.update(piece)
            known[place] = seen.hexdigest()
        return known[place]

    def records(self, names: Collection[str]) -> Iterator[Block]:
        """The rows as cells of these columns, in this order."""
        with self._copied(names) as written:
            yield from blocks(written, len(names))

    def _told(self, names: Collection[str], progress: Progress | None) -> Iterator[Block]:
        """The records, while `progress` is told how far they are read."""
        done, rows = 0, self._rows() if progress is not None else 0
        for block in self.records(names):
            yield block
            done += block.rows
            if progress is not None:
                progress(min(done / max(rows, 1), 1.0))

    @property
    def _version(self) -> Version:
        return Version((self.moment.number,))

    def _show(self, witness: Witness | None) -> None:
        if witness is not None:
            witness.check(self.table.name, self.digest(witness.key))

    def _columns(self, names: Collection[str]) -> RecordColumns:
        positions = {name: place for place, name in enumerate(names)}
        return RecordColumns.of(self.table, positions, ORDINARY)

    def _rows(self) -> int:
        query = sql.SQL("SELECT count(*) FROM {}").format(self._identifier)
        with server_errors(self.server_table):
            counted = self.moment.of(self.server_table).execute(query).fetchone()
        assert counted is not None
        return int(counted[0])

    @contextmanager
    def _copied(self, names: Collection[str]) -> Iterator[_Written]:
        """The columns called `names` of all rows, as the server writes them into CSV."""
        connection = self.moment.of(self.server_table)
        stored = names_in_file(self.table, server_columns(connection, self.server_table))
        # As text, what fills up a column of fixed width is left out.
        listed = [sql.SQL("{}::text").format(sql.Identifier(stored[name])) for name in names]
        query = sql.SQL("COPY (SELECT {} FROM {}) TO STDOUT (FORMAT csv)").format(
            sql.SQL(", ").join(listed), self._identifier
        )
        with (
            server_errors(self.server_table),
            # A reading that is broken off ends no more than this part of the transaction.
            connection.transaction(),
            connection.cursor() as cursor,
            cursor.copy(query) as copy,
        ):
            yield _Written(copy)

    @property
    def _identifier(self) -> sql.Identifier:
        return sql.Identifier(self.server_table.schema, self.server_table.table)


@dataclass(repr=False)
class _Written:
    """The bytes that a server sends, as a file of them."""

    copy: Copy
    _held: bytearray = field(default_factory=bytearray)
    _ended: bool = False

    def read(self, size: int) -> bytes:
        """The next `size` bytes; fewer only at the end."""
        held, come = self._held, self.copy.connection.pgconn.get_copy_data
        while len(held) < size and not self._ended:
            # Libpq gives a row that has come already sooner than the driver, which can wait for it.
            length, row = come(1)
            if length > 0:
                held += row
            elif length == 0:
                awaited = self.copy.read()
                held += awaited
                self._ended = not awaited
            else:
                self._end()
        read = bytes(held[:size])
        del held[:size]
        return read

    def _end(self) -> None:
        """Take all that the server says after the last row; if it is an error, it is raised."""
        self._ended = True
        said = [*iter(self.copy.connection.pgconn.get_result, None)]
        if any(each.status != pq.ExecStatus.COMMAND_OK for each in said):
            raise OperationalError("the rows were not sent to the end")
