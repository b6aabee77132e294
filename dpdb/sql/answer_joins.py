"""Joins of answers: of noisy rows with noisy rows, on any condition."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from dpdb.errors import Unsupported
from dpdb.plan.derived import AnswerJoin, Derived
from dpdb.plan.expressions import Expr, Slot, compare, conjunction, slots
from dpdb.sql import types
from dpdb.sql.joins import (
    FromItem,
    beside,
    check_words,
    condition_of,
    merged,
    names_of_using,
    only_column,
    turned,
)
from dpdb.sql.trees import place
from dpdb.sql.views import Scope, SubqueryBinder, View


def scope_of_answers(items: Sequence[FromItem], binder: SubqueryBinder) -> Scope:
    """The scope of a SELECT that joins answers."""
    for item in items:
        check_words(item, binder)
    first, *others = turned(items, binder)
    names = dict.fromkeys(first.names, first.view.columns)
    scope = Scope(first.view, names, binder, first.node)
    for item in others:
        scope = _joined(scope, item, binder)
    return scope


def _joined(scope: Scope, item: FromItem, binder: SubqueryBinder) -> Scope:
    """The scope with a further answer beside the others."""
    left, right = scope.view.derived, item.view.derived
    assert left is not None
    assert right is not None
    view = _after(item.view, left)
    before = scope.view.columns
    scope = beside(scope, view, item, binder)
    condition = condition_of(item, scope)
    for name in names_of_using(item):
        pair = (
            only_column(name, before, item, binder),
            only_column(name, view.columns, item, binder),
        )
        sides, _ = types.unify(list(pair), place(name, binder.text))
        condition = conjunction(condition, compare("=", *sides))
        scope = merged(scope, name.name, pair, item.kind)
    if condition is not None and slots(condition, "subquery"):
        raise Unsupported("a subquery cannot be in ON here", place=place(item.node, binder.text))
    join = AnswerJoin(item.kind, left, right, condition)
    return replace(scope, view=replace(scope.view, derived=join))


def _after(view: View, left: Derived) -> View:
    """The view of an answer whose columns come after those of another."""

    def after(column: Expr) -> Expr:
        assert isinstance(column, Slot)
        return replace(column, index=column.index + len(left.columns))

    return replace(view, columns=tuple((name, after(column)) for name, column in view.columns))
