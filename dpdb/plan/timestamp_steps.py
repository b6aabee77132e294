"""The grid of timestamps: the coarsest step of which all values of an expression are multiples."""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction

from dpdb.plan.clock import UNITS
from dpdb.plan.expressions import Arithmetic, Call, Case, Cast, ColumnRef, Expr, Literal
from dpdb.policy.catalog import Kind
from dpdb.policy.timestamps import DAY

_CHOOSING = ("coalesce", "least", "greatest", "clamp", "nullif")
"""The functions that give one of their arguments."""


def timestamp_step(expression: Expr) -> Fraction:
    """The step of timestamps, in microseconds; no step is more than a day."""
    return Fraction(_step(expression))


def _step(expression: Expr) -> int:
    match expression:
        case Literal(value=value):
            return DAY if value is None else math.gcd(int(value), DAY)
        case ColumnRef(column=column) if column.values is not None:
            return math.gcd(DAY, *map(int, column.values))
        case ColumnRef(column=column):
            return math.gcd(int(column.step), DAY)
        case Cast(operand=operand) if operand.kind is Kind.DATE:
            return DAY
        case Case(branches=branches, default=default):
            return _common([*(value for _, value in branches), default])
        case Call(name="timestamp_trunc", arguments=(Literal(value=unit), _)):
            return UNITS.get(str(unit), DAY)
        case Call(name="timestamp_months_later", arguments=(moment, _)):
            return _step(moment)
        case Call(name=name, arguments=arguments) if name in _CHOOSING:
            return _common(arguments)
        case Arithmetic(left=left, right=right):
            return _common([left, right])
    return 1


def _common(parts: Iterable[Expr]) -> int:
    return math.gcd(*map(_step, parts))
