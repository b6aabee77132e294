"""Joined tables within FROM or WITH as parts of the join around them."""

from __future__ import annotations

from dataclasses import replace

from dpdb.plan.expressions import ColumnRef, Expr, Slot, compare, conjunction
from dpdb.plan.relations import Join, Joined, JoinKind, Relation, Scan
from dpdb.sql.rewriting import substituted
from dpdb.sql.views import View

JoinedScan = tuple[Scan, JoinKind, Expr | None]
"""A table, how it is joined with those before it, and on which condition."""


def is_taken_apart(source: Joined, *, first: bool) -> bool:
    """Whether the tables can be joined one by one.

    Those of inner joins can wherever they stand, and others where nothing stands before them.
    """
    relation: Relation = source.relation
    kinds = []
    while isinstance(relation, Join):
        kinds.append(relation.kind)
        relation = relation.left
    allowed = (JoinKind.INNER, JoinKind.LEFT) if first else (JoinKind.INNER,)
    return isinstance(relation, Scan) and all(kind in allowed for kind in kinds)


def taken_apart(
    view: View, leaves: dict[str, str], subqueries: int
) -> tuple[View, list[JoinedScan]]:
    """A view of joined tables by other names of its leaves, and its tables.

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
