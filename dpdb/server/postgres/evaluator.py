"""SELECT over the tables of the catalogue, which are a policy's and so public.

The part of SQL that clients ask about the catalogue, row by row. What is not understood is refused
(0A000), and so is what takes too many steps.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from sqlglot import exp

from dpdb.answers.record import Cell
from dpdb.policy.catalog import Kind
from dpdb.records import dataclass
from dpdb.server.postgres.results import Refusal

MOST_STEPS = 300_000
"""The most expressions and rows that a statement takes."""
_LONGEST_PATTERN = 1000
Row = Mapping[str, Any]
Scope = dict[str, Row]
"""The rows that an expression sees, by the names of their tables."""
_Made = tuple[tuple[Any, ...], dict[str, Any], Scope]
"""A row of a result, by the labels of its columns, and the rows that it is made of."""


@dataclass(frozen=True)
class Listing:
    """A table of the catalogue; one without columns is empty, and has each column."""

    columns: tuple[tuple[str, Kind], ...]
    rows: tuple[Row, ...]


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
    shown: Mapping[int, str]
    """The names of types in SQL."""


def _refused(node: exp.Expr | str) -> Refusal:
    what = node if isinstance(node, str) else f"{node.key} here: {node.sql('postgres')[:80]}"
    return Refusal("0A000", f"this part of the catalogue is not answered ({what})")


_CONSTANTS: dict[type[exp.Expr], str] = {
    exp.CurrentSchema: "current_schema",
    exp.CurrentUser: "current_user",
    exp.SessionUser: "session_user",
    exp.CurrentCatalog: "current_catalog",
    exp.CurrentDatabase: "current_database",
    exp.CurrentVersion: "version",
}
"""Functions that sqlglot knows, by their names."""
_COMPARE: dict[type[exp.Expr], Callable[[Any, Any], Any]] = {
    exp.EQ: operator.eq,
    exp.NEQ: operator.ne,
    exp.GT: operator.gt,
    exp.GTE: operator.ge,
    exp.LT: operator.lt,
    exp.LTE: operator.le,
}
_NUMBERS: dict[type[exp.Expr], Callable[[Any, Any], Any]] = {
    exp.Add: operator.add,
    exp.Sub: operator.sub,
    exp.Mul: operator.mul,
}
_TRUTHS = (
    *_COMPARE, exp.And, exp.Or, exp.Not, exp.Is, exp.In, exp.Like, exp.ILike, exp.RegexpLike,
    exp.RegexpILike, exp.Exists, exp.Between, exp.Boolean,
)  # fmt: skip
_NOTHING = frozenset(
    [
        "pg_get_expr",
        "pg_get_constraintdef",
        "pg_get_indexdef",
        "pg_get_viewdef",
        "pg_get_ruledef",
        "pg_get_triggerdef",
        "pg_get_partkeydef",
        "pg_get_statisticsobjdef_columns",
        "pg_get_serial_sequence",
        "obj_description",
        "col_description",
        "shobj_description",
        "pg_relation_size",
        "pg_total_relation_size",
        "pg_table_size",
        "pg_size_pretty",
        "pg_tablespace_location",
        "inet_server_addr",
        "inet_client_addr",
        "pg_postmaster_start_time",
        "pg_advisory_unlock_all",
        "pg_relation_filepath",
    ]
)
"""Functions that have no value here."""
_ALLOWED = frozenset(
    [
        "pg_table_is_visible",
        "pg_type_is_visible",
        "has_table_privilege",
        "has_schema_privilege",
        "has_database_privilege",
        "has_any_column_privilege",
        "has_column_privilege",
    ]
)
_TEXTS = frozenset(
    [
        "version",
        "current_schema",
        "current_database",
        "current_catalog",
        "current_user",
        "session_user",
        "user",
        "pg_get_userbyid",
        "format_type",
        "pg_encoding_to_char",
        "current_setting",
        "set_config",
        "array_to_string",
        "quote_ident",
    ]
)
_WHOLE = frozenset(
    ("to_regtype", "to_regclass", "to_regnamespace", "pg_backend_pid", "pg_my_temp_schema")
)
_FALSE = frozenset(("pg_is_in_recovery", "pg_is_other_temp_schema", "pg_relation_is_publishable"))
_KNOWN = _NOTHING | _ALLOWED | _TEXTS | _WHOLE | _FALSE


class Evaluator:
    """Answers one statement."""

    def __init__(
        self,
        listings: Mapping[str, Listing],
        names: Names,
        values: Sequence[Any],
        settings: Mapping[str, str],
    ):
        self._listings, self._names = listings, names
        self._values, self._settings = values, settings
        self._left = MOST_STEPS

    def knows(self, tree: exp.Expr) -> bool:
        """Whether a statement without tables asks for a function of the catalogue."""
        return any(
            _function(node) in _KNOWN or isinstance(node, exp.ObjectIdentifier)
            for node in tree.walk()
        )

    def answer(self, tree: exp.Expr) -> tuple[tuple[tuple[str, Kind], ...], list[tuple[Cell, ...]]]:
        """The columns and the rows; raises Refusal."""
        try:
            columns, rows = self._query(tree, {})
        except (TypeError, ValueError, AttributeError, LookupError, RecursionError):
            raise _refused("of an unusual form") from None
        return columns, [tuple(map(_cell, row)) for row in rows]

    def _step(self) -> None:
        self._left -= 1
        if self._left < 0:
            raise Refusal("54000", "the statement takes too many steps in the catalogue")

    def _query(
        self, tree: exp.Expr, outer: Scope
    ) -> tuple[tuple[tuple[str, Kind], ...], list[tuple[Any, ...]]]:
        match tree:
            case exp.Subquery():
                return self._query(tree.this, outer)
            case exp.Union():
                columns, rows = self._query(tree.left, outer)
                rows = [*rows, *self._query(tree.right, outer)[1]]
                if tree.args.get("distinct"):
                    rows = list(dict.fromkeys(rows))
                labels = [name for name, _ in columns]
                keyed: list[_Made] = [
                    (row, dict(zip(labels, row, strict=True)), {}) for row in rows
                ]
                return columns, self._ordered(tree, keyed)
            case exp.Select():
                return self._select(tree, outer)
        raise _refused(tree)

    def _select(
        self, tree: exp.Select, outer: Scope
    ) -> tuple[tuple[tuple[str, Kind], ...], list[tuple[Any, ...]]]:
        source = tree.args.get("from_")
        sources = [] if source is None else [source.this]
        sources += [join.this for join in tree.args.get("joins") or ()]
        known = {each.alias_or_name.lower(): self._listing(each, outer) for each in sources}
        items = list(self._items(tree, known))
        columns = tuple((_label(each), self._kind(each, known)) for each in items)
        counts = all(isinstance(each.unalias(), exp.Count) for each in items)
        led = known[sources[0].alias_or_name.lower()] if sources else None
        if led is not None and not led.rows and not (counts and not tree.args.get("group")):
            return columns, []
        if tree.args.get("with_") or tree.args.get("having") or tree.args.get("laterals"):
            raise _refused("WITH and HAVING")
        scopes = list(self._joined(tree, sources, known, outer))
        if counts and items and not tree.args.get("group"):
            return columns, [tuple(len(scopes) for _ in items)]
        if tree.args.get("group") and not scopes:
            return columns, []
        if tree.args.get("group") or any(each.find(exp.AggFunc) for each in items):
            raise _refused("GROUP BY and aggregates")
        made = []
        for scope in scopes:
            row = tuple(self._value(each.unalias(), scope) for each in items)
            made.append((row, dict(zip((_label(i) for i in items), row, strict=True)), scope))
        if tree.args.get("distinct"):
            made = list({row: (row, labels, scope) for row, labels, scope in made}.values())
        return columns, self._ordered(tree, made)

    def _items(self, tree: exp.Select, known: Mapping[str, Listing]) -> Iterator[exp.Expr]:
        """The expressions of the select list, with the columns in place of each star."""
        for each in tree.expressions:
            if not each.is_star or isinstance(each, exp.Count):
                yield each
                continue
            only = each.table.lower() if isinstance(each, exp.Column) else ""
            for name, listing in known.items():
                if only in ("", name):
                    for column, _ in listing.columns:
                        yield exp.column(column, name)

    def _listing(self, source: exp.Expr, outer: Scope) -> Listing:
        match source:
            case exp.Table() if isinstance(source.this, exp.Identifier):
                found = self._listings.get(source.name.lower())
                if found is None:
                    raise _refused(f"the table {source.name[:63]}")
                return found
            case exp.Subquery():
                columns, rows = self._query(source.this, outer)
                labels = [name for name, _ in columns]
                return Listing(columns, tuple(dict(zip(labels, row, strict=True)) for row in rows))
        raise _refused(source)

    def _joined(
        self,
        tree: exp.Select,
        sources: Sequence[exp.Expr],
        known: Mapping[str, Listing],
        outer: Scope,
    ) -> Iterator[Scope]:
        """The rows of the joined tables for which WHERE holds, each after the one before."""
        scopes = [outer]
        joins = [None, *(tree.args.get("joins") or ())][: len(sources)]
        for source, join in zip(sources, joins, strict=True):
            name = source.alias_or_name.lower()
            on = None if join is None else join.args.get("on")
            side = "" if join is None else join.side
            if join is not None and (join.args.get("using") or side not in ("", "LEFT")):
                raise _refused(join)
            after = list[Scope]()
            for scope in scopes:
                matched = False
                for row in known[name].rows:
                    self._step()
                    extended = {**scope, name: row}
                    if on is None or self._value(on, extended) is True:
                        matched = True
                        after.append(extended)
                if side == "LEFT" and not matched:
                    after.append({**scope, name: _Nulls()})
            scopes = after
        where = tree.args.get("where")
        for scope in scopes:
            if where is None or self._value(where.this, scope) is True:
                yield scope

    def _ordered(self, tree: exp.Expr, made: list[_Made]) -> list[tuple[Any, ...]]:
        order = tree.args.get("order")
        for each in reversed(order.expressions if order else []):
            key, labels = each.this, made[0][1] if made else {}
            if isinstance(key, exp.Literal):
                keys = [row[int(key.name) - 1] for row, _, _ in made]
            elif isinstance(key, exp.Column) and not key.table and key.name in labels:
                keys = [told[key.name] for _, told, _ in made]
            else:
                keys = [self._value(key, scope) for _, _, scope in made]
            ranked = sorted(
                zip(((k is None, k if k is not None else 0) for k in keys), made, strict=True),
                key=operator.itemgetter(0),
                reverse=bool(each.args.get("desc")),
            )
            made = [row for _, row in ranked]
        rows = [row for row, _, _ in made]
        limit, offset = tree.args.get("limit"), tree.args.get("offset")
        start = int(self._value(offset.expression, {})) if offset else 0
        most = self._value(limit.expression, {}) if limit else None
        return rows[start:] if most is None else rows[start : start + int(most)]

    def _value(self, node: exp.Expr, scope: Scope) -> Any:  # noqa: ANN401, PLR0912
        """The value of an expression; NULL is None."""
        self._step()
        kind = type(node)
        match node:
            case exp.Literal():
                return node.name if node.is_string else _number(node.name)
            case exp.Null():
                return None
            case exp.Boolean():
                return bool(node.this)
            case exp.Column():
                return self._column(node, scope)
            case exp.Parameter() | exp.Placeholder():
                return self._parameter(node)
            case exp.Paren() | exp.Collate() | exp.Alias():
                return self._value(node.this, scope)
            case exp.And() | exp.Or():
                return self._both(node, scope)
            case exp.Not():
                value = self._value(node.this, scope)
                return None if value is None else not value
            case exp.Is():
                left, right = self._value(node.this, scope), self._value(node.expression, scope)
                return left is right if right is None else left == right
            case exp.In():
                return self._within(node, scope)
            case exp.Exists():
                return bool(self._query(node.this, scope)[1])
            case exp.Subquery() | exp.Select():
                rows = self._query(node, scope)[1]
                return rows[0][0] if rows else None
            case exp.ByteString():
                return node.name.replace("\\n", "\n")
            case exp.Array(expressions=[exp.Select() as query]):
                return tuple(row[0] for row in self._query(query, scope)[1])
            case exp.Array():
                return tuple(self._value(each, scope) for each in node.expressions)
            case exp.Case():
                return self._case(node, scope)
            case exp.Coalesce():
                parts = (self._value(each, scope) for each in (node.this, *node.expressions))
                return next((part for part in parts if part is not None), None)
            case exp.Cast():
                return self._cast(node, scope)
            case exp.Between():
                value, low, high = (
                    self._value(node.args[key], scope) for key in ("this", "low", "high")
                )
                return None if None in (value, low, high) else bool(low <= value <= high)
            case exp.Dot() if isinstance(node.expression, exp.Func):
                return self._value(node.expression, scope)
            case exp.Escape():
                return self._matches(node.this, scope, node.expression.name)
            case exp.Operator() | exp.RegexpLike() | exp.RegexpILike() | exp.Like() | exp.ILike():
                return self._matches(node, scope)
            case exp.DPipe():
                texts = [self._value(each, scope) for each in (node.left, node.right)]
                return None if None in texts else "".join(map(str, texts))
            case exp.Lower() | exp.Upper():
                text = self._value(node.this, scope)
                return text and (text.lower() if kind is exp.Lower else text.upper())
        if kind in _COMPARE and isinstance(node, exp.Binary):
            return self._compared(node, scope)
        if kind in _NUMBERS and isinstance(node, exp.Binary):
            left, right = self._value(node.left, scope), self._value(node.right, scope)
            return None if None in (left, right) else _NUMBERS[kind](left, right)
        return self._called(node, scope)

    def _column(self, node: exp.Column, scope: Scope) -> Any:  # noqa: ANN401
        table, name = node.table.lower(), node.name.lower()
        if table:
            if table not in scope:
                raise Refusal("42P01", f"no table {table[:63]} in this statement")
            row = scope[table]
            if name not in row and table == name:
                return None
            return _cell_of(row, name)
        for row in reversed(scope.values()):
            if name in row and not isinstance(row, _Nulls):
                return row[name]
        if any(isinstance(row, _Nulls) for row in scope.values()):
            return None
        if name in ("user", "current_user", "session_user"):
            return self._names.user
        raise Refusal("42703", f"no column {name[:63]} in this part of the catalogue")

    def _parameter(self, node: exp.Expr) -> Any:  # noqa: ANN401
        place = int(node.name) - 1
        value = self._values[place] if place < len(self._values) else None
        return next(iter(value.values())) if isinstance(value, dict) else value

    def _both(self, node: exp.Expr, scope: Scope) -> bool | None:
        decisive = isinstance(node, exp.Or)
        told = [self._value(each, scope) for each in node.flatten()]
        if decisive in told:
            return decisive
        return None if None in told else not decisive

    def _compared(self, node: exp.Binary, scope: Scope) -> Any:  # noqa: ANN401
        left, right, compare = self._value(node.left, scope), node.right, _COMPARE[type(node)]
        if isinstance(right, exp.Any | exp.All):
            inside = right.this.unnest()
            if isinstance(inside, exp.Select):
                members = [row[0] for row in self._query(inside, scope)[1]]
            else:
                members = list(_listed(self._value(inside, scope)))
            told = [_compare(compare, left, each) for each in members]
            return (any if isinstance(right, exp.Any) else all)(told)
        return _compare(compare, left, self._value(right, scope))

    def _within(self, node: exp.In, scope: Scope) -> bool | None:
        value = self._value(node.this, scope)
        query = node.args.get("query")
        if query is not None:
            members = [row[0] for row in self._query(query, scope)[1]]
        else:
            members = [self._value(each, scope) for each in node.expressions]
        if value is None:
            return None
        return any(_compare(operator.eq, value, each) for each in members)

    def _case(self, node: exp.Case, scope: Scope) -> Any:  # noqa: ANN401
        chosen = None if node.this is None else self._value(node.this, scope)
        for each in node.args["ifs"]:
            told = self._value(each.this, scope)
            if (told is True) if node.this is None else _compare(operator.eq, chosen, told):
                return self._value(each.args["true"], scope)
        default = node.args.get("default")
        return None if default is None else self._value(default, scope)

    def _cast(self, node: exp.Cast, scope: Scope) -> Any:  # noqa: ANN401
        value, name = self._value(node.this, scope), node.to.sql("postgres").lower()
        inner = node.this.unnest()
        if isinstance(inner, exp.Cast) and name in ("text", "varchar") and isinstance(value, int):
            return self._told(inner.to.sql("postgres").lower(), value)
        if value is None:
            return None
        match name:
            case "regclass":
                return value if isinstance(value, int) else self._relation(value)
            case "regtype":
                return value if isinstance(value, int) else self._names.types.get(value.lower())
            case "text" | "varchar" | "name" | "char" | '"char"' | "regproc" | "regnamespace":
                return value if isinstance(value, tuple) else _text(value)
            case "int" | "bigint" | "smallint" | "oid" | "integer":
                return int(value)
            case "boolean":
                return value if isinstance(value, bool) else str(value).lower() in ("t", "true")
        return value

    def _told(self, kind: str, number: int) -> str:
        """The name of a table or a type by its number."""
        if kind == "regclass":
            return next((n for n, o in self._names.relations.items() if o == number), str(number))
        return self._names.shown.get(number, str(number)) if kind == "regtype" else str(number)

    def _relation(self, name: str) -> int | None:
        if name.isdecimal():
            return int(name)
        known = self._names.relations.get(name.rpartition(".")[2].strip('"').lower())
        if known is None:
            raise Refusal("42P01", f'relation "{name[:63]}" does not exist')
        return known

    def _matches(self, node: exp.Expr, scope: Scope, escape: str = "\\") -> bool | None:
        """Whether a text matches a pattern; by re2, whose time is bounded."""
        import re2  # noqa: PLC0415 (few ask for it)

        text, pattern = self._value(node.this, scope), self._value(node.expression, scope)
        if text is None or pattern is None:
            return None
        if len(pattern) > _LONGEST_PATTERN:
            raise Refusal("54000", "this pattern is too long")
        negative = bool(node.args.get("negate"))
        if isinstance(node, exp.Operator):
            sign = str(node.args.get("operator")).rpartition(".")[2].strip()
            if sign.strip("!*") != "~":
                raise _refused(node)
            negative, folds = sign.startswith("!"), sign.endswith("*")
        else:
            folds = isinstance(node, exp.ILike | exp.RegexpILike)
        if isinstance(node, exp.Like | exp.ILike):
            pattern = _like(pattern, escape, re2.escape)
        try:
            found = re2.search(("(?is)" if folds else "(?s)") + pattern, text)
        except re2.error:
            raise Refusal("2201B", "this pattern is not supported") from None
        return (found is None) if negative else found is not None

    def _called(self, node: exp.Expr, scope: Scope) -> Any:  # noqa: ANN401
        name = _function(node)
        parts = node.expressions if isinstance(node, exp.Anonymous) else ()
        given = [self._value(each, scope) for each in parts]
        if name in _ALLOWED | _FALSE:
            return name in _ALLOWED
        if name in _NOTHING:
            return None
        names = self._names
        told = {
            "version": names.version,
            "current_schema": "public",
            "current_database": names.database,
            "current_catalog": names.database,
            "pg_encoding_to_char": "UTF8",
            "pg_backend_pid": 0,
            "pg_my_temp_schema": 0,
        } | dict.fromkeys(("current_user", "session_user", "user", "pg_get_userbyid"), names.user)
        if name in told:
            return told[name]
        match name, given:
            case "format_type", [number, *_]:
                return None if number is None else names.shown.get(int(number), "???")
            case "to_regtype", [str(asked)]:
                return names.types.get(asked.lower())
            case "to_regclass", [str(asked)]:
                return names.relations.get(asked.rpartition(".")[2].strip('"').lower())
            case "to_regnamespace", [str(asked)]:
                return {"public": 2200, "pg_catalog": 11}.get(asked)
            case "current_setting", [str(asked), *_]:
                return self._settings.get(asked.lower())
            case ("set_config", [_, value, _]) | ("quote_ident", [value]):
                return value
            case "array_to_string", [value, str(between), *_]:
                return None if value is None else between.join(map(str, _listed(value)))
        raise _refused(node)

    def _kind(self, node: exp.Expr, known: Mapping[str, Listing]) -> Kind:
        """The type of an expression, from the text and the tables' columns."""
        node = node.unalias().unnest()
        name = _function(node)
        if isinstance(node, _TRUTHS) or name in _ALLOWED | _FALSE:
            return Kind.BOOLEAN
        if isinstance(node, exp.Count) or name in _WHOLE:
            return Kind.INTEGER
        match node:
            case exp.Literal() if not node.is_string:
                return Kind.INTEGER if node.is_int else Kind.NUMBER
            case exp.Dot():
                return self._kind(node.expression, known)
            case exp.Column():
                places = [known[t] for t in (node.table.lower(),) if t in known] or known.values()
                kinds = [dict(each.columns).get(node.name.lower()) for each in places]
                return next((kind for kind in kinds if kind is not None), Kind.TEXT)
            case exp.Cast():
                whole = node.to.sql("postgres").lower() in ("int", "bigint", "oid", "smallint")
                truth = node.to.sql("postgres").lower() == "boolean"
                return Kind.INTEGER if whole else Kind.BOOLEAN if truth else Kind.TEXT
            case exp.Case():
                return self._kind(node.args["ifs"][0].args["true"], known)
            case exp.Coalesce():
                return self._kind(node.this, known)
        return Kind.TEXT


