"""Expressions with other operands."""

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


def with_operands(expression: Expr, new: Callable[[Expr], Expr]) -> Expr:
    """The expression with `new` of each direct operand in its place."""
    match expression:
        case Literal() | ColumnRef() | Slot():
            return expression
        case Compare(operator=operator, left=left, right=right):
            return compare(operator, new(left), new(right))
        case Arithmetic(left=left, right=right):
            return replace(expression, left=new(left), right=new(right))
        case Logic(operator=operator, operands=operands):
            return logic(operator, [new(operand) for operand in operands])
        case Not() | IsNull() | InList() | Like() | Cast() | IntervalEnd():
            return replace(expression, operand=new(expression.operand))
        case Case(branches=branches, default=default):
            chosen = tuple((new(condition), new(value)) for condition, value in branches)
            return replace(expression, branches=chosen, default=new(default))
        case Call(arguments=arguments):
            return replace(expression, arguments=tuple(map(new, arguments)))


def substituted(expression: Expr, new: Callable[[Slot | ColumnRef], Expr]) -> Expr:
    """The expression with `new` of each slot and each column in its place."""
    if isinstance(expression, Slot | ColumnRef):
        return new(expression)
    return with_operands(expression, lambda part: substituted(part, new))
