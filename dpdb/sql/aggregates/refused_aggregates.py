"""Refused aggregates (lists, and tests that one row decides), with hints at replacements."""

from __future__ import annotations

from sqlglot import exp

from dpdb.errors import Unsupported
from dpdb.sql.syntax.trees import place, written_name

NAMES = ("HISTOGRAM", "APPROX_TOP_COUNT", "EVERY")
"""The aggregates whose names sqlglot does not know."""
_LISTS = (exp.ApproxQuantiles, exp.ApproxTopK, exp.ApproxTopSum)
"""The aggregates known to sqlglot that return a list."""
_DECIDED_BY_ONE = (exp.LogicalOr, exp.LogicalAnd)


def refusal(node: exp.Expr, text: str) -> Unsupported | None:
    """The error for an aggregate that is refused; None for all others."""
    if not _is_refused(node):
        return None
    if isinstance(node, exp.Anonymous):
        name, arguments = str(node.this).upper(), node.expressions
    else:
        name, arguments = written_name(node, text), [node.this, node.expression]
    if name == "EVERY" or isinstance(node, _DECIDED_BY_ONE):
        return _decided_by_one(node, name, text)
    column = _column(arguments[0] if arguments else None)
    counted = f"SELECT {column}, COUNT(*) AS n … GROUP BY {column}"
    match node:
        case exp.ApproxQuantiles():
            hint = (
                "by itself in the SELECT list it is a column for each element; one of them is "
                f"APPROX_QUANTILES({column}, 4)[OFFSET(1)]"
            )
        case exp.Anonymous() if name == "HISTOGRAM" and len(arguments) > 1:
            hint = f"with the ends of its bins: HISTOGRAM({column}, [10, 20, 30])"
        case exp.Anonymous() if name == "HISTOGRAM":
            hint = f"{counted}; or HISTOGRAM({column}, [10, 20, 30])"
        case exp.ApproxTopSum():
            measure = _column(node.expression)
            hint = (
                f"SELECT {column}, SUM({measure}) AS s … GROUP BY {column} ORDER BY s DESC LIMIT 10"
            )
        case _:
            most = _number(next(iter(arguments[1:]), None)) or "10"
            hint = f"{counted} ORDER BY n DESC LIMIT {most}"
    return Unsupported(f"{name} is not supported here", hint=hint, place=place(node, text))


def _decided_by_one(node: exp.Expr, name: str, text: str) -> Unsupported:
    """The error for EVERY, BOOL_AND and BOOL_OR."""
    condition = "x" if isinstance(node, exp.LogicalOr) else "NOT x"
    return Unsupported(
        f"{name} is not supported: one row can decide it",
        hint=f"COUNT_IF({condition}) counts the rows that would; AVG(x) is the part that is true",
        place=place(node, text),
    )


def _is_refused(node: exp.Expr) -> bool:
    """Whether an aggregate returns a list, or may be decided by one row."""
    if isinstance(node, exp.Anonymous):
        return str(node.this).upper() in NAMES
    return isinstance(node, (*_LISTS, *_DECIDED_BY_ONE))


def _column(argument: exp.Expr | None) -> str:
    """The argument of an aggregate, if it is a column, as a query would name it."""
    if isinstance(argument, exp.Distinct):
        argument = next(iter(argument.expressions), None)
    return argument.sql() if isinstance(argument, exp.Column) else "x"


def _number(node: exp.Expr | None) -> str | None:
    """The node's text if it is a number literal, else None."""
    number = isinstance(node, exp.Literal) and not node.args.get("is_string")
    return str(node.this) if number and node is not None else None
