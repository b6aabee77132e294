"""Views: the source of a SELECT, as expressions over the rows of one table of the policy.

A SELECT in FROM or WITH that works row by row is such a view. Whoever reads from it reads the
table, under the view's condition, with the view's expressions in the place of its columns.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Protocol

from sqlglot import exp

from dpdb.errors import Place, UnknownName, Unsupported
from dpdb.plan.expressions.expressions import (
    ColumnRef,
    Expr,
    InList,
    Like,
    Literal,
    Slot,
    children,
    size,
)
from dpdb.plan.expressions.functions import AGGREGATES
from dpdb.plan.logical.derived import Derived, first_table
from dpdb.plan.logical.query import Query
from dpdb.plan.relations.relations import JoinKind, Scan, Source
from dpdb.policy.catalog import Kind, Table
from dpdb.policy.names import suggestion
from dpdb.records import dataclass
from dpdb.sql.syntax.trees import Effort, only, place, substituted

_CHARACTERS = 100
"""The number of characters of a text that cost as much work as an expression."""


class SubqueryBinder(Protocol):
    """The binder of the SELECT around the expressions, which binds their subqueries."""

    text: str
    effort: Effort

    def subquery(self, node: exp.Subquery) -> Expr:
        """The slot for the value of a scalar subquery, or the value of one of public tables."""
        ...

    def correlated(self, node: exp.Subquery, scope: Scope) -> Expr | None:
        """The value of a scalar subquery for each row of `scope`; None if it is a constant."""
        ...

    def looked_up(self, node: exp.Exists | exp.In, operand: Expr | None, scope: Scope) -> Expr:
        """The column that says whether EXISTS, or IN with its operand, finds a row."""
        ...

    def index_of(self, query: Query, node: exp.Expr) -> int:
        """The number of a view's subquery among those of the SELECT, which reads it at `node`."""
        ...


ViewColumns = tuple[tuple[str, Expr], ...]
"""Names, possibly repeated or empty, with their expressions."""


def called(name: str, columns: ViewColumns) -> list[Expr]:
    """The different columns of that name, first exactly, then in any case."""
    folded = name.casefold()
    matches = [column for column in columns if column[0].casefold() == folded]
    exact = [column for column in matches if column[0] == name]
    return list(dict.fromkeys(expression for _, expression in exact or matches))


@dataclass(frozen=True)
class View:
    """The rows of a table or of joined tables for which `where` is true, and their columns."""

    table: Source
    columns: ViewColumns
    where: Expr | None = None
    subqueries: tuple[Query, ...] = ()
    """The scalar subqueries that `columns` and `where` refer to through slots."""
    derived: Derived | None = None
    """The derived table of a view over answers, or None; `table` is then one of its tables.
    """


def derived_view(derived: Derived) -> View:
    """The rows of a table that is derived from answers."""
    columns = tuple(
        (name, Slot("column", index, kind)) for index, (name, kind) in enumerate(derived.columns)
    )
    return View(first_table(derived), columns, derived=derived)


@lru_cache(maxsize=64)
def whole(table: Table) -> View:
    """All rows and columns of a table."""
    return View(table, tuple((column.name, ColumnRef(column)) for column in table.columns))


@dataclass(frozen=True)
class TableInJoin:
    """A table in the join of a SELECT."""

    scan: Scan
    alias: str
    """The table's name in the statement."""
    kind: JoinKind
    """The kind of the join with the parts before."""
    condition: Expr | None
    """The condition of the join, and that of the SELECT in FROM that it may be read by."""
    place: Place | None


