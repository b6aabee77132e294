"""Windows over the rows of a unit, in a SELECT within FROM or WITH."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Protocol

from sqlglot import exp

from dpdb.errors import Place, Unsupported
from dpdb.plan.derived import Window
from dpdb.plan.expressions import ColumnRef, Expr, Slot, columns_of
from dpdb.plan.held_rows import check_made
from dpdb.plan.relations import Joined, is_full
from dpdb.plan.row_unions import names_in
from dpdb.plan.row_windows import RANKINGS, ranked_rows, rows_read
from dpdb.policy.catalog import Policy
from dpdb.sql.rewriting import substituted
from dpdb.sql.scopes import RowExpressions
from dpdb.sql.views import Scope, SubqueryBinder, View
from dpdb.sql.windows import window

ROW_BY_ROW = "a SELECT within FROM or WITH works row by row"
WINDOWED = (
    f"{ROW_BY_ROW}: a window would look at other rows",
    "PARTITION BY a column that names a unit, or aggregate in the outer SELECT, with GROUP BY",
)
"""The message and the hint where a window is over more than the rows of a unit."""


class PolicyBinder(SubqueryBinder, Protocol):
    """The binder of a SELECT, as far as one with windows needs it."""

    policy: Policy


class WindowedExpressions(RowExpressions):
    """Binds the SELECT list of a SELECT within FROM or WITH, which may have windows."""

    def __init__(self, binder: SubqueryBinder, scope: Scope):
        super().__init__(binder, scope)
        self.windows: list[Window] = []

    def leaf(self, node: exp.Expr) -> Expr | None:
        if not isinstance(node, exp.Window):
            return super().leaf(node)
        slot = window(node, self, self.windows)
        if self.windows[slot.index].function not in RANKINGS:
            raise Unsupported(
                "this function is not worked out over the rows of a unit",
                hint="ROW_NUMBER, RANK and DENSE_RANK are, and GROUP BY makes a table per unit",
                place=self.place(node),
            )
        return slot


def ranked_view(
    view: View, windows: Sequence[Window], binder: PolicyBinder, where: Place | None
) -> View:
    """The view, of which columns have windows in them, as one of a table that has their values."""
    source, names = view.table, names_in(view.table, binder.policy)
    for each in windows:
        naming = (p for p in each.partition if isinstance(p, ColumnRef))
        if not any(column.column.name in names for column in naming):
            message, hint = WINDOWED
            raise Unsupported(message, hint=hint, place=where)
    if view.subqueries or (isinstance(source, Joined) and is_full(source.relation)):
        raise Unsupported(
            "a window is not beside a scalar subquery or a FULL JOIN in one SELECT",
            hint="a SELECT in FROM can have the window alone",
            place=where,
        )
    check_made(source, where)
    parts = [*(each for _, each in view.columns), *(p for each in windows for p in each.parts)]
    read = {name: column for part in parts for name, column in columns_of(part).items()}
    rows = rows_read(source, view.where, [*map(ColumnRef, read.values())], binder.policy)
    held = dict(zip(read, rows.references, strict=True))
    over = [_with_columns(each, lambda leaf: _held(leaf, held)) for each in windows]
    labels = {each.index: name for name, each in view.columns if isinstance(each, Slot)}
    named = [(labels.get(at) or each.function, each) for at, each in enumerate(over)]
    table = ranked_rows(rows, named)

    def column(leaf: Slot | ColumnRef) -> Expr:
        return ColumnRef(table.ranks[leaf.index]) if isinstance(leaf, Slot) else _held(leaf, held)

    return View(table, tuple((name, substituted(each, column)) for name, each in view.columns))


def _held(leaf: Slot | ColumnRef, held: Mapping[str, ColumnRef]) -> Expr:
    return leaf if isinstance(leaf, Slot) else held[leaf.column.name]


def _with_columns(each: Window, new: Callable[[Slot | ColumnRef], Expr]) -> Window:
    """The window over other columns."""
    order = tuple(
        replace(term, expression=substituted(term.expression, new)) for term in each.order
    )
    partition = tuple(substituted(part, new) for part in each.partition)
    return replace(each, partition=partition, order=order)
