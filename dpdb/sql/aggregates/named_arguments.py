"""BigQuery's named arguments of aggregates: contribution bounds and report_format.

`SUM(x, contribution_bounds_per_row => (0, 10))` is SUM(CLAMP(x, 0, 10)). The bounds of
`contribution_bounds_per_group` clamp the aggregate of a unit's rows in a group. The bounds are
constants of the text, so it is sound to clamp to any of them.

`report_format => 'JSON'` makes the answer a text with the fields of ZetaSQL: `result` has the
`value` and as `noise_confidence_interval` the distances of the interval's ends from the value, and
`bounding_report` has the bounds of the argument. Its `num_inputs` and `num_outside` are counts of
rows, which would need noise of their own, and are left out. So the text follows from the noisy
value, public scales and the policy.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from typing import TYPE_CHECKING

from sqlglot import exp

from dpdb.errors import Place, TypeMismatch, UnknownName, Unsupported, did_you_mean
from dpdb.plan.expressions.expressions import (
    Arithmetic,
    Call,
    Cast,
    Expr,
    IntervalEnd,
    Literal,
    interval_ends,
    slots,
)
from dpdb.plan.logical.query import COUNTS, Aggregate
from dpdb.plan.ranges.ranges import interval
from dpdb.plan.relations.relations import Source
from dpdb.policy.catalog import Kind
from dpdb.policy.numbers import decimal
from dpdb.records import dataclass
from dpdb.sql.scalars import types
from dpdb.sql.syntax.literals import CLAMPED, has_named_arguments
from dpdb.sql.syntax.trees import UNREAD, node_name, place

if TYPE_CHECKING:
    from dpdb.sql.scalars.expression_binder import ExpressionBinder


PER_ROW = "contribution_bounds_per_row"
PER_GROUP = "contribution_bounds_per_group"
_NAMES = (PER_ROW, PER_GROUP)
_COUNTS = (exp.Count, exp.CountIf)


@dataclass(frozen=True)
class ContributionBounds:
    """The bounds of a unit's aggregate in a group."""

    low: Fraction
    high: Fraction


def bounded(
    node: exp.Expr, rows: ExpressionBinder, table: Source
) -> tuple[exp.Expr, ContributionBounds | None]:
    """The aggregate with named arguments at `node` as one without.

    Bounds of a row clamp the aggregate's argument; bounds of a unit are returned beside it.
    If a unit has at most one row, bounds of a unit are bounds of that row.
    """
    inner, *arguments = node.expressions
    where = place(node, rows.text)
    if not isinstance(inner, exp.AggFunc) or isinstance(inner, exp.Mode):
        unknown = isinstance(inner, exp.Anonymous)
        called = inner.name.removesuffix(UNREAD) if unknown else node_name(inner)
        raise Unsupported(f"{called} takes no named arguments", place=where)
    name, *others = (_name(argument, where) for argument in arguments)
    if others:
        raise Unsupported("an aggregate has one pair of bounds", place=where)
    low, high = ends = _ends(arguments[0].expression, where)
    least, greatest = (_number(end, rows, where) for end in ends)
    if least > greatest:
        raise TypeMismatch("the lower bound is above the upper one", place=where)
    summed = isinstance(inner, (exp.Sum, exp.Avg, *_COUNTS))
    per_group = name == PER_GROUP or (name == CLAMPED and summed)
    most = table.rows_per_unit if per_group else 1
    counts = isinstance(inner, _COUNTS)
    if counts and greatest >= most and least <= (1 if most == 1 else 0):
        return inner, None
    if per_group and summed and most > 1 and not isinstance(inner.this, exp.Distinct):
        return inner, ContributionBounds(least, greatest)
    if counts:
        raise _unclamped_count(greatest, most, where)
    if most > 1:
        raise Unsupported(
            f"a unit has up to {most} rows, and their {node_name(inner)} in a group is not clamped",
            hint=f"{PER_ROW} => (low, high) clamps each row",
            place=where,
        )
    clamped = inner.copy()
    clamped.set("this", exp.Anonymous(this="CLAMP", expressions=[inner.this, low, high]))
    return clamped, None


def _name(argument: exp.Expr, where: Place | None) -> str:
    """The name of a named argument; raises UnknownName for a name without a meaning."""
    if not isinstance(argument, exp.Kwarg):
        raise Unsupported("named arguments are the last", place=where)
    name = argument.this.name
    if name == CLAMPED or name.lower() in _NAMES:
        return str(name if name == CLAMPED else name.lower())
    hint = did_you_mean(name.lower(), _NAMES) or f"{PER_ROW} => (low, high) clamps its argument"
    raise UnknownName(f"no argument {name} of an aggregate", hint=hint, place=where)


