"""Bounds of an aggregate's argument: the error for missing ones."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from dpdb.errors import MissingBounds
from dpdb.plan.expressions.expressions import (
    Cast,
    ColumnRef,
    Expr,
    children,
)
from dpdb.plan.expressions.single_values import SingleValue
from dpdb.plan.logical.query import Aggregate
from dpdb.plan.ranges.ranges import Environment, interval
from dpdb.policy.catalog import Column, Kind
from dpdb.policy.names import written


def in_query(column: Column) -> str:
    """The column as a hint writes it: x for one of a join, whose table may have another name."""
    return "x" if "." in column.name else written(column.called)


def missing_bounds(aggregate: Aggregate, known: Environment) -> MissingBounds:
    """The error, which names the first column without bounds."""
    assert aggregate.argument is not None
    named = next(_unbounded(aggregate.argument, known), None)
    if named is None:
        what, hint = "this expression", "wrap it in CLAMP(x, low, high)"
    else:
        what, name = named.column.called, in_query(named.column)
        dated = named.kind.temporal  # the command line has no dates, nor have powers of two
        option = what.rpartition(".")[2] if what == named.column.name else what
        option = "" if dated else f" or --bounds {shlex.quote(f'{option}=LOW:HIGH')},"
        made = named.column.label and named.column.label != named.column.name
        declared = "" if made else f"declare bounds for {what} in the policy,{option} or "
        suggestion = "" if dated else f"; for some epsilon APPROX_BOUNDS({name}) suggests some"
        low, high = ("'2000-01-01'", "'2029-12-31'") if dated else ("low", "high")
        hint = (
            f"{declared}write CLAMP({name}, {low}, {high}), "
            f"or WHERE {name} BETWEEN {low} AND {high}{suggestion}"
        )
    message = f"{what} has no bounds, so one row could change the answer without limit"
    return MissingBounds(message, hint=hint, place=aggregate.place)


def _unbounded(expression: Expr, known: Environment) -> Iterator[ColumnRef]:
    """The columns within an expression that have no bounds and can have some: no texts."""
    match expression:
        case ColumnRef(column=SingleValue(argument=argument)) if argument is not None:
            yield from _unbounded(argument, known)
        case (ColumnRef() as column) | Cast(
            operand=ColumnRef(column=Column(guessed=True)) as column,
            kind=Kind.NUMBER | Kind.INTEGER,
        ) if expression.kind.ordinal:
            if not interval(expression, known).bounded:
                yield column
        case _:
            for child in children(expression):
                yield from _unbounded(child, known)
