"""Aggregates that give a list, or leave repeated values out: what to write instead of them."""

from __future__ import annotations

from fractions import Fraction

from sqlglot import exp

from dpdb.errors import Unsupported
from dpdb.policy.numbers import decimal
from dpdb.sql.trees import node_name, place

LISTS = ("HISTOGRAM", "APPROX_TOP_COUNT")
"""The aggregates that give a list, and whose names sqlglot does not know."""
_MOST_QUANTILES = 10
"""So many quantiles are written out in a hint."""


def refusal(node: exp.Expr, text: str) -> Unsupported | None:
    """The error for an aggregate that is refused; None for all others."""
    if not _is_refused(node):
        return None
    if isinstance(node, exp.Anonymous):
        name, arguments = str(node.this).upper(), node.expressions
    else:
        name, arguments = node_name(node), [node.this, node.expression]
    column = _column(arguments[0] if arguments else None)
    counted = f"SELECT {column}, COUNT(*) AS n … GROUP BY {column}"
    match node:
        case exp.Sum(this=exp.Distinct()) | exp.Avg(this=exp.Distinct()):
            name = f"{name}(DISTINCT …)"
            hint = f"{counted} shows how often each value occurs"
        case exp.ApproxQuantiles():
            hint = _quantiles(column, node.expression)
        case exp.Anonymous() if name == "HISTOGRAM" and len(arguments) > 1:
            hint = (
                f"SELECT FLOOR({column} / 10) * 10 AS bin, COUNT(*) … GROUP BY bin: tens are bins"
            )
        case exp.Anonymous() if name == "HISTOGRAM":
            hint = counted
        case _:
            most = _number(next(iter(arguments[1:]), None)) or "10"
            hint = f"{counted} ORDER BY n DESC LIMIT {most}"
    return Unsupported(f"{name} is not supported", hint=hint, place=place(node, text))


def _is_refused(node: exp.Expr) -> bool:
    """Whether an aggregate gives a list, or leaves repeated values out."""
    match node:
        case exp.Sum(this=exp.Distinct()) | exp.Avg(this=exp.Distinct()):
            return True
        case exp.Anonymous():
            return str(node.this).upper() in LISTS
    return isinstance(node, exp.ApproxQuantiles | exp.ApproxTopK)


def _column(argument: exp.Expr | None) -> str:
    """The column that an aggregate is of, as a query would name it."""
    if isinstance(argument, exp.Distinct):
        argument = next(iter(argument.expressions), None)
    return argument.sql() if isinstance(argument, exp.Column) else "x"


def _number(node: exp.Expr | None) -> str | None:
    """The number that is written there, if it is one."""
    number = isinstance(node, exp.Literal) and not node.args.get("is_string")
    return str(node.this) if number and node is not None else None


def _quantiles(column: str, parts: exp.Expr | None) -> str:
    """The quantiles that divide the values into so many parts, one for each, where they are few."""
    number = _number(parts) or ""
    if not (number.isdecimal() and len(number) < 3 and 1 <= int(number) <= _MOST_QUANTILES):
        return f"one quantile is QUANTILE_CONT({column}, 0.25)"
    inner = (decimal(Fraction(at, int(number)), 6) for at in range(1, int(number)))
    quantiles = [f"QUANTILE_CONT({column}, {each})" for each in inner]
    return f"SELECT {', '.join([f'MIN({column})', *quantiles, f'MAX({column})'])} …"
