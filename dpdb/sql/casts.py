"""CAST: the types that may be named, with or without a size, and the conversion to them."""

from __future__ import annotations

from sqlglot import exp

from dpdb.errors import Place, TypeMismatch, Unsupported
from dpdb.plan.expressions import Cast, Expr, Literal
from dpdb.policy.catalog import Kind
from dpdb.policy.timestamps import names_zone, read_day
from dpdb.sql import types
from dpdb.sql.calls import call

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
