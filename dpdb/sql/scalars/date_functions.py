"""The functions of dates and timestamps that name a unit of time, and AT TIME ZONE."""

from __future__ import annotations

import re
from collections.abc import Callable

from sqlglot import exp

from dpdb.errors import Place, TypeMismatch, UnknownName, Unsupported
from dpdb.plan.expressions.calendar import CLOCK_CYCLES, STARTS, UNITS
from dpdb.plan.expressions.expressions import Arithmetic, Call, Expr, Literal
from dpdb.plan.expressions.functions import FUNCTIONS
from dpdb.policy.catalog import Kind
from dpdb.policy.timestamps import DAY, SECOND
from dpdb.sql.scalars import types
from dpdb.sql.syntax.trees import named

Bind = Callable[[exp.Expr], Expr]
"""Binds an argument that is an expression."""

_PARTS = {
    "year": "year", "quarter": "quarter", "month": "month", "week": "week", "isoweek": "week",
    "day": "day", "dow": "dayofweek", "dayofweek": "dayofweek", "isodow": "isodow",
    "doy": "dayofyear", "dayofyear": "dayofyear",
}  # fmt: skip
"""Our names of the parts of a date, by the words for them."""
_TIMES = (*CLOCK_CYCLES, "epoch")
"""The parts that timestamps have besides those of their dates."""
_COUNTED = {
    "year": "year", "quarter": "quarter_index", "month": "month_index", "week": "week_index",
}  # fmt: skip
"""The calls that count a unit of time through all years, so that differences are whole units."""
_MONTHS = {"year": 12, "quarter": 3, "month": 1}
_DAYS = {"week": 7, "day": 1}
_SHORT = {unit: length for unit, length in UNITS.items() if length < DAY}
"""The microseconds of the units that are shorter than a day."""
_WHOLE = re.compile(r"[+-]?[0-9]{1,9}")
_UTC = ("UTC", "GMT", "Z", "ETC/UTC")


def date_call(name: str, parts: list[exp.Expr], bind: Bind, where: Place | None) -> Expr:
    """A call of a function that names a unit of time, in the orders of DuckDB and of BigQuery."""
    units = [_unit(part) for part in parts]
    if len(parts) > 1 and units[0] and units[-1] and _is_missing(parts[-1], bind):
        units[0] = None  # It is a column that is called as a unit is.
    first_name = FUNCTIONS[name].name
    match first_name, parts, units:
        case "EXTRACT" | "DATE_PART", [_, moment], ["epoch", _]:
            return _epoch(moment, bind, where)
        case "EPOCH", [moment], _:
            return _epoch(moment, bind, where)
        case "EXTRACT" | "DATE_PART", [_, date], [str(unit), _]:
            return part_of(unit, bind(date), where)
        case "DATE_TRUNC", [_, date], [str(unit), _]:
            return _start(unit, bind(date), where)
        case "DATE_TRUNC", [date, _], [_, str(unit)]:
            return _start(unit, bind(date), where)
        case "DATE_DIFF", [_, start, end], [str(unit), _, _]:
            difference = _whole_weeks if unit == "week" else _difference
            return difference(unit, bind(start), bind(end), where)
        case "DATE_DIFF", [end, start, _], [_, _, str(unit)]:
            return _difference(unit, bind(start), bind(end), where)
        case "TIMESTAMP_DIFF", [end, start, _], [_, _, str(unit)]:
            return _elapsed(unit, bind(start), bind(end), where)
        case "DATE_ADD", [date, exp.Interval() as interval], _:
            return shifted(bind(date), 1, interval, where)
        case "DATE_SUB", [date, exp.Interval() as interval], _:
            return shifted(bind(date), -1, interval, where)
        case "DATEADD", [unit, number, date], [str(), _, _]:
            return shifted(bind(date), *_interval(unit, number), where)
    hint = FUNCTIONS[name].signature(name) + _UNITS.get(first_name, "")
    raise TypeMismatch(f"{name} does not take these arguments", hint=hint, place=where)


def _is_missing(part: exp.Expr, bind: Bind) -> bool:
    """Whether a bare word is not the name of a column, as MONTH in DATE_TRUNC(day, MONTH)."""
    if not isinstance(part, exp.Column):
        return False
    try:
        bind(part)
    except UnknownName:
        return True
    return False


