"""The refusal of an aggregate whose values have no bounds, with the ways to give them some."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from dpdb.errors import MissingBounds
from dpdb.plan.expressions import Cast, ColumnRef, Expr, children
from dpdb.plan.query import Aggregate
from dpdb.plan.ranges import Environment, interval
from dpdb.plan.single_values import SingleValue
from dpdb.policy.catalog import Column, Kind
from dpdb.policy.names import written


def missing_bounds(aggregate: Aggregate, known: Environment) -> MissingBounds:
    """The error, which names the first column without bounds."""
    assert aggregate.argument is not None
    named = next(_unbounded(aggregate.argument, known), None)
    if named is None:
        what, hint = "this expression", "wrap it in CLAMP(expression, low, high)"
    else:
        what, name = named.column.called, written(named.column.called)
        dated = named.kind.temporal  # the command line has no dates, nor have powers of two
        option = "" if dated else f" or --bounds {shlex.quote(f'{what}=LOW:HIGH')},"
        suggestion = "" if dated else f"; for some epsilon APPROX_BOUNDS({name}) suggests some"
        hint = (
            f"declare bounds for {what} in the policy,{option} "
            f"or write CLAMP({name}, low, high), or WHERE {name} BETWEEN low AND high{suggestion}"
        )
    message = f"{what} has no bounds, so one row could change the answer without limit"
    return MissingBounds(message, hint=hint, place=aggregate.place)


def _unbounded(expression: Expr, known: Environment) -> Iterator[ColumnRef]:
    """The columns within an expression that have no bounds and can have some: no texts."""
    match expression:
        case ColumnRef(column=SingleValue(argument=argument)) if argument is not None:
            yield from _unbounded(argument, known)
        case ColumnRef() as column if column.kind.ordinal:
            if not interval(expression, known).bounded:
                yield column
        case Cast(
            operand=ColumnRef(column=Column(guessed=True)) as column,
            kind=Kind.NUMBER | Kind.INTEGER,
        ):
            if not interval(expression, known).bounded:
                yield column
        case _:
            for child in children(expression):
                yield from _unbounded(child, known)
