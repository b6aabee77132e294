"""The tables of the catalogue, made of a policy's tables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any

from dpdb.policy.catalog import Column, Kind, Table
from dpdb.server.postgres.catalogue.functions import Names
from dpdb.server.postgres.catalogue.parts import Columns, Listing
from dpdb.server.postgres.protocol import RELEASE
from dpdb.server.postgres.values import described

_SCHEMAS = {11: "pg_catalog", 2200: "public", 13000: "information_schema"}
_FIRST, _FIRST_OWN, OWNER = 16384, 12000, 10
"""The numbers of the first table, of the first of the catalogue's own, and of the owner."""
_TYPES = {
    16: ("bool", "boolean", 1), 20: ("int8", "bigint", 8), 21: ("int2", "smallint", 2),
    23: ("int4", "integer", 4), 25: ("text", "text", -1), 26: ("oid", "oid", 4),
    19: ("name", "name", 64), 700: ("float4", "real", 4), 701: ("float8", "double precision", 8),
    1043: ("varchar", "character varying", -1), 1082: ("date", "date", 4),
    1114: ("timestamp", "timestamp without time zone", 8), 1700: ("numeric", "numeric", -1),
}  # fmt: skip
"""The types: the name, the name in SQL, and the bytes of a value."""
_COLUMNS = Path(__file__).parents[1] / "catalogue.txt"
"""The tables of PostgreSQL 15's catalogue: a line for each, with the names of its columns.

A name ends in `#` if its values are whole numbers, in `.` for other numbers, in `?` for truths.
"""
_KINDS = {"#": Kind.INTEGER, ".": Kind.NUMBER, "?": Kind.BOOLEAN}
_DEFAULTS: Mapping[Kind, Any] = {Kind.INTEGER: 0, Kind.NUMBER: 0.0, Kind.BOOLEAN: False}
"""The values of columns of which nothing is said; texts are NULL."""


@cache
def _columns() -> Mapping[str, Columns]:
    """The columns of each table of the catalogue."""
    lines = map(str.split, _COLUMNS.read_text(encoding="utf-8").splitlines())
    return {
        table: tuple((name.rstrip("#.?"), _KINDS.get(name[-1], Kind.TEXT)) for name in names)
        for table, *names in lines
    }


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
        self.types = {n: number for number, told in _TYPES.items() for n in told[:2]} | {"int": 23}
        self.type_names = {number: told[1] for number, told in _TYPES.items()}
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
        own = _of_user(names.user, self.database, self.names)
        own["pg_settings"] = [
            {"name": name, "setting": value, "context": "user", "vartype": "string"}
            for name, value in names.settings.items()
        ]
        return self._listings | {name: _listing(name, rows) for name, rows in own.items()}


def _listing(name: str, rows: Sequence[Mapping[str, Any]]) -> Listing:
    """A table of the catalogue with these rows."""
    columns = _columns()[name]
    told = tuple(
        tuple(row.get(column, _DEFAULTS.get(kind)) for column, kind in columns) for row in rows
    )
    return Listing(columns, told)


def _shared(tables: Sequence[tuple[int, Table]], database: str) -> dict[str, list[dict[str, Any]]]:
    """The rows that are the same for all users."""
    named = {"table_catalog": database, "table_schema": "public"}
    placed = [
        (number, table, place, column)
        for number, table in tables
        for place, column in enumerate(table.columns, 1)
    ]
    return {
        "pg_namespace": [
            {"oid": number, "nspname": name, "nspowner": OWNER, "nspacl": None}
            for number, name in _SCHEMAS.items()
        ],
        "pg_class": [_relation(number, table) for number, table in tables],
        "pg_attribute": [_attribute(number, place, column) for number, _, place, column in placed],
        "pg_type": [_type(number, *told) for number, told in _TYPES.items()],
        "pg_am": [{"oid": 2, "amname": "heap", "amtype": "t"}],
        "pg_database": [_database(database)],
        "tables": [
            {**named, "table_name": t.name, "table_type": "BASE TABLE", "is_insertable_into": "NO"}
            for _, t in tables
        ],
        "columns": [
            {**named, "table_name": table.name, **_column(place, column)}
            for _, table, place, column in placed
        ],
    }


def _of_user(user: str, database: str, tables: Iterable[str]) -> dict[str, list[dict[str, Any]]]:
    """The rows in which the user is named, who is told to own all there is."""
    role = {
        "oid": OWNER,
        "rolname": user,
        "rolconnlimit": -1,
        **dict.fromkeys(("rolinherit", "rolcanlogin"), True),
    }
    return {
        "pg_roles": [role],
        "pg_authid": [role],
        "pg_user": [{"usename": user, "usesysid": OWNER}],
        "schemata": [
            {"catalog_name": database, "schema_name": name, "schema_owner": user}
            for name in _SCHEMAS.values()
        ],
        "pg_tables": [
            {"schemaname": "public", "tablename": table, "tableowner": user} for table in tables
        ],
    }


def _type(number: int, name: str, _: str, size: int) -> dict[str, Any]:
    return {
        "oid": number,
        "typname": name,
        "typnamespace": 11,
        "typowner": OWNER,
        "typlen": size,
        "typtype": "b",
        "typcategory": "S",
        "typtypmod": -1,
        "typdelim": ",",
        "typisdefined": True,
        "typinput": f"{name}in",
        "typoutput": f"{name}out",
        "typreceive": f"{name}recv",
    }


def _database(name: str) -> dict[str, Any]:
    return {
        "oid": 1,
        "datname": name,
        "datdba": OWNER,
        "encoding": 6,
        "datcollate": "C",
        "datctype": "C",
        "datlocprovider": "c",
        "datallowconn": True,
        "datconnlimit": -1,
    }


def _relation(number: int, table: Table) -> dict[str, Any]:
    return {
        "oid": number,
        "relname": table.name,
        "relnamespace": 2200,
        "relowner": OWNER,
        "relam": 2,
        "relkind": "r",
        "relpersistence": "p",
        "relreplident": "d",
        "relnatts": len(table.columns),
        "reltuples": -1.0,
        "relispopulated": True,
    }


def _attribute(relation: int, place: int, column: Column) -> dict[str, Any]:
    told = described(column.name, column.kind)
    return {
        "attrelid": relation,
        "attname": column.name,
        "atttypid": told.oid,
        "attnum": place,
        "attlen": told.size,
        "atttypmod": -1,
        "attnotnull": not column.nullable,
        **dict.fromkeys(("attidentity", "attgenerated", "attcompression"), ""),
        "attstorage": "p",
        "attstattarget": -1,
        "attislocal": True,
        "attalign": "i",
        "attcacheoff": -1,
    }


def _column(place: int, column: Column) -> dict[str, Any]:
    name, shown, _ = _TYPES[described("", column.kind).oid]
    return {
        "column_name": column.name, "ordinal_position": place, "data_type": shown,
        "is_nullable": "YES" if column.nullable else "NO", "udt_name": name,
        "udt_schema": "pg_catalog", "is_identity": "NO", "is_generated": "NEVER",
        **dict.fromkeys(
            ("character_maximum_length", "character_octet_length", "numeric_precision",
             "numeric_precision_radix", "numeric_scale", "datetime_precision",
             "maximum_cardinality")
        ),
    }  # fmt: skip
