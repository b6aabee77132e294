"""The sources of a FROM clause: tables, subqueries, and joins of noisy answers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import reduce

from sqlglot import exp

from dpdb.errors import Place, UnknownName, Unsupported
from dpdb.plan.expressions.expressions import Expr, Slot, conjunction, slots
from dpdb.plan.logical.derived import AnswerJoin, Released
from dpdb.plan.logical.query import Output, PublicRows, Query
from dpdb.plan.relations.relations import Source
from dpdb.policy.names import suggestion
from dpdb.sql.from_clause.arrangement import joined, with_lookups
from dpdb.sql.from_clause.exact_answers import as_answer
from dpdb.sql.from_clause.joins import (
    FromItem,
    beside,
    check_words,
    condition_of,
    scope_of,
    turned,
    with_using,
)
from dpdb.sql.from_clause.public_tables import check_matched
from dpdb.sql.from_clause.row_unions import constant_rows, unnested
from dpdb.sql.from_clause.row_windows import (
    ROW_BY_ROW,
    WINDOWED,
    WindowedExpressions,
    windowed_view,
)
from dpdb.sql.scopes.group_by import position
from dpdb.sql.scopes.scopes import RowExpressions, condition_in
from dpdb.sql.scopes.select_binder import SelectBinder
from dpdb.sql.scopes.views import Scope, SubqueryBinder, View, derived_view, whole
from dpdb.sql.syntax.trees import only, place


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

    def after(column: Expr) -> Expr:
        assert isinstance(column, Slot)
        return replace(column, index=column.index + len(left.columns))

    columns = tuple((name, after(column)) for name, column in item.view.columns)
    both = beside(scope, replace(item.view, columns=columns), item, binder)
    sides = scope.view.columns, columns
    scope, condition = with_using(both, item, sides, condition_of(item, both))
    if condition is not None and slots(condition, "subquery"):
        raise Unsupported("a subquery cannot be in ON here", place=place(item.node, binder.text))
    join = AnswerJoin(item.kind, left, right, condition)
    return replace(scope, view=replace(scope.view, derived=join))


SCHEMAS = ("main", "public")
"""Schemas that may qualify a table's name: the defaults of DuckDB and PostgreSQL."""

_CUT = (
    f"{ROW_BY_ROW}: LIMIT would choose among the rows of all",
    "leave ORDER BY and LIMIT to the outer SELECT",
)
_REFUSED = {"limit": _CUT, "offset": _CUT, "windows": WINDOWED}
"""Clauses that do not work row by row, each with the message and the hint of its refusal."""


def with_views(tree: exp.Query, binder: SelectBinder) -> Mapping[str, View]:
    """The tables of a SELECT's WITH, besides those of the SELECTs around it."""
    clause, views = tree.args.get("with_"), dict(binder.views)
    if clause is None:
        return views
    if clause.args.get("recursive"):
        raise Unsupported(
            "WITH RECURSIVE is not supported",
            hint="WITH without RECURSIVE is, for tables that do not read themselves",
            place=place(clause, binder.text),
        )
    only(clause, binder.text, "expressions")
    here = set()
    for definition in clause.expressions:
        only(definition, binder.text, "this", "alias", "materialized")
        where, name = place(definition.args["alias"], binder.text), definition.alias.casefold()
        if name in here:
            raise Unsupported(f"WITH names two tables {definition.alias}", place=where)
        here.add(name)
        inner = binder.within()
        inner.views = dict(views)
        views[name] = _renamed(_view(definition, inner), definition.args["alias"], binder)
    return views


def scope(tree: exp.Select, binder: SelectBinder) -> Scope:
    """The scope of a SELECT's FROM: a table, a view, a SELECT, or a join of several."""
    source = tree.args["from_"]
    further = tree.args.get("joins") or ()
    while isinstance(source.this, exp.Subquery) and _is_join(source.this) and not source.this.alias:
        # (a JOIN b ON …) JOIN c is a JOIN b ON … JOIN c.
        first = source.this.this.copy()
        further = (*first.args["joins"], *further)
        first.set("joins", None)
        source = exp.From(this=first)
    view, names = _source(source.this, tree, binder)
    if view.derived is None and all(isinstance(each.this, exp.Unnest) for each in further):
        alone = Scope(view, dict.fromkeys(names, view.columns), binder, source.this)
        return reduce(lambda inner, each: unnested(inner, each, binder), further, alone)
    items = [FromItem(source.this, view, names)]
    items += [FromItem(j.this, *_source(j.this, tree, binder), j) for j in further]
    if any(item.view.derived is not None for item in items):
        items = [replace(item, view=as_answer(item.view)) for item in items]
    if all(item.view.derived is not None for item in items):
        return scope_of_answers(items, binder)
    return scope_of(items, binder)


