"""The JDBC driver of PostgreSQL in a process of its own, which has a Java machine."""

from __future__ import annotations

import importlib.util
import shutil
from collections.abc import Sequence
from datetime import date
from multiprocessing import get_context
from multiprocessing.managers import BaseManager
from pathlib import Path
from typing import Any

from tests.server.postgres.told import Refused, Told

JAR = Path("/usr/share/java/postgresql.jar")
"""Where Debian's libpostgresql-jdbc-java has the driver."""


def missing() -> str | None:
    """What keeps JDBC from running here."""
    if not JAR.exists():
        return "libpostgresql-jdbc-java is not installed"
    if shutil.which("java") is None:
        return "Java is not installed"
    return None if importlib.util.find_spec("jpype") else "JPype1 is not installed"


class Jdbc:
    """A connection; methods are called from another process."""

    def __init__(self, host: str, options: dict[str, str]):
        import jpype  # noqa: PLC0415 (only where Java is)

        if not jpype.isJVMStarted():
            jpype.startJVM("-Xmx128m", "-XX:TieredStopAtLevel=1", classpath=[str(JAR)])
        self._java = jpype
        set_of = jpype.JClass("java.util.Properties")()
        for name, value in options.items():
            set_of.setProperty(name, value)
        self._address, self._options = f"jdbc:postgresql://{host}/people", set_of
        self._held: Any = None
        self.connect()

    def connect(self) -> None:
        manager = self._java.JClass("java.sql.DriverManager")
        self._connection = manager.getConnection(self._address, self._options)

    def close(self) -> None:
        self._connection.close()

    def cancel(self) -> None:
        self._held.cancel()

    def ask(self, text: str, values: Sequence[Any] = (), times: int = 1, seconds: int = 0) -> Told:
        """The rows of a statement, run as often; after five times values are sent in binary."""
        try:
            self._held = held = self._connection.prepareStatement(text)
            held.setQueryTimeout(seconds)
            for place, value in enumerate(values, 1):
                match value:
                    case date():
                        held.setDate(place, self._java.JClass("java.sql.Date").valueOf(str(value)))
                    case int():
                        held.setInt(place, value)
                    case float():
                        held.setDouble(place, value)
                    case _:
                        held.setString(place, value)
            for _ in range(times):
                told = self._read(held.executeQuery())
            return told._replace(said=_chain(held.getWarnings()))
        except self._java.JException as error:
            raise self._refused(error) from None

    def run(self, text: str) -> None:
        """Run a statement without rows."""
        self._connection.createStatement().execute(text)

    def fetched(self, text: str, size: int) -> Told:
        """The rows of a statement, fetched in parts within a transaction."""
        self._connection.setAutoCommit(False)
        try:
            statement = self._connection.createStatement()
            statement.setFetchSize(size)
            return self._read(statement.executeQuery(text))
        finally:
            self._connection.commit()
            self._connection.setAutoCommit(True)

    def described(self, text: str) -> Told:
        """The columns of a statement that was not run, and the types of its parameters."""
        prepared = self._connection.prepareStatement(text)
        told, given = prepared.getMetaData(), prepared.getParameterMetaData()
        types = [str(told.getColumnTypeName(n + 1)) for n in range(told.getColumnCount())]
        kinds = [str(given.getParameterTypeName(n + 1)) for n in range(given.getParameterCount())]
        return Told(_labels(told), [tuple(types), tuple(kinds)])

    def metadata(self, name: str, *given: Any) -> Told:
        """What DatabaseMetaData answers; a list is an array of texts."""
        array = self._java.JArray(self._java.JString)
        words = [array(each) if isinstance(each, list) else each for each in given]
        told = getattr(self._connection.getMetaData(), name)(*words)
        return self._read(told) if hasattr(told, "getMetaData") else Told([], [(str(told),)])

    def _read(self, rows: Any) -> Told:
        labels = _labels(rows.getMetaData())
        read = []
        while rows.next():
            cells = (rows.getString(place) for place in range(1, len(labels) + 1))
            read.append(tuple(None if cell is None else str(cell) for cell in cells))
        return Told(labels, read)

    def _refused(self, error: Any) -> Exception:
        try:
            told = error.getServerErrorMessage()
            place = int(told.getPosition()) or None
            return Refused(str(error.getSQLState()), place, str(error.getMessage()))
        except AttributeError:
            return RuntimeError(str(error))


def _labels(told: Any) -> list[str]:
    return [str(told.getColumnLabel(n + 1)) for n in range(told.getColumnCount())]


def _chain(warning: Any) -> str:
    texts = []
    while warning is not None:
        message = warning.getServerErrorMessage()
        texts += [str(message.getMessage()), str(message.getDetail())]
        warning = warning.getNextWarning()
    return "\n".join(texts)


class Machine(BaseManager):
    """The process; `Jdbc(host, options)` is a connection in it."""

    Jdbc: Any

    def __init__(self) -> None:
        super().__init__(ctx=get_context("spawn"))


Machine.register("Jdbc", Jdbc)
