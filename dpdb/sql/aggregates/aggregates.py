"""Calls of aggregates: their names, arguments and types."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

from sqlglot import exp

from dpdb.errors import InternalError, TypeMismatch, Unsupported
from dpdb.plan.expressions.expressions import Case, Cast, Expr, Literal, conjunction
from dpdb.plan.expressions.functions import AGGREGATES
from dpdb.plan.logical.per_unit import of_different, of_units
from dpdb.plan.logical.query import Aggregate, Function
from dpdb.plan.relations.relations import Source
from dpdb.policy.catalog import Kind
from dpdb.records import changed
from dpdb.sql.aggregates.lists import NAMED_QUANTILES, PERCENTILES, REFUSED_NAMES, refusal
from dpdb.sql.aggregates.named_arguments import bounded
from dpdb.sql.scalars import types
from dpdb.sql.syntax.literals import has_named_arguments
from dpdb.sql.syntax.trees import node_name, only, place, written_name

if TYPE_CHECKING:
    from dpdb.sql.scalars.expression_binder import ExpressionBinder


_USUAL = (
    "COUNT", "SUM", "AVG", "MIN", "MAX", "MEDIAN", "QUANTILE_CONT", "VARIANCE", "STDDEV", "MODE",
    "CORR",
)  # fmt: skip
"""The aggregates that a hint names."""

_FUNCTIONS: dict[type[exp.Func], Function] = {
    exp.Count: Function.COUNT,
    exp.Sum: Function.SUM,
    exp.Avg: Function.AVG,
    exp.Variance: Function.VAR_SAMP,
    exp.VariancePop: Function.VAR_POP,
    exp.Stddev: Function.STDDEV_SAMP,
    exp.StddevSamp: Function.STDDEV_SAMP,
    exp.StddevPop: Function.STDDEV_POP,
    exp.Min: Function.MIN,
    exp.Max: Function.MAX,
    exp.Median: Function.QUANTILE,
    exp.PercentileCont: Function.QUANTILE,
    exp.PercentileDisc: Function.QUANTILE,
    exp.ApproxQuantile: Function.QUANTILE,
    exp.ApproxDistinct: Function.COUNT_DISTINCT,
    exp.Mode: Function.MODE,
}
if _UNLISTED := [each for each in _FUNCTIONS if not AGGREGATES.keys() & set(each.sql_names())]:
    raise InternalError(f"without a row in functions.py: {_UNLISTED}")


def is_aggregate(node: exp.Expr) -> bool:
    """Whether `node` is an aggregate call, with or without FILTER or WITHIN GROUP."""
    plain = isinstance(node, (exp.AggFunc, exp.Filter, exp.WithinGroup))
    return plain or has_named_arguments(node) or _is_called(node, *AGGREGATES, *REFUSED_NAMES)


def _is_called(node: exp.Expr, *names: str) -> bool:
    """Whether `node` is a call of a function that sqlglot does not know, by one of these names."""
    return isinstance(node, exp.Anonymous) and str(node.this).upper() in names


def is_aggregated(tree: exp.Select) -> bool:
    """Whether a SELECT has groups, or aggregates that are no window functions."""
    if tree.args.get("group") or tree.args.get("having"):
        return True
    order, qualify = tree.args.get("order"), tree.args.get("qualify")
    parts = [
        *tree.expressions,
        *(order.expressions if order else ()),
        *([qualify] if qualify else ()),
    ]
    return any(map(has_aggregate, parts))


def has_aggregate(node: object) -> bool:
    """Whether an aggregate of the SELECT itself is in a part of it."""
    if isinstance(node, list):
        return any(map(has_aggregate, node))
    if not isinstance(node, exp.Expr) or isinstance(node, exp.Query):
        return False
    if isinstance(node, exp.Window):
        called = node.this.this if isinstance(node.this, exp.Filter) else node.this
        inside = [*called.args.values(), *(v for k, v in node.args.items() if k != "this")]
        return any(map(has_aggregate, inside))
    return is_aggregate(node) or any(map(has_aggregate, node.args.values()))


def aggregate(node: exp.Expr, rows: ExpressionBinder, table: Source) -> Aggregate:
    """The aggregate call at `node` over `table`; `rows` binds the expressions inside it."""
    call, condition, bounds, distinct = node, None, None, False
    if isinstance(call, exp.Filter):
        only(call, rows.text, "this", "expression")
        only(call.expression, rows.text, "this")
        condition, call = rows.condition(call.expression.this), call.this
    if has_named_arguments(call):
        call, bounds = bounded(call, rows, table)
    if isinstance(call, _OF_DIFFERENT) and isinstance(call.this, exp.Distinct):
        call, distinct = _without_distinct(call, rows), True
    plain = _plain(call, rows)
    # A DISTINCT of SUM(CASE WHEN c THEN 1 …) sums at most two values, so it is no count of rows.
    plain = plain if distinct else _as_count(plain)
    plain = changed(plain, where=conjunction(plain.where, condition))
    if bounds is not None:
        return of_units(_of_numbers(plain), bounds.low, bounds.high, table.rows_per_unit)
    return of_different(_of_numbers(plain)) if distinct else plain


_OF_DIFFERENT = (exp.Sum, exp.Avg)
"""The aggregates besides COUNT that DISTINCT changes."""


def _without_distinct(call: exp.Expr, rows: ExpressionBinder) -> exp.Expr:
    """The call without its DISTINCT."""
    only(call.this, rows.text, "expressions")
    if len(call.this.expressions) != 1:
        message = f"{node_name(call)}(DISTINCT …) takes one argument"
        raise Unsupported(message, place=place(call, rows.text))
    plain = call.copy()
    plain.set("this", call.this.expressions[0])
    return plain


_OF_ONE_ROW = (exp.ArgMax, exp.ArgMin, exp.First, exp.Last, exp.AnyValue)


def _of_numbers(aggregate: Aggregate) -> Aggregate:
    """The aggregate, if it counts or has a number as argument: dates have no totals."""
    counts = aggregate.function is Function.COUNT
    if not counts and aggregate.argument is not None and aggregate.argument.kind.temporal:
        raise TypeMismatch("a number is needed here", place=aggregate.place)
    return aggregate


def _plain(node: exp.Expr, rows: ExpressionBinder) -> Aggregate:
    """An aggregate of all rows, without FILTER."""
    match node:
        case exp.WithinGroup():
            return _within_group(node, rows)
        case exp.CountIf():
            only(node, rows.text, "this")
            return Aggregate(
                Function.COUNT, where=rows.condition(node.this), place=place(node, rows.text)
            )
        case _ if _is_called(node, "APPROX_BOUNDS"):
            return _approx_bounds(node, rows)
        case exp.Anonymous(expressions=[argument, fraction]) if _is_called(node, *NAMED_QUANTILES):
            return _plain(exp.PercentileCont(this=argument, expression=fraction), rows)
    if (refused := refusal(node, rows.text)) is not None:
        raise refused
    function = _FUNCTIONS.get(type(node)) if isinstance(node, exp.Func) else None
    if function is None:
        name, where = written_name(node, rows.text), place(node, rows.text)
        hint = f"aggregates are {', '.join(_USUAL)} and those that `dpdb help sql` lists"
        if isinstance(node, _OF_ONE_ROW):
            hint = (
                "a value of one row is never shown; QUANTILE_CONT(x, 0.95) and MODE(y) are of many"
            )
        raise Unsupported(f"{name} is not supported", hint=hint, place=where)
    return _call(node, function, rows)


def _call(node: exp.Expr, function: Function, rows: ExpressionBinder) -> Aggregate:
    where = place(node, rows.text)
    if isinstance(node, exp.Count):
        only(node, rows.text, "this", "big_int")
        if isinstance(node.this, exp.Star):
            only(node.this, rows.text)
            return Aggregate(function, place=where)
        if isinstance(node.this, exp.Distinct):
            only(node.this, rows.text, "expressions")
            if len(node.this.expressions) != 1:
                raise Unsupported(
                    "COUNT(DISTINCT …) takes one argument",
                    hint="COUNT(DISTINCT (x, y)) counts the different pairs",
                    place=where,
                )
            [counted] = node.this.expressions
            if isinstance(counted, exp.Tuple):
                argument = types.of_several([*map(rows.expression, counted.expressions)])
            else:
                argument = rows.expression(counted)
            return Aggregate(Function.COUNT_DISTINCT, argument, place=where)
    only(node, rows.text, "this", "expression", "big_int", "quantile", "deterministic")
    operand = node.this
    if function in (Function.MIN, Function.MAX) and isinstance(operand, exp.Distinct):
        # DISTINCT changes neither the least nor the greatest value.
        only(operand, rows.text, "expressions")
        operand = operand.expressions[0] if len(operand.expressions) == 1 else None
    if operand is None:
        raise TypeMismatch(f"{function.name} needs an argument", place=where)
    fraction = None
    if isinstance(node, exp.Median):
        fraction = Fraction(1, 2)
    elif isinstance(node, PERCENTILES):
        fraction = _fraction(node.expression, rows)
    elif isinstance(node, exp.ApproxQuantile):
        fraction = _fraction(node.args.get("quantile"), rows)
    # sqlglot takes the second argument of MODE(x, weight) for that of Databricks.
    weighing, argument = node.args.get("deterministic"), rows.expression(operand)
    weight = None
    if weighing is not None:
        weight = types.numeric(rows.expression(weighing), place(weighing, rows.text))
    return _typed(Aggregate(function, argument, None, fraction, where, weight))


def _approx_bounds(node: exp.Expr, rows: ExpressionBinder) -> Aggregate:
    where = place(node, rows.text)
    if len(node.expressions) != 1:
        raise TypeMismatch("APPROX_BOUNDS takes one argument", place=where)
    argument = types.numeric(rows.expression(node.expressions[0]), where)
    return Aggregate(Function.APPROX_BOUNDS, argument, place=where)


_ONE = Literal(1, Kind.INTEGER)


def _as_count(aggregate: Aggregate) -> Aggregate:
    """The COUNT that means the same as a count written with SUM or CASE.

    Such counts are SUM(CASE WHEN c THEN 1 ELSE 0 END), also without ELSE, SUM(c), and
    COUNT(CASE WHEN c THEN x END).
    """
    match aggregate.function, aggregate.argument:
        case (
            Function.SUM,
            Case(branches=((condition, value),), default=Literal(value=None | 0)),
        ) if value == _ONE:
            counted = None
        case Function.SUM, Cast(operand=condition) if condition.kind is Kind.BOOLEAN:
            counted = None
        case Function.COUNT, Case(branches=((condition, counted),), default=Literal(value=None)):
            pass
        case _:
            return aggregate
    return replace(aggregate, function=Function.COUNT, argument=counted, where=condition)


def _within_group(node: exp.WithinGroup, rows: ExpressionBinder) -> Aggregate:
    """`PERCENTILE_CONT(q) WITHIN GROUP (ORDER BY x)` and `MODE() WITHIN GROUP (ORDER BY x)`."""
    only(node, rows.text, "this", "expression")
    where = place(node, rows.text)
    ordered = node.expression.expressions if node.expression else []
    if len(ordered) != 1:
        raise Unsupported("WITHIN GROUP orders by one expression", place=where)
    only(ordered[0], rows.text, "this", "desc", "nulls_first")
    argument, inner = rows.expression(ordered[0].this), node.this
    if isinstance(inner, exp.Mode) and inner.this is None:
        return _typed(Aggregate(Function.MODE, argument, place=where))
    if isinstance(inner, PERCENTILES) and inner.expression is None:
        fraction = _fraction(inner.this, rows)
        if ordered[0].args.get("desc"):
            fraction = 1 - fraction
        return _typed(Aggregate(Function.QUANTILE, argument, None, fraction, where))
    raise Unsupported(
        "WITHIN GROUP goes with PERCENTILE_CONT(q), PERCENTILE_DISC(q) or MODE()",
        hint="COUNT_IF(x < 30) / COUNT(x) is the share of the rows below a value",
        place=where,
    )


def _fraction(node: exp.Expr | None, rows: ExpressionBinder) -> Fraction:
    value = rows.expression(node) if node is not None else None
    if isinstance(value, Literal) and value.kind in (Kind.INTEGER, Kind.NUMBER):
        assert isinstance(value.value, (int, Fraction))
        fraction = Fraction(value.value)
        if 0 <= fraction <= 1 and fraction.denominator <= 10**6:
            return fraction
    raise TypeMismatch(
        "a quantile needs a constant between 0 and 1, with at most six decimals",
        hint="QUANTILE_CONT(x, 0.5)",
        place=place(node, rows.text) if node is not None else None,
    )


def _typed(aggregate: Aggregate) -> Aggregate:
    """The aggregate with its argument converted to the type that its function needs."""
    argument, where = aggregate.argument, aggregate.place
    assert argument is not None
    match aggregate.function:
        case Function.COUNT | Function.COUNT_DISTINCT | Function.MODE:
            return aggregate
        case Function.SUM | Function.AVG if argument.kind is Kind.BOOLEAN:
            # The mean of true and false is the part that is true.
            fitted: Expr = Cast(argument, Kind.INTEGER)
        case Function.AVG | Function.MIN | Function.MAX | Function.QUANTILE:
            fitted = types.numeric(argument, where, dates=True)
        case _:
            fitted = types.numeric(argument, where)
    return changed(aggregate, argument=fitted)
