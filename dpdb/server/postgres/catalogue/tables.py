"""The tables of the catalogue, made of a policy's tables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import count
from typing import Any

from dpdb.policy.catalog import Column, Kind, Table
from dpdb.server.postgres.catalogue.functions import Names
from dpdb.server.postgres.catalogue.parts import Listing
from dpdb.server.postgres.protocol import RELEASE
from dpdb.server.postgres.values import described

_SCHEMAS = {11: "pg_catalog", 2200: "public", 13000: "information_schema"}
_FIRST, OWNER = 16384, 10
"""The number of the first table, and of its owner."""
_TYPES = {
    16: ("bool", "boolean", 1), 20: ("int8", "bigint", 8), 21: ("int2", "smallint", 2),
    23: ("int4", "integer", 4), 25: ("text", "text", -1), 26: ("oid", "oid", 4),
    19: ("name", "name", 64), 700: ("float4", "real", 4), 701: ("float8", "double precision", 8),
    1043: ("varchar", "character varying", -1), 1082: ("date", "date", 4),
    1114: ("timestamp", "timestamp without time zone", 8), 1700: ("numeric", "numeric", -1),
}  # fmt: skip
"""The types: the name, the name in SQL, and the bytes of a value."""
_EMPTY = frozenset((
    "pg_constraint", "pg_index", "pg_policy", "pg_publication", "pg_publication_rel",
    "pg_publication_namespace", "pg_publication_tables", "pg_inherits", "pg_description",
    "pg_shdescription", "pg_attrdef", "pg_collation", "pg_statistic_ext",
    "pg_statistic_ext_data", "pg_opclass", "pg_trigger", "pg_proc", "pg_enum", "pg_range",
    "pg_extension", "pg_views", "pg_matviews", "pg_rewrite", "pg_foreign_table",
    "pg_foreign_server", "pg_depend", "pg_sequence", "pg_sequences", "pg_tablespace", "pg_locks",
    "pg_auth_members", "pg_db_role_setting", "pg_partitioned_table", "pg_event_trigger",
    "pg_language", "pg_operator", "pg_aggregate", "pg_cast", "pg_stat_activity",
    "pg_stat_user_tables", "pg_statio_user_tables", "pg_indexes", "pg_rules", "pg_seclabel",
    "pg_subscription", "pg_foreign_data_wrapper", "pg_user_mapping", "pg_conversion", "pg_amop",
    "pg_amproc", "pg_default_acl", "pg_largeobject_metadata", "pg_init_privs",
    "pg_timezone_names", "pg_stats", "views", "key_column_usage", "table_constraints",
    "referential_constraints", "constraint_column_usage", "routines", "parameters", "triggers",
    "sequences", "check_constraints", "column_privileges", "domains", "table_privileges",
    "view_table_usage", "element_types", "role_table_grants",
))  # fmt: skip
"""The tables of the catalogue that hold nothing."""


class Tables:
    """The catalogue of a policy's tables in a database; it is the same for all of its users."""

    def __init__(self, tables: Sequence[Table], database: str):
        numbered = list(zip(count(_FIRST), tables, strict=False))
        self.tables, self.database = tuple(tables), database
        self.names = frozenset(table.name.lower() for table in tables)
        self.relations = {table.name.lower(): number for number, table in numbered}
        self.types = {n: number for number, told in _TYPES.items() for n in told[:2]} | {"int": 23}
        self.type_names = {number: told[1] for number, told in _TYPES.items()}
        self.schemas = {name: number for number, name in _SCHEMAS.items()}
        self._listings = {name: Listing((), ()) for name in _EMPTY} | {
            name: _listing(rows) for name, rows in _shared(numbered, database).items()
        }

    def told_to(self, user: str, settings: Mapping[str, str]) -> Names:
        """The names that functions tell one user."""
        version = f"PostgreSQL {RELEASE} (dpdb)"
        return Names(
            self.database, user, version, self.relations, self.types, self.type_names,
            self.schemas, settings,
        )  # fmt: skip

    def listings(self, user: str) -> Mapping[str, Listing]:
        """The tables of the catalogue by name, as one user sees them."""
        own = _of_user(user, self.database, self.names)
        return self._listings | {name: _listing(rows) for name, rows in own.items()}