class _Nulls(dict[str, Any]):
    """The row of a LEFT JOIN that has no match: each of its columns is NULL."""

    def __missing__(self, key: str) -> None:
        return None

    def __contains__(self, key: object) -> bool:
        return False


def _cell_of(row: Row, name: str) -> Any:  # noqa: ANN401
    if isinstance(row, _Nulls) or name in row:
        return row[name]
    if name in ("ctid", "tableoid"):
        return 0
    raise Refusal("42703", f"no column {name[:63]} in this part of the catalogue")


def _function(node: exp.Expr) -> str:
    """The name of a function, in lower case; empty for other expressions."""
    if isinstance(node, exp.Anonymous):
        return node.name.lower()
    return _CONSTANTS.get(type(node), "")


def _label(node: exp.Expr) -> str:
    """The name of a column of the result, as PostgreSQL gives it."""
    if isinstance(node, exp.Alias | exp.Column):
        return node.alias_or_name
    inner = node.unnest()
    match inner:
        case exp.Dot():
            return _label(inner.expression)
        case exp.Cast():
            named = _label(inner.this)
            return named if named != "?column?" else inner.to.sql("postgres").lower()
        case exp.Case():
            return "case"
        case exp.Select() | exp.Subquery():
            return _label(inner.selects[0]) if inner.selects else "?column?"
        case exp.Column():
            return inner.name
    return _function(inner) or (inner.key if isinstance(inner, exp.Func) else "?column?")


