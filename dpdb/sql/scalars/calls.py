"""Calls of scalar functions, and casts: argument types, result types."""

from __future__ import annotations

import math
from fractions import Fraction

from sqlglot import exp

from dpdb.errors import Place, TypeMismatch, Unsupported
from dpdb.plan.expressions.expressions import Arithmetic, Call, Cast, Expr, Literal
from dpdb.policy.catalog import Kind
from dpdb.policy.timestamps import names_zone, read_day
from dpdb.sql.scalars import types
from dpdb.sql.scalars.date_functions import last_day, part_of, unix_seconds

_REAL = frozenset(
    ("sqrt", "cbrt", "exp", "ln", "log2", "log10", "sin", "cos", "tan", "asin", "acos", "atan")
)
"""The functions of one real number."""
_TESTS = frozenset(("starts_with", "ends_with", "contains"))
_DATE_PARTS = frozenset(
    ("year", "quarter", "month", "week", "day", "dayofweek", "isodow", "dayofyear", "hour",
     "minute", "second")
)  # fmt: skip
_PI = Literal(Fraction(math.pi), Kind.NUMBER)
_HALF_TURN = Literal(Fraction(180), Kind.NUMBER)


def call(name: str, arguments: list[Expr], where: Place | None) -> Expr:
    """A call of the function `name`, once the number and the types of its arguments fit."""
    for family in (_any_call, _number_call, _text_call, _date_call):
        made = family(name, arguments, where)
        if made is not None:
            return made
    raise TypeMismatch(f"{_written(name)} does not take these arguments", place=where)


def _written(name: str) -> str:
    """The name of a function as it is written."""
    return {"concat_known": "CONCAT", "divide": "SAFE_DIVIDE"}.get(name, name.upper())


def _any_call(name: str, arguments: list[Expr], where: Place | None) -> Expr | None:
    """The functions that take several types."""
    match name, arguments:
        case "clamp", [_, _, _]:
            unified, kind = types.unify(arguments, where)
            return Call(name, tuple(unified), kind) if kind.ordinal else None
        case "least" | "greatest" | "coalesce", [_, *_]:
            unified, kind = types.unify(arguments, where)
            fits = name == "coalesce" or kind.ordinal
            return Call(name, tuple(unified), kind) if fits else None
        case "nullif", [_, _]:
            unified, kind = types.unify(arguments, where)
            return Call(name, tuple(unified), kind)
    return None


def _number_call(name: str, arguments: list[Expr], where: Place | None) -> Expr | None:
    match name, arguments:
        case "abs" | "floor" | "ceil" | "trunc" | "sign", [operand]:
            number = types.numeric(operand, where)
            return Call(name, (number,), number.kind if name == "abs" else Kind.INTEGER)
        case "round", [operand]:
            return _number_call(name, [operand, Literal(0, Kind.INTEGER)], where)
        case "round", [operand, Literal(value=digits, kind=Kind.INTEGER) as places] if (
            isinstance(digits, int) and -9 <= digits <= 9
        ):
            number = types.numeric(operand, where)
            return Call(name, (number, places), Kind.INTEGER if digits <= 0 else Kind.NUMBER)
        case _, [operand] if name in _REAL:
            return Call(name, (types.numeric(operand, where),), Kind.NUMBER)
        case "log", [operand]:
            return _number_call("log10", [operand], where)
        case "log", [Literal(value=2 | 10 as base), operand]:
            return _number_call(f"log{base}", [operand], where)
        case "log", [base, operand]:
            number, divisor = (call("ln", [each], where) for each in (operand, base))
            return Arithmetic("/", number, divisor, Kind.NUMBER)
        case "power" | "atan2", [first, second]:
            pair = types.numeric(first, where), types.numeric(second, where)
            return Call(name, pair, Kind.NUMBER)
        case "divide", [first, second]:
            pair = types.numeric(first, where), types.numeric(second, where)
            return Arithmetic("/", *pair, Kind.NUMBER)
        case "pi", []:
            return _PI
        case "degrees" | "radians", [operand]:
            number = types.numeric(operand, where)
            factor = (_HALF_TURN, _PI) if name == "degrees" else (_PI, _HALF_TURN)
            return Arithmetic("*", number, Arithmetic("/", *factor, Kind.NUMBER), Kind.NUMBER)
    return None


