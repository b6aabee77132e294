"""Joins of tables of rows, also nested ones, and the equalities they need."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain, count

from sqlglot import exp

from dpdb.errors import UnknownName, Unsupported
from dpdb.plan.expressions.expressions import (
    Case,
    ColumnRef,
    Expr,
    Literal,
    Slot,
    compare,
    conjunction,
)
from dpdb.plan.logical.per_unit import PerUnit
from dpdb.plan.logical.row_tables import RowUnion, WindowedRows
from dpdb.plan.relations.relations import Join, Joined, JoinKind, Relation, Scan, scans
from dpdb.policy.catalog import Table
from dpdb.records import dataclass
from dpdb.sql.scalars import types
from dpdb.sql.scalars.calls import call
from dpdb.sql.scopes.scopes import RowExpressions
from dpdb.sql.scopes.views import Scope, SubqueryBinder, TableInJoin, View, ViewColumns, called
from dpdb.sql.syntax.trees import only, place, substituted

JoinedScan = tuple[Scan, JoinKind, Expr | None]
"""A table, the kind of its join with the tables before it, and the condition of the join."""


def _can_be_taken_apart(relation: Relation, *, first: bool) -> bool:
    """Whether the tables can be joined one by one.

    Inner joins can anywhere in FROM, LEFT JOINs only at its beginning.
    """
    if isinstance(relation, Join):
        kept = relation.kind is JoinKind.INNER or (first and relation.kind is JoinKind.LEFT)
        return kept and _can_be_taken_apart(relation.left, first=first)
    return isinstance(relation, Scan)


def _taken_apart(
    view: View, leaves: dict[str, str], subqueries: int
) -> tuple[View, list[JoinedScan]]:
    """A view of joined tables with its leaves renamed, and its tables.

    Its subqueries come after so many.
    """

    def new(leaf: Slot | ColumnRef) -> Expr:
        if isinstance(leaf, Slot):
            return replace(leaf, index=leaf.index + subqueries)
        name, dot, column = leaf.column.name.partition(".")
        if name not in leaves:  # of the first table, which has no name where it asks for a value
            name, dot, column = "", ".", leaf.column.name
        return ColumnRef(replace(leaf.column, name=f"{leaves[name]}{dot}{column}"))

    def pieces(relation: Relation) -> list[JoinedScan]:
        match relation:
            case Scan():
                return [(replace(relation, leaf=leaves[relation.leaf]), JoinKind.INNER, None)]
            case Join(kind=kind, left=left, right=right, on=on, rest=rest):
                equal = [compare("=", one, other) for one, other in on]
                condition = conjunction(*equal, rest)
                written = None if condition is None else substituted(condition, new)
                return [*pieces(left), (replace(right, leaf=leaves[right.leaf]), kind, written)]
        raise AssertionError(relation)

    assert isinstance(view.table, Joined)
    where = None if view.where is None else substituted(view.where, new)
    columns = tuple((name, substituted(each, new)) for name, each in view.columns)
    return replace(view, columns=columns, where=where), pieces(view.table.relation)


_KINDS = {
    ("", ""): JoinKind.INNER,
    ("", "INNER"): JoinKind.INNER,
    ("", "CROSS"): JoinKind.INNER,
    ("LEFT", ""): JoinKind.LEFT,
    ("LEFT", "OUTER"): JoinKind.LEFT,
    ("RIGHT", ""): JoinKind.LEFT,
    ("RIGHT", "OUTER"): JoinKind.LEFT,
    ("FULL", ""): JoinKind.FULL,
    ("FULL", "OUTER"): JoinKind.FULL,
}
"""The joins by their words; a RIGHT JOIN is a LEFT JOIN with its sides exchanged."""


@dataclass(frozen=True)
class FromItem:
    """A table, view or SELECT in FROM, among several."""

    node: exp.Expr
    view: View
    names: frozenset[str]
    """The names that may qualify its columns."""
    join: exp.Join | None = None
    """The join with the items before it; None for the first item."""

    @property
    def kind(self) -> JoinKind:
        """The kind of its join."""
        return JoinKind.INNER if self.join is None else _KINDS[self.join.side, self.join.kind]


def scope_of(items: Sequence[FromItem], binder: SubqueryBinder) -> Scope:
    """The scope of a SELECT that joins several tables, and the parts to be joined."""
    for item in items:
        check_words(item, binder)
        if item.view.derived is not None:
            raise Unsupported(
                "answers are joined with answers and public tables, and not with private ones",
                hint="a scalar subquery is one noisy number to compare rows with; or ask for the"
                " answer first, and write what it gives into WHERE or CASE",
                place=place(item.node, binder.text),
            )
    items = turned(items, binder)
    scope = Scope(replace(items[0].view, columns=(), where=None, subqueries=()), {}, binder,
                  items[0].node)  # fmt: skip
    parts: list[TableInJoin] = []
    for item in items:
        outer = JoinKind.FULL in (item.kind, items[1].kind) or item.kind is JoinKind.LEFT
        view, pieces = _pieces(item, parts, len(scope.view.subqueries), binder, outer=outer)
        before = scope.view.columns
        scope = beside(scope, view, item, binder)
        # EXISTS in ON looks at all tables up to this one.
        known = replace(scope, parts=(*parts, *_parts(item, pieces, None, binder)))
        condition = conjunction(scope.condition(view.where), condition_of(item, known))
        scope, condition = with_using(scope, item, (before, view.columns), condition)
        parts += _parts(item, pieces, condition, binder)
    return replace(scope, parts=tuple(parts))


def check_words(item: FromItem, binder: SubqueryBinder) -> None:
    """Refuse NATURAL joins, and joins without a condition."""
    where = place(item.node, binder.text)
    join = item.join
    if join is None:
        return
    if join.method == "NATURAL":
        raise Unsupported(
            "NATURAL JOIN is not supported: a new column of a policy would change its meaning",
            hint="USING (column) names the columns that both tables have",
            place=where,
        )
    if (join.side, join.kind) not in _KINDS:
        words = " ".join(filter(None, (join.side, join.kind)))
        raise Unsupported(f"{words} JOIN is not supported", place=where)
    only(join, binder.text, "this", "side", "kind", "on", "using")
    if join.kind == "CROSS" and (join.args.get("on") or join.args.get("using")):
        raise Unsupported("a CROSS JOIN has no condition", hint="JOIN t USING (k)", place=where)
    if item.kind is not JoinKind.INNER and not (join.args.get("on") or join.args.get("using")):
        raise Unsupported(f"{item.kind} needs ON or USING", place=where)


def _pieces(
    item: FromItem,
    before: list[TableInJoin],
    subqueries: int,
    binder: SubqueryBinder,
    *,
    outer: bool,
) -> tuple[View, list[JoinedScan]]:
    """The view of an item, and its tables: several if the item is itself a join."""
    taken, table = {part.scan.leaf for part in before}, item.view.table
    if isinstance(table, Table):
        scan = Scan(table, new_leaf(table, taken))
        return leaf_view(item.view, scan, subqueries, outer=outer), [(scan, item.kind, None)]
    if outer or not _can_be_taken_apart(table.relation, first=not before):
        raise Unsupported(
            "a SELECT that looks into another table, or joins it by an outer join, is not joined"
            " with further ones",
            hint="write all joins into one FROM",
            place=place(item.node, binder.text),
        )
    leaves: dict[str, str] = {}
    for scan in scans(table.relation):
        leaves[scan.leaf] = new_leaf(scan.table, taken | {*leaves.values()})
    return _taken_apart(item.view, leaves, subqueries)


def _parts(
    item: FromItem, pieces: list[JoinedScan], condition: Expr | None, binder: SubqueryBinder
) -> Iterator[TableInJoin]:
    """The parts of an item, the item's condition on its first table."""
    where = place(item.node, binder.text)
    for number, (scan, kind, own) in enumerate(pieces):
        alias = (len(pieces) == 1 and item.node.alias_or_name) or str(scan)
        yield TableInJoin(scan, alias, kind, own if number else conjunction(own, condition), where)


