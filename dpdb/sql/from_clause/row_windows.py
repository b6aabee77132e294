"""Windows over the rows of a unit, in a SELECT within FROM or WITH."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from sqlglot import exp

from dpdb.errors import Place, Unsupported
from dpdb.plan.expressions.expressions import (
    Case,
    ColumnRef,
    Expr,
    IsNull,
    Literal,
    Not,
    Slot,
    columns_of,
    slots,
)
from dpdb.plan.logical.derived import Window
from dpdb.plan.logical.row_tables import PICKS, RANKINGS, TOTALS, rows_read, windowed_rows
from dpdb.plan.relations.privacy_ids import names_in
from dpdb.plan.relations.relations import Joined, is_full, relation_of, scans
from dpdb.plan.unit_work import check_rows
from dpdb.policy.catalog import Kind
from dpdb.sql.aggregates.windows import window
from dpdb.sql.scopes.scopes import RowExpressions
from dpdb.sql.scopes.select_binder import SelectBinder
from dpdb.sql.scopes.views import Scope, SubqueryBinder, View, ViewColumns
from dpdb.sql.syntax.trees import only, place, substituted

ROW_BY_ROW = "a SELECT within FROM or WITH works row by row"
WINDOWED = (
    f"{ROW_BY_ROW}: a window would look at other rows",
    "PARTITION BY a column that names a unit, or aggregate in the outer SELECT, with GROUP BY",
)
"""The message and the hint for a window over more than the rows of a unit."""


class WindowedExpressions(RowExpressions):
    """Binds the SELECT list and QUALIFY of a SELECT within FROM or WITH, which have windows."""

    def __init__(self, binder: SubqueryBinder, scope: Scope):
        super().__init__(binder, scope)
        self.windows: list[Window] = []
        """The different windows read so far, as engines compute them."""
        self._written: list[Window] = []
        self._aliases: dict[str, Expr] = {}

    def leaf(self, node: exp.Expr) -> Expr | None:
        if isinstance(node, exp.Window):
            written = self._written
            return self._meant(written[window(node, self, written).index], node)
        if isinstance(node, exp.Column) and node.args.get("table") is None:
            named = self._aliases.get(node.name.casefold())
            if named is not None and not self._scope.has(node.name):
                return named
        return super().leaf(node)

    def qualifying(self, tree: exp.Select, columns: ViewColumns) -> Expr | None:
        """The condition of QUALIFY, in which the columns of the SELECT list have their names."""
        qualify = tree.args.get("qualify")
        if qualify is None:
            return None
        only(qualify, self.text, "this")
        self._aliases = {name.casefold(): each for name, each in columns if name}
        condition = self.condition(qualify.this)
        if not slots(condition, "window"):
            raise Unsupported(
                "QUALIFY is for conditions on windows",
                hint="other conditions go into WHERE",
                place=place(qualify.this, self.text),
            )
        return condition

    def _meant(self, each: Window, node: exp.Window) -> Expr:
        """The value of a window; the default of LAG and LEAD is computed row by row."""
        if each.function not in (*RANKINGS, *PICKS, *TOTALS):
            raise Unsupported(
                "this function is not worked out over the rows of a unit",
                hint="ranks, LAG, LEAD, FIRST_VALUE, LAST_VALUE, NTH_VALUE and aggregates are,"
                " and GROUP BY makes a table per unit",
                place=self.place(node),
            )
        if each.function not in ("lag", "lead"):
            return self._slot(each)
        value, default, distance = each.arguments
        there = self._slot(replace(each, arguments=(value, distance)))
        if isinstance(default, Literal) and default.value is None:
            return there
        one = Literal(1, Kind.INTEGER)
        row = self._slot(replace(each, arguments=(one, distance), kind=Kind.INTEGER))
        return Case(((Not(IsNull(row)), there),), default, each.kind)

    def _slot(self, each: Window) -> Slot:
        if each not in self.windows:
            self.windows.append(each)
        return Slot("window", self.windows.index(each), each.kind)


def windowed_view(
    view: View,
    qualify: Expr | None,
    windows: Sequence[Window],
    binder: SelectBinder,
    where: Place | None,
) -> View:
    """The view over a made table that has a column for each window."""
    _check(view, windows, binder, where)
    check_rows(view.table, where)
    parts = [*(each for _, each in view.columns), *([] if qualify is None else [qualify])]
    parts += [part for each in windows for part in each.parts[len(each.arguments) :]]
    columns = {name: column for part in parts for name, column in columns_of(part).items()}
    values = [each.arguments[0] for each in windows if each.arguments]
    read = list(dict.fromkeys([*map(ColumnRef, columns.values()), *values]))
    rows = rows_read(view.table, view.where, read, binder.policy)
    held = dict(zip(read, rows.references, strict=True))
    labels = {each.index: name for name, each in view.columns if isinstance(each, Slot)}
    named = [(labels.get(at) or each.function, each) for at, each in enumerate(windows)]
    table = windowed_rows(rows, [(name, _over(each, held)) for name, each in named], where)

    def column(leaf: Slot | ColumnRef) -> Expr:
        if isinstance(leaf, Slot):
            return ColumnRef(table.window_columns[leaf.index])
        return held[leaf]

    kept = None if qualify is None else substituted(qualify, column)
    return View(table, tuple((name, substituted(e, column)) for name, e in view.columns), kept)


def _check(
    view: View, windows: Sequence[Window], binder: SelectBinder, where: Place | None
) -> None:
    """Refuse windows that would read the rows of several units."""
    source = view.table
    names = names_in(scans(relation_of(source)), binder.policy)
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


def _over(each: Window, held: Mapping[Expr, ColumnRef]) -> Window:
    """The window over the columns `held` of the made table."""

    def column(leaf: Slot | ColumnRef) -> Expr:
        return leaf if isinstance(leaf, Slot) else held[leaf]

    arguments = (*(held[first] for first in each.arguments[:1]), *each.arguments[1:])
    others = replace(each, arguments=()).over(lambda part: substituted(part, column))
    return replace(others, arguments=arguments)
