"""The functions of dates: parts of a date, differences, and intervals that are added to dates."""

from __future__ import annotations

import re
from collections.abc import Callable

from sqlglot import exp

from dpdb.errors import Place, TypeMismatch, Unsupported
from dpdb.plan.calendar import STARTS
from dpdb.plan.expressions import Arithmetic, Call, Expr, Literal
from dpdb.policy.catalog import Kind
from dpdb.sql import types

Bind = Callable[[exp.Expr], Expr]
"""Binds an argument that is an expression."""

_PARTS = {
    "year": "year", "quarter": "quarter", "month": "month", "week": "week", "isoweek": "week",
    "day": "day", "dow": "dayofweek", "dayofweek": "dayofweek", "isodow": "isodow",
    "doy": "dayofyear", "dayofyear": "dayofyear",
}  # fmt: skip
"""Our names of the parts of a date, by the words for them."""
_COUNTED = {
    "year": "year", "quarter": "quarter_index", "month": "month_index", "week": "week_index",
}  # fmt: skip
"""What counts the units of time through all years: their differences are those of dates."""
_MONTHS = {"year": 12, "quarter": 3, "month": 1}
_DAYS = {"week": 7, "day": 1}
_WHOLE = re.compile(r"[+-]?[0-9]{1,9}")


def date_call(name: str, parts: list[exp.Expr], bind: Bind, where: Place | None) -> Expr:
    """A call of a function that names a unit of time, in the orders of DuckDB and of BigQuery."""
    units = [_unit(part) for part in parts]
    match name, parts, units:
        case "EXTRACT" | "DATE_PART", [_, date], [str(unit), _]:
            return part_of(unit, bind(date), where)
        case "DATE_TRUNC", [_, date], [str(unit), _]:
            return _start(unit, bind(date), where)
        case "DATE_TRUNC", [date, _], [_, str(unit)]:
            return _start(unit, bind(date), where)
        case "DATE_DIFF" | "DATEDIFF", [_, start, end], [str(unit), _, _]:
            return _difference(unit, bind(start), bind(end), where)
        case "DATE_DIFF" | "DATEDIFF", [end, start, _], [_, _, str(unit)]:
            return _difference(unit, bind(start), bind(end), where)
        case "DATE_ADD", [date, exp.Interval() as interval], _:
            return shifted(bind(date), 1, interval, where)
        case "DATE_SUB", [date, exp.Interval() as interval], _:
            return shifted(bind(date), -1, interval, where)
    hint = _HINTS.get(name)
    raise TypeMismatch(f"{name} does not take these arguments", hint=hint, place=where)


_HINTS = {
    "EXTRACT": f"EXTRACT(part FROM date), for {', '.join(_PARTS)}",
    "DATE_PART": f"DATE_PART('part', date), for {', '.join(_PARTS)}",
    "DATE_TRUNC": f"DATE_TRUNC('unit', date), for {', '.join(STARTS)}",
    "DATE_DIFF": "DATE_DIFF('unit', start, end)",
    "DATEDIFF": "DATEDIFF('unit', start, end)",
    "DATE_ADD": "DATE_ADD(date, INTERVAL 1 MONTH)",
    "DATE_SUB": "DATE_SUB(date, INTERVAL 1 MONTH)",
}
DATE_CALLS = frozenset(_HINTS) - {"EXTRACT"}
"""The names of the functions that `date_call` knows, besides EXTRACT, which is a word of SQL."""
UNREAD = "!"
"""The mark behind such a name in sqlglot's trees; no name that is typed has it."""


def part_of(part: str, date: Expr, where: Place | None) -> Expr:
    """A part of a date, as a whole number."""
    if part not in _PARTS:
        known = ", ".join(_PARTS)
        raise Unsupported(f"a date has no {part}", hint=f"parts are {known}", place=where)
    return Call(_PARTS[part], (types.of_kind(date, Kind.DATE, where),), Kind.INTEGER)


def shifted(date: Expr, sign: int, interval: exp.Interval, where: Place | None) -> Expr:
    """A date so many days, weeks, months, quarters or years later; earlier for the sign -1."""
    date = types.of_kind(date, Kind.DATE, where)
    unit, number = _unit_of(interval), interval.this
    if not (isinstance(number, exp.Literal) and _WHOLE.fullmatch(str(number.this))) or unit is None:
        raise Unsupported(
            "an interval is a whole number and a unit", hint="INTERVAL 3 MONTH", place=where
        )
    steps = sign * int(str(number.this))
    if unit in _MONTHS:
        months = Literal(steps * _MONTHS[unit], Kind.INTEGER)
        return Call("months_later", (date, months), Kind.DATE)
    if unit in _DAYS:
        return Arithmetic("+", date, Literal(steps * _DAYS[unit], Kind.INTEGER), Kind.DATE)
    known = ", ".join([*_DAYS, *_MONTHS])
    raise Unsupported(f"a date has no {unit}", hint=f"units are {known}", place=where)


def last_day(date: Expr, where: Place | None) -> Expr:
    """The last day of the month that a date is in."""
    following = Call(
        "months_later", (_start("month", date, where), Literal(1, Kind.INTEGER)), Kind.DATE
    )
    return Arithmetic("-", following, Literal(1, Kind.INTEGER), Kind.DATE)


def _start(unit: str, date: Expr, where: Place | None) -> Expr:
    """The first day of the unit of time that a date is in."""
    date = types.of_kind(date, Kind.DATE, where)
    if unit == "day":
        return date
    if unit not in STARTS:
        known = ", ".join(["day", *STARTS])
        raise Unsupported(f"a date has no {unit}", hint=f"units are {known}", place=where)
    return Call("date_trunc", (Literal(unit, Kind.TEXT), date), Kind.DATE)


def _difference(unit: str, start: Expr, end: Expr, where: Place | None) -> Expr:
    """How often a unit of time begins between two dates, as DuckDB counts it."""
    start, end = (types.of_kind(date, Kind.DATE, where) for date in (start, end))
    if unit in _COUNTED:
        start, end = (Call(_COUNTED[unit], (date,), Kind.INTEGER) for date in (start, end))
    elif unit != "day":
        known = ", ".join(["day", *_COUNTED])
        raise Unsupported(f"a date has no {unit}", hint=f"units are {known}", place=where)
    return Arithmetic("-", end, start, Kind.INTEGER)


def _unit_of(interval: exp.Interval) -> str | None:
    """The unit of an interval; in standard SQL its digits may follow it, as in `DAY (3)`."""
    match interval.args.get("unit"):
        case exp.Year() | exp.Month() | exp.Day() as call if isinstance(call.this, exp.Literal):
            return call.key
        case unit:
            return _unit(unit)


def _unit(node: object) -> str | None:
    """The word that names a unit of time, singular and in small letters.

    A bare word is one only if it is known: otherwise it is a column.
    """
    match node:
        case exp.Literal(is_string=True) | exp.Var():
            return _singular(str(node.this))
        case exp.Column(this=exp.Identifier(quoted=False)) if len(node.parts) == 1:
            word = _singular(node.name)
            return word if word in _PARTS else None
    return None


def _singular(word: str) -> str:
    word = word.lower()
    return word.removesuffix("s") if word.removesuffix("s") in (*_MONTHS, *_DAYS) else word
