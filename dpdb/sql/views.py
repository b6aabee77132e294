"""Views: what a SELECT reads, as expressions over the rows of one table of the policy.

A SELECT in FROM or WITH that works row by row is such a view. Whoever reads from it reads the
table, under the view's condition, with the view's expressions in the place of its columns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Protocol

from sqlglot import exp

from dpdb.errors import UnknownName, Unsupported
from dpdb.plan.derived import Derived, released
from dpdb.plan.expressions import (
    ColumnRef,
    Expr,
    InList,
    Like,
    Literal,
    Slot,
    children,
    size,
)
from dpdb.plan.query import Query
from dpdb.policy.catalog import Kind, Table
from dpdb.policy.names import suggestion
from dpdb.sql.rewriting import with_operands
from dpdb.sql.trees import Effort, only, place

_CHARACTERS = 100
"""So many characters of a text are as much work as an expression."""


class SubqueryBinder(Protocol):
    """The binder of the SELECT around the expressions, which binds their subqueries."""

    text: str
    effort: Effort

    def subquery(self, node: exp.Subquery) -> Slot:
        """The slot for the value of a scalar subquery."""
        ...

    def index_of(self, query: Query, node: exp.Expr) -> int:
        """The number of a view's subquery among those of the SELECT, which reads it at `node`."""
        ...


@dataclass(frozen=True)
class View:
    """The rows of a table for which `where` is true, and what their columns are."""

    table: Table
    columns: tuple[tuple[str, Expr], ...]
    """The names, of which several can be the same and some empty, with their expressions."""
    where: Expr | None = None
    subqueries: tuple[Query, ...] = ()
    """The scalar subqueries that `columns` and `where` refer to through slots."""
    derived: Derived | None = None
    """Where the rows are those of answers: what computes them. `table` is one that they are of."""

    def named(self, name: str) -> list[Expr]:
        """The different columns of that name, first exactly, then in any case."""
        folded = name.casefold()
        matches = [column for column in self.columns if column[0].casefold() == folded]
        exact = [column for column in matches if column[0] == name]
        return list(dict.fromkeys(expression for _, expression in exact or matches))


def derived_view(derived: Derived) -> View:
    """The rows of a table that is derived from answers."""
    columns = tuple(
        (name, Slot("column", index, kind)) for index, (name, kind) in enumerate(derived.columns)
    )
    return View(next(released(derived)).table, columns, derived=derived)


def whole(table: Table) -> View:
    """All rows and columns of a table."""
    return View(table, tuple((column.name, ColumnRef(column)) for column in table.columns))


@dataclass(frozen=True)
class Scope:
    """The view that a SELECT reads, and the names that may qualify its columns."""

    view: View
    names: frozenset[str]
    binder: SubqueryBinder
    source: exp.Expr
    """The view's place in FROM."""

    @property
    def where(self) -> Expr | None:
        """The condition of the view."""
        if self.view.where is None:
            return None
        self.binder.effort.spend(size(self.view.where), self.source, self.binder.text)
        return self._taken(self.view.where, self.source)

    def has(self, name: str) -> bool:
        """Whether a column is called so."""
        return bool(self.view.named(name))

    def column(self, node: exp.Column) -> Expr:
        """The column that is named; a double-quoted name that no column has is a string."""
        text = self.binder.text
        only(node, text, "this", "table")
        self._check_qualifier(node)
        if not isinstance(node.this, exp.Identifier):
            raise Unsupported("* is only supported in COUNT(*)", place=place(node, text))
        match self.view.named(node.name):
            case [expression]:
                return self._taken(expression, node)
            case [_, _, *_]:
                raise UnknownName(
                    f"{node.name} may be one of several columns of that name",
                    hint="AS gives each a name of its own",
                    place=place(node, text),
                )
        if _may_be_text(node.this, text) and node.args.get("table") is None:
            return Literal(node.name, Kind.TEXT)
        known = [name for name, _ in self.view.columns if name]
        hint = suggestion(node.name, known, "columns")
        raise UnknownName(f"no column {node.name}", hint=hint, place=place(node, text))

    def all_columns(self, node: exp.Expr) -> Iterator[tuple[str, Expr]]:
        """The columns that `*` or `t.*` stands for."""
        if isinstance(node, exp.Column):
            self._check_qualifier(node)
        for name, expression in self.view.columns:
            self.binder.effort.spend(size(expression), node, self.binder.text)
            yield name, self._taken(expression, node)

    def _check_qualifier(self, node: exp.Column) -> None:
        qualifier = node.args.get("table")
        if qualifier is not None and qualifier.name.casefold() not in self.names:
            where = place(node, self.binder.text)
            raise UnknownName(f"no table {qualifier.name} here", place=where)

    def _taken(self, expression: Expr, node: exp.Expr) -> Expr:
        """An expression of the view as one of the SELECT, with the numbers of its subqueries."""
        if isinstance(expression, ColumnRef):
            return expression
        _spend_constants(expression, self.binder, node)
        if not self.view.subqueries:
            return expression

        def numbered(slot: Slot) -> Slot:
            query = self.view.subqueries[slot.index]
            return replace(slot, index=self.binder.index_of(query, node))

        return _with_slots(expression, numbered)


def _may_be_text(name: exp.Identifier, text: str) -> bool:
    """Whether a name is in double quotes, which many people put around strings."""
    return bool(name.args.get("quoted")) and text[name.meta.get("start", 0)] == '"'


def _spend_constants(expression: Expr, binder: SubqueryBinder, node: exp.Expr) -> None:
    """Count the constants in an expression, which the number of its nodes leaves out."""
    match expression:
        case Literal(value=str(value)):
            binder.effort.spend(len(value) // _CHARACTERS, node, binder.text)
        case InList(values=values):
            binder.effort.spend(len(values), node, binder.text)
        case Like(pattern=pattern):
            written = "".join("%" if part is None else part or "_" for part in pattern)
            binder.effort.spend_pattern(written, node, binder.text)
    for child in children(expression):
        _spend_constants(child, binder, node)


def _with_slots(expression: Expr, new: Callable[[Slot], Slot]) -> Expr:
    """The expression with `new` of each slot in its place."""
    if isinstance(expression, Slot):
        return new(expression)
    return with_operands(expression, lambda part: _with_slots(part, new))
