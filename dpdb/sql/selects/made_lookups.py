"""EXISTS and IN over a SELECT that joins tables, or looks into further ones itself.

The rows of that SELECT are made into a table, as those of one within FROM are: each is a function
of one unit's rows, or of public rows alone, and it is that unit's. Then it is looked into as a
table of the policy is: of private rows only those of the unit that asks count.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field, replace

from sqlglot import exp

from dpdb.errors import Unsupported
from dpdb.plan.expressions.expressions import ColumnRef, Expr, Slot, columns_of, conjunction, slots
from dpdb.plan.logical.row_tables import rows_read
from dpdb.plan.relations.relations import Joined, Scan, Source, is_full
from dpdb.plan.unit_work import check_rows
from dpdb.policy.catalog import Column
from dpdb.records import dataclass
from dpdb.sql.from_clause.arrangement import joined, with_lookups
from dpdb.sql.from_clause.public_tables import check_matched
from dpdb.sql.scopes.scopes import RowExpressions
from dpdb.sql.scopes.select_binder import SelectBinder
from dpdb.sql.scopes.views import Scope, View, ViewColumns
from dpdb.sql.selects.correlated import Correlated, is_of
from dpdb.sql.syntax.trees import place, substituted

_LEAF = "select"


def is_made(tree: exp.Select, inner: Scope) -> bool:
    """Whether the lookup reads more than the rows of one table."""
    where = tree.args.get("where")
    inside = () if where is None else where.find_all(exp.Exists, exp.In)
    looks_further = any(isinstance(p, exp.Exists) or p.args.get("query") for p in inside)
    return bool(inner.parts) or isinstance(inner.view.table, Joined) or looks_further


@dataclass
class MadeRows:
    """The rows of a SELECT as a table of the columns that the lookup reads.

    Placeholders stand for its columns until all comparisons with the rows around are bound.
    """

    tree: exp.Select
    inner: Scope
    outer: Scope
    binder: SelectBinder
    taken: set[str]
    """The names that the table may not have."""
    _placeholders: dict[str, Expr] = field(default_factory=dict)

    def __post_init__(self) -> None:
        numbers = (f"{_LEAF}#{number}" for number in range(1, len(self.taken) + 2))
        self._leaf = next(leaf for leaf in numbers if leaf not in self.taken)

    def bound(self, item: exp.Expr | None) -> tuple[Scan, Expr | None, Expr | None]:
        """The table, the condition on its rows and those around, and the value of an item."""
        where = self.tree.args.get("where")
        asked = [] if where is None else list(_conjuncts(where.this))
        around = [each for each in asked if self._compares(each)]
        source, condition = self._source([each for each in asked if each not in around])
        rows = RowExpressions(self.binder, self._correlated())
        pairs = conjunction(*(rows.condition(each) for each in around))
        value = None if item is None else rows.expression(item)
        parts = [part for part in (pairs, value) if part is not None]
        read = {
            name: None for part in parts for name in columns_of(part) if name in self._placeholders
        }
        held = {name: self._placeholders[name] for name in read}
        table = rows_read(source, condition, list(held.values()), self.binder.policy)
        table = replace(table, public=True, unit=None) if source.public else table
        scan = Scan(table, self._leaf)
        columns = dict(zip(held, map(scan.column, table.columns), strict=True))

        def column(leaf: Slot | ColumnRef) -> Expr:
            if isinstance(leaf, ColumnRef) and leaf.column.name in columns:
                return ColumnRef(columns[leaf.column.name])
            return leaf

        return (
            scan,
            None if pairs is None else substituted(pairs, column),
            None if value is None else substituted(value, column),
        )

    def _compares(self, condition: exp.Expr) -> bool:
        """Whether a condition names a column of the rows around."""
        further = {name for each in condition.find_all(exp.Table) for name in self._named(each)}
        return any(
            is_of(column, self.outer) and not is_of(column, self.inner)
            for column in condition.find_all(exp.Column)
            if column.args.get("table") is not None or column.name.casefold() not in further
        )

    def _named(self, table: exp.Table) -> Iterator[str]:
        """The columns of a table of the policy that a condition looks into."""
        known = self.binder.policy.table(table.name)
        return (column.name.casefold() for column in (known.columns if known else ()))

    def _source(self, own: list[exp.Expr]) -> tuple[Source, Expr | None]:
        """The source of the SELECT, and the condition on its rows alone."""
        inner, binder, where = self.inner, self.binder, place(self.tree, self.binder.text)
        rows = RowExpressions(binder, inner)
        given = inner.condition(inner.view.where)
        condition = conjunction(given, *(rows.condition(each) for each in own))
        source: Source = inner.view.table
        if inner.parts:
            source, condition = joined(inner.parts, condition, binder.policy, binder.facts)
        check_matched(source, where)
        source = with_lookups(source, binder.lookups, binder.policy, binder.facts)
        full = isinstance(source, Joined) and is_full(source.relation)
        if full or inner.view.subqueries or (condition and slots(condition, "subquery")):
            raise Unsupported(
                "EXISTS and IN look into no FULL JOIN, and no SELECT of several tables that has"
                " a scalar subquery",
                hint="compare with the scalar subquery in the outer WHERE",
                place=where,
            )
        check_rows(source, where)
        return source, condition

    def _correlated(self) -> Correlated:
        """The scope in which the SELECT's columns, as placeholders, hide those around."""
        inner = self.inner
        view = View(inner.view.table, self._held(inner.view.columns))
        names = {name: self._held(columns) for name, columns in inner.names.items()}
        return Correlated(view, names, self.binder, self.tree, outer=self.outer)

    def _held(self, columns: ViewColumns) -> ViewColumns:
        return tuple((name, self._placeholder(expression)) for name, expression in columns)

    def _placeholder(self, expression: Expr) -> Expr:
        """The column that stands for an expression; equal ones have the same."""
        known = [name for name, each in self._placeholders.items() if each == expression]
        name = known[0] if known else f"{self._leaf}.{len(self._placeholders) + 1}"
        self._placeholders[name] = expression
        if isinstance(expression, ColumnRef):
            return ColumnRef(replace(expression.column, name=name))
        return ColumnRef(Column(name, expression.kind))


def _conjuncts(node: exp.Expr) -> Iterator[exp.Expr]:
    """The conditions that are joined by AND."""
    match node:
        case exp.And():
            yield from _conjuncts(node.this)
            yield from _conjuncts(node.expression)
        case exp.Paren(this=exp.And() | exp.Paren()):
            yield from _conjuncts(node.this)
        case _:
            yield node
