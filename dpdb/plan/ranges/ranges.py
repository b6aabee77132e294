"""The range of an expression: an interval that holds every value of it.

Intervals come from the bounds in the policy and from WHERE, never from rows. They need not be
tight, and privacy does not depend on them: the engine clamps what it aggregates to the intervals
of the plan.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import lru_cache

from dpdb.errors import InternalError
from dpdb.plan.expressions.expressions import (
    Arithmetic,
    Call,
    Case,
    Cast,
    ColumnRef,
    Compare,
    Expr,
    InList,
    IsNull,
    Literal,
    Logic,
    Slot,
    children,
    is_null_constant,
)
from dpdb.plan.expressions.single_values import DistinctValue
from dpdb.plan.ranges.function_ranges import (
    MOMENTS,
    day_range,
    elapsed_range,
    function_range,
    is_total,
    later_range,
    midnight_range,
    moments_later_range,
    power_range,
    start_range,
    unit_start_range,
)
from dpdb.plan.ranges.intervals import (
    EVERYTHING,
    INFINITY,
    Interval,
    absolute,
    arithmetic,
    around,
    clamped,
    hull,
    rounded,
)
from dpdb.policy.catalog import Kind, Value
from dpdb.policy.timestamps import DAY

Environment = Mapping[str | Slot | Cast | Call, Interval]
"""Intervals that are known besides the declarations.

