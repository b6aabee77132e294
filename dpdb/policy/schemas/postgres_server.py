"""PostgreSQL servers: one moment of a database, and what it says of the columns of a table."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from dpdb.errors import DataFileError
from dpdb.policy.catalog import Table
from dpdb.policy.schemas.stored_types import StoredColumn, StoredType
from dpdb.policy.storage import ServerTable

if TYPE_CHECKING:
    from psycopg import Connection

_ENCODINGS = ("UTF8", "SQL_ASCII", "LATIN1")
"""The encodings in which no text of a row can fail: it becomes UTF-8, or is passed on as it is.

A database in SQL_ASCII has bytes of any encoding, and is asked for them as they are.
"""
_AS_IT_IS = "SQL_ASCII"

_SETTINGS = """
SELECT set_config(name, value, false)
FROM (VALUES ('client_encoding', 'UTF8'),
             ('search_path', 'pg_catalog'),
             ('TimeZone', 'UTC'),
             ('DateStyle', 'ISO'),
             ('extra_float_digits', '1'),
             ('row_security', 'off'),
             ('synchronize_seqscans', 'off'),
             ('enable_indexscan', 'off'),
             ('enable_indexonlyscan', 'off'),
             ('enable_bitmapscan', 'off'),
             ('max_parallel_workers_per_gather', '0')) AS settings (name, value)
"""
"""Values are written in one way, a policy of the server that hides rows is an error, and rows come
in the order in which they are stored, whichever columns are read."""

_TABLE = """
SELECT c.oid
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname = %s AND c.relname = %s AND c.relkind IN ('r', 'p', 'm', 'v', 'f')
"""
_STORED = """
WITH RECURSIVE below (identifier) AS (
    SELECT %s::oid
    UNION SELECT inhrelid FROM pg_inherits JOIN below ON inhparent = identifier)
SELECT bool_and(relkind IN ('r', 'p', 'm')),
       array_agg(coalesce(pg_relation_filenode(oid)::bigint, 0) ORDER BY oid)
FROM below JOIN pg_class ON oid = identifier
"""
"""Whether a table and all that it has its rows from are stored here, and in which files."""
_COLUMNS = """
SELECT a.attname, t.typname, t.typtype, t.typnamespace = 'pg_catalog'::regnamespace, a.atttypmod
FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid
WHERE a.attrelid = %s AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated <> 'v'
ORDER BY a.attnum
"""
"""Columns that are computed as they are read are left out: that could fail for a row."""

_TYPES = {
    **dict.fromkeys(("int2", "int4", "int8"), StoredType.INTEGER),
    **dict.fromkeys(("float4", "float8"), StoredType.FLOAT),
    **dict.fromkeys(("text", "varchar", "bpchar", "name", "uuid"), StoredType.TEXT),
    "numeric": StoredType.DECIMAL,
    "bool": StoredType.BOOLEAN,
    "date": StoredType.DATE,
    **dict.fromkeys(("timestamp", "timestamptz"), StoredType.TIMESTAMP),
}


def connected(table: ServerTable) -> Connection:
    """A connection that can only read; each of its transactions sees one moment.

    Where there is no such connection, DataFileError is raised. It tells what the server says of
    it, as no row has been looked at.
    """
    try:
        import psycopg  # noqa: PLC0415 (optional)
    except ImportError:
        raise DataFileError(
            f"{table.place} is in PostgreSQL, and the package psycopg is not installed",
            hint='pip install "dpdb[postgresql]"',
        ) from None
    try:
        connection = psycopg.connect(table.address, connect_timeout=10, application_name="dpdb")
    except psycopg.ProgrammingError:  # it quotes the address, in which a password may be
        raise DataFileError(
            f"cannot connect to {table.place}: its address is not one that libpq reads",
            hint="signs that mean something in an address are written as %20, %25, %40",
        ) from None
    except psycopg.Error as error:
        said = str(error).strip().partition("\n")[0]
        raise DataFileError(f"cannot connect to {table.place}: {said}") from None
    try:
        _set_up(connection, table)
    except DataFileError:
        connection.close()
        raise
    return connection


def _set_up(connection: Connection, table: ServerTable) -> None:
    """Make settings that last, if no row of the database can fail to be sent."""
    import psycopg  # noqa: PLC0415 (optional)

    with server_errors(table):
        connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        connection.read_only = True
        connection.execute(_SETTINGS)
        connection.commit()
    if connection.info.parameter_status("server_encoding") not in _ENCODINGS:
        raise DataFileError(
            f"{table.place}: the encoding of the database is not one of {', '.join(_ENCODINGS)}"
        )


def sent_encoding(connection: Connection) -> str:
    """The encoding in which rows are asked for, in which none can fail."""
    stored = connection.info.parameter_status("server_encoding")
    return _AS_IT_IS if stored == _AS_IT_IS else "UTF8"


@contextmanager
def server_errors(table: ServerTable) -> Iterator[None]:
    """Hide the server's own words on an error, as they could quote values."""
    import psycopg  # noqa: PLC0415 (optional)

    try:
        yield
    except psycopg.Error:
        raise DataFileError(
            f"{table.place} cannot be read",
            hint="the role needs SELECT on the table, and no row-level policy may hide rows of it",
        ) from None


def columns_on_server(table: Table) -> tuple[StoredColumn, ...]:
    """The columns of a table that is not read now."""
    assert table.server is not None
    with connected(table.server) as connection:
        return server_columns(connection, table.server)


def server_columns(connection: Connection, table: ServerTable) -> tuple[StoredColumn, ...]:
    """The columns of a table, as the database declares them; that is public, as a header is."""
    identifier, _ = _stored(connection, table)
    with server_errors(table):
        columns = connection.execute(_COLUMNS, (identifier,)).fetchall()
    return tuple(StoredColumn(name, _stored_type(*of_type)) for name, *of_type in columns)


def storage_nodes(connection: Connection, table: ServerTable) -> tuple[int, ...]:
    """Numbers of the files in which a table and those below it are stored."""
    return _stored(connection, table)[1]


def _stored(connection: Connection, table: ServerTable) -> tuple[int, tuple[int, ...]]:
    """The identifier of a table whose rows can all be sent, and the numbers of its files.

    Rows of a parent are those of its partitions and of tables that inherit from it, to any depth.
    Raises DataFileError where some come from another server, or are worked out as they are read.
    """
    with server_errors(table):
        row = connection.execute(_TABLE, (table.schema, table.table)).fetchone()
        if row is None:
            raise DataFileError(f"{table.place}: there is no such table")
        (identifier,) = row
        found = connection.execute(_STORED, (identifier,)).fetchone()
    assert found is not None
    stored, nodes = found
    if not stored:
        raise DataFileError(
            f"{table.place} is a view or in another server, where reading a row can fail,"
            " or so is a partition of it or a table that inherits from it",
            hint="name a table, or a materialized view",
        )
    return identifier, (*nodes,)


def _stored_type(name: str, category: str, built_in: bool, modifier: int) -> StoredType:
    """The stored type of a type of PostgreSQL; `modifier` holds the digits of a numeric."""
    if category == "e":
        return StoredType.TEXT
    stored = _TYPES.get(name, StoredType.OTHER) if built_in else StoredType.OTHER
    whole = modifier >= 4 and (modifier - 4) & 0x7FF == 0
    return StoredType.INTEGER if stored is StoredType.DECIMAL and whole else stored