def source_of(
    tree: exp.Select, scope: Scope, rows: RowExpressions, binder: SelectBinder
) -> tuple[Source, Expr | None]:
    """The source of a SELECT, and its condition: that of its view, and its own WHERE."""
    condition = conjunction(scope.condition(scope.view.where), condition_in(tree, "where", rows))
    if not scope.parts:
        return scope.view.table, condition
    return joined(scope.parts, condition, binder.policy, binder.facts)


def _source(node: exp.Expr, tree: exp.Select, binder: SelectBinder) -> tuple[View, frozenset[str]]:
    """A table, view or SELECT in FROM, and the names that may qualify its columns."""
    match node:
        case exp.Table(this=exp.Identifier()):
            only(node, binder.text, "this", "alias", "db")
            view, names = _named(node, binder)
        case exp.Table():
            raise Unsupported(
                "only a table's name can be in FROM",
                hint="dpdb FILE.csv makes a table of a file, and SHOW TABLES lists them",
                place=place(node, binder.text),
            )
        case exp.Subquery(this=table) if isinstance(table, exp.Table) or _is_join(node):
            only(node, binder.text, "this", "alias")
            if _is_join(node) and not node.alias:
                raise Unsupported(
                    "a join in parentheses is the first in FROM, or has a name",
                    hint="FROM a JOIN (b JOIN c USING (k)) AS d USING (k)",
                    place=place(table, binder.text),
                )
            if _is_join(node):
                first = table.copy()
                joins = first.args.pop("joins")
                every = exp.Select(
                    expressions=[exp.Star()], from_=exp.From(this=first), joins=joins
                )
                view, names = _view(exp.Subquery(this=every), binder.within()), frozenset()
            else:
                view, names = _source(table, tree, binder)
        case exp.Unnest() | exp.Values():
            rows = exp.Subquery(this=constant_rows(node, binder.text))
            view, names = _view(rows, binder.within()), frozenset()
        case exp.Subquery():
            only(node, binder.text, "this", "alias")
            view, names = _view(node, binder.within()), frozenset()
        case _:
            raise Unsupported(
                "only tables and SELECTs can be in FROM",
                hint="SELECT COUNT(*) FROM t",
                place=place(tree, binder.text),
            )
    if (alias := node.args.get("alias")) is not None:
        only(alias, binder.text, "this", "columns")
        view = _renamed(view, alias, binder)
    names = frozenset({node.alias.casefold()}) if node.alias else names
    return view, names


def _is_join(node: exp.Subquery) -> bool:
    """Whether tables are joined in parentheses."""
    return isinstance(node.this, exp.Table | exp.Subquery) and bool(node.this.args.get("joins"))


def _named(node: exp.Table, binder: SelectBinder) -> tuple[View, frozenset[str]]:
    """The view or table that a node names, and the names that may qualify its columns."""
    schema, name = node.args.get("db"), node.name.casefold()
    if schema is None and name in binder.views:
        return binder.views[name], frozenset({name})
    table = None if schema is None else binder.policy.table(f"{schema.name}.{node.name}")
    lasting = binder.policy.lasting
    schemas = (*SCHEMAS, *([] if lasting is None else [lasting.name.casefold()]))
    if table is None and schema is not None and schema.name.casefold() not in schemas:
        raise UnknownName(
            f"no schema {schema.name}",
            hint=f"tables are in {' or '.join(schemas)}, or named without a schema",
            place=place(node, binder.text),
        )
    table = table or binder.policy.table(node.name)
    if table is None:
        known = [table.name for table in binder.policy.tables]
        hint = suggestion(node.name, [*binder.views, *known], "tables")
        raise UnknownName(
            f"no table {node.name}",
            hint=hint,
            place=place(node, binder.text),
            table=node.name.casefold(),
        )
    return whole(table), frozenset({name, table.name.casefold()})


def _renamed(view: View, alias: exp.TableAlias, binder: SelectBinder) -> View:
    """The view after AS t(a, b): its first columns have these names."""
    names = [name.name for name in alias.args.get("columns") or ()]
    if len(names) > len(view.columns):
        raise Unsupported(
            f"{len(names)} names for {len(view.columns)} columns", place=place(alias, binder.text)
        )
    kept = [name for name, _ in view.columns[len(names) :]]
    expressions = [expression for _, expression in view.columns]
    return replace(view, columns=tuple(zip([*names, *kept], expressions, strict=True)))