def turned(items: Sequence[FromItem], binder: SubqueryBinder) -> Sequence[FromItem]:
    """The tables of FROM, with the sides of a RIGHT JOIN exchanged."""
    right = [item for item in items if item.join is not None and item.join.side == "RIGHT"]
    full = [item for item in items if item.kind is JoinKind.FULL]
    if len(items) > 2 and (right or (full and full != [items[1]])):
        word = "RIGHT" if right else "FULL"
        raise Unsupported(
            f"{word} JOIN is supported between the first two tables"
            if full else "RIGHT JOIN is supported where FROM has two tables",
            hint="LEFT JOIN keeps the rows of the tables before it",
            place=place((right or full)[0].node, binder.text),
        )  # fmt: skip
    if not right:
        return items
    first, second = items
    return [replace(second, join=None), replace(first, join=second.join)]


def new_leaf(table: Table, taken: set[str]) -> str:
    """The prefix of a scan's columns: the table's name, with a number if that is taken.

    The prefix has no `.`, so that columns of two scans never have the same name.
    """
    match table:
        case PerUnit():
            name = "per_unit"
        case RowUnion(parts=(_,)):
            name = "select"
        case RowUnion():
            name = "union_all"
        case WindowedRows():
            name = "windowed"
        case _:
            name = table.name.replace(".", "_")
    numbered = (f"{name}#{number}" for number in count(2))
    return next(leaf for leaf in chain([name], numbered) if leaf not in taken)


