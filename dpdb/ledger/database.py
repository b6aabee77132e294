"""The database that a ledger file is: its tables, and connections to it."""

from __future__ import annotations

import sqlite3
from pathlib import Path

APPLICATION = 0x64706462
"""The bytes `dpdb`, by which SQLite's header names the program that a file belongs to."""
FORMAT = 3
FORMER = 2
"""The format in which levels of tables that a SELECT makes could be mistaken for one another's."""
SCHEMA = (
    "CREATE TABLE entries (number INTEGER PRIMARY KEY, text TEXT NOT NULL, seal BLOB NOT NULL) "
    "STRICT",
    "CREATE TABLE kept (number INTEGER PRIMARY KEY, scope TEXT NOT NULL, who TEXT NOT NULL, "
    "text TEXT NOT NULL, seal BLOB NOT NULL) STRICT",
    "CREATE INDEX kept_of_scope ON kept (scope)",
)
"""Entries, and the released values that are kept, which are looked for by their scope."""
WAIT = 20.0
"""For how many seconds a process waits for others."""


def connected(path: Path) -> sqlite3.Connection:
    """A connection that makes no file, and whose commits are on the disk."""
    connection = sqlite3.connect(
        f"{path.absolute().as_uri()}?mode=rw", uri=True,
        timeout=WAIT, isolation_level=None, check_same_thread=False,
    )  # fmt: skip
    for setting in ("synchronous = FULL", "fullfsync = ON", "trusted_schema = OFF",
                    "cell_size_check = ON"):  # fmt: skip
        connection.execute(f"PRAGMA {setting}")
    return connection


def fill(path: Path, number: int, text: str, seal: bytes) -> None:
    """Make the tables in an empty file, with one entry."""
    connection = connected(path)
    try:
        ask = connection.execute
        ask("PRAGMA journal_mode = WAL")
        ask(f"PRAGMA application_id = {APPLICATION}")
        ask(f"PRAGMA user_version = {FORMAT}")
        ask("BEGIN IMMEDIATE")
        for statement in SCHEMA:
            ask(statement)
        ask("INSERT INTO entries VALUES (?, ?, ?)", (number, text, seal))
        ask("COMMIT")
    finally:
        connection.close()


def is_ledger(connection: sqlite3.Connection) -> bool:
    """Whether the database is one that `fill` has made."""
    ask = connection.execute
    return (
        ask("PRAGMA application_id").fetchone()[0],
        ask("PRAGMA user_version").fetchone()[0],
        ask("PRAGMA journal_mode").fetchone()[0],
        ask("SELECT sql FROM sqlite_schema ORDER BY rowid").fetchall(),
    ) in [(APPLICATION, each, "wal", [(s,) for s in SCHEMA]) for each in (FORMAT, FORMER)]


def is_former(connection: sqlite3.Connection) -> bool:
    """Whether the database is of the former format."""
    return bool(connection.execute("PRAGMA user_version").fetchone() == (FORMER,))


def note_format(connection: sqlite3.Connection) -> None:
    """Let the database be of the present format, within the transaction that makes it so."""
    connection.execute(f"PRAGMA user_version = {FORMAT}")