def _ends(value: exp.Expr, where: Place | None) -> tuple[exp.Expr, exp.Expr]:
    """The two ends of `(low, high)`, or of `low AND high`."""
    match value:
        case exp.Tuple(expressions=[low, high]):
            return low, high
        case exp.And():
            return value.this, value.expression
    raise TypeMismatch("bounds are two numbers", hint="such as (0, 100)", place=where)


def _number(end: exp.Expr, rows: ExpressionBinder, where: Place | None) -> Fraction:
    constant = rows.expression(end)
    if isinstance(constant, Literal) and type(constant.value) in (int, Fraction):
        assert isinstance(constant.value, (int, Fraction))
        return Fraction(constant.value)
    raise TypeMismatch("bounds are two numbers", hint="such as (0, 100)", place=where)


def _unclamped_count(greatest: Fraction, most: int, where: Place | None) -> Unsupported:
    """The error for bounds that would change a count that is not clamped."""
    fewer = f"; OPTIONS(max_rows_contributed = {greatest}) makes it {greatest}"
    return Unsupported(
        f"this count is not clamped, and a unit adds up to {most} to it",
        hint=f"write (0, {most})" + (fewer if 1 <= greatest < most else ""),
        place=where,
    )


def without_report(node: exp.Expr, text: str) -> exp.Expr | None:
    """The aggregate without its report_format; None if no report is asked for."""
    if not has_named_arguments(node):
        return None
    inner, *arguments = node.expressions
    formats = [
        each
        for each in arguments
        if isinstance(each, exp.Kwarg) and each.this.name.lower() == "report_format"
    ]
    if not formats:
        return None
    if len(formats) > 1 or formats[0].expression.name.upper() != "JSON":
        hint = "leave it out: every answer has its ±, and --json its interval"
        raise UnknownName("report_format is 'JSON'", hint=hint, place=place(node, text))
    others = [each for each in arguments if each is not formats[0]]
    plain: exp.Expr = inner.copy() if not others else node.copy()
    if others:
        plain.set("expressions", [inner.copy(), *(each.copy() for each in others)])
    return plain


def reported(node: exp.Dot, text: str) -> exp.Expr | None:
    """The aggregate of `SUM(x, report_format => …).result.value`; None for any other path."""
    fields: list[str] = []
    inner: exp.Expr = node
    while isinstance(inner, exp.Dot):
        fields, inner = [inner.expression.name.lower(), *fields], inner.this
    if fields not in (["value"], ["result"], ["result", "value"]):
        return None
    return without_report(inner, text)


def report(value: Expr, aggregate: Aggregate | None, where: Place | None) -> Expr:
    """The text of the report on `value`, an aggregate or an expression of several."""
    if value.kind not in (Kind.INTEGER, Kind.NUMBER) or not slots(value, "aggregate"):
        raise TypeMismatch("a report is of a number", place=where)
    low, high = (
        Arithmetic("-", IntervalEnd(value, upper=upper), value, Kind.NUMBER)
        for upper in (False, True)
    )
    parts = [
        _text('{"result": {"value": '), _json(value),
        _text(', "noise_confidence_interval": {"lower_bound": '), _json(low),
        _text(', "upper_bound": '), _json(high),
        _text(f'}}}}, "bounding_report": {_bounds(aggregate)}}}'),
    ]  # fmt: skip
    return types.concatenation(parts, where)


def refuse_intervals(asked: Iterable[Expr], unit: str, where: Place | None) -> None:
    """Refuse the ends of intervals in a table per unit, which has no noise."""
    if any(map(interval_ends, asked)):
        raise Unsupported(
            f"what is computed for each {unit} has no noise, and so no interval",
            hint="the outer SELECT, which adds noise, can ask for it",
            place=where,
        )


_DIGITS = 15
"""The number of digits of the bounds."""


def _bounds(aggregate: Aggregate | None) -> str:
    """The bounds of the argument of an aggregate, as JSON."""
    if aggregate is None or aggregate.argument is None or aggregate.function in COUNTS:
        return "null"
    bounds = interval(aggregate.argument, {})
    if not bounds.bounded:
        return "null"
    low, high = (decimal(Fraction(end), _DIGITS) for end in (bounds.lower, bounds.upper))
    return f'{{"lower_bound": {low}, "upper_bound": {high}}}'


def _text(text: str) -> Literal:
    return Literal(text, Kind.TEXT)


def _json(number: Expr) -> Expr:
    """A number as JSON, with `null` for NULL."""
    return Call("coalesce", (Cast(number, Kind.TEXT), _text("null")), Kind.TEXT)
