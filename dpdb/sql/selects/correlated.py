"""Scalar subqueries about the rows of the unit that asks: one value for each unit, joined to it.

`(SELECT COUNT(*) FROM orders o WHERE o.customer_id = c.id)` is a column of a table with a row for
each customer, which is joined to the rows of c.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from sqlglot import exp

from dpdb.errors import Unsupported
from dpdb.plan.expressions.expressions import (
    Call,
    ColumnRef,
    Expr,
    Literal,
    Slot,
    conjunction,
    slots,
)
from dpdb.plan.logical.per_unit import PerUnit, per_unit
from dpdb.plan.logical.query import COUNTS, Aggregate
from dpdb.plan.relations.privacy_ids import names_of
from dpdb.plan.relations.relations import Attached, Equality, Lookup, Scan
from dpdb.policy.catalog import Column, Kind, Policy, Table
from dpdb.records import dataclass
from dpdb.sql.aggregates.noise_reports import refuse_intervals
from dpdb.sql.from_clause.joins import leaf_view, new_leaf
from dpdb.sql.scopes.correlation import Correlated, is_of_one_unit, reads, split, taken_names
from dpdb.sql.scopes.scopes import AnswerExpressions, RowExpressions
from dpdb.sql.scopes.views import Scope, SubqueryBinder
from dpdb.sql.syntax.trees import only, place, substituted


@dataclass(frozen=True)
class _Asked:
    """The aggregates and conditions of a correlated subquery, over the rows of its table."""

    value: Expr
    """An expression of `aggregates`."""
    aggregates: Sequence[Aggregate]
    on: Sequence[Equality]
    """The equalities with the rows around the subquery."""
    keys: Sequence[Column]
    """The columns of the table in these equalities."""
    rest: Expr | None
    """The condition on the rows of the table alone."""


@dataclass(frozen=True)
class CorrelatedBinder:
    """Binds the correlated scalar subqueries of a SELECT."""

    binder: SubqueryBinder
    policy: Policy
    outer: Scope
    before: Sequence[Lookup | Attached]
    """The lookups and attached tables read before."""

    def value(self, tree: exp.Select, inner: Scope) -> tuple[Attached, Expr]:
        """The table that is attached to the rows that ask, and the value that is read from it."""
        table = self._table(tree, inner)
        taken = taken_names(self.outer) | {each.right.leaf for each in self.before}
        scan = Scan(table, new_leaf(table, taken))
        asked = self._asked(tree, inner, scan)
        self._check_units(asked.on, scan, tree)
        grouped = self._by_unit(asked, scan)
        attached = Scan(grouped, new_leaf(grouped, taken))
        equal = tuple(
            (there, ColumnRef(attached.column(column)))
            for (there, _), column in zip(asked.on, grouped.key_columns, strict=True)
        )
        columns = [attached.column(c, nullable=True) for c in grouped.aggregate_columns]

        def value(leaf: Slot | ColumnRef) -> Expr:
            assert isinstance(leaf, Slot)
            column = ColumnRef(columns[leaf.index])
            if asked.aggregates[leaf.index].function not in COUNTS:
                return column
            return Call("coalesce", (column, Literal(0, Kind.INTEGER)), Kind.INTEGER)

        return Attached(attached, equal), substituted(asked.value, value)

    def _table(self, tree: exp.Select, inner: Scope) -> Table:
        """The private table that the subquery reads."""
        text, table = self.binder.text, inner.view.table
        several = isinstance(self.outer, Correlated) or inner.parts
        if several or not isinstance(table, Table) or table.public:
            raise Unsupported(
                "a subquery that compares with the rows around it reads one private table",
                hint="join the tables in FROM",
                place=place(tree, text),
            )
        only(tree, text, "expressions", "from_", "where")
        return table

    def _asked(self, tree: exp.Select, inner: Scope, scan: Scan) -> _Asked:
        """The aggregates and conditions of the subquery, over the rows of its table."""
        text = self.binder.text
        view = leaf_view(inner.view, scan, 0, outer=False)
        names = dict.fromkeys(inner.names, view.columns)
        scope = Correlated(view, names, self.binder, tree, outer=self.outer)
        rows = RowExpressions(self.binder, scope)
        condition = rows.condition(tree.args["where"].this)
        on, rest = split(conjunction(scope.condition(view.where), condition), scan)
        answers = AnswerExpressions(self.binder, rows, scope, ())
        items = [answers.expression(item.unalias()) for item in tree.expressions]
        refuse_intervals(items, self.policy.unit, place(tree, text))
        aggregates = answers.aggregates
        parts = [part for each in aggregates for part in each.parts]
        parts += [] if rest is None else [rest]
        if any(slots(part, "subquery") for part in (*items, *parts)):
            raise Unsupported(
                f"a scalar subquery is not compared with the rows of each {self.policy.unit}",
                hint="write it into the outer SELECT",
                place=place(tree, text),
            )
        own = all(reads(part, scan) <= {True} for part in parts)
        keys = [here.column for _, here in on if isinstance(here, ColumnRef)]
        if len(items) != 1 or not aggregates or not own or len(keys) != len(on):
            raise Unsupported(
                "a subquery that compares with the rows around it is one aggregate, "
                "under equalities with them",
                place=place(tree, text),
            )
        return _Asked(items[0], aggregates, on, keys, rest)

    def _by_unit(self, asked: _Asked, scan: Scan) -> PerUnit:
        """The table of the aggregates of each unit, over the scanned table's own column names."""
        assert isinstance(scan.table, Table)
        inside = names_of(scan, self.policy)

        def raw(expression: Expr) -> Expr:
            """The expression in the names of the table."""
            return substituted(expression, lambda leaf: _raw(leaf, scan))

        named = tuple((_raw(ColumnRef(key), scan), inside.get(key.name)) for key in asked.keys)
        return per_unit(
            scan.table,
            None if asked.rest is None else raw(asked.rest),
            tuple((key, name) for key, name in named if isinstance(key, ColumnRef)),
            tuple((each.function, _in_names(each, raw)) for each in asked.aggregates),
            self.policy.sample_key,
        )

    def _check_units(self, on: Sequence[Equality], scan: Scan, tree: exp.Select) -> None:
        """Refuse an aggregate of the rows of other units."""
        if not any(is_of_one_unit(pair, self.outer, scan, self.policy) for pair in on):
            raise Unsupported(
                f"this subquery aggregates the rows of every {self.policy.unit}",
                hint=f"compare what names the {self.policy.unit}; or leave the comparison out: "
                "it is one noisy number then",
                place=place(tree, self.binder.text),
            )


def _in_names(aggregate: Aggregate, raw: Callable[[Expr], Expr]) -> Aggregate:
    argument, weight, where = aggregate.argument, aggregate.weight, aggregate.where
    return replace(
        aggregate,
        argument=None if argument is None else raw(argument),
        weight=None if weight is None else raw(weight),
        where=None if where is None else raw(where),
    )


def _raw(leaf: Slot | ColumnRef, scan: Scan) -> Slot | ColumnRef:
    if isinstance(leaf, Slot):
        return leaf
    name = leaf.column.name.removeprefix(f"{scan.leaf}.")
    column = scan.table.column(name)
    assert column is not None
    return ColumnRef(column)