_UNITS = {
    **dict.fromkeys(("EXTRACT", "DATE_PART"), f", for {', '.join((*_PARTS, *_TIMES))}"),
    "DATE_TRUNC": f", for {', '.join((*STARTS, *UNITS))}",
}
"""The units that a hint adds to the signature."""
DATE_CALLS = frozenset((
    "EXTRACT", "DATE_PART", "DATE_TRUNC", "EPOCH", "DATE_DIFF", "TIMESTAMP_DIFF", "DATE_ADD",
    "DATEADD", "DATE_SUB",
))  # fmt: skip
"""The first names of the functions that `date_call` knows."""


def part_of(part: str, date: Expr, where: Place | None) -> Expr:
    """A part of a date or timestamp, as a whole number."""
    if part in _PARTS:
        return Call(_PARTS[part], (types.day(date, where),), Kind.INTEGER)
    if part not in CLOCK_CYCLES or date.kind is Kind.DATE:
        times = () if date.kind is Kind.DATE else CLOCK_CYCLES
        raise _no_unit(date, part, "parts", (*_PARTS, *times, "epoch"), where)
    return Call(part, (types.of_kind(date, Kind.TIMESTAMP, where),), Kind.INTEGER)


def unix_seconds(moment: Expr, where: Place | None) -> Expr:
    """The whole seconds since 1970-01-01 00:00 UTC."""
    return Call("second_index", (types.of_kind(moment, Kind.TIMESTAMP, where),), Kind.INTEGER)


def _epoch(node: exp.Expr, bind: Bind, where: Place | None) -> Expr:
    """The seconds since 1970, or of a difference those between its timestamps, with decimals."""
    passed = node.unnest()
    if isinstance(passed, exp.Sub) and not isinstance(passed.expression, exp.Interval):
        end, start = (
            types.of_kind(bind(side), Kind.TIMESTAMP, where)
            for side in (passed.this, passed.expression)
        )
        microseconds: Expr = Arithmetic("-", end, start, Kind.INTEGER)
    else:
        microseconds = types.of_kind(bind(node), Kind.TIMESTAMP, where)
    return Arithmetic("/", microseconds, Literal(SECOND, Kind.INTEGER), Kind.NUMBER)


def shifted(date: Expr, sign: int, interval: exp.Interval, where: Place | None) -> Expr:
    """A date or timestamp so many units of time later; earlier for the sign -1.

    A date plus hours, minutes or seconds is a timestamp.
    """
    unit, number = _unit_of(interval), interval.this
    if not (isinstance(number, exp.Literal) and _WHOLE.fullmatch(str(number.this))) or unit is None:
        raise Unsupported(
            "an interval is a whole number and a unit", hint="INTERVAL 3 MONTH", place=where
        )
    steps = sign * int(str(number.this))
    if unit in _SHORT:
        moment = types.of_kind(date, Kind.TIMESTAMP, where)
        return Arithmetic("+", moment, Literal(steps * _SHORT[unit], Kind.INTEGER), moment.kind)
    moment = types.temporal(date, where)
    stamped = moment.kind is Kind.TIMESTAMP
    if unit in _MONTHS:
        months = Literal(steps * _MONTHS[unit], Kind.INTEGER)
        return Call("timestamp_months_later" if stamped else "months_later",
                    (moment, months), moment.kind)  # fmt: skip
    if unit in _DAYS:
        days = Literal(steps * _DAYS[unit] * (DAY if stamped else 1), Kind.INTEGER)
        return Arithmetic("+", moment, days, moment.kind)
    raise _no_unit(moment, unit, "units", (*_SHORT, *_DAYS, *_MONTHS), where)


def last_day(date: Expr, where: Place | None) -> Expr:
    """The last day of the month that a date or timestamp is in."""
    first = _start("month", types.day(date, where), where)
    following = Call("months_later", (first, Literal(1, Kind.INTEGER)), Kind.DATE)
    return Arithmetic("-", following, Literal(1, Kind.INTEGER), Kind.DATE)


