"""A door for PostgreSQL's clients in a thread of this process, and what tests ask it with."""

from __future__ import annotations

import asyncio
import io
import socket
import ssl
import subprocess
import threading
from dataclasses import dataclass
from typing import Any, Self

import psycopg

from dpdb.server.asking import Front, Setting
from dpdb.server.log import Log
from dpdb.server.messages import Desk, People
from dpdb.server.postgres.door import Door

POLICY = """
[budget]
epsilon = 1000.0
queries = 1000

[tables.people]
path = "people.csv"

[tables.people.columns]
age    = { type = "integer", bounds = [18, 65], nullable = false }
income = { type = "number", bounds = [0, 1_000_000], step = 0.01 }
zip    = { type = "integer", values = [31643, 80127] }
name   = { type = "text", values = ["Abel", "Bea"] }
born   = { type = "date", bounds = ["1960-01-01", "2010-12-31"] }
seen   = { type = "timestamp", bounds = ["2020-01-01", "2026-01-01"] }
member = { type = "boolean" }

[tables.visits]
path = "visits.csv"

[tables.visits.columns]
ward = { type = "text", values = ["a", "b"] }
"""
PEOPLE = "age,income,zip,name,born,seen,member\n" + "".join(
    f"{20 + i % 40},{i * 100}.5,{(31643, 80127)[i % 2]},{('Abel', 'Bea')[i % 2]},"
    f"19{70 + i % 30}-05-01,2023-01-01 10:00:00,{('true', 'false')[i % 2]}\n"
    for i in range(400)
)
VISITS = "ward\na\nb\n"


class Wired:
    """A door on a port of the loopback."""

    def __init__(
        self,
        desk: Desk,
        people: People | None = None,
        *,
        tls: ssl.SSLContext | None = None,
        near: bool = True,
        database: str = "people",
    ):
        self.desk, self.database = desk, database
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._socket.getsockname()[1]
        everybody = None if people is not None and people.names else "you"
        self.log = io.StringIO()
        setting = Setting("people", "http://127.0.0.1", everybody)
        front = Front(desk, setting, people, Log(self.log))
        self._door = Door(front, database, tls, near=near)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever)

    def __enter__(self) -> Self:
        self._thread.start()
        self.run(self._door.open(self._socket))
        return self

    def __exit__(self, *_: object) -> None:
        self.run(self._door.close())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(20)
        self._loop.close()

    def run(self, work: Any) -> Any:
        """The result of work in the door's thread."""
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(20)

    def address(self, user: str = "alice", password: str = "") -> str:
        secret = f":{password}" if password else ""
        return f"postgresql://{user}{secret}@127.0.0.1:{self.port}/{self.database}"

    def connect(self, **options: Any) -> psycopg.Connection[Any]:
        return psycopg.connect(self.address(), autocommit=True, **options)

    def psql(self, *commands: str, user: str = "alice", password: str = "") -> Printed:
        """What psql prints for commands, each on its own."""
        words = [word for command in commands for word in ("-c", command)]
        done = subprocess.run(
            ["/usr/bin/psql", "-X", "-w", self.address(user), *words],
            check=False,
            capture_output=True,
            text=True,
            timeout=30,
            env={"PGPASSWORD": password, "PGSSLMODE": "prefer", "LC_ALL": "C.UTF-8"},
        )
        return Printed(done.returncode, done.stdout, done.stderr)


@dataclass
class Printed:
    code: int
    out: str
    err: str