def _listing(rows: Sequence[Mapping[str, Any]]) -> Listing:
    """A table with these rows; a column is of the kind of its first value."""
    kinds = {bool: Kind.BOOLEAN, int: Kind.INTEGER, float: Kind.NUMBER}
    columns = []
    for name in rows[0] if rows else ():
        first = next((row[name] for row in rows if row[name] is not None), None)
        columns.append((name, kinds.get(type(first), Kind.TEXT)))
    return Listing(tuple(columns), tuple(tuple(row.values()) for row in rows))


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
        **dict.fromkeys(
            ("rolsuper", "rolcreaterole", "rolcreatedb", "rolreplication", "rolbypassrls"), False
        ),
        **dict.fromkeys(("rolvaliduntil", "rolconfig")),
    }
    return {
        "pg_roles": [role],
        "pg_authid": [role],
        "pg_user": [{"usename": user, "usesysid": OWNER, "usesuper": False}],
        "schemata": [
            {"catalog_name": database, "schema_name": name, "schema_owner": user}
            for name in _SCHEMAS.values()
        ],
        "pg_tables": [
            {
                "schemaname": "public",
                "tablename": table,
                "tableowner": user,
                "tablespace": None,
                **dict.fromkeys(("hasindexes", "hasrules", "hastriggers"), False),
            }
            for table in tables
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
        **dict.fromkeys(
            ("typelem", "typarray", "typrelid", "typbasetype", "typcollation", "typndims"), 0
        ),
        "typtypmod": -1,
        "typnotnull": False,
        "typdelim": ",",
        "typdefault": None,
        "typisdefined": True,
        "typinput": f"{name}in",
        "typoutput": f"{name}out",
        "typreceive": f"{name}recv",
        "typispreferred": False,
    }


def _database(name: str) -> dict[str, Any]:
    return {
        "oid": 1,
        "datname": name,
        "datdba": OWNER,
        "encoding": 6,
        "datcollate": "C",
        "datctype": "C",
        "daticulocale": None,
        "datlocprovider": "c",
        "datacl": None,
        "datistemplate": False,
        "datallowconn": True,
        "datconnlimit": -1,
        "dattablespace": 0,
    }


def _relation(number: int, table: Table) -> dict[str, Any]:
    numbers = ("reltype", "reltablespace", "reloftype", "reltoastrelid", "relchecks", "relpages",
               "relfilenode", "relallvisible", "relrewrite")  # fmt: skip
    truths = ("relhasindex", "relhasrules", "relhastriggers", "relrowsecurity", "relisshared",
              "relforcerowsecurity", "relispartition", "relhassubclass", "relhasoids")  # fmt: skip
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
        **dict.fromkeys(numbers, 0),
        **dict.fromkeys(truths, False),
        **dict.fromkeys(("relacl", "reloptions", "relpartbound")),
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
        **dict.fromkeys(("atthasdef", "attisdropped", "atthasmissing", "attbyval"), False),
        **dict.fromkeys(("attidentity", "attgenerated", "attcompression"), ""),
        "attcollation": 0,
        "attstorage": "p",
        "attstattarget": -1,
        "attndims": 0,
        "attislocal": True,
        "attinhcount": 0,
        "attalign": "i",
        "attcacheoff": -1,
        **dict.fromkeys(("attacl", "attoptions", "attfdwoptions", "attmissingval")),
    }


def _column(place: int, column: Column) -> dict[str, Any]:
    name, shown, _ = _TYPES[described("", column.kind).oid]
    return {
        "column_name": column.name, "ordinal_position": place, "data_type": shown,
        "is_nullable": "YES" if column.nullable else "NO", "udt_name": name,
        "udt_schema": "pg_catalog", "is_identity": "NO", "is_generated": "NEVER",
        **dict.fromkeys(
            ("column_default", "character_maximum_length", "numeric_precision", "numeric_scale",
             "datetime_precision", "character_set_name", "collation_name", "domain_name",
             "generation_expression", "identity_generation")
        ),
    }  # fmt: skip
