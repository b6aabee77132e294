"""UNION ALL of the rows of tables, and UNNEST, which is one.

`FROM t, UNNEST(SPLIT(s, ',')[1:5]) AS p` is the UNION ALL of five SELECTs, of which each has one
part of s as p, in the rows that have so many parts. So a unit has five times its rows at most.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import reduce
from itertools import islice

from sqlglot import exp

from dpdb.errors import Place, TooLarge, TypeMismatch, Unsupported
from dpdb.plan.expressions.expressions import (
    Arithmetic,
    Expr,
    IsNull,
    Literal,
    Not,
    compare,
    conjunction,
    size,
)
from dpdb.plan.logical.row_tables import RowUnion, UnionPart, row_union, stored_tables
from dpdb.plan.relations.relations import Joined, is_full
from dpdb.plan.unit_work import check_rows
from dpdb.policy.catalog import Kind
from dpdb.sql.scalars import types
from dpdb.sql.scalars.calls import call
from dpdb.sql.scopes.scopes import RowExpressions
from dpdb.sql.scopes.select_binder import SelectBinder
from dpdb.sql.scopes.views import Scope, View
from dpdb.sql.syntax.trees import only, place
from dpdb.sql.text.tokens import MAX_SELECTS

MAX_TABLES = 50
"""The most tables of the policy that one UNION ALL reads."""


_ELEMENTS = "UNNEST(SPLIT(s, ',')[1:5]) AS p has a row for each of the first five parts of s"


def unnested(scope: Scope, join: exp.Join, binder: SelectBinder) -> Scope:
    """The scope of rows with a column for the elements of UNNEST, a row for each."""
    node, where = join.this, place(join, binder.text)
    if join.side or join.args.get("on") or join.args.get("using"):
        raise Unsupported(
            "UNNEST is not joined on a condition",
            hint="WHERE x IN ('a', 'b') GROUP BY x has a row for each value of a list",
            place=where,
        )
    only(join, binder.text, "this", "kind")
    only(node, binder.text, "expressions", "alias")
    alias = node.args.get("alias")
    if scope.parts or scope.view.derived is not None or join.kind not in ("", "CROSS"):
        raise Unsupported(
            "UNNEST stands beside one table or SELECT of rows",
            hint="a SELECT in FROM can join first",
            place=where,
        )
    if alias is None or len(node.expressions) != 1:
        raise Unsupported("UNNEST takes one list, and a name", hint=_ELEMENTS, place=where)
    named = [each.name for each in alias.args.get("columns") or [alias.this]]
    view, columns = scope.view, len(scope.view.columns)
    sides = [
        replace(
            view,
            columns=(*view.columns, (named[0], element)),
            where=conjunction(view.where, condition),
        )
        for element, condition in _elements(node.expressions[0], scope, binder, where)
    ]
    whole = rows_of_all(node, sides, binder)
    names = dict.fromkeys(scope.names, whole.columns[:columns])
    of_alias = {alias.name.casefold(): whole.columns[columns:]}
    return Scope(whole, {**names, **of_alias}, binder, scope.source)


def constant_rows(node: exp.Unnest | exp.Values, text: str) -> exp.Query:
    """The rows of VALUES, or the elements of UNNEST([…]), as a UNION ALL of SELECTs."""
    only(node, text, "expressions", "alias")
    alias = node.args.get("alias")
    if isinstance(node, exp.Values):
        rows = [each.expressions for each in node.expressions]
        names = [f"col{number}" for number in range(len(rows[0]))]
    else:
        lists = [each.expressions for each in node.expressions if isinstance(each, exp.Array)]
        rows = [[each] for each in lists[0]] if len(lists) == len(node.expressions) == 1 else []
        names = [alias.name if alias is not None and alias.name else "unnest"]
    if not 0 < len(rows) <= MAX_SELECTS or any(len(row) != len(names) for row in rows):
        raise Unsupported(
            f"without a table, UNNEST and VALUES have 1 to {MAX_SELECTS} constants",
            hint="FROM UNNEST([1, 2]) AS p; FROM t, UNNEST(SPLIT(s, ',')[1:5]) AS p",
            place=place(node, text),
        )
    selects: list[exp.Query] = [
        exp.Select(
            expressions=[
                exp.alias_(each.copy(), name, quoted=True)
                for each, name in zip(row, names, strict=True)
            ]
        )
        for row in rows
    ]
    return reduce(lambda one, other: exp.union(one, other, distinct=False, copy=False), selects)


def _elements(
    node: exp.Expr, scope: Scope, binder: SelectBinder, where: Place | None
) -> Iterator[tuple[Expr, Expr | None]]:
    """The elements of a list, each with the condition that a row has it."""
    rows = RowExpressions(binder, scope)
    match node:
        case exp.Array(expressions=[_, *_] as listed):
            elements, _ = types.unify([rows.expression(each) for each in listed], where)
            yield from ((element, None) for element in elements)
            return
        case exp.Bracket(
            this=exp.Split() as split,
            expressions=[exp.Slice(this=first, expression=exp.Literal() as last)],
        ):
            start = 1 if first is None else _place(first)
            numbers = range(start, _place(last) + 1)
            text, separator = (rows.expression(each) for each in (split.this, split.expression))
            if start and 0 < len(numbers) <= MAX_TABLES and isinstance(separator, Literal):
                for number in numbers:
                    yield _part_of(text, separator, number, where)
                return
    raise Unsupported(
        f"UNNEST takes [a, b, …], or 1 to {MAX_TABLES} parts of a text", hint=_ELEMENTS, place=where
    )


def _place(node: exp.Expr) -> int:
    """The whole number that a node writes; 0 if it writes none, or a large one."""
    written = node.name if isinstance(node, exp.Literal) and not node.is_string else ""
    return int(written) if written.isdecimal() and len(written) < 4 else 0


def _part_of(text: Expr, separator: Literal, number: int, where: Place | None) -> tuple[Expr, Expr]:
    """The part of a text with this number, and the condition that the text has so many."""
    part = call("SPLIT_PART", [text, separator, Literal(number, Kind.INTEGER)], where)
    if number == 1:
        return part, Not(IsNull(text))
    without = call("REPLACE", [text, separator, Literal("", Kind.TEXT)], where)
    whole, left = (call("LENGTH", [each], where) for each in (text, without))
    removed = Arithmetic("-", whole, left, Kind.INTEGER)
    least = Literal((number - 1) * len(str(separator.value)), Kind.INTEGER)
    return part, compare(">=", removed, least)


def rows_of_all(tree: exp.Expr, sides: Sequence[View], binder: SelectBinder) -> View:
    """The view of the rows of two sides, one after the other."""
    where = place(tree, binder.text)
    if len({len(side.columns) for side in sides}) > 1:
        raise TypeMismatch("the SELECTs of a UNION have the same number of columns", place=where)
    parts = [part for side in sides for part in _parts(side, tree, binder)]
    _check_units(parts, tree, binder)
    fitted = [
        types.unify([part.columns[at] for part in parts], where)
        for at in range(len(sides[0].columns))
    ]
    converted = [
        UnionPart(part.source, part.where, tuple(expressions[number] for expressions, _ in fitted))
        for number, part in enumerate(parts)
    ]
    labels = [name for name, _ in sides[0].columns]
    table = row_union(labels, [kind for _, kind in fitted], converted, binder.policy)
    return View(table, tuple(zip(labels, table.references, strict=True)))


def _parts(side: View, tree: exp.Expr, binder: SelectBinder) -> Iterator[UnionPart]:
    """The parts of a side: several if the side is itself a UNION ALL."""
    where, table = place(tree, binder.text), side.table
    columns = tuple(expression for _, expression in side.columns)
    if side.subqueries:
        raise Unsupported(
            "a scalar subquery is not compared with the rows of a UNION ALL",
            hint="write it into the outer SELECT",
            place=where,
        )
    if isinstance(table, Joined) and is_full(table.relation):
        raise Unsupported(
            "the rows of a FULL JOIN are not in a UNION ALL",
            hint="LEFT JOIN keeps the rows of the first table",
            place=where,
        )
    check_rows(table, where)
    if isinstance(table, RowUnion) and side.where is None and columns == table.references:
        yield from table.parts
    else:
        binder.effort.spend(sum(map(size, columns)), tree, binder.text)
        yield UnionPart(table, side.where, columns)


def _check_units(parts: Sequence[UnionPart], tree: exp.Expr, binder: SelectBinder) -> None:
    """Refuse public rows, and rows of tables with different units."""
    where, unit = place(tree, binder.text), binder.policy.unit
    public = next((part.source for part in parts if part.source.public), None)
    if public is not None:
        raise Unsupported(
            f"UNION ALL of public rows is not supported: they are of no {unit}",
            hint="ask the public table in a SELECT of its own",
            place=where,
        )
    read = islice((table for part in parts for table in stored_tables(part.source)), MAX_TABLES + 1)
    tables = list(read)
    if len(tables) > MAX_TABLES:
        raise TooLarge(
            f"more than {MAX_TABLES} tables in a UNION ALL, each counted as often as it is used",
            place=where,
        )
    private = {table.name: table for table in tables if not table.public}
    alone = next((name for name, table in private.items() if table.unit is None), None)
    if alone is not None and len(private) > 1:
        raise Unsupported(
            f"{' and '.join(private)} are not in one UNION ALL: "
            f"each row of {alone} is a unit of its own",
            hint='name the column that says whom a row is about: unit = "…"',
            place=where,
        )
