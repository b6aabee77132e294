"""Spellings of one function: aliases of DuckDB, PostgreSQL and BigQuery, and dates as texts."""

from __future__ import annotations

from fractions import Fraction
from functools import reduce

from sqlglot import exp

from dpdb.errors import Place, TypeMismatch, Unsupported
from dpdb.plan.expressions.expressions import Literal
from dpdb.policy.catalog import Kind
from dpdb.sql.scalars.date_functions import names_utc
from dpdb.sql.syntax.literals import written_number
from dpdb.sql.syntax.trees import only, place, written

_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_MONTHS = ("January", "February", "March", "April", "May", "June", "July", "August", "September",
           "October", "November", "December")  # fmt: skip
_NAMES: dict[str, tuple[str, tuple[str, ...]]] = {
    "%A": ("ISODOW", _DAYS),
    "%a": ("ISODOW", tuple(name[:3] for name in _DAYS)),
    "%B": ("MONTH", _MONTHS),
    "%b": ("MONTH", tuple(name[:3] for name in _MONTHS)),
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


def _constant(node: exp.Expr | None) -> str:
    """The node's string literal, or "" if the node is none."""
    return str(node.this) if isinstance(node, exp.Literal) and node.is_string else ""


def _formatted(name: str, form: str | None, date: exp.Expr, where: Place | None) -> exp.Expr:
    """The text that a format makes of a date; refused where the format is not known."""
    if form in _NAMES:
        return _name(form, date)
    if form not in _PIECES:
        known = _TO_CHAR if name == "TO_CHAR" else (*_PIECES, *_NAMES)
        raise Unsupported(
            f"{name} does not know this format",
            hint=f"formats are {', '.join(map(repr, known))}; or EXTRACT(MONTH FROM date)",
            place=where,
        )
    unit, begin, length = _PIECES[form]
    start = written("DATE_TRUNC", exp.Literal.string(unit), _cast(date, "DATE"))
    whole = _cast(start, "TEXT")
    return written("SUBSTR", whole, exp.Literal.number(begin), exp.Literal.number(length))


def _cast(node: exp.Expr, kind: str) -> exp.Cast:
    return exp.Cast(this=node, to=exp.DataType(this=exp.DataType.Type[kind]))


def _name(form: str, date: exp.Expr) -> exp.Case:
    """The name of a date's day or month."""
    part, names = _NAMES[form]
    return exp.Case(
        this=written(part, date),
        ifs=[
            exp.If(this=exp.Literal.number(number), true=exp.Literal.string(name))
            for number, name in enumerate(names, 1)
        ],
    )


def respelled(name: str, arguments: list[exp.Expr], where: Place | None) -> exp.Expr | None:
    """The expression that a call of a function, by its first name in the table, is short for.

    None if the function is no such spelling, or does not take these arguments.
    """
    return _of_dates(name, arguments, where) or _of_values(name, arguments, where)


def _of_dates(name: str, arguments: list[exp.Expr], where: Place | None) -> exp.Expr | None:
    match name, arguments:
        case "DAYNAME", [date]:
            return _name("%A", date)
        case "MONTHNAME", [date]:
            return _name("%B", date)
        case "TO_CHAR", [date, form]:
            return _formatted(name, _TO_CHAR.get(_constant(form).upper()), date, where)
        # As SQLite has it:
        case "STRFTIME", [form, date] if _constant(form) and not _constant(date):
            return _formatted(name, _constant(form), date, where)
        case ("STRFTIME", [date, form]) | ("FORMAT_DATE", [form, date]):
            return _formatted(name, _constant(form), date, where)
        case "STRPTIME", [operand, exp.Array(expressions=[_, *_] as forms)]:
            return written("COALESCE", *(written(name, operand.copy(), each) for each in forms))
        case "DATE" | "TIMESTAMP", [operand]:
            return _cast(operand, name)
        case "TIME_BUCKET", _:
            return _time_bucket(arguments, where)
    return None


def _of_values(name: str, arguments: list[exp.Expr], where: Place | None) -> exp.Expr | None:
    zero = exp.Literal.number(0)
    match name, arguments:
        case "NVL2", [operand, true, *false]:
            return exp.If(this=exp.Not(this=_is_null(operand)), true=true, false=_last(false))
        case "IF", [condition, true, *false]:
            return exp.If(this=condition, true=true, false=_last(false))
        case "SAFE_ADD" | "SAFE_SUBTRACT" | "SAFE_MULTIPLY", [left, right]:
            return _SAFE[name](this=left, expression=right)
        case "SAFE_NEGATE", [operand]:
            return exp.Neg(this=operand)
        case "EQUAL_NULL", [left, right]:
            return exp.NullSafeEQ(this=left, expression=right)
        case "ZEROIFNULL", [operand]:
            return written("COALESCE", operand, zero)
        case "NULLIFZERO", [operand]:
            return written("NULLIF", operand, zero)
        case "DIV0" | "DIV0NULL", [left, right]:
            none: exp.Expr = exp.EQ(this=right, expression=zero)
            if name == "DIV0NULL":
                none = exp.Or(this=none, expression=_is_null(right))
            return exp.If(this=none, true=zero, false=exp.Div(this=left, expression=right))
        case "WIDTH_BUCKET", [operand, *bounds]:
            return _bucket(operand, bounds, where)
        case "DECODE", [operand, _, _, *_]:
            return _decoded(operand, *arguments[1:])
    return None


_SAFE: dict[str, type[exp.Binary]] = {
    "SAFE_ADD": exp.Add, "SAFE_SUBTRACT": exp.Sub, "SAFE_MULTIPLY": exp.Mul,
}  # fmt: skip


def _last(arguments: list[exp.Expr]) -> exp.Expr | None:
    return arguments[-1] if arguments else None


_CLOCKS = (
    exp.CurrentTimestamp, exp.CurrentTime, exp.CurrentDatetime, exp.Localtime, exp.Localtimestamp,
)  # fmt: skip
_NAMED_CLOCKS = ("NOW", "GETDATE", "SYSDATE")


def clock(node: exp.Func, today: int, where: Place | None) -> Literal | None:
    """The day of the statement for CURRENT_DATE and TODAY(); None for what tells no time.

    A finer clock is refused, as no query would be a repeat.
    """
    name = str(node.this).upper() if isinstance(node, exp.Anonymous) else ""
    if isinstance(node, _CLOCKS) or name in _NAMED_CLOCKS:
        raise Unsupported(
            "a query says the same whenever it is asked on a day, so it does not know the time",
            hint="CURRENT_DATE is the day in UTC, and TIMESTAMP '2024-01-31 12:00:00' a constant",
            place=where,
        )
    if not isinstance(node, exp.CurrentDate) and name != "TODAY":
        return None
    zone = node.this if isinstance(node, exp.CurrentDate) else None
    if zone is not None and not names_utc(zone):
        raise Unsupported("CURRENT_DATE is in UTC", hint="write CURRENT_DATE", place=where)
    return Literal(today, Kind.DATE)


def _time_bucket(arguments: list[exp.Expr], where: Place | None) -> exp.Expr:
    """TIME_BUCKET of one unit of time: the start of the unit, as DATE_TRUNC has it."""
    match arguments:
        case [exp.Interval(this=exp.Literal(this="1"), args={"unit": unit}), date]:
            return written("DATE_TRUNC", exp.Literal.string(str(unit)), date)
    raise TypeMismatch(
        "TIME_BUCKET takes an interval of one unit, and a date or timestamp",
        hint="TIME_BUCKET(INTERVAL 1 MONTH, d)",
        place=where,
    )


def _bucket(operand: exp.Expr, bounds: list[exp.Expr], where: Place | None) -> exp.Expr:
    """WIDTH_BUCKET(x, low, high, n): in which of n equal parts x is; 0 below, and n + 1 above."""
    match bounds, [*map(written_number, bounds)]:
        case [start, end, number], [Fraction() as low, Fraction() as high, Fraction() as parts] if (
            low < high and parts >= 1 and parts.denominator == 1
        ):
            above, width = (exp.Sub(this=each, expression=start) for each in (operand, end))
            part = exp.Div(this=exp.Mul(this=above, expression=number), expression=width)
            one = exp.Literal.number(1)
            bucket = exp.Add(this=written("FLOOR", part), expression=one)
            last = exp.Add(this=number, expression=one)
            return written("CLAMP", bucket, exp.Literal.number(0), last)
    raise TypeMismatch(
        "WIDTH_BUCKET takes two constants, the lower one first, and a number of parts",
        hint="WIDTH_BUCKET(x, 0, 100, 5)",
        place=where,
    )


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


def write_out_deviations(tree: exp.Select, text: str) -> None:
    """Write MAD(x) as MEDIAN(ABS(x - (SELECT MEDIAN(x) FROM …))), of the same rows."""
    for node in list(tree.find_all(exp.Anonymous)) if "MAD" in text.upper() else ():
        if node.name.upper() != "MAD" or node.parent_select is not tree:
            continue
        if tree.args.get("group"):
            raise Unsupported(
                "MAD of groups is not supported",
                hint="WHERE asks for one group: SELECT MAD(x) FROM t WHERE y = 'a'",
                place=place(node, text),
            )
        if len(node.expressions) != 1:
            raise TypeMismatch("MAD takes one argument", hint="MAD(x)", place=place(node, text))
        [operand] = node.expressions
        rows = {part: tree.args.get(part) for part in ("from_", "joins", "where")}
        middle = exp.Select(expressions=[exp.Median(this=operand)], **rows).copy()
        if isinstance(node.parent, exp.Filter):
            middle.where(node.parent.expression.this.copy(), copy=False)
        distance = exp.Sub(this=operand, expression=exp.Subquery(this=middle))
        node.replace(exp.Median(this=written("ABS", distance)))
