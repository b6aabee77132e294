"""The tables of the catalogue, made of a policy's tables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any

from dpdb.policy.catalog import Kind, Table
from dpdb.server.postgres.catalogue.functions import Names
from dpdb.server.postgres.catalogue.parts import Columns, Listing, Row, read_as
from dpdb.server.postgres.protocol import RELEASE
from dpdb.server.postgres.values import ARRAYS, TYPES, described

_SCHEMAS = {11: "pg_catalog", 2200: "public", 13000: "information_schema"}
_FIRST, _FIRST_OWN = 16384, 12000
"""The numbers of the first table, and of the first of the catalogue's own."""
_COLUMNS = Path(__file__).parents[1] / "catalogue.txt"
"""The tables of PostgreSQL 15's catalogue: a line for each, with the names of its columns.

A name ends in `#` if its values are whole numbers, in `.` for other numbers, in `?` for truths.
After `=` is the value of rows of which nothing else is said: `relkind=r`.
"""
_KINDS = {"#": Kind.INTEGER, ".": Kind.NUMBER, "?": Kind.BOOLEAN}
_DEFAULTS: Mapping[Kind, Any] = {Kind.INTEGER: 0, Kind.NUMBER: 0.0, Kind.BOOLEAN: False}
"""The values of columns whose line says none; texts are NULL."""


@cache
def _columns() -> Mapping[str, tuple[Columns, Row]]:
    """The columns of each table of the catalogue, and the usual value of each."""
    tables = {}
    for line in _COLUMNS.read_text(encoding="utf-8").splitlines():
        table, *written = line.split()
        columns, usual = list[tuple[str, Kind]](), list[Any]()
        for each in written:
            name, is_said, value = each.partition("=")
            kind = _KINDS.get(name[-1], Kind.TEXT)
            columns.append((name.rstrip("#.?"), kind))
            usual.append(read_as(value, kind) if is_said else _DEFAULTS.get(kind))
        tables[table] = tuple(columns), tuple(usual)
    return tables


class Tables:
    """The catalogue of a policy's tables in a database; it is the same for all of its users."""

    def __init__(self, tables: Sequence[Table], database: str):
        numbered = list(zip(count(_FIRST), tables, strict=False))
        self.tables, self.database = tuple(tables), database
        self.names = frozenset(table.name.lower() for table in tables)
        own = zip(_columns(), count(_FIRST_OWN), strict=False)
        self.relations = {name: number for name, number in own if name.startswith("pg_")} | {
            table.name.lower(): number for number, table in numbered
        }
        self.types = {n: number for number, told in TYPES.items() for n in told[:2]} | {"int": 23}
        self.type_names = {number: told[1] for number, told in TYPES.items()}
        self.schemas = {name: number for number, name in _SCHEMAS.items()}
        made = _shared(numbered, database)
        self._listings = {name: _listing(name, made.get(name, ())) for name in _columns()}

    def told_to(self, user: str, settings: Mapping[str, str]) -> Names:
        """The names that functions tell one user."""
        version = f"PostgreSQL {RELEASE} (dpdb)"
        return Names(
            self.database, user, version, self.relations, self.types, self.type_names,
            self.schemas, settings,
        )  # fmt: skip

    def listings(self, names: Names) -> Mapping[str, Listing]:
        """The tables of the catalogue by name, as one user sees them."""
        own = _of_user(names.user, self.database, self.tables)
        own["pg_settings"] = [
            {"name": name, "setting": value} for name, value in names.settings.items()
        ]
        return self._listings | {name: _listing(name, rows) for name, rows in own.items()}


def _listing(name: str, rows: Sequence[Mapping[str, Any]]) -> Listing:
    """A table of the catalogue with these rows."""
    columns, usual = _columns()[name]
    told = tuple(
        tuple(row.get(column, value) for (column, _), value in zip(columns, usual, strict=True))
        for row in rows
    )
    return Listing(columns, told)


def _shared(tables: Sequence[tuple[int, Table]], database: str) -> dict[str, list[dict[str, Any]]]:
    """The rows that are the same for all users."""
    placed = [
        (number, table, place, column, described(column.name, column.kind))
        for number, table in tables
        for place, column in enumerate(table.columns, 1)
    ]
    return {
        "pg_namespace": [{"oid": number, "nspname": name} for number, name in _SCHEMAS.items()],
        "pg_class": [
            {"oid": number, "relname": table.name, "relnatts": len(table.columns)}
            for number, table in tables
        ],
        "pg_attribute": [
            {
                "attrelid": number, "attname": column.name, "attnum": place,
                "atttypid": told.oid, "attlen": told.size, "attnotnull": not column.nullable,
            }
            for number, _, place, column, told in placed
        ],
        "pg_type": [
            {
                "oid": number, "typname": name, "typlen": size, "typinput": f"{name}in",
                "typoutput": f"{name}out", "typreceive": f"{name}recv",
                "typarray": next((array for array, of in ARRAYS.items() if of == number), 0),
            }
            for number, (name, _, size) in TYPES.items()
        ]
        + [
            {
                "oid": number, "typname": f"_{TYPES[of][0]}", "typlen": -1, "typelem": of,
                "typcategory": "A", "typinput": "array_in", "typoutput": "array_out",
                "typreceive": "array_recv",
            }
            for number, of in ARRAYS.items()
            if of in TYPES
        ],
        "pg_am": [{"oid": 2, "amname": "heap", "amtype": "t"}],
        "pg_database": [{"datname": database}],
        "tables": [
            {"table_catalog": database, "table_name": table.name, "table_type": "BASE TABLE"}
            for _, table in tables
        ],
        "columns": [
            {
                "table_catalog": database, "table_name": table.name, "column_name": column.name,
                "ordinal_position": place, "is_nullable": "YES" if column.nullable else "NO",
                "udt_name": TYPES[told.oid][0], "data_type": TYPES[told.oid][1],
            }
            for _, table, place, column, told in placed
        ],
    }  # fmt: skip


def _of_user(user: str, database: str, tables: Iterable[Table]) -> dict[str, list[dict[str, Any]]]:
    """The rows in which the user is named, who is told to own all there is."""
    return {
        "pg_roles": [{"rolname": user}],
        "pg_authid": [{"rolname": user}],
        "pg_user": [{"usename": user}],
        "schemata": [
            {"catalog_name": database, "schema_name": name, "schema_owner": user}
            for name in _SCHEMAS.values()
        ],
        "pg_tables": [{"tablename": table.name, "tableowner": user} for table in tables],
    }
