"""Parquet, DuckDB and SQLite files: opened to be read, and the columns that they declare.

The types that a SQLite table declares are hints: any cell can hold a number or a text. So a column
of any type is read as every type that a policy can declare, each value as the cell that writes it.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from dpdb.errors import DataFileError, did_you_mean
from dpdb.policy.catalog import Table
from dpdb.policy.names import quoted, quoted_text
from dpdb.policy.schemas.stored_types import StoredColumn, StoredType, stored_columns
from dpdb.policy.storage import files_of

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection, DuckDBPyRelation
    from pyarrow.parquet import FileMetaData, ParquetFile


_BUFFER = 1 << 16
"""The bytes that are read ahead of a column: a large group of rows is never held whole, and what is
read stays in the cache until it is decoded."""


@contextmanager
def open_parquet(
    path: Path, named: str, dictionaries: Collection[str] = (), metadata: FileMetaData | None = None
) -> Iterator[ParquetFile]:
    """An open Parquet file, `named` in messages; columns in `dictionaries` are dictionary-encoded.

    What the file says of itself need not be read again where it is given as `metadata`.

    Where it is no Parquet file, or fails while it is read, DataFileError is raised. What the
    library says of that is not passed on, as it could quote values.
    """
    try:
        import pyarrow  # noqa: PLC0415 (it imports numpy)
        import pyarrow.parquet  # noqa: PLC0415
    except ModuleNotFoundError:
        raise DataFileError(
            f"{named} is a Parquet file, and the package pyarrow is not installed",
            hint='pip install "dpdb[parquet]"',
        ) from None
    try:
        with pyarrow.parquet.ParquetFile(
            path,
            buffer_size=_BUFFER,
            pre_buffer=False,
            read_dictionary=[*dictionaries],
            metadata=metadata,
        ) as file:
            yield file
    except pyarrow.ArrowMemoryError:
        raise
    except (pyarrow.ArrowException, OSError):
        raise DataFileError(f"{named} cannot be read as a Parquet file") from None


def parquet_columns(path: Path, named: str) -> tuple[StoredColumn, ...]:
    """The columns of a file, which messages call `named`."""
    with open_parquet(path, named) as file:
        return stored_columns(file.schema_arrow)


_SETTINGS: dict[str, str | bool | int | float | list[str]] = {
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "threads": "2",  # each holds blocks of its own
    "temp_directory": "",  # rows are only read on, so none has to be put down anywhere
}
_LIMIT = "500MB"
"""The memory of blocks that are kept, and of texts that are read; few files need more."""
_NO_MEMORY = "Out of Memory"
_DUCKDB_TABLES = """
SELECT table_name FROM information_schema.tables
WHERE table_catalog = 'file' AND table_schema = 'main' AND table_type = 'BASE TABLE'
ORDER BY table_name
"""
"""Views are left out: what they compute could fail for a row, or take other files in."""
_STORED_COLUMNS = """
SELECT column_name FROM information_schema.columns
WHERE table_catalog = 'file' AND table_schema = 'main' AND table_name = ?
AND is_generated = 'NEVER'
ORDER BY ordinal_position
"""
"""Generated columns are left out: what they compute could fail for a row."""


@contextmanager
def open_duckdb(path: Path, *, limited: bool = True) -> Iterator[DuckDBPyConnection]:
    """A connection that has the file as `file`, and can neither write to it nor reach another.

    Unless its memory is `limited`, it may use most of the machine's; where that is not enough,
    MemoryError is raised. Where the path is no DuckDB file, or fails while it is read,
    DataFileError is raised. What the library says of that is not passed on, as it could quote
    values.
    """
    try:
        import duckdb  # noqa: PLC0415 (it imports numpy)
        import pyarrow  # noqa: PLC0415 (duckdb hands rows over through it)
    except ModuleNotFoundError:
        raise DataFileError(
            f"{path} is a DuckDB file, and the packages duckdb and pyarrow are not installed",
            hint='pip install "dpdb[duckdb]"',
        ) from None
    (file,) = files_of(path)
    settings = {**_SETTINGS, "memory_limit": _LIMIT} if limited else _SETTINGS
    try:
        with duckdb.connect(":memory:", config=settings) as connection:
            connection.execute(f"ATTACH {quoted_text(str(file.absolute()))} AS file (READ_ONLY)")
            connection.execute("SET enable_progress_bar = false")
            connection.execute("SET enable_external_access = false")
            connection.execute("SET lock_configuration = true")
            yield connection
    except duckdb.OutOfMemoryException:
        raise MemoryError from None
    except (duckdb.Error, pyarrow.ArrowException, OSError) as error:
        # What fails after the first rows is raised by pyarrow.
        if str(error).startswith(_NO_MEMORY):
            raise MemoryError from None
        raise DataFileError(
            f"{path} cannot be read as a DuckDB file", hint="it may be open in another program"
        ) from None


def duckdb_tables(connection: DuckDBPyConnection) -> list[str]:
    """The names of the tables in a file."""
    return [name for (name,) in connection.execute(_DUCKDB_TABLES).fetchall()]


def duckdb_columns(connection: DuckDBPyConnection, table: Table) -> tuple[StoredColumn, ...]:
    """The columns of a table in its file."""
    return stored_columns(rows_of(connection, table).limit(0).to_arrow_table().schema)


def rows_of(connection: DuckDBPyConnection, table: Table) -> DuckDBPyRelation:
    """The rows of a table in its file, with the columns that are stored."""
    name = _known_name(table, duckdb_tables(connection))
    columns = [column for (column,) in connection.execute(_STORED_COLUMNS, [name]).fetchall()]
    listed = ", ".join(map(quoted, columns))
    return connection.sql(f"SELECT {listed} FROM file.main.{quoted(name)}")  # noqa: S608


_SQLITE_TABLES = (
    "SELECT name FROM pragma_table_list WHERE schema = 'main' AND type = 'table' "
    "AND substr(name, 1, 7) <> 'sqlite_' ORDER BY name"
)
"""Views and virtual tables are left out: what they compute could fail for a row."""
_COLUMNS = "SELECT name, type FROM pragma_table_xinfo(?) WHERE hidden = 0 ORDER BY cid"
"""Generated columns are left out: what they compute could fail for a row."""
_AFFINITIES = (
    ("INT", StoredType.INTEGER),
    ("CHAR", StoredType.TEXT),
    ("CLOB", StoredType.TEXT),
    ("TEXT", StoredType.TEXT),
    ("BOOL", StoredType.BOOLEAN),
    ("TIME", StoredType.TIMESTAMP),
    ("DATE", StoredType.DATE),
    ("REAL", StoredType.FLOAT),
    ("FLOA", StoredType.FLOAT),
    ("DOUB", StoredType.FLOAT),
    ("NUM", StoredType.DECIMAL),
    ("DEC", StoredType.DECIMAL),
)
"""Types by parts of their names, mostly as SQLite finds them: the first that fits counts."""


@contextmanager
def open_sqlite(path: Path) -> Iterator[sqlite3.Connection]:
    """A connection that only reads; texts are bytes, as some are no UTF-8.

    Where the path is no SQLite file, or fails while it is read, DataFileError is raised.
    """
    [file] = files_of(path)
    try:
        connection = sqlite3.connect(
            f"{file.absolute().as_uri()}?mode=ro", uri=True, check_same_thread=False
        )
        try:
            connection.text_factory = bytes
            connection.execute("PRAGMA trusted_schema = OFF")
            yield connection
        finally:
            connection.close()
    except sqlite3.Error:
        raise DataFileError(
            f"{path} cannot be read as a SQLite file", hint="another program may be writing to it"
        ) from None


def sqlite_tables(path: Path) -> list[str]:
    """The names of the tables in a file."""
    with open_sqlite(path) as connection:
        return [_text(name) for (name,) in connection.execute(_SQLITE_TABLES)]


def sqlite_columns(table: Table) -> tuple[StoredColumn, ...]:
    """The columns of a table in its file."""
    name = _known_name(table, sqlite_tables(table.path))
    with open_sqlite(table.path) as connection:
        columns = connection.execute(_COLUMNS, (name,)).fetchall()
    return tuple(_column(_text(name), _text(declared).upper()) for name, declared in columns)


def _known_name(table: Table, known: list[str]) -> str:
    """The name of a table in its file; raises DataFileError where it is not there."""
    name = table.name_in_file
    if name not in known:
        hint = did_you_mean(name, known)
        raise DataFileError(f"{table.path}: there is no table {name}", hint=hint)
    return name


def _column(name: str, declared: str) -> StoredColumn:
    found = (stored for part, stored in _AFFINITIES if part in declared)
    stored = next(found, None)
    return StoredColumn(name, stored or StoredType.TEXT, free=True, guessed=stored is None)


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "replace")
