"""The value of an expression on one row, in plain Python.

Numbers, integers and dates are doubles, as in `dpdb.vectors`. A row holds fractions where its
column has a grid: the double nearest to one is what an expression sees.
"""

from __future__ import annotations

import math
import operator
import re
import string
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

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
    Like,
    Literal,
    Logic,
    Not,
    Slot,
)
from dpdb.policy.catalog import Kind
from dpdb.policy.timestamps import DAY, TIMESTAMPS, iso_text, read_timestamp
from dpdb.vectors import grammar

Cell = Fraction | float | str | bool | None
Scalars = Mapping[Slot, Cell]

_ARITHMETIC = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "%": math.fmod,
}
_COMPARE = {"=": operator.eq, "<>": operator.ne, "<": operator.lt, "<=": operator.le}


def evaluate(expression: Expr, row: Mapping[str, Cell], slots: Scalars) -> Any:
    """A double, a text or a truth value; None for NULL."""

    def of(part: Expr) -> Any:
        return evaluate(part, row, slots)

    match expression:
        case Literal(value=value):
            return _plain(value)
        case ColumnRef(column=column):
            return _plain(row[column.name])
        case Slot():
            return _plain(slots[expression])
        case Arithmetic(operator=symbol, left=left, right=right):
            return _calculated(symbol, of(left), of(right))
        case Compare(operator=symbol, left=left, right=right):
            a, b = of(left), of(right)
            return None if a is None or b is None else _COMPARE[symbol](a, b)
        case Logic(operator=symbol, operands=operands):
            truths = [of(operand) for operand in operands]
            decided = symbol == "or"
            return decided if decided in truths else None if None in truths else not decided
        case Not(operand=operand):
            truth = of(operand)
            return None if truth is None else not truth
        case IsNull(operand=operand):
            return of(operand) is None
        case InList(operand=operand, values=values, null=null):
            value = of(operand)
            listed = value in [_plain(each) for each in values]
            return None if value is None or (null and not listed) else listed
        case Like(operand=operand, pattern=pattern):
            text = of(operand)
            parts = [".*" if p is None else re.escape(p) or "." for p in pattern]
            return None if text is None else bool(re.fullmatch("".join(parts), text, re.DOTALL))
        case Case(branches=branches, default=default):
            return next((of(value) for test, value in branches if of(test) is True), of(default))
        case Call(name=name, arguments=arguments):
            return _called(name, [of(argument) for argument in arguments])
        case Cast(operand=operand, kind=kind):
            value = of(operand)
            return None if value is None else _cast(value, operand.kind, kind)


def _plain(value: object) -> Any:
    """As an expression sees it; adding zero makes -0.0 the same zero as 0.0."""
    return value if value is None or isinstance(value, (str, bool)) else float(value) + 0.0  # type: ignore[arg-type]


def _calculated(symbol: str, left: float | None, right: float | None) -> float | None:
    if left is None or right is None:
        return None
    try:
        value = float(_ARITHMETIC[symbol](left, right))
    except (ArithmeticError, ValueError):  # x / 0 and x % 0
        return None
    return value + 0.0 if math.isfinite(value) else None


def _called(name: str, arguments: list[Any]) -> Any:
    first, *rest = arguments
    known = [value for value in arguments if value is not None]
    match name:
        case "coalesce":
            return known[0] if known else None
        case "nullif":
            return None if first is not None and first == rest[0] else first
        case "least":
            return min(known, default=None)
        case "greatest":
            return max(known, default=None)
    if len(known) < len(arguments):
        return None
    match name:
        case "concat":
            texts = "".join(arguments)
            return texts if len(texts) <= 1_000 else None
        case "lower":
            return first.translate(str.maketrans(string.ascii_uppercase, string.ascii_lowercase))
        case "upper":
            return first.translate(str.maketrans(string.ascii_lowercase, string.ascii_uppercase))
        case "length":
            return float(len(first))
        case "substr":
            start, *length = map(int, rest)
            end = len(first) if not length else start - 1 + max(0, length[0])
            return "".join(c for at, c in enumerate(first) if start - 1 <= at < end)
        case "abs":
            return abs(first)
        case "floor":
            return math.floor(first) + 0.0
        case "ceil":
            return math.ceil(first) + 0.0
        case "clamp":
            return min(max(first, rest[0]), rest[1]) + 0.0
        case "round":
            return _rounded(first, int(rest[0]))
    raise AssertionError(f"{name} is no function of the plain engine: DuckDB is asked about it")


def _rounded(value: float, digits: int) -> float | None:
    """Halves away from zero; the scaling is in doubles."""
    unit = 10.0 ** abs(digits)
    scaled = value * unit if digits >= 0 else value / unit
    if not math.isfinite(scaled):
        return None
    whole = math.floor(Fraction(abs(scaled)) + Fraction(1, 2))
    nearest = math.copysign(float(whole), scaled)
    result = nearest / unit if digits >= 0 else nearest * unit
    return result + 0.0 if math.isfinite(result) else None


def _cast(value: Any, source: Kind, target: Kind) -> Any:
    if isinstance(value, str):
        match target:
            case Kind.TEXT:
                return value
            case Kind.BOOLEAN:
                return grammar.boolean(value)
            case Kind.DATE:
                days = grammar.date(value)
                return None if days is None else float(days)
            case Kind.TIMESTAMP:
                moment = read_timestamp(value)
                return None if moment is None else float(moment)
        number = grammar.number(value)
        return number if number is None or target is Kind.NUMBER else _whole(number)
    match source, target:
        case (Kind.DATE, Kind.TIMESTAMP):
            return _within(TIMESTAMPS, round(value) * DAY)
        case (Kind.TIMESTAMP, Kind.DATE):
            return None if _within(TIMESTAMPS, value) is None else float(value // DAY)
    match target:
        case Kind.TEXT:
            return _written(value, source)
        case Kind.BOOLEAN:
            return value != 0
        case Kind.NUMBER:
            return float(value)
    return _whole(float(value))


def _within(ends: tuple[int, int], value: float) -> float | None:
    return float(value) if ends[0] <= value <= ends[1] else None


def _whole(value: float) -> float | None:
    return None if abs(value) > 2**53 else float(round(value)) + 0.0


def _written(value: Any, kind: Kind) -> str | None:
    match kind:
        case Kind.BOOLEAN:
            return "true" if value else "false"
        case Kind.INTEGER:
            return str(int(value))
        case Kind.DATE | Kind.TIMESTAMP:
            try:
                return iso_text(int(value), kind)
            except OverflowError:
                return None
    return repr(value)
