"""Expressions with others in the place of their leaves."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from dpdb.plan.expressions import (
    Arithmetic,
    Call,
    Case,
    Cast,
    ColumnRef,
    Compare,
    Expr,
    InList,
    IntervalEnd,
    IsNull,
    Like,
    Literal,
    Logic,
    Not,
    Slot,
    compare,
    logic,
)


def substituted(expression: Expr, new: Callable[[Slot | ColumnRef], Expr]) -> Expr:
    """The expression with `new` of each slot and each column in its place."""

    def inside(part: Expr) -> Expr:
        return substituted(part, new)

    match expression:
        case Slot() | ColumnRef():
            return new(expression)
        case Literal():
            return expression
        case Compare(operator=operator, left=left, right=right):
            return compare(operator, inside(left), inside(right))
        case Arithmetic(left=left, right=right):
            return replace(expression, left=inside(left), right=inside(right))
        case Logic(operator=operator, operands=operands):
            return logic(operator, [inside(operand) for operand in operands])
        case Not() | IsNull() | InList() | Like() | Cast() | IntervalEnd():
            return replace(expression, operand=inside(expression.operand))
        case Case(branches=branches, default=default):
            chosen = tuple((inside(condition), inside(value)) for condition, value in branches)
            return replace(expression, branches=chosen, default=inside(default))
        case Call(arguments=arguments):
            return replace(expression, arguments=tuple(map(inside, arguments)))
