"""Clients of PostgreSQL, each asked in the same way."""

from __future__ import annotations

import asyncio
import csv
import importlib.util
import io
import re
import signal
import subprocess
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar

import asyncpg
import pandas
import pg8000.dbapi
import psycopg
import sqlalchemy

from tests.server.postgres import jdbc
from tests.server.postgres.jdbc import Machine
from tests.server.postgres.told import Refused, Told

ODBC = "PostgreSQL Unicode"
"""The name of Debian's odbc-postgresql among the drivers of unixODBC."""


class Driver(ABC):
    """A connection by a driver; `?` in a statement stands for a value."""

    cancels: ClassVar[bool] = True
    """Whether the driver can cancel a statement."""
    tells_places: ClassVar[bool] = True
    """Whether the driver tells the place and the hint of an error."""

    @staticmethod
    def missing() -> str | None:
        """What keeps the driver from running here."""
        return None

    def __init__(self, port: int, analyst: str, token: str):
        self.port, self.analyst, self.token = port, analyst, token
        self.connect()

    @property
    def address(self) -> str:
        return f"postgresql://{self.analyst}:{self.token}@127.0.0.1:{self.port}/people"

    @abstractmethod
    def connect(self) -> None: ...

    @abstractmethod
    def close(self) -> None: ...

    @abstractmethod
    def ask(self, text: str, values: Sequence[Any] = ()) -> Told: ...

    def cancel(self) -> None:
        raise NotImplementedError


def marked(text: str, mark: str) -> str:
    """The statement with another mark for each value; `#` in the mark is its number."""
    first, *rest = text.split("?")
    return first + "".join(mark.replace("#", str(n)) + part for n, part in enumerate(rest, 1))