@dataclass(frozen=True)
class Scope:
    """The view that a SELECT reads, and the names by which its columns are known."""

    view: View
    names: Mapping[str, ViewColumns]
    """The columns of each table, by the names that may qualify them."""
    binder: SubqueryBinder
    source: exp.Expr
    """The view's place in FROM."""
    parts: tuple[TableInJoin, ...] = ()
    """The tables that are to be joined; none where there is only one."""

    def condition(self, where: Expr | None) -> Expr | None:
        """The condition of a view as one of the SELECT."""
        if where is None:
            return None
        self.binder.effort.spend(size(where), self.source, self.binder.text)
        return self._taken(where, self.source)

    def has(self, name: str) -> bool:
        """Whether there is a column of that name."""
        return bool(called(name, self.view.columns))

    def column(self, node: exp.Column) -> Expr:
        """The column that is named; a double-quoted name that no column has is a string."""
        text = self.binder.text
        only(node, text, "this", "table")
        columns = self._columns(node)
        if not isinstance(node.this, exp.Identifier):
            raise Unsupported("* is only supported in COUNT(*)", place=place(node, text))
        match called(node.name, columns):
            case [expression]:
                return self._taken(expression, node)
            case [_, _, *_]:
                raise UnknownName(
                    f"{node.name} may be one of several columns of that name",
                    hint="AS gives each a name of its own",
                    place=place(node, text),
                )
        # Many people use double quotes for strings.
        quoted = node.this.args.get("quoted") and text[node.this.meta.get("start", 0)] == '"'
        if quoted and node.args.get("table") is None:
            return Literal(node.name, Kind.TEXT)
        known = [name for name, _ in columns if name]
        hint = suggestion(node.name, known, "columns") if known else "FROM t names its table"
        if (function := AGGREGATES.get(node.name.upper())) is not None:
            call = "COUNT(*)" if function.name == "COUNT" else function.signature()
            hint = f"{call} AS {node.name.lower()} gives a column of the answer this name"
        raise UnknownName(f"no column {node.name}", hint=hint, place=place(node, text))

    def all_columns(self, node: exp.Expr) -> Iterator[tuple[str, Expr]]:
        """The columns that `*` or `t.*` stands for."""
        columns = self._columns(node) if isinstance(node, exp.Column) else self.view.columns
        for name, expression in columns:
            self.binder.effort.spend(size(expression), node, self.binder.text)
            yield name, self._taken(expression, node)

    def _columns(self, node: exp.Column) -> ViewColumns:
        """The columns among which the column is: those of the table that qualifies its name."""
        qualifier = node.args.get("table")
        if qualifier is None:
            return self.view.columns
        columns = self.names.get(qualifier.name.casefold())
        if columns is None:
            where = place(node, self.binder.text)
            hint = suggestion(qualifier.name, list(self.names), "tables here")
            raise UnknownName(f"no table {qualifier.name} here", hint=hint, place=where)
        return columns

    def _taken(self, expression: Expr, node: exp.Expr) -> Expr:
        """An expression of the view as one of the SELECT, with the numbers of its subqueries."""
        if isinstance(expression, ColumnRef):
            return expression
        _spend_constants(expression, self.binder, node)
        if not self.view.subqueries:
            return expression

        def numbered(leaf: Slot | ColumnRef) -> Slot | ColumnRef:
            if isinstance(leaf, ColumnRef):
                return leaf
            query = self.view.subqueries[leaf.index]
            return replace(leaf, index=self.binder.index_of(query, node))

        return substituted(expression, numbered)


def _spend_constants(expression: Expr, binder: SubqueryBinder, node: exp.Expr) -> None:
    """Count the work of an expression's constants: texts, lists and patterns."""
    match expression:
        case Literal(value=str(value)):
            binder.effort.spend(len(value) // _CHARACTERS, node, binder.text)
        case InList(values=values):
            binder.effort.spend(len(values), node, binder.text)
        case Like(pattern=pattern):
            written = "".join("%" if part is None else part or "_" for part in pattern)
            binder.effort.spend_pattern(written, node, binder.text)
    binder.effort.spend_states(expression, node, binder.text)
    for child in children(expression):
        _spend_constants(child, binder, node)
