"""Other systems' names of functions: trees that say the same in the words of dpdb."""

from __future__ import annotations

from functools import reduce

from sqlglot import exp

from dpdb.errors import TypeMismatch, Unsupported
from dpdb.sql.date_functions import UNREAD
from dpdb.sql.date_texts import date_text
from dpdb.sql.literals import written_number
from dpdb.sql.trees import only, place

SPELLINGS = [
    "IFF",
    "NVL",
    "NVL2",
    "IFNULL",
    "ZEROIFNULL",
    "NULLIFZERO",
    "DECODE",
    "EQUAL_NULL",
    "WIDTH_BUCKET",
    "DIV0",
    "DIV0NULL",
    "TIME_BUCKET",
    "DAYNAME",
    "MONTHNAME",
    "STRFTIME",
    "FORMAT_DATE",
    "TO_CHAR",
]
"""The names that stand for COALESCE, NULLIF, CASE, IS NOT DISTINCT FROM and parts of dates."""


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
