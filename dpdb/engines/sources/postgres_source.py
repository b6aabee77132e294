"""A table of a PostgreSQL server into columns.

The server writes the rows as CSV, so that a cell is read as that of a file is. All that is read in
a session is of one moment of the database, or nothing more is read.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import field
from functools import partial
from hmac import HMAC

from psycopg import Connection, Copy, OperationalError, pq, sql

from dpdb.engines.protocol import Progress, Witness
from dpdb.engines.sources.cells.builders import RecordColumns
from dpdb.engines.sources.cells.records import Block, blocks
from dpdb.engines.sources.protocol import (
    PIECE,
    Loaded,
    Names,
    Source,
    Version,
    Written,
    has_changed,
    keyed,
)
from dpdb.engines.sources.server_moment import Reading, ServerMoment
from dpdb.policy.catalog import Table
from dpdb.policy.csv.csv_format import ORDINARY
from dpdb.policy.schemas.postgres_server import (
    sent_encoding,
    server_columns,
    server_errors,
    storage_nodes,
)
from dpdb.policy.schemas.stored_types import names_in_file
from dpdb.policy.storage import ServerTable
from dpdb.records import dataclass
from dpdb.vectors.grammar import LONGEST, content

NO_CHANGE = Version((0,))
"""The version of all that is read in a session: a moment that has passed is an error."""
_KEY = b""
"""The key of digests that no witness sees: they are kept in memory alone."""


@dataclass(frozen=True, repr=False)
class PostgresSource(Source):
    """Reads a table of a server."""

    table: Table
    server_table: ServerTable
    moment: ServerMoment

    def load(
        self, names: Names, progress: Progress | None = None, witness: Witness | None = None
    ) -> Loaded:
        with self.moment.seen(self.server_table):
            self._show(witness)
            if not names:
                return Loaded({}, self._counted(), NO_CHANGE)
            columns = self._columns(names)
            rows = sum(columns.add(block) for block in self._told(names, progress))
            return Loaded(columns.finish(), rows, NO_CHANGE)

    def blocks(
        self, names: Names, progress: Progress | None = None, witness: Witness | None = None
    ) -> Iterator[Loaded]:
        with self.moment.seen(self.server_table):
            self._show(witness)
            if not names:
                yield Loaded({}, self._counted(), NO_CHANGE)
                return
            columns = self._columns(names)
            for block in self._told(names, progress):
                rows = columns.add(block)
                yield Loaded(columns.finish(), rows, NO_CHANGE)

    def digest(self, key: bytes) -> str:
        names = tuple(column.name for column in self.table.columns)
        with self.moment.seen(self.server_table):
            return self.moment.digest(self._reading(names, key)) or self._read(names, key)

    def written(self) -> Iterator[tuple[Written, ...]]:
        names = tuple(column.name for column in self.table.columns)
        for block in self._records(names):
            yield tuple(_written(block, place) for place in range(len(names)))

    def _records(self, names: Collection[str]) -> Iterator[Block]:
        """The rows as cells of these columns, in this order."""
        with self._copied(tuple(names), _KEY) as written:
            yield from blocks(written, len(names))

    def _told(self, names: Collection[str], progress: Progress | None) -> Iterator[Block]:
        """The records, while `progress` is told how far they are read."""
        done, rows = 0, self._rows() if progress is not None else 0
        for block in self._records(names):
            yield block
            done += block.rows
            if progress is not None:
                progress(min(done / max(rows, 1), 1.0))

    def _show(self, witness: Witness | None) -> None:
        if witness is not None:
            witness.check(self.table.name, self.digest(witness.key))

    def _columns(self, names: Collection[str]) -> RecordColumns:
        positions = {name: place for place, name in enumerate(names)}
        return RecordColumns.of(self.table, positions, ORDINARY)

    def _counted(self) -> int:
        """The number of rows, which is kept as a reading is."""
        rows = self._rows()
        if not self.moment.keep(self._reading((), _KEY), str(rows), self._counted):
            raise has_changed(self.table)
        return rows

    def _rows(self) -> int:
        query = sql.SQL("SELECT count(*) FROM {}").format(self._identifier)
        with self.moment.seen(self.server_table) as connection, server_errors(self.server_table):
            storage_nodes(connection, self.server_table)
            counted = connection.execute(query).fetchone()
        assert counted is not None
        return int(counted[0])

    def _reading(self, names: tuple[str, ...], key: bytes) -> Reading:
        return Reading(self.table.name, names, key)

    def _read(self, names: tuple[str, ...], key: bytes) -> str:
        """The digest of the columns called `names`, which is kept."""
        with self._copied(names, key) as written:
            while written.read(PIECE):
                pass
        return written.digest

    @contextmanager
    def _copied(self, names: tuple[str, ...], key: bytes) -> Iterator[_Sent]:
        """The columns called `names` of all rows, as the server writes them into CSV.

        Once all are read, their digest is kept.
        """
        with (
            self.moment.seen(self.server_table) as connection,
            server_errors(self.server_table),
            connection.cursor() as cursor,
        ):
            cursor.execute(sql.SQL("SELECT FROM {} LIMIT 0").format(self._identifier))  # a lock
            nodes = storage_nodes(connection, self.server_table)
            self.moment.check_storage(self.table.name, nodes)
            with cursor.copy(self._query(connection, names)) as copy:
                written = _Sent(copy, keyed(key))
                yield written
        again = partial(self._read, names, key)
        if not self.moment.keep(self._reading(names, key), written.digest, again):
            raise has_changed(self.table)

    def _query(self, connection: Connection, names: tuple[str, ...]) -> sql.Composed:
        """The command by which the server sends these columns of all rows.

        Cells are as those of a file would be: without what fills up a column of fixed width, and
        no longer than what is too long already, as two texts of 600 MB in a row could not be sent.
        """
        stored = names_in_file(self.table, server_columns(connection, self.server_table))
        cell = "CASE WHEN octet_length({0}::text) > {1} THEN repeat('x', {2}) ELSE {0}::text END"
        listed = [
            sql.SQL(cell).format(sql.Identifier(stored[name]), LONGEST, LONGEST + 1)
            for name in names
        ]
        return sql.SQL("COPY (SELECT {} FROM {}) TO STDOUT (FORMAT csv, ENCODING {})").format(
            sql.SQL(", ").join(listed), self._identifier, sql.Literal(sent_encoding(connection))
        )

    @property
    def _identifier(self) -> sql.Identifier:
        return sql.Identifier(self.server_table.schema, self.server_table.table)


def _written(block: Block, place: int) -> Written:
    """The cells of one column of a block, without quotes."""
    quote, whole = ORDINARY.quote, block.column(place)
    cells = [content(cell, quote) for cell in whole.written()]
    long = block.too_long(block.starts[block.first + place], block.ends[block.first + place])
    return Written(cells, len(long))


@dataclass(repr=False)
class _Sent:
    """The bytes that a server sends, as a file of them."""

    copy: Copy
    _seen: HMAC
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
        self._seen.update(read)
        return read

    @property
    def digest(self) -> str:
        """The digest of all that was read."""
        return self._seen.hexdigest()

    def _end(self) -> None:
        """Take all that the server says after the last row; if it is an error, it is raised."""
        self._ended = True
        said = [*iter(self.copy.connection.pgconn.get_result, None)]
        if any(each.status != pq.ExecStatus.COMMAND_OK for each in said):
            raise OperationalError("the rows were not sent to the end")
