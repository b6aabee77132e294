"""SQLAlchemy's dialect for reading: `create_engine("dpdb:///people.csv?epsilon=1&queries=10")`.

The path is a data file or a policy, and what follows `?` are arguments of `dpdb.connect`. An engine
has one session, and so one budget, however many connections its pool makes, and in whatever order
these are opened and closed.
"""

from __future__ import annotations

from threading import Lock
from types import ModuleType
from typing import TYPE_CHECKING, Any

from sqlalchemy import types
from sqlalchemy.engine import Connection, default
from sqlalchemy.engine.interfaces import ConnectArgsType
from sqlalchemy.engine.url import URL
from sqlalchemy.exc import NoSuchTableError

from dpdb import dbapi
from dpdb.errors import UsageError
from dpdb.policy.catalog import Kind, Table
from dpdb.session.connect import connect

if TYPE_CHECKING:
    from dpdb.session.connect import AnySession

_TYPES: dict[Kind, type[types.TypeEngine[Any]]] = {
    Kind.INTEGER: types.BigInteger,
    Kind.NUMBER: types.Float,
    Kind.TEXT: types.String,
    Kind.BOOLEAN: types.Boolean,
    Kind.DATE: types.Date,
    Kind.TIMESTAMP: types.DateTime,
}
_TEXTS = ("epsilon", "delta", "composition", "neighbors", "timing", "separator", "encoding",
          "ledger", "analyst")  # fmt: skip
_WHOLE = ("queries", "seed")


class DpdbDialect(default.DefaultDialect):
    """Reads tables and columns from the policy, and asks SELECTs; nothing is written."""

    name = "dpdb"
    driver = "dbapi"
    default_paramstyle = "qmark"
    supports_statement_cache = True
    supports_native_boolean = True
    div_is_floordiv = False
    supports_alter = supports_default_values = supports_sane_rowcount = False
    postfetch_lastrowid = insert_returning = False

    def __init__(self, **arguments: Any):  # noqa: ANN401 (SQLAlchemy's)
        super().__init__(**arguments)
        self._opening = Lock()
        self._session: AnySession | None = None

    @classmethod
    def import_dbapi(cls) -> ModuleType:
        return dbapi

    def create_connect_args(self, url: URL) -> ConnectArgsType:
        if url.host or url.username or url.port:
            raise UsageError("dpdb:// has no host", hint="three slashes: dpdb:///people.csv")
        options: dict[str, Any] = {}
        for name, value in url.query.items():
            if not isinstance(value, str):
                raise UsageError(f"{name} is given twice")
            if name not in (*_TEXTS, *_WHOLE, "teach"):
                known = ", ".join((*_TEXTS, *_WHOLE, "teach"))
                raise UsageError(f"{name} is no argument of dpdb://", hint=f"it has {known}")
            options[name] = value
            if name in _WHOLE and value.isascii() and value.isdecimal():
                options[name] = int(value)
            if name == "teach":
                options[name] = {"true": True, "false": False}.get(value.lower(), value)
        return [url.database] if url.database else [], options

    def connect(self, *sources: Any, **options: Any) -> Any:  # noqa: ANN401 (SQLAlchemy's)
        """A connection to the engine's one session, which the first of them opens."""
        with self._opening, dbapi.translated_errors():
            self._session = self._session or connect(*sources, **options)
            return dbapi.Connection(self._session)

    def initialize(self, connection: Connection) -> None:
        """Ask nothing: each statement could be one of the budget's."""

    def do_ping(self, dbapi_connection: Any) -> bool:  # noqa: ANN401
        """Whether the connection is open."""
        dbapi_connection.commit()
        return True

    def get_table_names(
        self, connection: Connection, schema: str | None = None, **_: object
    ) -> list[str]:
        return [table.name for table in _tables(connection)] if schema is None else []

    def has_table(
        self, connection: Connection, table_name: str, schema: str | None = None, **_: object
    ) -> bool:
        return table_name in self.get_table_names(connection, schema)

    def get_columns(
        self, connection: Connection, table_name: str, schema: str | None = None, **_: object
    ) -> list[Any]:
        found = [each for each in _tables(connection) if each.name == table_name]
        if schema is not None or not found:
            raise NoSuchTableError(table_name)
        return [
            {
                "name": column.name,
                "type": _TYPES[column.kind](),
                "nullable": column.nullable,
                "default": None,
            }
            for column in found[0].columns
        ]

    def get_pk_constraint(self, *_: object, **__: object) -> Any:  # noqa: ANN401
        return {"constrained_columns": [], "name": None}

    def _nothing(self, *_: object, **__: object) -> list[Any]:
        return []

    get_view_names = get_foreign_keys = get_indexes = get_materialized_view_names = _nothing
    get_unique_constraints = get_check_constraints = get_schema_names = _nothing
    get_temp_table_names = get_temp_view_names = get_sequence_names = _nothing

    def get_table_options(self, *_: object, **__: object) -> Any:  # noqa: ANN401
        return {}

    def get_table_comment(self, *_: object, **__: object) -> Any:  # noqa: ANN401
        return {"text": None}


def _tables(connection: Connection) -> tuple[Table, ...]:
    """The tables of the policy behind a connection."""
    held: Any = connection.connection.dbapi_connection
    session: AnySession = held.session
    return session.policy.tables
