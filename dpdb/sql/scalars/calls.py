"""Calls of scalar functions, and casts: argument types, result types."""

from __future__ import annotations

import math
from fractions import Fraction

from sqlglot import exp

from dpdb.errors import Place, TypeMismatch, Unsupported, UsageError
from dpdb.plan.expressions.expressions import Arithmetic, Call, Cast, Expr, Literal
from dpdb.plan.expressions.functions import FUNCTIONS, Function
from dpdb.plan.expressions.text_functions import text_function
from dpdb.policy.catalog import Kind
from dpdb.policy.cell_format import DIRECTIVES, date_pattern
from dpdb.policy.timestamps import names_zone, read_day
from dpdb.sql.scalars import types
from dpdb.sql.scalars.date_functions import last_day, part_of, unix_seconds

_PI = Literal(Fraction(math.pi), Kind.NUMBER)
_HALF_TURN = Literal(Fraction(180), Kind.NUMBER)


def call(name: str, arguments: list[Expr], where: Place | None) -> Expr:
    """A call of the function `name`, once the number and the types of its arguments fit."""
    function, made = FUNCTIONS[name], None
    if function.accepts(len(arguments)):
        if function.result:
            made = _plain(function, arguments, where)
        else:
            made = _number_call(function.name, arguments, where)
            made = made or _other_call(function.name, arguments, where)
    if made is None:
        message, hint = f"{name} does not take these arguments", function.signature(name)
        raise TypeMismatch(message, hint=hint, place=where)
    return made


def _plain(function: Function, arguments: list[Expr], where: Place | None) -> Expr | None:
    """The call of a function with `->` in the table; None if an argument should be constant."""
    fitted, constants = [], []
    for (kind, constant), argument in zip(function.kinds, arguments, strict=False):
        if constant:
            if not _is_constant(argument, kind):
                return None
            constants.append(argument)
        elif kind.temporal:
            return part_of(function.call, argument, where)
        elif kind is Kind.TEXT:
            fitted.append(types.of_kind(argument, kind, where))
        else:
            fitted.append(types.numeric(argument, where))
    match function.name:
        case "SPLIT_PART" if not all(map(_is_set, constants)):
            return None
        case "REGEXP_MATCHES":
            _check_pattern(constants[0], where)
        case "STRPTIME" | "PARSE_DATE" | "PARSE_TIMESTAMP":
            return _parsed(function, fitted[0], constants[0], where)
    result = function.result.removesuffix("?")
    kind = fitted[0].kind if result == "x" else Kind(result)
    return Call(function.call, (*fitted, *constants), kind)


def _number_call(name: str, arguments: list[Expr], where: Place | None) -> Expr | None:
    """The call of a function of numbers without `->`; None if the arguments do not fit."""
    match name, arguments:
        case "ROUND", [operand]:
            return _number_call(name, [operand, Literal(0, Kind.INTEGER)], where)
        case "ROUND", [operand, Literal(value=digits, kind=Kind.INTEGER) as places] if (
            isinstance(digits, int) and -9 <= digits <= 9
        ):
            number = types.numeric(operand, where)
            return Call("round", (number, places), Kind.INTEGER if digits <= 0 else Kind.NUMBER)
        case "MOD", [first, second]:
            return types.arithmetic("%", first, second, where)
        case "LOG", [operand]:
            return call("LOG10", [operand], where)
        case "LOG", [Literal(value=2 | 10 as base), operand]:
            return call(f"LOG{base}", [operand], where)
        case "LOG", [base, operand]:
            number, divisor = (call("LN", [each], where) for each in (operand, base))
            return Arithmetic("/", number, divisor, Kind.NUMBER)
        case "ATAN", [operand]:
            return Call("atan", (types.numeric(operand, where),), Kind.NUMBER)
        case "ATAN", [_, _]:
            return call("ATAN2", arguments, where)
        case "SAFE_DIVIDE", [first, second]:
            pair = types.numeric(first, where), types.numeric(second, where)
            return Arithmetic("/", *pair, Kind.NUMBER)
        case "PI", []:
            return _PI
        case "DEGREES" | "RADIANS", [operand]:
            number = types.numeric(operand, where)
            factor = (_HALF_TURN, _PI) if name == "DEGREES" else (_PI, _HALF_TURN)
            return Arithmetic("*", number, Arithmetic("/", *factor, Kind.NUMBER), Kind.NUMBER)
    return None


def _other_call(name: str, arguments: list[Expr], where: Place | None) -> Expr | None:
    """The call of another function without `->`; None if the arguments do not fit."""
    match name, arguments:
        case "CLAMP" | "LEAST" | "GREATEST" | "COALESCE" | "NULLIF", _:
            unified, kind = types.unify(arguments, where)
            fits = kind.ordinal or name in ("COALESCE", "NULLIF")
            return Call(name.lower(), tuple(unified), kind) if fits else None
        case "CONCAT", _:
            empty = Literal("", Kind.TEXT)
            texts = types.joined(arguments, where)
            known = tuple(
                text if _is_set(text) else Call("coalesce", (text, empty), Kind.TEXT)
                for text in texts
            )
            return Call("concat", known, Kind.TEXT) if known[1:] else known[0]
        case "LAST_DAY", [date]:
            return last_day(date, where)
        case "UNIX_SECONDS", [moment]:
            return unix_seconds(moment, where)
    return None


def _parsed(function: Function, text: Expr, form: Expr, where: Place | None) -> Expr:
    """The call that reads a date in a format, or the date itself where the text is constant."""
    assert isinstance(form, Literal)
    try:
        date_pattern(str(form.value))
    except UsageError as fault:
        known = f"directives are %{', %'.join(DIRECTIVES)}"
        raise Unsupported(str(fault), hint=known, place=where) from None
    parsed = Call(function.call, (text, form), Kind(function.result.removesuffix("?")))
    match text:
        case Literal(value=str(written)):
            return Literal(text_function(parsed)(written), parsed.kind)
    return parsed


def _check_pattern(pattern: Expr, where: Place | None) -> None:
    """Refuse a regular expression that is outside the subset."""
    from dpdb.plan.expressions.pattern_parser import PatternFault  # noqa: PLC0415 (few queries have any)
    from dpdb.plan.expressions.regular_expressions import searcher  # noqa: PLC0415

    assert isinstance(pattern, Literal)
    try:
        searcher(str(pattern.value))
    except PatternFault as fault:
        raise Unsupported(
            f"this regular expression is not supported: {fault}", hint=fault.hint, place=where
        ) from None


def _is_constant(expression: Expr, kind: Kind) -> bool:
    """Whether it is a text, or a whole number that any place in a text is below."""
    match expression:
        case Literal(value=int(number), kind=Kind.INTEGER):
            return kind is Kind.INTEGER and abs(number) < 2**31
        case Literal(value=str(), kind=Kind.TEXT):
            return kind is Kind.TEXT
    return False


def _is_set(expression: Expr) -> bool:
    """Whether a constant is not 0, and not the empty text: there is no part 0 of a text."""
    return isinstance(expression, Literal) and bool(expression.value)


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
            return call("SUBSTR", [converted, Literal(1, Kind.INTEGER), length], where)
        case Kind.NUMBER, [_]:
            return call("ROUND", [converted, Literal(0, Kind.INTEGER)], where)
        case Kind.NUMBER, [_, places]:
            return call("ROUND", [converted, places], where)
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
