"""SQLite files: opened to be read, and the columns that their tables declare.

The types that a table declares are hints: any cell can hold a number or a text. So a column of any
type is read as every type that a policy can declare, each value as the cell that writes it.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from dpdb.errors import DataFileError, did_you_mean
from dpdb.policy.catalog import Table
from dpdb.policy.schemas.stored_types import StoredColumn, StoredType
from dpdb.policy.storage import files_of

_TABLES = (
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
"""Types by what is in their names, the first first, mostly as SQLite tells them."""


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
        return [_text(name) for (name,) in connection.execute(_TABLES)]


def sqlite_columns(table: Table) -> tuple[StoredColumn, ...]:
    """The columns of a table in its file."""
    known, name = sqlite_tables(table.path), table.name_in_file
    if name not in known:
        hint = did_you_mean(name, known)
        raise DataFileError(f"{table.path}: there is no table {name}", hint=hint)
    with open_sqlite(table.path) as connection:
        columns = connection.execute(_COLUMNS, (name,)).fetchall()
    return tuple(_column(_text(name), _text(declared).upper()) for name, declared in columns)


def _column(name: str, declared: str) -> StoredColumn:
    found = (stored for part, stored in _AFFINITIES if part in declared)
    stored = next(found, None)
    return StoredColumn(name, stored or StoredType.TEXT, free=True, guessed=stored is None)


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "replace")