def _start(unit: str, date: Expr, where: Place | None) -> Expr:
    """The first day, or moment, of the unit of time that a date or timestamp is in."""
    if unit in _SHORT and date.kind is not Kind.DATE:
        date = types.of_kind(date, Kind.TIMESTAMP, where)
    date = types.temporal(date, where)
    if date.kind is Kind.TIMESTAMP and (unit in STARTS or unit in UNITS):
        return Call("timestamp_trunc", (Literal(unit, Kind.TEXT), date), Kind.TIMESTAMP)
    if unit == "day":
        return date
    if unit not in STARTS:
        known = (*STARTS, *UNITS) if date.kind is Kind.TIMESTAMP else ("day", *STARTS)
        raise _no_unit(date, unit, "units", known, where)
    return Call("date_trunc", (Literal(unit, Kind.TEXT), date), Kind.DATE)


def _difference(unit: str, start: Expr, end: Expr, where: Place | None) -> Expr:
    """The number of times that a unit of time begins between two dates or timestamps."""
    if unit in _SHORT:
        start, end = (types.of_kind(each, Kind.TIMESTAMP, where) for each in (start, end))
        counted = f"{unit}_index"
    else:
        start, end = (types.day(each, where) for each in (start, end))
        counted = _COUNTED.get(unit, "")
    if counted:
        start, end = (Call(counted, (each,), Kind.INTEGER) for each in (start, end))
    elif unit != "day":
        raise _no_unit(start, unit, "units", ("day", *_COUNTED, *_SHORT), where)
    return Arithmetic("-", end, start, Kind.INTEGER)


def _whole_weeks(_: str, start: Expr, end: Expr, where: Place | None) -> Expr:
    """The number of whole weeks of seven days between two dates, as DuckDB counts them."""
    days = _difference("day", start, end, where)
    weeks = Arithmetic("/", days, Literal(7, Kind.INTEGER), Kind.NUMBER)
    return Call("trunc", (weeks,), Kind.INTEGER)


def _elapsed(unit: str, start: Expr, end: Expr, where: Place | None) -> Expr:
    """The number of whole units of time between two timestamps, as BigQuery counts them."""
    start, end = (types.of_kind(each, Kind.TIMESTAMP, where) for each in (start, end))
    if unit not in UNITS:
        raise Unsupported(
            f"TIMESTAMP_DIFF counts no {unit}",
            hint=f"units are {', '.join(UNITS)}; DATE_DIFF counts longer ones",
            place=where,
        )
    return Call("elapsed", (Literal(unit, Kind.TEXT), start, end), Kind.INTEGER)


def _no_unit(
    date: Expr, unit: str, what: str, known: tuple[str, ...], where: Place | None
) -> Unsupported:
    """The error for a unit of time that a date or timestamp does not have."""
    kind = Kind.TIMESTAMP if date.kind is Kind.TIMESTAMP else Kind.DATE
    return Unsupported(f"a {kind} has no {unit}", hint=f"{what} are {', '.join(known)}",
                       place=where)  # fmt: skip


def names_utc(zone: exp.Expr) -> bool:
    """Whether a time zone is UTC, by one of its names."""
    return isinstance(zone, exp.Literal) and str(zone.this).upper() in _UTC


def at_time_zone(moment: Expr, zone: exp.Expr, where: Place | None) -> Expr:
    """A timestamp AT TIME ZONE 'UTC', which it always is; other zones are refused."""
    if not names_utc(zone):
        raise Unsupported(
            "timestamps are in UTC, and no other time zone is known",
            hint="AT TIME ZONE 'UTC', or add the offset yourself: ts + INTERVAL 2 HOUR",
            place=where,
        )
    return types.of_kind(moment, Kind.TIMESTAMP, where)


def _interval(unit: exp.Expr, number: exp.Expr) -> tuple[int, exp.Interval]:
    """The sign and the interval of a number of units, as Snowflake's DATEADD has them."""
    sign = -1 if isinstance(number, exp.Neg) else 1
    return sign, exp.Interval(this=number.this if sign < 0 else number, unit=unit)


def _unit_of(interval: exp.Interval) -> str | None:
    """The unit of an interval; in standard SQL its digits may follow it, as in `DAY (3)`."""
    match interval.args.get("unit"):
        case exp.Anonymous(expressions=[exp.Literal()]) as call if (
            unit := named(call)[0].lower()
        ) in _LENGTHS:
            return unit
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
            return word if word in (*_PARTS, *_TIMES, *_SHORT) else None
    return None


_LENGTHS = (*_MONTHS, *_DAYS, *_SHORT)
"""The units of time that have a plural."""


def _singular(word: str) -> str:
    word = word.lower()
    return word.removesuffix("s") if word.removesuffix("s") in _LENGTHS else word
