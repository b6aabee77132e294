"""PostgreSQL's catalogue, made of the policy alone: what clients ask before they ask for data.

A statement whose tables are all in pg_catalog or information_schema is answered here. It is free,
and no row of a table of data is near: a statement that names both is refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import count
from typing import Any

from sqlglot import exp

from dpdb.policy.catalog import Column, Kind, Table
from dpdb.server.postgres.control import VERSION
from dpdb.server.postgres.evaluator import Evaluator, Listing, Names
from dpdb.server.postgres.results import Refusal, Result
from dpdb.server.postgres.statements import tree_of
from dpdb.server.postgres.values import described

_HINTS = re.compile(
    r"pg_|information_schema|current_|session_user|version\s*\(|set_config|\buser\b|to_reg|regclass|regtype",
    re.I,
)
"""What a statement about the catalogue has in it."""
_NOTHING = re.compile(r"\b(0|false)\b", re.I)
"""What a statement for no rows has in it."""
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
_EMPTY = frozenset(
    [
        "pg_constraint",
        "pg_index",
        "pg_policy",
        "pg_publication",
        "pg_publication_rel",
        "pg_publication_namespace",
        "pg_publication_tables",
        "pg_inherits",
        "pg_description",
        "pg_shdescription",
        "pg_attrdef",
        "pg_collation",
        "pg_statistic_ext",
        "pg_statistic_ext_data",
        "pg_opclass",
        "pg_trigger",
        "pg_proc",
        "pg_enum",
        "pg_range",
        "pg_extension",
        "pg_views",
        "pg_matviews",
        "pg_rewrite",
        "pg_foreign_table",
        "pg_foreign_server",
        "pg_depend",
        "pg_sequence",
        "pg_sequences",
        "pg_tablespace",
        "pg_locks",
        "pg_auth_members",
        "pg_db_role_setting",
        "pg_partitioned_table",
        "pg_event_trigger",
        "pg_language",
        "pg_operator",
        "pg_aggregate",
        "pg_cast",
        "pg_stat_activity",
        "pg_stat_user_tables",
        "pg_statio_user_tables",
        "pg_indexes",
        "pg_rules",
        "pg_seclabel",
        "pg_subscription",
        "pg_foreign_data_wrapper",
        "pg_user_mapping",
        "pg_conversion",
        "pg_amop",
        "pg_amproc",
        "pg_default_acl",
        "pg_largeobject_metadata",
        "pg_init_privs",
        "pg_timezone_names",
        "pg_stats",
        "views",
        "key_column_usage",
        "table_constraints",
        "referential_constraints",
        "constraint_column_usage",
        "routines",
        "parameters",
        "triggers",
        "sequences",
        "check_constraints",
        "column_privileges",
        "domains",
        "table_privileges",
        "view_table_usage",
        "element_types",
        "role_table_grants",
    ]
)
"""The tables of the catalogue that hold nothing."""


def is_public(text: str) -> bool:
    """Whether a statement may be about the catalogue, or for no rows; a quick look."""
    return bool(_HINTS.search(text) or _NOTHING.search(text))


class Catalogue:
    """The catalogue of a policy's tables, as one user of one database sees it."""

    def __init__(self, tables: Sequence[Table], database: str, user: str):
        self._listings = _listings(tables, database, user)
        self._data = {table.name.lower() for table in tables}
        relations = {table.name.lower(): _FIRST + n for n, table in enumerate(tables)}
        types = {n: number for number, names in _TYPES.items() for n in names[:2]}
        self._names = Names(
            database, user, f"PostgreSQL {VERSION} (dpdb)", relations, types | {"int": 23},
            {number: shown for number, (_, shown, _) in _TYPES.items()},
        )  # fmt: skip

    def result(self, text: str, values: Sequence[Any], settings: dict[str, str]) -> Result | None:
        """The answer to a statement; None where it is not about the catalogue.

        Raises Refusal for what is not understood.
        """
        tree = tree_of(text) if _HINTS.search(text) else None
        if not isinstance(tree, exp.Select | exp.SetOperation):
            return None
        shared = {each.alias.lower() for each in tree.find_all(exp.CTE)}
        known = [
            self._is_own(each)
            for each in tree.find_all(exp.Table)
            if each.db or each.name.lower() not in shared
        ]
        evaluator = Evaluator(self._listings, self._names, values, settings)
        if not known and not evaluator.knows(tree):
            return None
        if any(known) and not all(known):
            raise Refusal("0A000", "the catalogue and tables of data are not asked together")
        if known and not any(known):
            return None
        columns, rows = evaluator.answer(tree)
        return Result(f"SELECT {len(rows)}", columns, rows)

    def _is_own(self, table: exp.Table) -> bool:
        """Whether a table is one of the catalogue."""
        schema, name = table.db.lower(), table.name.lower()
        if not schema:
            return name.startswith("pg_") and name not in self._data
        return schema in ("pg_catalog", "information_schema")


def _listings(tables: Sequence[Table], database: str, user: str) -> dict[str, Listing]:
    """The tables of the catalogue by name."""
    numbered = list(zip(count(_FIRST), tables, strict=False))
    listings = {name: Listing((), ()) for name in _EMPTY}
    for name, rows in _rows(numbered, database, user):
        listings[name] = Listing(
            tuple((key, _kind(value)) for key, value in rows[0].items()) if rows else (),
            tuple(rows),
        )
    return listings


