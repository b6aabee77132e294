"""The functions that clients call in statements about the catalogue."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from sqlglot import exp

from dpdb.policy.catalog import Kind
from dpdb.records import dataclass
from dpdb.server.postgres.catalogue.parts import Work, listed, shown


@dataclass(frozen=True)
class Names:
    """The names that functions of the catalogue tell."""

    database: str
    user: str
    version: str
    relations: Mapping[str, int]
    """The numbers of tables."""
    types: Mapping[str, int]
    """The numbers of types, by all their names."""
    type_names: Mapping[int, str]
    """The names of types in SQL."""
    schemas: Mapping[str, int]
    settings: Mapping[str, str]

    def relation(self, name: str) -> int | None:
        """The number of a table, whose name may have a schema and quotes."""
        return self.relations.get(name.rpartition(".")[2].strip('"').lower())

    def type(self, name: str) -> int | None:
        """The number of a type."""
        return self.types.get(name.lower().removeprefix("pg_catalog.").strip('"'))


@dataclass(frozen=True)
class Function:
    """A function: the kind of its values, and these; the first argument has the names or limits.

    Where `is_strict`, NULL among the arguments gives NULL.
    """

    kind: Kind
    call: Callable[..., Any]
    is_strict: bool = True


def _of_names(kind: Kind, call: Callable[..., Any]) -> Function:
    return Function(kind, lambda names, _, *given: call(names, *given))


def _text(call: Callable[..., str]) -> Function:
    """A function of texts whose value is checked for its length."""

    def checked(_: Names, work: Work, *given: Any) -> str:  # noqa: ANN401
        return work.joined([call(*given)])

    return Function(Kind.TEXT, checked)


def _plain(kind: Kind, call: Callable[..., Any]) -> Function:
    return Function(kind, lambda _, __, *given: call(*given))


def _constant(kind: Kind, value: object) -> Function:
    return Function(kind, lambda *_: value, is_strict=False)


def _replaced(_: Names, work: Work, text: str, old: str, new: str) -> str:
    found = text.count(old) if old else 0
    work.check_length(len(text) + found * (len(new) - len(old)))
    return text.replace(old, new) if found else text


def _repeated(_: Names, work: Work, text: str, times: int) -> str:
    work.check_length(len(text) * max(times, 0))
    return text * times


def _substring(text: str, start: int = 1, length: int | None = None) -> str:
    end = None if length is None else max(start + max(length, 0) - 1, 0)
    return text[max(start - 1, 0) : end]


def _right(text: str, number: int) -> str:
    return text[max(len(text) - number, 0) if number >= 0 else -number :]


def _part(text: str, between: str, place: int) -> str:
    parts = text.split(between) if between else [text]
    return parts[place - 1] if 0 < place <= len(parts) else ""


def _joined(
    _: Names,
    work: Work,
    members: Any,  # noqa: ANN401
    between: str,
    null: str | None = None,
) -> str:
    told = (null if each is None else shown(each) for each in listed(members))
    return work.joined((each for each in told if each is not None), between)


def _formatted(text: str, *given: object) -> str:
    told = iter(given)
    return re.sub("%[sI]", lambda _: shown(next(told, "")), text)


def _place(members: Any, wanted: object) -> int | None:  # noqa: ANN401
    found = listed(members)
    return found.index(wanted) + 1 if wanted in found else None


FUNCTIONS: Mapping[str, Function] = {
    **dict.fromkeys(
        ("pg_get_expr", "pg_get_constraintdef", "pg_get_indexdef", "pg_get_viewdef",
         "pg_get_ruledef", "pg_get_triggerdef", "pg_get_partkeydef", "pg_get_serial_sequence",
         "pg_get_statisticsobjdef_columns", "obj_description", "col_description", "pg_size_pretty",
         "shobj_description", "pg_tablespace_location", "inet_server_addr", "inet_client_addr",
         "pg_postmaster_start_time", "pg_advisory_unlock_all", "pg_relation_filepath"),
        _constant(Kind.TEXT, None),
    ),
    **dict.fromkeys(
        ("pg_relation_size", "pg_total_relation_size", "pg_table_size"),
        _constant(Kind.INTEGER, None),
    ),
    **dict.fromkeys(
        ("pg_table_is_visible", "pg_type_is_visible", "pg_function_is_visible",
         "pg_collation_is_visible", "has_table_privilege", "has_schema_privilege",
         "has_database_privilege", "has_any_column_privilege", "has_column_privilege"),
        _constant(Kind.BOOLEAN, True),
    ),
    **dict.fromkeys(
        ("pg_is_in_recovery", "pg_is_other_temp_schema", "pg_relation_is_publishable"),
        _constant(Kind.BOOLEAN, False),
    ),
    **dict.fromkeys(("pg_backend_pid", "pg_my_temp_schema"), _constant(Kind.INTEGER, 0)),
    **dict.fromkeys(
        ("current_user", "session_user", "user", "pg_get_userbyid"),
        _of_names(Kind.TEXT, lambda names, *_: names.user),
    ),
    **dict.fromkeys(
        ("current_database", "current_catalog"),
        _of_names(Kind.TEXT, lambda names: names.database),
    ),
    "version": _of_names(Kind.TEXT, lambda names: names.version),
    "current_schema": _constant(Kind.TEXT, "public"),
    "current_schemas": _plain(
        Kind.TEXT, lambda all_: ("pg_catalog", "public") if all_ else ("public",)
    ),
    "pg_encoding_to_char": _constant(Kind.TEXT, "UTF8"),
    "format_type": Function(
        Kind.TEXT,
        lambda names, _, kind, *__: None if kind is None else names.type_names.get(kind, "???"),
        is_strict=False,
    ),
    "to_regtype": _of_names(Kind.INTEGER, lambda names, name: names.type(name)),
    "to_regclass": _of_names(Kind.INTEGER, lambda names, name: names.relation(name)),
    "to_regnamespace": _of_names(Kind.INTEGER, lambda names, name: names.schemas.get(name)),
    "current_setting": _of_names(
        Kind.TEXT, lambda names, name, *_: names.settings.get(name.lower())
    ),
    "set_config": _text(lambda _, value, __: value),
    "quote_ident": _text(lambda name: name),
    "format": _text(_formatted),
    "parse_ident": _plain(Kind.TEXT, lambda name: tuple(name.lower().split("."))),
    "string_to_array": _plain(Kind.TEXT, lambda text, between: tuple(text.split(between or None))),
    "array_lower": _plain(Kind.INTEGER, lambda members, *_: 1 if listed(members) else None),
    "array_to_string": Function(Kind.TEXT, _joined),
    **dict.fromkeys(
        ("array_length", "array_upper"),
        _plain(Kind.INTEGER, lambda members, *_: len(listed(members)) or None),
    ),
    "cardinality": _plain(Kind.INTEGER, lambda members: len(listed(members))),
    "array_position": _plain(Kind.INTEGER, _place),
    "lower": _text(str.lower),
    "upper": _text(str.upper),
    "btrim": _text(str.strip),
    "substring": _text(_substring),
    "left": _text(lambda text, number: text[:number]),
    "right": _text(_right),
    "split_part": _text(_part),
    "replace": Function(Kind.TEXT, _replaced),
    "repeat": Function(Kind.TEXT, _repeated),
    "concat": Function(
        Kind.TEXT,
        lambda _, work, *given: work.joined(shown(each) for each in given if each is not None),
        is_strict=False,
    ),
    "length": _plain(Kind.INTEGER, len),
    "strpos": _plain(Kind.INTEGER, lambda text, part: text.find(part) + 1),
}  # fmt: skip
"""The functions by their names in lower case."""
_TEXT_FUNCTIONS = frozenset(
    ("lower", "upper", "btrim", "substring", "left", "right", "split_part", "replace", "repeat",
     "concat", "length", "strpos")
)  # fmt: skip
OWN = FUNCTIONS.keys() - _TEXT_FUNCTIONS
"""The functions by which a statement without tables is known to be about the catalogue."""
_SQLGLOT: Mapping[type[exp.Expr], str] = {
    exp.CurrentSchema: "current_schema",
    exp.CurrentSchemas: "current_schemas",
    exp.CurrentUser: "current_user",
    exp.SessionUser: "session_user",
    exp.CurrentCatalog: "current_catalog",
    exp.CurrentDatabase: "current_database",
    exp.CurrentVersion: "version",
    exp.ArrayToString: "array_to_string",
    exp.StringToArray: "string_to_array",
    exp.Format: "format",
    exp.ArraySize: "array_length",
    exp.ArrayPosition: "array_position",
    exp.StrPosition: "strpos",
    exp.SplitPart: "split_part",
    exp.Trim: "btrim",
    exp.Lower: "lower",
    exp.Upper: "upper",
    exp.Substring: "substring",
    exp.Left: "left",
    exp.Right: "right",
    exp.Replace: "replace",
    exp.Repeat: "repeat",
    exp.Concat: "concat",
    exp.Length: "length",
}
"""The names of functions that sqlglot knows."""


_AGGREGATES: Mapping[type[exp.Expr], str] = {
    exp.ArrayAgg: "array_agg",
    exp.GroupConcat: "string_agg",
    exp.RowNumber: "row_number",
    exp.LogicalOr: "bool_or",
    exp.LogicalAnd: "bool_and",
}
"""The names of aggregates and windows that sqlglot calls otherwise."""


def name_of(node: exp.Expr) -> str:
    """The name of a function, in lower case; empty for other expressions."""
    return node.name.lower() if isinstance(node, exp.Anonymous) else _SQLGLOT.get(type(node), "")


def arguments(node: exp.Expr) -> list[exp.Expr]:
    """The arguments of a function, in their order."""
    if isinstance(node, exp.Anonymous):
        return node.expressions
    found = list[exp.Expr]()
    for key in node.arg_types:
        given = node.args.get(key)
        found += (
            each
            for each in (given if isinstance(given, list) else [given])
            if isinstance(each, exp.Expr)
        )
    return found


def spelled(identifier: exp.Expr) -> str:
    """A name as PostgreSQL keeps it: in lower case, if it is not in quotes."""
    return identifier.name if identifier.args.get("quoted") else identifier.name.lower()


def label(node: exp.Expr) -> str:
    """The name of a column of the result, as PostgreSQL gives it."""
    if (name := _own_name(node)) is not None:
        return name
    inner = node.unnest()
    if isinstance(inner, exp.Cast):
        return inner.to.sql("postgres").lower().rpartition(".")[2]
    return "case" if isinstance(inner, exp.Case) else "?column?"


def _own_name(node: exp.Expr) -> str | None:
    """The name of an alias, a column or a function; None for other expressions."""
    if isinstance(node, exp.Alias):
        return spelled(node.args["alias"])
    inner = node.unnest()
    match inner:
        case exp.Column():
            return spelled(inner.this)
        case exp.Dot():
            return _own_name(inner.expression)
        case exp.Cast() | exp.Window() | exp.Filter() | exp.Bracket():
            return _own_name(inner.this)
        case exp.Case():
            default = inner.args.get("default")
            return None if default is None else _own_name(default)
        case exp.Select() | exp.Subquery():
            return label(inner.selects[0]) if inner.selects else None
        case exp.Binary() | exp.Unary():
            return None
    if isinstance(inner, exp.Func | exp.Array | exp.Exists):
        return name_of(inner) or _AGGREGATES.get(type(inner), inner.key)
    return None
