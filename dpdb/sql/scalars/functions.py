"""The names and arguments of scalar functions in sqlglot's trees."""

from __future__ import annotations

from sqlglot import exp

from dpdb.plan.expressions.functions import FUNCTIONS

UNREAD = "!"
"""The mark behind a function's name that sqlglot does not know, so that it reads no argument."""
_OF_SYNTAX = {"CAST", "TRY_CAST", "SAFE_CAST", "EXTRACT", "IF", "POSITION", "SUBSTRING", "TRIM"}
"""The functions with words between their arguments, which sqlglot reads."""
UNREAD_NAMES = {name: name + UNREAD for name in FUNCTIONS if name not in _OF_SYNTAX}
"""The names of the other functions, with the mark; no name that is typed has it."""
_NODES: dict[type[exp.Expr], str] = {
    exp.Date: "DATE", exp.Datetime: "DATETIME", exp.Left: "LEFT", exp.Replace: "REPLACE",
    exp.Right: "RIGHT", exp.StrPosition: "STRPOS", exp.Substring: "SUBSTR",
    exp.Timestamp: "TIMESTAMP", exp.Trim: "TRIM", exp.Trunc: "TRUNC",
}  # fmt: skip
"""Functions that sqlglot reads, as their names are words of SQL."""
_SIDES = {"LEADING": "LTRIM", "TRAILING": "RTRIM"}


def written(name: str, *arguments: exp.Expr) -> exp.Anonymous:
    """A call as `named` reads it."""
    return exp.Anonymous(this=name, expressions=list(arguments))


def named(node: exp.Func) -> tuple[str, list[exp.Expr]]:
    """The name of a function in the table, and its arguments in their order there.

    The name is empty if the table does not have it.
    """
    if isinstance(node, exp.Anonymous):
        name = str(node.this).removesuffix(UNREAD).upper()
        return name if name in FUNCTIONS else "", node.expressions
    name = _NODES.get(type(node), "")
    name = _SIDES.get(str(node.args.get("position") or ""), name)
    parts = [node.args.get(part) for part in node.arg_types]
    return name, [part for part in parts if isinstance(part, exp.Expr)]
