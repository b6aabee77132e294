"""Spellings of one function: aliases of DuckDB, PostgreSQL and BigQuery, and dates as texts."""

from __future__ import annotations

from functools import reduce

from sqlglot import exp

from dpdb.errors import TypeMismatch, Unsupported
from dpdb.sql.scalars.date_functions import UNREAD
from dpdb.sql.syntax.literals import written_number
from dpdb.sql.syntax.trees import only, place

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


_TARGETS = {
    exp.Date: exp.DataType.Type.DATE,
    exp.Timestamp: exp.DataType.Type.TIMESTAMP,
    exp.Datetime: exp.DataType.Type.DATETIME,
}
"""The types that BigQuery's functions of the same names convert to."""


def respelled(node: exp.Func, text: str) -> exp.Expr | None:
    """What a call of another system's functions means; None if it is none of them."""
    if (made := date_text(node, text)) is not None:
        made.parent = node.parent
        return made
    match node:
        case exp.CurrentTimestamp() | exp.CurrentDate() | exp.CurrentTime() | exp.CurrentDatetime():
            raise _no_clock(node, text)
        case exp.Anonymous() if str(node.this).upper() in _CLOCKS:
            raise _no_clock(node, text)
        case exp.Anonymous():
            made = _by_name(node, text)
        case exp.Nvl2():
            only(node, text, "this", "true", "false")
            known = exp.Not(this=_is_null(node.this))
            made = exp.If(this=known, true=node.args["true"], false=node.args.get("false"))
        case exp.EqualNull():
            only(node, text, "this", "expression")
            made = exp.NullSafeEQ(this=node.this, expression=node.expression)
        case exp.WidthBucket():
            made = _bucket(node, text)
        case exp.Date() | exp.Timestamp() | exp.Datetime():
            only(node, text, "this")
            made = exp.Cast(this=node.this, to=exp.DataType(this=_TARGETS[type(node)]))
        case exp.DecodeCase():
            made = _decoded(*node.expressions)
        case exp.Decode():  # it has fewer arguments than three
            raise TypeMismatch(
                "DECODE does not take these arguments",
                hint="DECODE(x, value, result, …, default)",
                place=place(node, text),
            )
        case _:
            return None
    if made is not None:
        made.parent = node.parent
    return made


_CLOCKS = ("NOW", "TODAY", "GETDATE", "SYSDATE")


def _no_clock(node: exp.Func, text: str) -> Unsupported:
    """The error for a function that says what time it is."""
    return Unsupported(
        "a query says the same whenever it is asked, so it does not know what time it is",
        hint="write the time as a constant, as in TIMESTAMP '2024-01-31 12:00:00'",
        place=place(node, text),
    )


def _by_name(node: exp.Anonymous, text: str) -> exp.Expr | None:
    """The functions that sqlglot does not know."""
    zero = exp.Literal.number(0)
    name = str(node.this).upper()
    match name, node.expressions:
        case "IFF", [condition, true, false]:
            return exp.If(this=condition, true=true, false=false)
        case "ZEROIFNULL", [operand]:
            return exp.Coalesce(this=operand, expressions=[zero])
        case "NULLIFZERO", [operand]:
            return exp.Nullif(this=operand, expression=zero)
        case "TIME_BUCKET", _:
            return _time_bucket(node, text)
        case "DIV0" | "DIV0NULL", [left, right]:
            ratio = exp.Div(this=left, expression=right)
            none: exp.Expr = exp.EQ(this=right, expression=zero)
            if name == "DIV0NULL":
                none = exp.Or(this=none, expression=_is_null(right))
            return exp.If(this=none, true=zero, false=ratio)
    return None


def _time_bucket(node: exp.Anonymous, text: str) -> exp.Expr:
    """TIME_BUCKET of one unit of time: the start of the unit, as DATE_TRUNC has it."""
    match node.expressions:
        case [exp.Interval(this=exp.Literal(this="1"), args={"unit": unit}), date]:
            start = [exp.Literal.string(str(unit)), date]
            return exp.Anonymous(this="DATE_TRUNC" + UNREAD, expressions=start)
    raise TypeMismatch(
        "TIME_BUCKET takes an interval of one unit, and a date or timestamp",
        hint="TIME_BUCKET(INTERVAL 1 MONTH, d)",
        place=place(node, text),
    )