def _text_call(name: str, arguments: list[Expr], where: Place | None) -> Expr | None:
    match name, arguments:
        case "concat", _:
            return Call(name, types.joined(arguments, where), Kind.TEXT)
        case "concat_known", [_, *_]:
            empty = Literal("", Kind.TEXT)
            known = [
                Call("coalesce", (text, empty), Kind.TEXT)
                for text in types.joined(arguments, where)
            ]
            return Call("concat", tuple(known), Kind.TEXT)
        case "lower" | "upper" | "trim" | "ltrim" | "rtrim" | "length", [operand]:
            text = types.of_kind(operand, Kind.TEXT, where)
            return Call(name, (text,), Kind.INTEGER if name == "length" else Kind.TEXT)
    if len(arguments) < 2 or not all(_is_constant(part) for part in arguments[1:]):
        return None
    text, constants = types.of_kind(arguments[0], Kind.TEXT, where), arguments[1:]
    match name, [each.kind for each in constants]:
        case "substr", [Kind.INTEGER] | [Kind.INTEGER, Kind.INTEGER]:
            return Call(name, (text, *constants), Kind.TEXT)
        case "left" | "right", [Kind.INTEGER]:
            return Call(name, (text, *constants), Kind.TEXT)
        case "trim" | "ltrim" | "rtrim", [Kind.TEXT]:
            return Call(name, (text, *constants), Kind.TEXT)
        case "replace", [Kind.TEXT, Kind.TEXT]:
            return Call(name, (text, *constants), Kind.TEXT)
        case "split_part", [Kind.TEXT, Kind.INTEGER] if all(map(_is_set, constants)):
            return Call(name, (text, *constants), Kind.TEXT)
        case "position", [Kind.TEXT]:
            return Call(name, (text, *constants), Kind.INTEGER)
        case "regexp_contains", [Kind.TEXT]:
            _check_pattern(constants[0], where)
            return Call(name, (text, *constants), Kind.BOOLEAN)
        case _, [Kind.TEXT] if name in _TESTS:
            return Call(name, (text, *constants), Kind.BOOLEAN)
    return None


def _check_pattern(pattern: Expr, where: Place | None) -> None:
    """Refuse a regular expression that is outside the subset."""
    from dpdb.plan.expressions.pattern_parser import PatternFault  # noqa: PLC0415 (few queries have any)
    from dpdb.plan.expressions.regular_expressions import searcher  # noqa: PLC0415

    assert isinstance(pattern, Literal)
    try:
        searcher(str(pattern.value))
    except PatternFault as fault:
        raise Unsupported(
            f"this regular expression is not supported: {fault}",
            hint=fault.hint,
            place=where,
        ) from None


def _is_constant(expression: Expr) -> bool:
    """Whether it is a text, or a whole number that any place in a text is below."""
    match expression:
        case Literal(value=int(number), kind=Kind.INTEGER):
            return abs(number) < 2**31
        case Literal(value=str()):
            return True
    return False


def _is_set(expression: Expr) -> bool:
    """Whether a constant is not 0, and not the empty text: there is no part 0 of a text."""
    return isinstance(expression, Literal) and bool(expression.value)


def _date_call(name: str, arguments: list[Expr], where: Place | None) -> Expr | None:
    match name, arguments:
        case "last_day", [date]:
            return last_day(date, where)
        case "unix_seconds", [moment]:
            return unix_seconds(moment, where)
        case _, [date] if name in _DATE_PARTS:
            return part_of(name, date, where)
    return None


