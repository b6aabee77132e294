"""Dates as texts: the names of days and months, and the pieces that a format writes."""

from __future__ import annotations

from sqlglot import exp

from dpdb.errors import Unsupported
from dpdb.sql.date_functions import UNREAD
from dpdb.sql.trees import only, place

_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_MONTHS = ("January", "February", "March", "April", "May", "June", "July", "August", "September",
           "October", "November", "December")  # fmt: skip
_NAMES: dict[str, tuple[type[exp.Func], tuple[str, ...]]] = {
    "%A": (exp.DayOfWeekIso, _DAYS),
    "%a": (exp.DayOfWeekIso, tuple(name[:3] for name in _DAYS)),
    "%B": (exp.Month, _MONTHS),
    "%b": (exp.Month, tuple(name[:3] for name in _MONTHS)),
}
"""The formats that write names: a part of the date, and its names from 1 on."""
_PIECES = {
    "%Y": ("year", 1, 4),
    "%Y-%m": ("month", 1, 7),
    "%Y-%m-%d": ("day", 1, 10),
    "%F": ("day", 1, 10),
    "%m": ("month", 6, 2),
    "%d": ("day", 9, 2),
    "%m-%d": ("day", 6, 5),
}
"""The formats that write a piece of an ISO date: the unit that it changes with, where it begins
in `2024-03-01`, and its length."""
_TO_CHAR = {"YYYY": "%Y", "YYYY-MM": "%Y-%m", "YYYY-MM-DD": "%F", "MM": "%m", "DD": "%d",
            "MM-DD": "%m-%d"}  # fmt: skip
"""The formats of PostgreSQL's and Snowflake's TO_CHAR."""


def date_text(node: exp.Func, text: str) -> exp.Expr | None:
    """The tree of what a formatting function writes; None where the node calls none."""
    match node:
        case exp.Dayname():
            only(node, text, "this")
            return _name("%A", node.this)
        case exp.Monthname():
            only(node, text, "this")
            return _name("%B", node.this)
        case exp.ToChar():
            only(node, text, "this", "format")
            written = _constant(node.args.get("format"))
            return _formatted(node, "TO_CHAR", _TO_CHAR.get(written.upper()), node.this, text)
        case exp.Anonymous(this=str(name), expressions=[first, second]):
            match name.upper():
                case "STRFTIME":
                    return _formatted(node, "STRFTIME", _constant(second), first, text)
                case "FORMAT_DATE":
                    return _formatted(node, "FORMAT_DATE", _constant(first), second, text)
    return None


def _constant(node: exp.Expr | None) -> str:
    """The text that is written there; the empty one where it is none."""
    return str(node.this) if isinstance(node, exp.Literal) and node.is_string else ""


def _formatted(
    node: exp.Func, name: str, written: str | None, date: exp.Expr, text: str
) -> exp.Expr:
    """The text that a format makes of a date; refused where it is none of those above."""
    if written in _NAMES:
        return _name(written, date)
    if written not in _PIECES:
        known = _TO_CHAR if name == "TO_CHAR" else (*_PIECES, *_NAMES)
        raise Unsupported(
            f"{name} does not know this format",
            hint=f"formats are {', '.join(map(repr, known))}",
            place=place(node, text),
        )
    unit, begin, length = _PIECES[written]
    day = exp.Cast(this=date, to=exp.DataType(this=exp.DataType.Type.DATE))
    start = exp.Anonymous(this="DATE_TRUNC" + UNREAD, expressions=[exp.Literal.string(unit), day])
    whole = exp.Cast(this=start, to=exp.DataType(this=exp.DataType.Type.TEXT))
    return exp.Substring(
        this=whole, start=exp.Literal.number(begin), length=exp.Literal.number(length)
    )


def _name(written: str, date: exp.Expr) -> exp.Case:
    """The name of a date's day or month."""
    part, names = _NAMES[written]
    return exp.Case(
        this=part(this=date),
        ifs=[
            exp.If(this=exp.Literal.number(number), true=exp.Literal.string(name))
            for number, name in enumerate(names, 1)
        ],
    )
