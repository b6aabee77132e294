"""UNION ALL of the rows of tables, within FROM and WITH: one table about the same units."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice

from sqlglot import exp

from dpdb.errors import TooLarge, TypeMismatch, Unsupported
from dpdb.plan.expressions import size
from dpdb.plan.per_unit import PerUnit
from dpdb.plan.relations import Joined, Source, is_full, scans
from dpdb.plan.row_unions import RowUnion, UnionPart, row_union
from dpdb.plan.row_windows import WindowedRows
from dpdb.plan.unit_work import check_rows
from dpdb.policy.catalog import Table
from dpdb.sql import types
from dpdb.sql.select_binder import SelectBinder
from dpdb.sql.trees import place
from dpdb.sql.views import View

MAX_TABLES = 50
"""The most tables of the policy that one UNION ALL reads."""


def rows_of_all(tree: exp.Union, sides: Sequence[View], binder: SelectBinder) -> View:
    """The view of the rows of two sides, one after the other."""
    _check_clauses(tree, binder)
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


def _check_clauses(tree: exp.Union, binder: SelectBinder) -> None:
    """Refuse what would choose among the rows of all units, or make one row of several's."""
    where, unit = place(tree, binder.text), binder.policy.unit
    if tree.args.get("distinct"):
        raise Unsupported(
            f"UNION makes one row of equal rows of every {unit}",
            hint="use UNION ALL, and COUNT(DISTINCT x) in the outer SELECT",
            place=where,
        )
    if tree.args.get("limit") or tree.args.get("offset"):
        raise Unsupported(
            f"LIMIT inside a subquery chooses among the rows of every {unit}",
            hint="leave it to the outer SELECT",
            place=where,
        )
    if tree.args.get("order"):
        raise Unsupported(
            "the rows of a table have no order",
            hint="leave ORDER BY to the outer SELECT",
            place=where,
        )


def _parts(side: View, tree: exp.Union, binder: SelectBinder) -> Iterator[UnionPart]:
    """The parts of a side: those of a UNION ALL that stands within this one."""
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


def _check_units(parts: Sequence[UnionPart], tree: exp.Union, binder: SelectBinder) -> None:
    """Refuse rows that are nobody's, or of units that are told apart in different ways."""
    where, unit = place(tree, binder.text), binder.policy.unit
    public = next((part.source for part in parts if part.source.public), None)
    if public is not None:
        raise Unsupported(
            f"UNION ALL of public rows is not supported: they are of no {unit}",
            hint="ask the public table in a SELECT of its own",
            place=where,
        )
    read = islice((table for part in parts for table in _tables_of(part.source)), MAX_TABLES + 1)
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


def _tables_of(source: Source) -> Iterator[Table]:
    """The tables of the policy that a source reads, each as often as it does."""
    match source:
        case Joined():
            for scan in scans(source.relation):
                yield from _tables_of(scan.table)
        case PerUnit(source=inner) if inner is not None:
            yield from _tables_of(inner)
        case RowUnion(parts=parts):
            for part in parts:
                yield from _tables_of(part.source)
        case WindowedRows(rows=RowUnion() as rows):
            yield from _tables_of(rows)
        case _:
            yield source