A key is a column's name, a slot, the cast of an undeclared column to a number or date, or the
call that parses a date.
"""


def interval(expression: Expr, known: Environment) -> Interval:
    """An interval that holds every non-NULL value of `expression`."""
    match expression:
        case Literal(value=value):
            return _point(value)
        case ColumnRef(column=DistinctValue(argument=argument)) if argument is not None:
            return interval(argument, known)
        case ColumnRef(column=column) if column.kind is not Kind.BOOLEAN:
            declared = EVERYTHING if column.bounds is None else Interval(*column.bounds)
            return known.get(column.name, declared)
        case Slot():
            return known.get(expression, EVERYTHING)
        case Arithmetic(operator=operator, left=left, right=right):
            return arithmetic(operator, interval(left, known), interval(right, known))
        case Case(branches=branches, default=default):
            return _any_of([*(value for _, value in branches), default], known)
        case Call(kind=kind) if kind is not Kind.BOOLEAN:
            return _call(expression, known)
        case Cast(operand=operand, kind=kind):
            return known.get(expression, _cast(operand, kind, known))
    return Interval(Fraction(0), Fraction(1)) if expression.kind is Kind.BOOLEAN else EVERYTHING


@lru_cache(maxsize=10_000)
def nullable(expression: Expr) -> bool:
    """Whether any row could make `expression` NULL.

    The result is cached, because `interval` and `nullable` call each other at every level.
    """
    match expression:
        case Literal(value=value):
            return value is None
        case ColumnRef(column=column):
            return column.nullable
        case IsNull():
            return False
        case Cast(operand=operand, kind=kind) if operand.kind.temporal and kind.temporal:
            return nullable(operand) or not _converts(operand)
        case Slot() | Cast():
            return True
        case Arithmetic(operator="/" | "%"):
            return True
        case Arithmetic() | Call(name="round") if not interval(expression, {}).bounded:
            return True
        case InList(null=True):
            return True
        case Call(name="coalesce" | "least" | "greatest", arguments=arguments):
            return all(nullable(argument) for argument in arguments)
        case Call(name=name, arguments=(*_, last)) if not is_total(name, interval(last, {})):
            return True
    return any(nullable(child) for child in children(expression))


def _converts(operand: Expr) -> bool:
    """Whether dates or timestamps are surely in the years that both can be in."""
    own, unit = interval(operand, {}), DAY if operand.kind is Kind.DATE else 1
    return MOMENTS.lower <= own.lower * unit and own.upper * unit <= MOMENTS.upper


def narrow(condition: Expr | None, known: Environment) -> Environment:
    """The intervals of the columns in rows for which `condition` is true."""
    match condition:
        case Logic(operator="and", operands=operands):
            for operand in operands:
                known = narrow(operand, known)
        case Logic(operator="or", operands=operands):
            branches = [narrow(operand, known) for operand in operands]
            shared = set.intersection(*(set(branch) for branch in branches))
            known = {**known, **{name: hull([b[name] for b in branches]) for name in shared}}
        case Compare(operator="<" | "<=" | "=" as operator, left=left, right=right):
            known = _below(left, right, known, strict=operator == "<")
            if operator == "=":
                known = _below(right, left, known, strict=False)
        case InList(operand=operand, values=values) if values and operand.kind.ordinal:
            known = _meet(operand, hull([_point(value) for value in values]), known)
    return known


def _below(left: Expr, right: Expr, known: Environment, *, strict: bool) -> Environment:
    """The intervals of the columns under `left <= right`, or under `left < right` if `strict`."""
    if not (left.kind.ordinal and right.kind.ordinal):
        return known
    low, high = interval(left, known).lower, interval(right, known).upper
    if _name(left) is not None:
        exclude = strict and left.kind is not Kind.NUMBER and isinstance(high, Fraction)
        known = _meet(
            left, Interval(upper=math.ceil(high) - Fraction(1) if exclude else high), known
        )
    if _name(right) is not None:
        exclude = strict and right.kind is not Kind.NUMBER and isinstance(low, Fraction)
        known = _meet(
            right, Interval(lower=math.floor(low) + Fraction(1) if exclude else low), known
        )
    return known


def _name(expression: Expr) -> str | Cast | Call | None:
    """The key of a column in an Environment: its name, the cast of an undeclared one, or a parse.

    A condition on the date of a timestamp limits the timestamp.
    """
    match expression:
        case ColumnRef(column=column):
            return column.name
        case Call(name="strptime" | "parse_date"):
            return expression
        case Cast(operand=operand, kind=Kind.DATE) if operand.kind is Kind.TIMESTAMP:
            return _name(operand)
        case Cast(operand=ColumnRef(column=column), kind=kind) if column.guessed and kind.ordinal:
            return expression
    return None


def _meet(expression: Expr, limit: Interval, known: Environment) -> Environment:
    """`known` with the interval of `expression`, if that is a column, narrowed to `limit`."""
    match expression:
        case Cast(operand=moment, kind=Kind.DATE) if moment.kind is Kind.TIMESTAMP:
            return _meet(moment, Interval(limit.lower * DAY, limit.upper * DAY + DAY - 1), known)
    name = _name(expression)
    return known if name is None else {**known, name: interval(expression, known).meet(limit)}


def _point(value: object) -> Interval:
    """The interval of a constant; EVERYTHING for NULL and text."""
    if isinstance(value, (int, Fraction)):
        return Interval(Fraction(value), Fraction(value))
    return EVERYTHING


def _any_of(expressions: Sequence[Expr], known: Environment) -> Interval:
    """An interval that holds the values of all the expressions, NULL constants left out."""
    parts = [interval(part, known) for part in expressions if not is_null_constant(part)]
    return hull(parts) if parts else EVERYTHING


def _cast(operand: Expr, kind: Kind, known: Environment) -> Interval:
    inner = interval(operand, known)
    match operand.kind, kind:
        case Kind.TIMESTAMP, Kind.DATE:
            return day_range(inner)
        case Kind.DATE, Kind.TIMESTAMP:
            return midnight_range(inner)
    if not (operand.kind.ordinal or operand.kind is Kind.BOOLEAN):
        return EVERYTHING
    return rounded(inner, round) if kind is Kind.INTEGER else inner


def _call(call: Call, known: Environment) -> Interval:
    if call.name in ("coalesce", "least", "greatest"):
        return _extreme(call, known)
    parts = [interval(argument, known) for argument in call.arguments]
    match call.name:
        case "strptime" | "parse_date":
            return known.get(call, EVERYTHING)
        case "nullif":
            return parts[0]
        case "abs":
            return absolute(parts[0])
        case "floor":
            return rounded(parts[0], math.floor)
        case "ceil":
            return rounded(parts[0], math.ceil)
        case "round":
            digits = int(_constant(call.arguments[1]))
            unit = Fraction(1, 2) / Fraction(10) ** digits
            return around(parts[0].lower - unit, parts[0].upper + unit)
        case "trunc":
            return rounded(parts[0], math.trunc)
        case "clamp":
            return clamped(*parts)
        case "length" | "position":
            return Interval(Fraction(0), INFINITY)
        case "power":
            return power_range(*parts)
        case (
            "date_trunc" | "months_later" | "timestamp_trunc" | "timestamp_months_later" | "elapsed"
        ):
            return _temporal_call(call, parts)
    return function_range(call.name, parts[0])


def _temporal_call(call: Call, parts: Sequence[Interval]) -> Interval:
    """The range of a function with a constant unit of time or number of months."""
    match call.name:
        case "months_later":
            return later_range(parts[0], int(_constant(call.arguments[1])))
        case "timestamp_months_later":
            return moments_later_range(parts[0], int(_constant(call.arguments[1])))
    unit = str(_constant(call.arguments[0]))
    match call.name:
        case "date_trunc":
            return start_range(unit, parts[1])
        case "timestamp_trunc":
            return unit_start_range(unit, parts[1])
        case "elapsed":
            return elapsed_range(unit, parts[1], parts[2])
    raise InternalError(f"{call.name} is no function of dates")


def _constant(expression: Expr) -> Value:
    """The value of an argument that is always a constant."""
    assert isinstance(expression, Literal)
    assert expression.value is not None
    return expression.value


def _extreme(call: Call, known: Environment) -> Interval:
    """The interval of COALESCE, LEAST or GREATEST.

    LEAST is at most, and GREATEST at least, every argument that is never NULL.
    """
    parts = [(part, interval(part, known)) for part in call.arguments if not is_null_constant(part)]
    around = hull([limit for _, limit in parts]) if parts else EVERYTHING
    sure = [limit for part, limit in parts if not nullable(part)]
    match call.name:
        case "least":
            return around.meet(Interval(upper=min((s.upper for s in sure), default=INFINITY)))
        case "greatest":
            return around.meet(Interval(lower=max((s.lower for s in sure), default=-INFINITY)))
    return around