class Psql(Driver):
    def connect(self) -> None:
        self._settings = list[str]()
        self.ask("SELECT 1")

    def close(self) -> None:
        self._settings.clear()

    def ask(self, text: str, values: Sequence[Any] = ()) -> Told:
        given = [word for n, each in enumerate(values, 1) for word in ("-v", f"v{n}={each}")]
        if text.startswith("SET "):  # each statement is a process of its own
            self._settings.append(text)
        for n, each in enumerate(values, 1):
            text = text.replace("?", f":v{n}" if isinstance(each, int) else f":'v{n}'", 1)
        lines = "\n".join(f"{each};" for each in (*self._settings, text))
        words = ["/usr/bin/psql", "-X", "-w", "-q", "--csv", "-v", "ON_ERROR_STOP=1"]
        self._process = process = subprocess.Popen(
            [*words, *given, self.address], text=True, env={"LC_ALL": "C.UTF-8"},
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip
        out, err = process.communicate("\\set VERBOSITY verbose\n" + lines, timeout=30)
        if found := re.search(r"ERROR:  (\w{5}): (.*)", err):
            shown = re.search(r"(?m)^LINE 1: .*\n( *)\^", err)
            place = shown and len(shown[1]) + 1 - len("LINE 1: ")
            raise Refused(found[1], place, err)
        if process.returncode:
            raise Refused(None, None, err)
        labels, *rows = [*csv.reader(io.StringIO(out))] or [[]]
        return Told(labels, [tuple(row) for row in rows], err)

    def cancel(self) -> None:
        self._process.send_signal(signal.SIGINT)


class Psycopg(Driver):
    def connect(self) -> None:
        self._connection = psycopg.connect(self.address, autocommit=True)
        self._said = list[str]()
        self._connection.add_notice_handler(self._hear)

    def _hear(self, told: psycopg.errors.Diagnostic) -> None:
        self._said += [told.message_primary or "", told.message_detail or ""]

    def close(self) -> None:
        self._connection.close()

    def ask(self, text: str, values: Sequence[Any] = ()) -> Told:
        self._said.clear()
        try:
            cursor = self._connection.execute(marked(text, "%s"), values or None)
        except psycopg.Error as error:
            raise refused(error) from None
        labels = [each.name for each in cursor.description or ()]
        return Told(labels, cursor.fetchall() if labels else [], "\n".join(self._said))

    def cancel(self) -> None:
        self._connection.cancel_safe(timeout=10)


def refused(error: psycopg.Error) -> Refused:
    told = error.diag
    place = told.statement_position
    return Refused(error.sqlstate, place and int(place), f"{error} {told.message_hint}")


class Asyncpg(Driver):
    def connect(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._said = list[str]()
        self._connection = self._run(asyncpg.connect(self.address, ssl=False))
        self._connection.add_log_listener(self._hear)

    def _run(self, work: Any) -> Any:
        return self._loop.run_until_complete(work)

    def _hear(self, _: object, told: Any) -> None:
        self._said += [told.message, told.detail or ""]

    def close(self) -> None:
        self._run(self._connection.close())
        self._loop.close()

    def ask(self, text: str, values: Sequence[Any] = ()) -> Told:
        return self._run(self._ask(marked(text, "$#"), values))

    async def _ask(self, text: str, values: Sequence[Any]) -> Told:
        self._said.clear()
        self._task = asyncio.current_task()
        try:
            prepared = await self._connection.prepare(text)
            rows = await prepared.fetch(*values)
        except asyncpg.PostgresError as error:
            place = error.position and int(error.position)
            raise Refused(error.sqlstate, place, f"{error} {error.hint}") from None
        except asyncio.CancelledError:
            raise Refused("57014", None, "asyncpg tells no state of what it cancels") from None
        labels = [each.name for each in prepared.get_attributes()]
        await asyncio.sleep(0.01)  # listeners are called in a later turn
        return Told(labels, [tuple(row.values()) for row in rows], "\n".join(self._said))

    def cancel(self) -> None:
        self._loop.call_soon_threadsafe(self._task.cancel)


class Pg8000(Driver):
    cancels = False

    def connect(self) -> None:
        self._connection = pg8000.dbapi.connect(
            self.analyst, host="127.0.0.1", port=self.port, database="people", password=self.token
        )
        self._connection.autocommit = True

    def close(self) -> None:
        self._connection.close()

    def ask(self, text: str, values: Sequence[Any] = ()) -> Told:
        self._connection.notices.clear()
        cursor = self._connection.cursor()
        try:
            cursor.execute(marked(text, "%s"), tuple(values))
        except pg8000.dbapi.DatabaseError as error:
            told = error.args[0]
            place = int(told["P"]) if "P" in told else None
            raise Refused(told["C"], place, f"{told['M']} {told.get('H')}") from None
        labels = [each[0] for each in cursor.description or ()]
        said = (part.decode() for told in self._connection.notices for part in told.values())
        rows = [tuple(row) for row in cursor.fetchall()] if labels else []
        return Told(labels, rows, "\n".join(said))


class SqlAlchemy(Psycopg):
    def connect(self) -> None:
        self._engine = sqlalchemy.create_engine(
            self.address.replace("postgresql:", "postgresql+psycopg:"),
            isolation_level="AUTOCOMMIT",
        )
        self._held = self._engine.connect()
        self._said = list[str]()
        self._connection = self._held.connection.driver_connection
        self._connection.add_notice_handler(self._hear)

    def close(self) -> None:
        self._held.close()
        self._engine.dispose()

    def ask(self, text: str, values: Sequence[Any] = ()) -> Told:
        self._said.clear()
        try:
            return self._read(marked(text, ":v#"), {f"v{n}": v for n, v in enumerate(values, 1)})
        except (sqlalchemy.exc.DBAPIError, pandas.errors.DatabaseError) as error:
            inner = error if isinstance(error, sqlalchemy.exc.DBAPIError) else error.__cause__
            raise refused(inner.orig) from None

    def _read(self, text: str, values: dict[str, Any]) -> Told:
        result = self._held.execute(sqlalchemy.text(text), values)
        if not result.returns_rows:
            return Told([], [])
        return Told([*result.keys()], [tuple(row) for row in result], "\n".join(self._said))


class Pandas(SqlAlchemy):
    def _read(self, text: str, values: dict[str, Any]) -> Told:
        if text.startswith("SET "):
            return super()._read(text, values)
        frame = pandas.read_sql(sqlalchemy.text(text), self._held, params=values)
        rows = [tuple(row) for row in frame.itertuples(index=False)]
        return Told([*frame.columns], rows, "\n".join(self._said))


class JdbcDriver(Driver):
    missing = staticmethod(jdbc.missing)
    machine: ClassVar[Machine | None] = None
    """The process with Java, which tests share."""

    def connect(self) -> None:
        if JdbcDriver.machine is None:
            JdbcDriver.machine = Machine()
            JdbcDriver.machine.start()
        options = {"user": self.analyst, "password": self.token, "ApplicationName": "suite"}
        self.java = JdbcDriver.machine.Jdbc(f"127.0.0.1:{self.port}", options)

    def close(self) -> None:
        self.java.close()

    def ask(self, text: str, values: Sequence[Any] = ()) -> Told:
        if text.startswith("SET "):
            self.java.run(text)
            return Told([], [])
        return self.java.ask(text, list(values))

    def cancel(self) -> None:
        self.java.cancel()


class Odbc(Driver):
    """psqlODBC by pyodbc: the way of Excel."""

    tells_places = False
    more = ""

    @staticmethod
    def missing() -> str | None:
        """What keeps ODBC from running here."""
        if importlib.util.find_spec("pyodbc") is None:
            return "pyodbc is not installed"
        import pyodbc  # noqa: PLC0415 (only where unixODBC is)

        known = ODBC in pyodbc.drivers()
        return None if known else "odbc-postgresql is not installed"

    def connect(self) -> None:
        import pyodbc  # noqa: PLC0415

        self._error = pyodbc.Error
        self._connection = pyodbc.connect(
            f"Driver={{{ODBC}}};Server=127.0.0.1;Port={self.port};Database=people;"
            f"Uid={self.analyst};Pwd={self.token};{self.more}",
            autocommit=True,
        )
        self._cursor = self._connection.cursor()

    def close(self) -> None:
        self._connection.close()

    def ask(self, text: str, values: Sequence[Any] = ()) -> Told:
        try:
            self._cursor.execute(text, *values)
            said = "\n".join(words for _, words in self._cursor.messages or ())
            labels = [each[0] for each in self._cursor.description or ()]
            rows = [tuple(row) for row in self._cursor.fetchall()] if labels else []
        except self._error as error:
            state, words = error.args
            raise Refused(state, None, words) from None
        return Told(labels, rows, said)

    def cancel(self) -> None:
        self._cursor.cancel()


class OdbcCursors(Odbc):
    """psqlODBC, which declares a cursor for each statement, and fetches two rows at a time."""

    more = "UseDeclareFetch=1;Fetch=2"


DRIVERS: dict[str, type[Driver]] = {
    "psql": Psql,
    "psycopg": Psycopg,
    "asyncpg": Asyncpg,
    "pg8000": Pg8000,
    "sqlalchemy": SqlAlchemy,
    "pandas": Pandas,
    "jdbc": JdbcDriver,
    "psqlodbc": Odbc,
    "psqlodbc_cursors": OdbcCursors,
}