def leaf_view(view: View, scan: Scan, subqueries: int, *, outer: bool) -> View:
    """A view with the columns of a scan; an `outer` join may leave it without a match.

    Its subqueries come after so many.
    """

    def new(leaf: Slot | ColumnRef) -> Expr:
        if isinstance(leaf, Slot):
            return replace(leaf, index=leaf.index + subqueries)
        return ColumnRef(scan.column(leaf.column, nullable=outer))

    def column(expression: Expr) -> Expr:
        moved = substituted(expression, new)
        if not outer or isinstance(moved, ColumnRef):
            return moved
        # Without a match the whole expression is NULL, even if it would turn NULLs into a value.
        nothing = Literal(None, moved.kind)
        return Case(((ColumnRef(scan.presence), moved),), nothing, moved.kind)

    where = None if view.where is None else substituted(view.where, new)
    columns = tuple((name, column(expression)) for name, expression in view.columns)
    return replace(view, columns=columns, where=where)


def beside(scope: Scope, view: View, item: FromItem, binder: SubqueryBinder) -> Scope:
    """The scope with the columns of a further view."""
    for name in item.names:
        if name in scope.names:
            raise Unsupported(
                f"two tables are called {name} here",
                hint="AS gives each a name of its own",
                place=place(item.node, binder.text),
            )
    joined = replace(
        scope.view,
        columns=(*scope.view.columns, *view.columns),
        subqueries=(*scope.view.subqueries, *view.subqueries),
    )
    names = {**scope.names, **dict.fromkeys(item.names, view.columns)}
    return replace(scope, view=joined, names=names)


def condition_of(item: FromItem, scope: Scope) -> Expr | None:
    """The condition of ON."""
    on = None if item.join is None else item.join.args.get("on")
    return None if on is None else RowExpressions(scope.binder, scope).condition(on)


def with_using(
    scope: Scope, item: FromItem, sides: tuple[ViewColumns, ViewColumns], condition: Expr | None
) -> tuple[Scope, Expr | None]:
    """The scope with the columns of each name in USING as one, and the condition of the join."""
    for name in (item.join and item.join.args.get("using")) or ():
        left, right = (_only_column(name, columns, item, scope.binder) for columns in sides)
        equal, _ = types.unify([left, right], place(name, scope.binder.text))
        condition = conjunction(condition, compare("=", *equal))
        scope = _merged(scope, name.name, (left, right), item.kind)
    return scope, condition


def _only_column(
    name: exp.Identifier, columns: ViewColumns, item: FromItem, binder: SubqueryBinder
) -> Expr:
    """The column of a name in USING on one side of the join."""
    match called(name.name, columns):
        case [column]:
            return column
        case []:
            problem = f"no column {name.name} on one side of the join"
        case _:
            problem = f"{name.name} may be one of several columns of that name"
    raise UnknownName(problem, hint="ON a.x = b.y names both", place=place(item.node, binder.text))


def _merged(scope: Scope, name: str, pair: tuple[Expr, Expr], kind: JoinKind) -> Scope:
    """The scope with the two columns of USING as one: the value of either that is not NULL."""
    left, right = pair
    whole = call("COALESCE", [left, right], None) if kind is JoinKind.FULL else left

    def columns() -> Iterator[tuple[str, Expr]]:
        for each in scope.view.columns:
            if each[0].casefold() != name.casefold() or each[1] not in pair:
                yield each
            elif each[1] == left:
                yield each[0], whole

    return replace(scope, view=replace(scope.view, columns=tuple(columns())))
