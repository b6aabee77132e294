"""The public test suite for DB-API 2.0, on tables that everybody may know.

dpdb writes nothing, so what the suite writes is played: SQLite carries out CREATE, INSERT and DROP,
and a session of dpdb answers each SELECT from the tables as CSV files.
"""

from __future__ import annotations

import csv
import shutil
import sqlite3
import tempfile
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Self

import pytest

from dpdb import dbapi
from dpdb.session.connect import connect

dbapi20 = pytest.importorskip("dbapi20")

WRITES = ("create", "insert", "drop")


class Tables:
    """Tables that SQLite writes, and a session about them as they are now."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp())
        self.written = sqlite3.connect(":memory:")

    def write(self, statement: str, rows: Sequence[Any]) -> None:
        for row in rows:
            self.written.execute(statement, row)

    def session(self) -> Any:
        policy = "[budget]\nepsilon = 1\n"
        for (name,) in self.written.execute("SELECT name FROM sqlite_master").fetchall():
            rows = self.written.execute(f"SELECT * FROM {name}")
            header = [column[0] for column in rows.description]
            with (self.folder / f"{name}.csv").open("w", newline="", encoding="utf-8") as file:
                csv.writer(file).writerows([header, *rows])
            columns = "".join(f'{each} = {{ type = "text" }}\n' for each in header)
            policy += f"[tables.{name}]\npublic = true\n[tables.{name}.columns]\n{columns}"
        (self.folder / "p.toml").write_text(policy, encoding="utf-8")
        return connect(self.folder / "p.toml")


class PlayedCursor(dbapi.Cursor):
    connection: PlayedConnection

    def execute(self, operation: str, parameters: Any = None) -> Self:
        if operation.split(maxsplit=1)[0] not in WRITES:
            self.connection.refresh()
            return super().execute(operation, parameters)
        return self._write(operation, [parameters or ()])

    def executemany(self, operation: str, seq_of_parameters: Sequence[Any]) -> Self:  # type: ignore[override]
        return self._write(operation, seq_of_parameters)

    def _write(self, operation: str, rows: Sequence[Any]) -> Self:
        self._open()
        self._forget()
        self.connection.tables.write(operation, rows)
        return self


class PlayedConnection(dbapi.Connection):
    def __init__(self, tables: Tables):
        super().__init__(connect(Path(__file__).parents[2] / "sample_data" / "people.csv"))
        self.tables = tables

    def refresh(self) -> None:
        self._session = self.tables.session()

    def cursor(self) -> PlayedCursor:
        return PlayedCursor(self)


class TestCompliance(dbapi20.DatabaseAPI20Test):  # type: ignore[misc]
    """Every test of the suite; three of them the suite leaves to drivers."""

    def setUp(self) -> None:
        tables = Tables()
        self.addCleanup(shutil.rmtree, tables.folder)
        self.addCleanup(tables.written.close)
        names = {**vars(dbapi), "connect": lambda: PlayedConnection(tables)}
        self.driver = SimpleNamespace(**names)

    def test_nextset(self) -> None:
        assert not hasattr(dbapi.Cursor, "nextset")

    def test_setoutputsize(self) -> None:
        cursor = self.driver.connect().cursor()
        cursor.setoutputsize(1, 0)
        self._paraminsert(cursor)