def _kind(value: object) -> Kind:
    kinds = {bool: Kind.BOOLEAN, int: Kind.INTEGER, float: Kind.NUMBER}
    return kinds.get(type(value), Kind.TEXT)


def _rows(
    tables: Sequence[tuple[int, Table]], database: str, user: str
) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    yield (
        "pg_namespace",
        [
            {"oid": number, "nspname": name, "nspowner": OWNER, "nspacl": None}
            for number, name in _SCHEMAS.items()
        ],
    )
    yield "pg_class", [_relation(number, table) for number, table in tables]
    yield (
        "pg_attribute",
        [
            _attribute(number, place, column)
            for number, table in tables
            for place, column in enumerate(table.columns, 1)
        ],
    )
    yield (
        "pg_type",
        [
            {
                "oid": number,
                "typname": name,
                "typnamespace": 11,
                "typowner": OWNER,
                "typlen": size,
                "typtype": "b",
                "typcategory": "S",
                "typelem": 0,
                "typarray": 0,
                "typrelid": 0,
                "typbasetype": 0,
                "typtypmod": -1,
                "typnotnull": False,
                "typcollation": 0,
                "typdelim": ",",
                "typdefault": None,
                "typisdefined": True,
                "typinput": f"{name}in",
                "typoutput": f"{name}out",
                "typreceive": f"{name}recv",
                "typndims": 0,
                "typispreferred": False,
            }
            for number, (name, _, size) in _TYPES.items()
        ],
    )
    yield "pg_am", [{"oid": 2, "amname": "heap", "amtype": "t"}]
    yield (
        "pg_database",
        [
            {
                "oid": 1,
                "datname": database,
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
        ],
    )
    role = {
        "oid": OWNER,
        "rolname": user,
        "rolsuper": False,
        "rolinherit": True,
        "rolcreaterole": False,
        "rolcreatedb": False,
        "rolcanlogin": True,
        "rolconnlimit": -1,
        "rolvaliduntil": None,
        "rolreplication": False,
        "rolbypassrls": False,
        "rolconfig": None,
    }
    yield "pg_roles", [role]
    yield "pg_authid", [role]
    yield "pg_user", [{"usename": user, "usesysid": OWNER, "usesuper": False}]
    named = {"table_catalog": database, "table_schema": "public"}
    yield (
        "tables",
        [
            {**named, "table_name": t.name, "table_type": "BASE TABLE", "is_insertable_into": "NO"}
            for _, t in tables
        ],
    )
    yield (
        "columns",
        [
            {**named, "table_name": table.name, **_column(place, column)}
            for _, table in tables
            for place, column in enumerate(table.columns, 1)
        ],
    )
    yield (
        "schemata",
        [
            {"catalog_name": database, "schema_name": name, "schema_owner": user}
            for name in _SCHEMAS.values()
        ],
    )
    yield (
        "pg_tables",
        [
            {
                "schemaname": "public",
                "tablename": table.name,
                "tableowner": user,
                "tablespace": None,
                "hasindexes": False,
                "hasrules": False,
                "hastriggers": False,
            }
            for _, table in tables
        ],
    )


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


def probed(text: str, tables: Sequence[Table]) -> tuple[tuple[str, Kind], ...] | None:
    """The columns of a statement for no rows of one table, as drivers ask for its columns.

    Such are `SELECT * FROM t LIMIT 0` and `SELECT * FROM t WHERE 1 = 0`; None for others.
    """
    tree = tree_of(text) if _NOTHING.search(text) else None
    return _columns(tree, tables) if isinstance(tree, exp.Select) and wants_nothing(tree) else None


def wants_nothing(tree: exp.Select) -> bool:
    """Whether a SELECT of single rows has none, by its text."""
    limit, where = tree.args.get("limit"), tree.args.get("where")
    if isinstance(limit, exp.Limit) and limit.expression.sql() == "0":
        return True
    condition = where.this.unnest() if where else None
    if isinstance(condition, exp.EQ):
        sides = {condition.left.sql(), condition.right.sql()}
        return sides == {"0", "1"}
    return isinstance(condition, exp.Boolean) and not condition.this


def _columns(tree: exp.Select, tables: Sequence[Table]) -> tuple[tuple[str, Kind], ...] | None:
    """The columns of a SELECT of columns of one table; None for others."""
    source = tree.args.get("from_")
    if source is None or tree.args.get("joins"):
        return None
    inside = source.this
    if isinstance(inside, exp.Subquery) and isinstance(inside.this, exp.Select):
        known = _columns(inside.this, tables)
    elif isinstance(inside, exp.Table) and inside.db.lower() in ("", "public"):
        found = [each for each in tables if each.name.lower() == inside.name.lower()]
        known = tuple((c.name, c.kind) for c in found[0].columns) if found else None
    else:
        known = None
    if known is None:
        return None
    kinds, columns = {name.lower(): kind for name, kind in known}, list[tuple[str, Kind]]()
    for each in tree.expressions:
        read = each.this if isinstance(each, exp.Alias) else each
        if each.is_star:
            columns += known
        elif isinstance(read, exp.Column) and read.name.lower() in kinds:
            columns.append((each.alias_or_name, kinds[read.name.lower()]))
        else:
            return None
    return tuple(columns)
