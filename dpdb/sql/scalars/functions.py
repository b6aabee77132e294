"""The names of the scalar functions, and how sqlglot's nodes for them are read."""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

Arguments = Callable[[exp.Expr], list[exp.Expr]]
"""Reads the arguments of a node, in our order."""


def _list(node: exp.Expr) -> list[exp.Expr]:
    return [part for part in (node.this, *node.expressions) if part is not None]


def _named(*names: str) -> Arguments:
    return lambda node: [node.args[name] for name in names if node.args.get(name) is not None]


_both = _named("this", "expression")
_ONE: dict[str, type[exp.Expr]] = {
    "abs": exp.Abs, "sign": exp.Sign, "sqrt": exp.Sqrt, "cbrt": exp.Cbrt, "exp": exp.Exp,
    "ln": exp.Ln, "sin": exp.Sin, "cos": exp.Cos, "tan": exp.Tan, "asin": exp.Asin,
    "acos": exp.Acos, "atan": exp.Atan, "degrees": exp.Degrees, "radians": exp.Radians,
    "lower": exp.Lower, "upper": exp.Upper, "length": exp.Length, "year": exp.Year,
    "quarter": exp.Quarter, "month": exp.Month, "week": exp.Week, "day": exp.Day,
    "dayofweek": exp.DayOfWeek, "isodow": exp.DayOfWeekIso, "dayofyear": exp.DayOfYear,
    "last_day": exp.LastDay, "hour": exp.Hour, "minute": exp.Minute, "second": exp.Second,
    "unix_seconds": exp.UnixSeconds,
}  # fmt: skip
"""The functions of one argument."""
ARGUMENTS: dict[type[exp.Expr], tuple[str, Arguments]] = {
    **{node: (name, _named("this")) for name, node in _ONE.items()},
    exp.Round: ("round", _named("this", "decimals")),
    exp.Floor: ("floor", _named("this", "decimals")),
    exp.Ceil: ("ceil", _named("this", "decimals")),
    exp.Trunc: ("trunc", _named("this", "decimals")),
    exp.Pow: ("power", _both),
    exp.Log: ("log", _both),
    exp.Atan2: ("atan2", _both),
    exp.Pi: ("pi", lambda _: []),
    exp.SafeDivide: ("divide", _both),
    exp.Least: ("least", _list),
    exp.Greatest: ("greatest", _list),
    exp.Coalesce: ("coalesce", _list),
    exp.Nullif: ("nullif", _both),
    exp.Substring: ("substr", _named("this", "start", "length")),
    exp.Left: ("left", _both),
    exp.Right: ("right", _both),
    exp.Concat: ("concat_known", _list),
    exp.Replace: ("replace", _named("this", "expression", "replacement")),
    exp.StrPosition: ("position", _named("this", "substr")),
    exp.StartsWith: ("starts_with", _both),
    exp.EndsWith: ("ends_with", _both),
    exp.Contains: ("contains", _both),
    exp.RegexpLike: ("regexp_contains", _both),
    exp.SplitPart: ("split_part", _named("this", "delimiter", "part_index")),
}
"""For each of sqlglot's nodes, our name of the function and how to read its arguments."""
READ = (
    "this", "expressions", "expression", "decimals", "start", "length", "ignore_nulls", "substr",
    "delimiter", "part_index", "replacement", "safe",
)  # fmt: skip
"""The arguments of nodes that `ARGUMENTS` reads, or that say nothing more."""

_OWN = {"CLAMP": "clamp", "REGEXP_CONTAINS": "regexp_contains", "REGEXP_MATCHES": "regexp_contains"}
"""The functions that are not sqlglot's, by the names that they are written with."""
_SIDES = {"LEADING": "ltrim", "TRAILING": "rtrim", "BOTH": "trim", "": "trim"}


def named(node: exp.Func) -> tuple[str, list[exp.Expr]] | None:
    """Our name of a function, and its arguments; None if it is not known."""
    match node:
        case exp.Anonymous() if str(node.this).upper() in _OWN:
            return _OWN[str(node.this).upper()], node.expressions
        case exp.Trim():
            return _SIDES[str(node.args.get("position") or "")], _both(node)
    known = ARGUMENTS.get(type(node))
    return None if known is None else (known[0], known[1](node))
