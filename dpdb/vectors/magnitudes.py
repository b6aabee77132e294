"""Bounds for the size of an expression's doubles, which say whether they can overflow.

The intervals of a plan are of exact numbers. Doubles are rounded, and where large numbers cancel
their rounding errors can be far outside an interval. So magnitudes are added and multiplied here
and never taken from each other: a result is rounded by a relative 2^-53 at each operator, which
the distance from the limit to the largest double, 10^18 times the limit, covers many times over.
"""

from __future__ import annotations

import math
from functools import lru_cache

from dpdb.plan.expressions.calendar import CLOCK, PARTS
from dpdb.plan.expressions.expressions import Arithmetic, Call, Case, Cast, ColumnRef, Expr, Literal
from dpdb.policy.catalog import Column, Kind
from dpdb.policy.numbers import MAGNITUDE_LIMIT

_LIMIT = 1e290


def stays_finite(expression: Expr) -> bool:
    """Whether no row can make an operator or function within `expression` overflow."""
    return magnitude(expression) < _LIMIT


@lru_cache(maxsize=10_000)
def magnitude(expression: Expr) -> float:
    """A bound for the size of the expression's doubles, also of those that stand for NULL."""
    match expression:
        case Literal(value=str()) | Literal(kind=Kind.TEXT):
            return math.inf
        case Literal(value=value):
            return 0.0 if value is None else abs(float(value))
        case ColumnRef(column=column):
            return _largest(column)
        case Arithmetic(operator=operator, left=left, right=right):
            return _result(operator, magnitude(left), right)
        case Case(branches=branches, default=default):
            return max(*(magnitude(value) for _, value in branches), magnitude(default))
        case Call():
            return _call(expression)
        case Cast(kind=Kind.INTEGER | Kind.DATE | Kind.TIMESTAMP):
            return float(MAGNITUDE_LIMIT)
        case Cast(operand=operand, kind=Kind.NUMBER):
            return magnitude(operand)
    return 1.0 if expression.kind is Kind.BOOLEAN else math.inf


def _largest(column: Column) -> float:
    if column.kind is Kind.TEXT:
        return math.inf
    if column.kind is Kind.BOOLEAN:
        return 1.0
    if column.bounds is not None:
        return float(max(map(abs, column.bounds)))
    return math.inf if column.kind is Kind.NUMBER else float(MAGNITUDE_LIMIT * column.step)


def _result(operator: str, left: float, divisor_or_other: Expr) -> float:
    match operator:
        case "+" | "-":
            return left + magnitude(divisor_or_other)
        case "*":
            return _product(left, magnitude(divisor_or_other))
    # A quotient is bounded where what it is divided by is a constant other than zero.
    match divisor_or_other:
        case Literal(value=value) if value is not None and not isinstance(value, str):
            size = abs(float(value))
            if size > 0 and left < math.inf:
                return left / size if operator == "/" else left
    return math.inf


def _product(first: float, second: float) -> float:
    """The product of two magnitudes; 0·∞ is ∞, as the double that it bounds may be no number."""
    return math.inf if math.inf in (first, second) else first * second


def _call(call: Call) -> float:
    parts = [magnitude(argument) for argument in call.arguments]
    match call.name:
        case "coalesce" | "least" | "greatest" | "clamp":
            return max(parts)
        case "nullif" | "abs":
            return parts[0]
        case "floor" | "ceil" | "trunc" | "sqrt" | "cbrt":
            return parts[0] + 1
        case "sign" | "sin" | "cos":
            return 1.0
        case "asin" | "acos" | "atan" | "atan2":
            return math.pi
        case "ln" | "log2" | "log10":
            # The logarithms of the smallest and of the largest double are nearer to zero.
            return 1100.0
        case "round":
            digits = call.arguments[1]
            assert isinstance(digits, Literal)
            # The number is scaled up on the way, or rounded to such a unit.
            unit = 10.0 ** abs(int(digits.value or 0))
            return _product(parts[0] + 1, unit)
        case "length" | "position" | "date_trunc" | "months_later" | "parse_date" | "strptime":
            return float(MAGNITUDE_LIMIT)
        case "timestamp_trunc" | "timestamp_months_later" | "elapsed":
            return 2.0 * MAGNITUDE_LIMIT
    return float(MAGNITUDE_LIMIT) if call.name in (*PARTS, *CLOCK) else math.inf
