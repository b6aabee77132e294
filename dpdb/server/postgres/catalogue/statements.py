"""Statements about the catalogue, or for no rows of a table: free, as the policy answers them.

A statement whose tables are all in pg_catalog or information_schema is answered here. No row of a
table of data is near: a statement that names both is refused.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from sqlglot import exp

from dpdb.answers.record import Cell
from dpdb.policy.catalog import Kind, Table
from dpdb.records import dataclass
from dpdb.server.postgres.catalogue.functions import OWN, Names, name_of
from dpdb.server.postgres.catalogue.parts import Columns, Query, read_as, refused, shown
from dpdb.server.postgres.catalogue.queries import Queries
from dpdb.server.postgres.catalogue.relations import is_named
from dpdb.server.postgres.catalogue.tables import Tables
from dpdb.server.postgres.protocol import Refusal
from dpdb.server.postgres.statements import ParameterKind, tree_of

_HINTS = re.compile(
    r"pg_|information_schema|current_|session_user|version\s*\(|set_config|\buser\b|to_reg|regclass|regtype",
    re.I,
)
"""The words of which a statement about the catalogue has one."""
_NOTHING = re.compile(r"\b(0|false)\b", re.I)
"""The words of which a statement for no rows has one."""
_LABEL = re.compile(r"\bAS (select|table)\b", re.I)
"""A label that PostgreSQL allows, and sqlglot does not."""


def is_public(text: str) -> bool:
    """Whether a statement may be about the catalogue, or for no rows; a quick look."""
    return bool(_HINTS.search(text) or _NOTHING.search(text))


@dataclass(frozen=True)
class Answerable:
    """A statement that the policy answers, with its columns."""

    query: Query

    @property
    def columns(self) -> Columns:
        """The columns of its result."""
        return self.query.columns

    def rows(self) -> list[tuple[Cell, ...]]:
        """The rows of its result; raises Refusal."""
        try:
            rows = self.query.rows(())
        except (TypeError, ValueError, AttributeError, LookupError, RecursionError):
            raise refused("of an unusual form") from None
        kinds = [kind for _, kind in self.columns]
        return [tuple(map(_cell, row, kinds)) for row in rows]


def bound(
    text: str,
    kinds: Sequence[ParameterKind],
    values: Sequence[Any] | None,
    tables: Tables,
    names: Names,
) -> Answerable | None:
    """The statement, if it is about the catalogue; None for others.

    `kinds` and `values` are of its parameters; without values its columns can be told. Raises
    Refusal for what is not understood.
    """
    tree = tree_of(text) if is_public(text) else None
    if tree is None and _HINTS.search(text):
        tree = tree_of(_LABEL.sub(r'AS "\1"', text))
    if isinstance(tree, exp.Select) and (_is_limited(tree) or _is_false(tree)):
        columns = _columns(tree, tables.tables)
        if columns is not None:
            return Answerable(Query(columns, lambda _: []))
    if not isinstance(tree, exp.Select | exp.SetOperation) or not _HINTS.search(text):
        return None
    shared = {each.alias.lower() for each in tree.find_all(exp.CTE)}
    known = [
        _is_own(each, tables)
        for each in tree.find_all(exp.Table)
        if is_named(each) and (each.db or each.name.lower() not in shared)
    ]
    if any(known) and not all(known):
        raise Refusal("0A000", "the catalogue and tables of data are not asked together")
    asks = any(
        name_of(each) in OWN or isinstance(each, exp.ObjectIdentifier) for each in tree.walk()
    )
    if not (all(known) if known else asks):
        return None
    try:
        return Answerable(Queries(tables.listings(names), names, kinds, values or ()).whole(tree))
    except (TypeError, ValueError, AttributeError, LookupError, RecursionError):
        raise refused("of an unusual form") from None


def _is_own(table: exp.Table, tables: Tables) -> bool:
    """Whether a table is one of the catalogue."""
    schema, name = table.db.lower(), table.name.lower()
    if not schema:
        return name.startswith("pg_") and name not in tables.names
    return schema in ("pg_catalog", "information_schema")


def _cell(value: Any, kind: Kind) -> Cell:  # noqa: ANN401
    """A value as a cell of its column's kind."""
    told: Cell = read_as(shown(value) if isinstance(value, tuple) else value, kind)
    return told


def wants_nothing(text: str) -> bool:
    """Whether a SELECT has no rows by its text, so that its columns are all there is to tell.

    Drivers ask so for columns: `SELECT * FROM t LIMIT 0`, `SELECT * FROM t WHERE 1 = 0`.
    """
    tree = tree_of(text) if _NOTHING.search(text) else None
    if not isinstance(tree, exp.Select):
        return False
    folds = tree.args.get("group") or any(each.find(exp.AggFunc) for each in tree.expressions)
    return _is_limited(tree) or (_is_false(tree) and not folds)


def _is_limited(tree: exp.Select) -> bool:
    """Whether a SELECT ends in LIMIT 0."""
    limit = tree.args.get("limit")
    return isinstance(limit, exp.Limit) and limit.expression.sql() == "0"


def _is_false(tree: exp.Select) -> bool:
    """Whether WHERE is false by its text."""
    where = tree.args.get("where")
    condition = where.this.unnest() if where else None
    if isinstance(condition, exp.EQ):
        return {condition.left.sql(), condition.right.sql()} == {"0", "1"}
    return isinstance(condition, exp.Boolean) and not condition.this


def _columns(tree: exp.Select, tables: Sequence[Table]) -> Columns | None:
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