def _compare(compare: Callable[[Any, Any], Any], left: Any, right: Any) -> Any:  # noqa: ANN401
    """A comparison; a text beside a number is read as one, as of a constant."""
    if left is None or right is None:
        return None
    if isinstance(left, str) and isinstance(right, int) and not isinstance(right, bool):
        left = int(left)
    if isinstance(right, str) and isinstance(left, int) and not isinstance(left, bool):
        right = int(right)
    return compare(left, right)


def _like(pattern: str, escape: str, literal: Callable[[str], str]) -> str:
    """The regular expression of a pattern of LIKE."""
    parts, characters = ["^"], iter(pattern)
    for each in characters:
        if each == escape:
            parts.append(literal(next(characters, "")))
        else:
            parts.append({"%": ".*", "_": "."}.get(each) or literal(each))
    return "".join([*parts, "$"])


def _listed(value: Any) -> Sequence[Any]:  # noqa: ANN401
    """The members of an array, which can be written as `{a,b}`."""
    if isinstance(value, str):
        inside = value.strip("{}")
        return [each.strip('"') for each in inside.split(",")] if inside else []
    return value or ()


def _number(text: str) -> int | float:
    return int(text) if text.isdecimal() else float(text)


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _cell(value: Any) -> Cell:  # noqa: ANN401
    if isinstance(value, tuple):
        return "{" + ",".join(map(str, value)) + "}"
    known: Cell = value
    return known