def _view(node: exp.Subquery | exp.CTE, binder: SelectBinder) -> View:
    """The view that the SELECT of a derived table or of WITH defines."""
    if not isinstance(node.this, exp.Select | exp.SetOperation):
        raise Unsupported(
            "only a SELECT can be within FROM or WITH",
            hint="SELECT AVG(n) FROM (SELECT y, COUNT(*) AS n FROM t GROUP BY y) AS g",
            place=place(node, binder.text),
        )
    bound = binder.bound(node.this, row_by_row=True)
    if isinstance(bound, View):
        return bound
    return derived_view(Released(bound) if isinstance(bound, Query) else bound)


def row_view(tree: exp.Select, inner: Scope, binder: SelectBinder) -> View:
    """The view that a SELECT within FROM or WITH defines, which works row by row."""
    for clause, (message, hint) in _REFUSED.items():
        if part := tree.args.get(clause):
            where = place(part, binder.text) if isinstance(part, exp.Expr) else None
            raise Unsupported(message, hint=hint, place=where or place(tree, binder.text))
    only(tree, binder.text, "expressions", "from_", "joins", "where", "qualify", "order",
         "with_", "distinct")  # fmt: skip
    binder.check_items(tree)
    rows, selected = _DerivedExpressions(binder, inner), WindowedExpressions(binder, inner)
    columns = tuple(_columns(tree, selected, inner))
    qualify = selected.qualifying(tree, columns)
    table, condition = source_of(tree, inner, rows, binder)
    _check_order(tree, rows, binder, {name.casefold() for name, _ in columns})
    check_matched(table, place(tree, binder.text))
    table = with_lookups(table, binder.lookups, binder.policy, binder.facts)
    view = View(table, columns, condition, tuple(binder.subqueries))
    if (distinct := tree.args.get("distinct")) is not None:
        only(distinct, binder.text)
        _check_different(view, binder, place(distinct, binder.text) or place(tree, binder.text))
    if not selected.windows:
        return view
    return windowed_view(view, qualify, selected.windows, binder, place(tree, binder.text))


def _check_different(view: View, binder: SelectBinder, where: Place | None) -> None:
    """Refuse DISTINCT, unless the rows are public and known to differ."""
    outputs = tuple(Output(name, expression) for name, expression in view.columns)
    rows = None
    if view.table.public and not view.subqueries:
        rows = binder.facts.rows(PublicRows(view.table, outputs, (), where=view.where))
    if rows is None or len(set(rows)) < len(rows):
        raise Unsupported(
            f"{ROW_BY_ROW}: DISTINCT would make one row of several",
            hint="COUNT(DISTINCT x) in the outer SELECT counts different values",
            place=where,
        )


def _columns(tree: exp.Select, rows: RowExpressions, inner: Scope) -> Iterator[tuple[str, Expr]]:
    """The names and expressions of a SELECT list; an expression without AS has no name."""
    for item in tree.expressions:
        starred = item.this if isinstance(item, exp.Column) else item
        match item:
            case _ if isinstance(starred, exp.Star):
                only(starred, rows.text)
                yield from inner.all_columns(item)
            case exp.Alias():
                only(item, rows.text, "this", "alias")
                yield item.alias, rows.expression(item.this)
            case _:
                name = item.unnest()
                named = name.name if isinstance(name, exp.Column) else ""
                yield named, rows.expression(item)


def _check_order(
    tree: exp.Select, rows: RowExpressions, binder: SelectBinder, names: set[str]
) -> None:
    """Bind an ORDER BY to check it: without LIMIT it changes nothing."""
    order = tree.args.get("order")
    if order is None:
        return
    only(order, binder.text, "expressions")
    for term in order.expressions:
        only(term, binder.text, "this", "desc", "nulls_first")
        named = isinstance(term.this, exp.Column) and term.this.name.casefold() in names
        if not named and position(term.this, len(tree.expressions), binder.text) is None:
            rows.expression(term.this)


class _DerivedExpressions(RowExpressions):
    """Binds the expressions of a SELECT within FROM or WITH."""

    def leaf(self, node: exp.Expr) -> Expr | None:
        if isinstance(node, exp.Window):
            message, hint = WINDOWED
            raise Unsupported(message, hint=hint, place=self.place(node))
        return super().leaf(node)