def _bucket(node: exp.WidthBucket, text: str) -> exp.Expr:
    """WIDTH_BUCKET(x, low, high, n): in which of n equal parts x is; 0 below, and n + 1 above."""
    only(node, text, "this", "min_value", "max_value", "num_buckets")
    names = ("min_value", "max_value", "num_buckets")
    numbers = [written_number(node.args.get(name)) for name in names]
    low, high, parts = (-1 if number is None else number for number in numbers)
    if None in numbers or low >= high or parts < 1 or parts.denominator != 1:
        raise TypeMismatch(
            "WIDTH_BUCKET takes two constants, the lower one first, and a number of parts",
            hint="WIDTH_BUCKET(x, 0, 100, 5)",
            place=place(node, text),
        )
    start, end, number = (node.args[name] for name in names)
    above, width = exp.Sub(this=node.this, expression=start), exp.Sub(this=end, expression=start)
    part = exp.Div(this=exp.Mul(this=above, expression=number), expression=width)
    one = exp.Literal.number(1)
    bucket = exp.Add(this=exp.Floor(this=part), expression=one)
    last = exp.Add(this=number, expression=one)
    return exp.Anonymous(this="CLAMP", expressions=[bucket, exp.Literal.number(0), last])


def _decoded(operand: exp.Expr, *rest: exp.Expr) -> exp.Case:
    """DECODE as a CASE: values are compared as by IS NOT DISTINCT FROM, so that NULL finds NULL."""
    default = rest[-1] if len(rest) % 2 else None
    pairs = zip(rest[::2], rest[1::2], strict=False)
    branches = [exp.If(this=_found(operand, value), true=result) for value, result in pairs]
    return exp.Case(ifs=branches, default=default)


def _found(operand: exp.Expr, value: exp.Expr) -> exp.Expr:
    """Whether DECODE's operand is a value; `=` is enough for one that is never NULL."""
    match value:
        case exp.Null():
            return _is_null(operand)
        case exp.Literal():
            return exp.EQ(this=operand, expression=value)
    return exp.NullSafeEQ(this=operand, expression=value)


def _is_null(operand: exp.Expr) -> exp.Is:
    return exp.Is(this=operand, expression=exp.Null())


def like_each(node: exp.Expr) -> exp.Expr | None:
    """LIKE ANY and LIKE ALL of several patterns: the OR, or the AND, of a test for each.

    None for a LIKE of one pattern, and for NOT LIKE, which systems understand differently.
    """
    listed = node.expression
    if not isinstance(listed, exp.Any | exp.All) or node.args.get("negate"):
        return None
    patterns = listed.this.expressions if isinstance(listed.this, exp.Tuple) else [listed.this]
    tests = [type(node)(this=node.this, expression=pattern) for pattern in patterns]
    joined = exp.Or if isinstance(listed, exp.Any) else exp.And
    return reduce(lambda left, right: joined(this=left, expression=right), tests)


def write_out_ratios(tree: exp.Select, text: str) -> None:
    """Write RATIO_TO_REPORT(x) OVER (…) as x / SUM(x) OVER (…), which it is short for."""
    for node in list(tree.find_all(exp.Window)) if "RATIO_TO_REPORT" in text.upper() else ():
        called = node.this
        if not isinstance(called, exp.Anonymous) or called.name.upper() != "RATIO_TO_REPORT":
            continue
        only(node, text, "this", "partition_by", "order", "over")  # It has no use of the order.
        if len(called.expressions) != 1:
            raise TypeMismatch("RATIO_TO_REPORT takes one argument", place=place(node, text))
        [part] = called.expressions
        total = exp.Window(
            this=exp.Sum(this=part.copy()), partition_by=node.args.get("partition_by")
        )
        node.replace(exp.Paren(this=exp.Div(this=part, expression=total)))
