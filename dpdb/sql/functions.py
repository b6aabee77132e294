"""The scalar functions: their names and the types of their arguments."""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

from dpdb.errors import Place, TypeMismatch
from dpdb.plan.expressions import Call, Expr, Literal
from dpdb.policy.catalog import Kind
from dpdb.sql import types

FUNCTION_NAMES = [
    "ABS", "ROUND", "FLOOR", "CEIL", "LEAST", "GREATEST", "CLAMP", "COALESCE", "NULLIF",
    "LOWER", "UPPER", "LENGTH", "SUBSTR", "CAST", "IF",
]  # fmt: skip


def _first(node: exp.Expr) -> list[exp.Expr]:
    return [node.this]


def _list(node: exp.Expr) -> list[exp.Expr]:
    return [node.this, *node.expressions]


def _named(*names: str) -> Callable[[exp.Expr], list[exp.Expr]]:
    return lambda node: [node.args[name] for name in names if node.args.get(name) is not None]


ARGUMENTS: dict[type[exp.Expr], tuple[str, Callable[[exp.Expr], list[exp.Expr]]]] = {
    exp.Abs: ("abs", _first),
    exp.Round: ("round", _named("this", "decimals")),
    exp.Floor: ("floor", _named("this", "decimals")),
    exp.Ceil: ("ceil", _named("this", "decimals")),
    exp.Least: ("least", _list),
    exp.Greatest: ("greatest", _list),
    exp.Coalesce: ("coalesce", _list),
    exp.Nullif: ("nullif", _named("this", "expression")),
    exp.Lower: ("lower", _first),
    exp.Upper: ("upper", _first),
    exp.Length: ("length", _first),
    exp.Substring: ("substr", _named("this", "start", "length")),
}
"""For each of sqlglot's nodes, our name of the function and how to read its arguments."""


def call(name: str, arguments: list[Expr], where: Place | None) -> Expr:
    """A call of the function `name`, once the number and the types of its arguments fit."""
    match name, arguments:
        case "abs" | "floor" | "ceil", [operand]:
            number = types.numeric(operand, where)
            return Call(name, (number,), number.kind if name == "abs" else Kind.INTEGER)
        case "round", [operand]:
            return call(name, [operand, Literal(0, Kind.INTEGER)], where)
        case "round", [operand, Literal(value=digits, kind=Kind.INTEGER) as places] if (
            isinstance(digits, int) and -9 <= digits <= 9
        ):
            number = types.numeric(operand, where)
            return Call(name, (number, places), Kind.INTEGER if digits <= 0 else Kind.NUMBER)
        case "clamp", [_, _, _]:
            unified, kind = types.unify(arguments, where)
            if kind.ordinal:
                return Call(name, tuple(unified), kind)
        case "least" | "greatest" | "coalesce", [_, *_]:
            unified, kind = types.unify(arguments, where)
            if name == "coalesce" or kind.ordinal:
                return Call(name, tuple(unified), kind)
        case "nullif", [_, _]:
            unified, kind = types.unify(arguments, where)
            return Call(name, tuple(unified), kind)
        case "concat", _:
            return Call(name, types.joined(arguments, where), Kind.TEXT)
        case "lower" | "upper", [operand]:
            return Call(name, (types.of_kind(operand, Kind.TEXT, where),), Kind.TEXT)
        case "length", [operand]:
            return Call(name, (types.of_kind(operand, Kind.TEXT, where),), Kind.INTEGER)
        case "substr", [operand, *positions] if positions and all(
            isinstance(p, Literal)
            and p.kind is Kind.INTEGER
            and isinstance(p.value, int)
            and abs(p.value) < 2**31
            for p in positions
        ):
            text = types.of_kind(operand, Kind.TEXT, where)
            return Call(name, (text, *positions), Kind.TEXT)
    raise TypeMismatch(f"{name.upper()} does not take these arguments", place=where)
