"""A PostgreSQL server for tests: started from Debian's package, on a socket of its own."""

from __future__ import annotations

import os
import pwd
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from socketserver import BaseRequestHandler, ThreadingUnixStreamServer
from threading import Event, Thread
from typing import Any

import psycopg
import pyarrow
import pytest
from psycopg import sql

from dpdb.policy.storage import ServerTable, server_table

_SETTINGS = "-c listen_addresses='' -c max_connections=80"
_MEMORY = Path("/dev/shm")

_TYPES = {"int64": "bigint", "double": "float8", "date32[day]": "date", "bool": "boolean",
          "string": "text", "timestamp[us, tz=UTC]": "timestamptz"}  # fmt: skip
"""By the types of Arrow that prepared files have."""


@dataclass(frozen=True)
class Server:
    """A running server whose superuser is `custodian`."""

    socket: Path
    run: Callable[..., None] = lambda *words: None
    """Runs a program of PostgreSQL on the server's data."""
    settings: str = ""

    def start(self) -> None:
        """Start it, or start it again."""
        self.run("pg_ctl", "-l", str(self.socket / "log"), "-w", "start",
                 "-o", f"-k {self.socket} {_SETTINGS} {self.settings}")  # fmt: skip

    def stop(self) -> None:
        """Stop it as a crash would."""
        self.run("pg_ctl", "-m", "immediate", "stop")

    def address(self, table: str = "", user: str = "custodian", database: str = "postgres") -> str:
        """What a policy says of a table; without one, what psycopg connects to."""
        named = f"&table={table}" if table else ""
        return f"postgresql:///{database}?host={self.socket}&user={user}{named}"

    def execute(self, *statements: str, database: str = "postgres", values: Any = None) -> None:
        """Run statements as the superuser, each by itself."""
        with psycopg.connect(self.address(database=database), autocommit=True) as connection:
            for statement in statements:
                connection.execute(statement, values)

    def insert(self, name: str, rows: pyarrow.Table, database: str = "postgres") -> ServerTable:
        """A new table with the rows of an Arrow table, in place of one of that name."""
        listed = sql.SQL(", ").join(
            sql.SQL("{} {}").format(sql.Identifier(field.name), sql.SQL(_TYPES[str(field.type)]))
            for field in rows.schema
        )
        table = sql.Identifier(name)
        address = self.address(database=database)
        with psycopg.connect(address, autocommit=True) as connection:
            connection.execute(sql.SQL("DROP TABLE IF EXISTS {}").format(table))
            connection.execute(sql.SQL("CREATE TABLE {} ({})").format(table, listed))
            copied = sql.SQL("COPY {} FROM STDIN").format(table)
            with connection.cursor().copy(copied) as into:
                for row in zip(*(column.to_pylist() for column in rows.columns), strict=True):
                    into.write_row(row)
        return server_table(self.address(name, database=database))


@contextmanager
def running_server(settings: str = "-c fsync=off") -> Iterator[Server]:
    """A new server, or the test is skipped with a word where PostgreSQL is not installed.

    One with `fsync` keeps its files in memory, where that costs nothing.
    """
    programs = sorted(Path("/usr/lib/postgresql").glob("*/bin/pg_ctl"))
    found = shutil.which("pg_ctl") or (programs and str(programs[-1]))
    if not found:
        pytest.skip("PostgreSQL is not installed")
    # Its socket's path may not be long.
    folder = Path(tempfile.mkdtemp(prefix="dpdb-", dir=_MEMORY if _MEMORY.is_dir() else None))
    # The server refuses to run as root.
    user = "nobody" if os.getuid() == 0 else None
    if user is not None:
        os.chown(folder, pwd.getpwnam(user).pw_uid, -1)

    def run(*words: str) -> None:
        program = str(Path(found).with_name(words[0]))
        command = [program, "-D", str(folder / "data"), *words[1:]]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, user=user)

    try:
        run("initdb", "-A", "trust", "-U", "custodian", "--no-sync", "-E", "UTF8", "--locale=C")
        server = Server(folder, run, settings)
        server.start()
        try:
            yield server
        finally:
            server.stop()
    finally:
        shutil.rmtree(folder)


@contextmanager
def losing(folder: Path, here: Path) -> Iterator[Event]:
    """A way to the server of one folder by another; while the event is set, answers are lost."""
    lost, name = Event(), ".s.PGSQL.5432"

    def carry(source: socket.socket, to: socket.socket, *, back: bool) -> None:
        with suppress(OSError):
            while part := source.recv(65_536):
                if not (back and lost.is_set()):
                    to.sendall(part)
            to.shutdown(socket.SHUT_WR)

    class Way(BaseRequestHandler):
        def handle(self) -> None:
            with socket.socket(socket.AF_UNIX) as server:
                server.connect(str(folder / name))
                back = Thread(target=carry, args=(server, self.request), kwargs={"back": True})
                back.start()
                carry(self.request, server, back=False)
                back.join()

    with ThreadingUnixStreamServer(str(here / name), Way) as door:
        door.daemon_threads = True
        Thread(target=door.serve_forever, args=(0.05,)).start()
        yield lost
        door.shutdown()
