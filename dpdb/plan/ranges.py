"""Interval arithmetic: how large can the value of an expression be?

Bounds come from the policy and are narrowed by WHERE; never from rows. They
need not be tight, and soundness does not hang on them: what is aggregated is
clamped to the bounds that were planned with.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from dpdb.plan.expressions import (
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
)
from dpdb.policy.catalog import Kind

Bound = Fraction | float
"""A finite bound is a Fraction, an infinite one a float."""

INFINITY = math.inf
_LARGEST = Fraction(10) ** 290
"""Beyond this a bound is as good as none: doubles overflow soon, and overflow is NULL."""
_FINEST = 10**400
"""The largest denominator of a bound: without one, products have digits without end."""


@dataclass(frozen=True)
class Interval:
    """All numbers from `lower` to `upper`."""

    lower: Bound = -INFINITY
    upper: Bound = INFINITY

    @property
    def bounded(self) -> bool:
        """Whether both ends are finite."""
        return isinstance(self.lower, Fraction) and isinstance(self.upper, Fraction)

    @property
    def empty(self) -> bool:
        """Whether no number is inside: the conditions exclude each other."""
        return self.lower > self.upper

    def meet(self, other: Interval) -> Interval:
        """The numbers in both."""
        return Interval(max(self.lower, other.lower), min(self.upper, other.upper))

    def join(self, other: Interval) -> Interval:
        """The smallest interval around both."""
        return Interval(min(self.lower, other.lower), max(self.upper, other.upper))


EVERYTHING = Interval()
Environment = Mapping[str | Slot | Cast, Interval]
"""What is known of columns, by name, beyond their declaration; of slots; and of
undeclared columns read as numbers."""


def interval(expression: Expr, known: Environment) -> Interval:
    """The interval around every non-NULL value `expression` can take."""
    match expression:
        case Literal(value=value):
            return _point(value)
        case ColumnRef(column=column) if column.kind is not Kind.BOOLEAN:
            declared = EVERYTHING if column.bounds is None else Interval(*column.bounds)
            return known.get(column.name, declared)
        case Slot():
            return known.get(expression, EVERYTHING)
        case Arithmetic(operator=operator, left=left, right=right):
            return _arithmetic(operator, interval(left, known), interval(right, known))
        case Case(branches=branches, default=default):
            return _any_of([*(value for _, value in branches), default], known)
        case Call():
            return _call(expression, known)
        case Cast(operand=operand, kind=kind):
            return known.get(expression, _cast(operand, kind, known))
    return Interval(Fraction(0), Fraction(1)) if expression.kind is Kind.BOOLEAN else EVERYTHING


@lru_cache(maxsize=10_000)
def nullable(expression: Expr) -> bool:
    """Whether any row could make `expression` NULL.

    It is remembered: intervals ask for it at every level, and it asks for theirs.
    """
    match expression:
        case Literal(value=value):
            return value is None
        case ColumnRef(column=column):
            return column.nullable
        case IsNull():
            return False
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
        case Call(name="nullif"):
            return True
    return any(nullable(child) for child in children(expression))


def narrow(condition: Expr | None, known: Environment) -> Environment:
    """What is known of the columns of a row for which `condition` is true."""
    match condition:
        case Logic(operator="and", operands=operands):
            for operand in operands:
                known = narrow(operand, known)
        case Logic(operator="or", operands=operands):
            branches = [narrow(operand, known) for operand in operands]
            shared = set.intersection(*(set(branch) for branch in branches))
            known = {**known, **{name: _hull([b[name] for b in branches]) for name in shared}}
        case Compare(operator="<" | "<=" | "=" as operator, left=left, right=right):
            known = _below(left, right, known, strict=operator == "<")
            if operator == "=":
                known = _below(right, left, known, strict=False)
        case InList(operand=operand, values=values) if values and operand.kind.ordinal:
            known = _meet(operand, _hull([_point(value) for value in values]), known)
    return known


def _below(left: Expr, right: Expr, known: Environment, *, strict: bool) -> Environment:
    """`left <= right` bounds a column on either side."""
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


def _name(expression: Expr) -> str | Cast | None:
    """What a column is known by; an undeclared one read as a number, by that reading."""
    match expression:
        case ColumnRef(column=column):
            return column.name
        case Cast(operand=ColumnRef(column=column), kind=Kind.NUMBER) if column.guessed:
            return expression
    return None


def _meet(expression: Expr, limit: Interval, known: Environment) -> Environment:
    name = _name(expression)
    return known if name is None else {**known, name: interval(expression, known).meet(limit)}


def _point(value: object) -> Interval:
    """A constant's interval; NULL and text have none to speak of."""
    if isinstance(value, (int, Fraction)):
        return Interval(Fraction(value), Fraction(value))
    return EVERYTHING


def _hull(intervals: list[Interval]) -> Interval:
    result = intervals[0]
    for other in intervals[1:]:
        result = result.join(other)
    return result


