"""BigQuery's report_format => 'JSON': an aggregate with its noise and its bounds, as a text.

The fields are those of ZetaSQL: in `result` the `value` and `noise_confidence_interval`, which is
how far from the value the ends of its interval are, and `bounding_report` with the bounds of the
argument. Its `num_inputs` and `num_outside` are counts of rows, which would need noise of their
own, and are left out. So the text follows from the noisy value, public scales and the policy.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction

from sqlglot import exp

from dpdb.errors import Place, TypeMismatch, UnknownName, Unsupported
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
from dpdb.policy.catalog import Kind
from dpdb.policy.numbers import decimal
from dpdb.sql.scalars.calls import call
from dpdb.sql.syntax.literals import has_named_arguments
from dpdb.sql.syntax.trees import place

_FORMAT = "report_format"


def without_report(node: exp.Expr, text: str) -> exp.Expr | None:
    """The aggregate without its report_format; None if no report is asked for."""
    if not has_named_arguments(node):
        return None
    inner, *arguments = node.expressions
    formats = [each for each in arguments if _is_format(each)]
    if not formats:
        return None
    if len(formats) > 1 or formats[0].expression.name.upper() != "JSON":
        raise UnknownName("report_format is 'JSON'", place=place(node, text))
    others = [each for each in arguments if each is not formats[0]]
    plain: exp.Expr = inner.copy() if not others else node.copy()
    if others:
        plain.set("expressions", [inner.copy(), *(each.copy() for each in others)])
    return plain


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
    return call("concat", parts, where)


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


def _is_format(argument: exp.Expr) -> bool:
    return isinstance(argument, exp.Kwarg) and argument.this.name.lower() == _FORMAT


def _text(text: str) -> Literal:
    return Literal(text, Kind.TEXT)


def _json(number: Expr) -> Expr:
    """A number as JSON, with `null` for NULL."""
    return Call("coalesce", (Cast(number, Kind.TEXT), _text("null")), Kind.TEXT)
