"""Correlated subqueries: their scopes, and the scalar ones as columns of a table per unit.

`(SELECT COUNT(*) FROM orders o WHERE o.customer_id = c.id)` is a column of a table with a row for
each customer, which is joined to the rows of c.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import assert_never

from sqlglot import exp

from dpdb.errors import Unsupported
from dpdb.plan.expressions.expressions import (
    Call,
    ColumnRef,
    Compare,
    Expr,
    Literal,
    Slot,
    columns_of,
    conjunction,
    conjuncts,
    slots,
)
from dpdb.plan.logical.per_unit import PerUnit, per_unit
from dpdb.plan.logical.query import COUNTS, Aggregate
from dpdb.plan.relations.privacy_ids import names_in
from dpdb.plan.relations.relations import (
    Attached,
    Equality,
    JoinKind,
    Lookup,
    Scan,
    certain_scans,
    relation_of,
    scans,
)
from dpdb.policy.catalog import Column, Kind, Policy, Table
from dpdb.records import dataclass
from dpdb.sql.aggregates.named_arguments import refuse_intervals
from dpdb.sql.from_clause.joins import leaf_view, new_leaf
from dpdb.sql.scopes.scopes import AnswerExpressions, RowExpressions, condition_in
from dpdb.sql.scopes.views import Scope, SubqueryBinder
from dpdb.sql.syntax.trees import only, place, substituted


@dataclass(frozen=True)
class Correlated(Scope):
    """The scope of a subquery, whose columns hide those of the SELECT around it."""

    outer: Scope | None = None

    def column(self, node: exp.Column) -> Expr:
        """The column of that name here, or else in the SELECT around."""
        assert self.outer is not None
        around = node.args.get("table") is not None or self.outer.has(node.name)
        outside = around and not is_of(node, self)
        return self.outer.column(node) if outside else super().column(node)


def is_correlated(tree: exp.Select, inner: Scope, outer: Scope) -> bool:
    """Whether WHERE has a column of the SELECT around it."""
    where = tree.args.get("where")
    columns = [] if where is None else where.find_all(exp.Column)
    return any(is_of(column, outer) and not is_of(column, inner) for column in columns)


def is_of(node: exp.Column, scope: Scope) -> bool:
    """Whether the scope has a column of that name."""
    qualifier = node.args.get("table")
    return scope.has(node.name) if qualifier is None else qualifier.name.casefold() in scope.names


def is_of_one_unit(pair: Equality, outer: Scope, scan: Scan, policy: Policy) -> bool:
    """Whether the equality of a row around with a scan's row implies that both are of one unit."""
    match pair:
        case (ColumnRef(column=one), ColumnRef(column=other)):
            name = names_in(scans_of(outer), policy).get(one.name)
            return name is not None and name == names_in([scan], policy).get(other.name)
    return False


def taken_names(outer: Scope) -> set[str]:
    """The names that no new leaf may have: names of leaves, and prefixes of columns.

    All columns count, as a condition can read one that no SELECT list has.
    """
    leaves = list(scans_of(outer))
    names = {scan.name(column) for scan in leaves for column in scan.table.columns}
    read = {name for _, each in outer.view.columns for name in columns_of(each)}
    return {scan.leaf for scan in leaves} | {name.partition(".")[0] for name in names | read}


def scans_of(scope: Scope) -> Iterable[Scan]:
    """The tables that a SELECT reads."""
    if scope.parts:
        return [part.scan for part in scope.parts]
    return list(scans(relation_of(scope.view.table)))


def certain_scans_of(scope: Scope) -> Iterable[Scan]:
    """The tables that every row of the SELECT's source has a row of."""
    if not scope.parts:
        return list(certain_scans(relation_of(scope.view.table)))
    certain: list[Scan] = []
    for part in scope.parts:
        match part.kind:
            case JoinKind.INNER:
                certain.append(part.scan)
            case JoinKind.FULL:
                certain.clear()
            case JoinKind.LEFT:
                pass  # A row need not have a match.
            case _:
                assert_never(part.kind)
    return certain


def of_one_table(
    tree: exp.Select, inner: Scope, scan: Scan, outer: Scope, binder: SubqueryBinder
) -> tuple[Correlated, RowExpressions, Expr | None]:
    """The scope of a subquery that reads one table, its expressions, and its condition."""
    view = leaf_view(inner.view, scan, 0, outer=False)
    names = dict.fromkeys(inner.names, view.columns)
    scope = Correlated(view, names, binder, tree, outer=outer)
    rows = RowExpressions(binder, scope)
    own = condition_in(tree, "where", rows)
    return scope, rows, conjunction(scope.condition(view.where), own)


def split(condition: Expr | None, scan: Scan) -> tuple[list[Equality], Expr | None]:
    """The equalities between a row and one that is looked up, and the rest of the condition."""
    on, rest = [], []
    for each in conjuncts(condition):
        equality = _equality(each, scan)
        if equality is None:
            rest.append(each)
        else:
            on.append(equality)
    return on, conjunction(*rest)


def _equality(condition: Expr, scan: Scan) -> Equality | None:
    if not (isinstance(condition, Compare) and condition.operator == "="):
        return None
    for one, other in ((condition.left, condition.right), (condition.right, condition.left)):
        if reads(one, scan) == {False} and reads(other, scan) == {True}:
            return one, other
    return None


def reads(expression: Expr, scan: Scan) -> set[bool]:
    """{True} for an expression of the scan's columns, {False} for one of others, or both."""
    return {name.startswith(f"{scan.leaf}.") for name in columns_of(expression)}


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
        scope, rows, condition = of_one_table(tree, inner, scan, self.outer, self.binder)
        on, rest = split(condition, scan)
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
        inside = names_in([scan], self.policy)

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