def _any_of(expressions: Sequence[Expr], known: Environment) -> Interval:
    """Around whichever of the expressions it is; a NULL constant is no number."""
    parts = [interval(part, known) for part in expressions if not _is_null(part)]
    return _hull(parts) if parts else EVERYTHING


def _is_null(expression: Expr) -> bool:
    return isinstance(expression, Literal) and expression.value is None


def _corners(left: Interval, right: Interval, combine: Callable[[Bound, Bound], Bound]) -> Interval:
    """The range of an operation that is monotone in each operand."""
    ends = [combine(a, b) for a in (left.lower, left.upper) for b in (right.lower, right.upper)]
    return _around(min(ends), max(ends))


def _around(lower: Bound, upper: Bound) -> Interval:
    """The interval from `lower` to `upper`, or one around it whose ends are short to write."""
    return Interval(_short(lower, math.floor), _short(upper, math.ceil))


def _short(bound: Bound, to: Callable[[Fraction], int]) -> Bound:
    """Bounds too large for doubles become infinite; those with very many digits lose some."""
    if isinstance(bound, float):
        return bound
    if abs(bound) > _LARGEST:
        return INFINITY if bound > 0 else -INFINITY
    if bound.denominator > _FINEST:
        return Fraction(to(bound * _FINEST), _FINEST)
    return bound


def _arithmetic(operator: str, left: Interval, right: Interval) -> Interval:
    match operator:
        case "+":
            return _around(left.lower + right.lower, left.upper + right.upper)
        case "-":
            return _around(left.lower - right.upper, left.upper - right.lower)
        case "*":
            return _corners(left, right, _times)
        case "/" if not right.empty and (right.lower > 0 or right.upper < 0):
            return _corners(left, right, _over)
        case "%":
            return _remainder(left, right)
    return EVERYTHING


def _times(a: Bound, b: Bound) -> Bound:
    return Fraction(0) if a == 0 or b == 0 else a * b


def _over(a: Bound, b: Bound) -> Bound:
    if isinstance(b, float):
        return Fraction(0) if isinstance(a, Fraction) else a * math.copysign(1, b)
    return a / b


def _remainder(left: Interval, right: Interval) -> Interval:
    """`a % b` has the sign of `a` and is smaller than both in magnitude, as in SQL."""
    limit: Bound = max(-right.lower, right.upper)
    lower = max(left.lower, -limit) if left.lower < 0 else Fraction(0)
    upper = min(left.upper, limit) if left.upper > 0 else Fraction(0)
    return Interval(lower, upper)


def _cast(operand: Expr, kind: Kind, known: Environment) -> Interval:
    inner = interval(operand, known)
    if not (operand.kind.ordinal or operand.kind is Kind.BOOLEAN):
        return EVERYTHING
    return _rounded(inner, round) if kind is Kind.INTEGER else inner


def _rounded(inner: Interval, to: Callable[[Bound], int]) -> Interval:
    lower = Fraction(to(inner.lower)) if isinstance(inner.lower, Fraction) else inner.lower
    upper = Fraction(to(inner.upper)) if isinstance(inner.upper, Fraction) else inner.upper
    return Interval(lower, upper)


def _call(call: Call, known: Environment) -> Interval:
    if call.name in ("coalesce", "least", "greatest"):
        return _extreme(call, known)
    parts = [interval(argument, known) for argument in call.arguments]
    match call.name:
        case "nullif":
            return parts[0]
        case "abs":
            return _absolute(parts[0])
        case "floor":
            return _rounded(parts[0], math.floor)
        case "ceil":
            return _rounded(parts[0], math.ceil)
        case "round":
            digits = call.arguments[1]
            assert isinstance(digits, Literal)
            assert isinstance(digits.value, int)
            unit = Fraction(1, 2) / Fraction(10) ** digits.value
            return _around(parts[0].lower - unit, parts[0].upper + unit)
        case "clamp":
            return Interval(_clamp(parts[0].lower, *parts[1:]), _clamp(parts[0].upper, *parts[1:]))
        case "length":
            return Interval(Fraction(0), INFINITY)
    return EVERYTHING


def _extreme(call: Call, known: Environment) -> Interval:
    """LEAST is at most, GREATEST at least, each argument that is never NULL."""
    parts = [(part, interval(part, known)) for part in call.arguments if not _is_null(part)]
    around = _hull([found for _, found in parts]) if parts else EVERYTHING
    sure = [found for part, found in parts if not nullable(part)]
    match call.name:
        case "least":
            return around.meet(Interval(upper=min((s.upper for s in sure), default=INFINITY)))
        case "greatest":
            return around.meet(Interval(lower=max((s.lower for s in sure), default=-INFINITY)))
    return around


def _absolute(inner: Interval) -> Interval:
    # Of -x and x one is positive; of the ends so turned the nearer is the least.
    return Interval(max(Fraction(0), inner.lower, -inner.upper), max(-inner.lower, inner.upper))


def _clamp(bound: Bound, low: Interval, high: Interval) -> Bound:
    return min(max(bound, low.lower), high.upper)