TARGETS = {
    exp.DataType.Type.INT: Kind.INTEGER,
    exp.DataType.Type.BIGINT: Kind.INTEGER,
    exp.DataType.Type.SMALLINT: Kind.INTEGER,
    exp.DataType.Type.DOUBLE: Kind.NUMBER,
    exp.DataType.Type.FLOAT: Kind.NUMBER,
    exp.DataType.Type.DECIMAL: Kind.NUMBER,
    exp.DataType.Type.TEXT: Kind.TEXT,
    exp.DataType.Type.VARCHAR: Kind.TEXT,
    exp.DataType.Type.CHAR: Kind.TEXT,
    exp.DataType.Type.TINYINT: Kind.INTEGER,
    exp.DataType.Type.BOOLEAN: Kind.BOOLEAN,
    exp.DataType.Type.DATE: Kind.DATE,
    exp.DataType.Type.TIMESTAMP: Kind.TIMESTAMP,
    exp.DataType.Type.DATETIME: Kind.TIMESTAMP,
    exp.DataType.Type.TIMESTAMPNTZ: Kind.TIMESTAMP,
    exp.DataType.Type.TIMESTAMPTZ: Kind.TIMESTAMP,
}


def target(written: exp.Expr, where: Place | None) -> tuple[Kind, list[exp.Expr]]:
    """The type that is named, and its sizes: those of DECIMAL(9, 2) are 9 and 2."""
    kind = TARGETS.get(written.this)
    sized = [size.this for size in written.expressions if isinstance(size, exp.DataTypeParam)]
    whole = len(sized) == len(written.expressions)
    if kind is None or not whole or (sized and kind not in (Kind.TEXT, Kind.NUMBER)):
        names = ", ".join(sorted(kind.name for kind in Kind))
        raise Unsupported("this type is not supported", hint=f"types are {names}", place=where)
    return kind, sized


def check_zone(written: exp.Expr, operand: Expr, where: Place | None) -> None:
    """Refuse a constant of the type with a time zone that does not say its own."""
    zoned = written.this == exp.DataType.Type.TIMESTAMPTZ
    if zoned and isinstance(operand, Literal) and isinstance(operand.value, str):
        types.timestamp_literal(operand.value, where)
        if not names_zone(operand.value):
            raise TypeMismatch(
                f"'{operand.value}' does not say its time zone",
                hint="add Z for UTC, or an offset such as +02:00",
                place=where,
            )


def cast(operand: Expr, kind: Kind, sizes: list[Expr], where: Place | None) -> Expr:
    """The conversion: VARCHAR(n) cuts off after n characters, DECIMAL(p, s) rounds to s places."""
    if kind.temporal and isinstance(operand, Literal) and isinstance(operand.value, str):
        day = read_day(operand.value) if kind is Kind.DATE else None
        if day is not None:
            return Literal(day, kind)
        return types.of_kind(operand, kind, where)
    _check_timestamps(operand, kind, where)
    converted = operand if operand.kind is kind else Cast(operand, kind)
    match kind, sizes:
        case _, []:
            return converted
        case Kind.TEXT, [length]:
            return call("substr", [converted, Literal(1, Kind.INTEGER), length], where)
        case Kind.NUMBER, [_]:
            return call("round", [converted, Literal(0, Kind.INTEGER)], where)
        case Kind.NUMBER, [_, places]:
            return call("round", [converted, places], where)
    raise Unsupported("this type is not supported", place=where)


def _check_timestamps(operand: Expr, kind: Kind, where: Place | None) -> None:
    """Refuse a conversion between timestamps and numbers, which have no unit in common."""
    kinds = {operand.kind, kind}
    if Kind.TIMESTAMP in kinds and not kinds <= {Kind.TIMESTAMP, Kind.DATE, Kind.TEXT}:
        raise TypeMismatch(
            f"{operand.kind} is not converted to {kind}",
            hint="EXTRACT(EPOCH FROM ts) is the number of seconds since 1970",
            place=where,
        )
