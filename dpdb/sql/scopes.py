"""The expressions of a SELECT and their leaves: over a row, over the answer, over nothing."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

from sqlglot import exp

from dpdb.errors import TooLarge, UnknownName, Unsupported, did_you_mean
from dpdb.plan.expressions import ColumnRef, Expr, Literal, Slot
from dpdb.plan.query import Aggregate
from dpdb.policy.catalog import Kind, Table
from dpdb.sql.aggregates import AGGREGATE_NAMES, aggregate, is_aggregate
from dpdb.sql.expression_binder import Translator
from dpdb.sql.functions import FUNCTION_NAMES
from dpdb.sql.trees import Effort, only, place

MAX_OUTPUTS = 200


class Reader(Protocol):
    """What reads the SELECT that the expressions are of."""

    text: str
    effort: Effort

    def subquery(self, node: exp.Subquery) -> Slot:
        """The slot that a scalar subquery's answer will be in."""
        ...


@dataclass(frozen=True)
class Scope:
    """The table a SELECT reads, and the names it goes by."""

    table: Table
    names: frozenset[str]

    def column(self, node: exp.Column, text: str) -> Expr:
        """A column; or a string, where a double-quoted name is none of the columns'."""
        only(node, text, "this", "table")
        name, qualifier = node.name, node.args.get("table")
        if qualifier is not None and qualifier.name.casefold() not in self.names:
            raise UnknownName(f"no table {qualifier.name} here", place=place(node, text))
        if not isinstance(node.this, exp.Identifier):
            raise Unsupported("* is only supported in COUNT(*)", place=place(node, text))
        found = self.table.column(name)
        if found is not None:
            return ColumnRef(found)
        if _may_be_text(node.this, text) and qualifier is None:
            return Literal(name, Kind.TEXT)
        known = [column.name for column in self.table.columns]
        hint = did_you_mean(name, known) or f"columns are {', '.join(known)}"
        raise UnknownName(f"no column {name}", hint=hint, place=place(node, text))


def _may_be_text(name: exp.Identifier, text: str) -> bool:
    """Whether a name is in double quotes, which many people put around strings."""
    return bool(name.args.get("quoted")) and text[name.meta.get("start", 0)] == '"'


class RowExpressions(Translator):
    """Expressions over a row: the leaves are columns and scalar subqueries."""

    def __init__(self, reader: Reader, table: Scope):
        super().__init__(reader.text, reader.effort)
        self._reader = reader
        self._scope = table

    @property
    def function_names(self) -> list[str]:
        return FUNCTION_NAMES

    def leaf(self, node: exp.Expr) -> Expr | None:
        if isinstance(node, exp.Column):
            return self._scope.column(node, self.text)
        if isinstance(node, exp.Subquery):
            return self._reader.subquery(node)
        if is_aggregate(node):
            raise Unsupported(
                "an aggregate cannot be used here",
                hint="conditions on aggregates go into HAVING",
                place=self.place(node),
            )
        return None


@dataclass
class AnswerExpressions(Translator):
    """Expressions over the answer: the leaves are aggregates, keys, aliases, subqueries.

    A column hides an alias of its name, as in PostgreSQL and DuckDB.
    """

    reader: Reader
    rows: RowExpressions
    scope: Scope
    keys: tuple[ColumnRef, ...]
    aggregates: list[Aggregate] = field(default_factory=list)
    aliases: dict[str, Expr] = field(default_factory=dict)

    def __post_init__(self) -> None:
        super().__init__(self.reader.text, self.reader.effort)

    @property
    def function_names(self) -> list[str]:
        return [*AGGREGATE_NAMES, *FUNCTION_NAMES]

    def leaf(self, node: exp.Expr) -> Expr | None:
        if is_aggregate(node):
            return self._aggregate(node)
        if isinstance(node, exp.Subquery):
            return self.reader.subquery(node)
        if isinstance(node, exp.Column):
            return self._name(node)
        return None

    def _aggregate(self, node: exp.Expr) -> Slot:
        found = aggregate(node, self.rows)
        if found not in self.aggregates:
            if len(self.aggregates) == MAX_OUTPUTS:
                raise TooLarge(f"more than {MAX_OUTPUTS} aggregates", place=self.place(node))
            self.aggregates.append(found)
        return Slot("aggregate", self.aggregates.index(found), found.kind)

    def ordering(self, node: exp.Expr) -> Expr:
        """A term of ORDER BY: a name that stands alone is an alias before it is a column."""
        name = node.unnest()
        alias = self._alias(name) if isinstance(name, exp.Column) else None
        return self.expression(node) if alias is None else alias

    def _alias(self, node: exp.Column) -> Expr | None:
        return None if node.args.get("table") else self.aliases.get(node.name.casefold())

    def _name(self, node: exp.Column) -> Expr:
        alias = self._alias(node)
        if alias is not None and self.scope.table.column(node.name) is None:
            return alias
        column = self.scope.column(node, self.text)
        if isinstance(column, Literal):
            return column
        if column not in self.keys:
            raise Unsupported(
                f"{node.name} must be inside an aggregate or in GROUP BY",
                hint="single rows are never shown",
                place=self.place(node),
            )
        assert isinstance(column, ColumnRef)
        return Slot("key", self.keys.index(column), column.kind)


class Constants(Translator):
    """Expressions without leaves."""

    @property
    def function_names(self) -> list[str]:
        return FUNCTION_NAMES

    def leaf(self, node: exp.Expr) -> Expr | None:
        return None
