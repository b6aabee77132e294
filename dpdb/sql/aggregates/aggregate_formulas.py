"""Aggregates that are expressions of others: of two columns, SKEWNESS, GEOMEAN, ENTROPY, …

With d = x - a and e = y - b, for constants a and b in the middle of the bounds, over the rows in
which neither x nor y is NULL:

    COVAR_POP(y, x) = avg(d·e) - avg(d)·avg(e)
    CORR(y, x) = COVAR_POP(y, x) / (STDDEV_POP(x)·STDDEV_POP(y))
    REGR_SLOPE(y, x) = COVAR_POP(y, x) / VAR_POP(x)
    SKEWNESS(x) = m₃ / VAR_POP(x)^(3/2) · √(n(n - 1)) / (n - 2)
    m₃ = avg(d³) - 3·avg(d)·avg(d²) + 2·avg(d)³
    KURTOSIS(x) = ((n + 1)·m₄ / VAR_POP(x)² - 3·(n - 1)) · (n - 1) / ((n - 2)·(n - 3))
    m₄ = avg(d⁴) - 4·avg(d)·avg(d³) + 6·avg(d)²·avg(d²) - 3·avg(d)⁴
    GEOMEAN(x) = exp(avg(ln(x)))
    ENTROPY(x) = log₂(n) - Σ c·log₂(c) / n, for the counts c of the declared values of x

and the other REGR functions of SQL:2003 in the same way. So no noise is drawn that these averages
and variances would not have by themselves, and what the statement asks of them besides is shared.
The constants keep the products small: their bounds, and so the noise, are the smallest there.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import cast

from sqlglot import exp

from dpdb.errors import InternalError, Place, TooLarge, TypeMismatch, Unsupported
from dpdb.plan.expressions.expressions import (
    Arithmetic,
    Call,
    Expr,
    IsNull,
    Literal,
    Not,
    compare,
    conjunction,
)
from dpdb.plan.expressions.functions import AGGREGATES, Takes
from dpdb.plan.expressions.functions import Function as TableRow
from dpdb.plan.logical.query import Aggregate, Function
from dpdb.plan.ranges.group_keys import key_values
from dpdb.plan.ranges.ranges import interval, nullable
from dpdb.policy.catalog import Kind
from dpdb.records import dataclass
from dpdb.sql.scalars import types
from dpdb.sql.scalars.expression_binder import ExpressionBinder
from dpdb.sql.syntax.trees import only, place

SlotOf = Callable[[Aggregate], Expr]
"""Returns the slot of an aggregate."""
MAX_VALUES = 100
"""The most declared values that ENTROPY takes: each has a count."""


def of_two_columns(node: exp.Expr, rows: ExpressionBinder, slot: SlotOf) -> Expr | None:
    """The formula of an aggregate that is an expression of others; None for all that are not."""
    condition, called = None, node
    if isinstance(node, exp.Filter):
        only(node, rows.text, "this", "expression")
        called = node.this
    anonymous = isinstance(called, exp.Anonymous)
    key = str(called.this).upper() if anonymous else type(called)
    if key not in _FORMULAS:
        return None
    if isinstance(node, exp.Filter):
        condition = rows.condition(node.expression.this)
    where = place(called, rows.text)
    if anonymous:
        parts = called.expressions
        if len(parts) != 1:
            raise TypeMismatch(f"{key} takes one argument", hint=f"{key}(x)", place=where)
    else:
        only(called, rows.text, "this", "expression")
        parts = [part for part in (called.this, called.expression) if part is not None]
    bound = [rows.expression(part) for part in parts]
    if _ROWS[key].takes is Takes.NUMBER:
        bound = [types.numeric(each, where) for each in bound]
    return _FORMULAS[key](_Pairs(bound[0], bound[-1], condition, where, slot))


def _arithmetic(operator: str, left: Expr, right: Expr) -> Expr:
    return Arithmetic(operator, left, right, Kind.NUMBER)


_plus, _minus, _times, _over = (partial(_arithmetic, operator) for operator in "+-*/")


@dataclass(frozen=True)
class _Pairs:
    """The rows in which neither y nor x is NULL."""

    y: Expr
    x: Expr
    condition: Expr | None
    place: Place | None
    slot: SlotOf

    def of(self, function: Function, argument: Expr | None = None) -> Expr:
        """An aggregate over these rows."""
        present = [Not(IsNull(each)) for each in dict.fromkeys((self.y, self.x)) if nullable(each)]
        if argument is not None and self.y == self.x:
            present = []  # the aggregate leaves out the NULLs of its argument by itself
        where = conjunction(self.condition, *present)
        return self.slot(Aggregate(function, argument, where, place=self.place))

    @property
    def count(self) -> Expr:
        """The number of rows."""
        return self.of(Function.COUNT, self.x if self.y == self.x else None)

    def average(self, argument: Expr) -> Expr:
        """The mean of an expression."""
        return self.of(Function.AVG, argument)

    def variance(self, argument: Expr) -> Expr:
        """The variance of a population."""
        return self.of(Function.VAR_POP, argument)

    @property
    def covariance(self) -> Expr:
        """The covariance of a population."""
        product = self.average(_times(_apart(self.y), _apart(self.x)))
        return _minus(product, _times(self.offset(self.y), self.offset(self.x)))

    def offset(self, argument: Expr) -> Expr:
        """The distance of the mean from the middle of the bounds."""
        return _minus(self.average(argument), _middle(argument))

    @property
    def correlation(self) -> Expr:
        """The correlation, clamped to [-1, 1] against the noise."""
        deviations = (self.of(Function.STDDEV_POP, each) for each in (self.x, self.y))
        quotient = _over(self.covariance, _times(*deviations))
        return Call("clamp", (quotient, _number(-1), _number(1)), Kind.NUMBER)

    @property
    def slope(self) -> Expr:
        """The slope of the line of least squares."""
        return _over(self.covariance, self.variance(self.x))

    @property
    def intercept(self) -> Expr:
        """The value of the line of least squares at x = 0."""
        return _minus(self.average(self.y), _times(self.slope, self.average(self.x)))

    @property
    def of_sample(self) -> Expr:
        """The covariance of a sample."""
        less = _minus(self.count, _number(1))
        return _over(_times(self.covariance, self.count), less)

    @property
    def skewness(self) -> Expr:
        """The skewness of a sample."""
        apart, mean = _apart(self.x), self.offset(self.x)
        variance, count = self.variance(self.x), self.count
        cubes = self.average(_times(_times(apart, apart), apart))
        squares = _plus(variance, _times(mean, mean))
        cubic = _times(_number(2), _times(mean, _times(mean, mean)))
        third = _plus(_minus(cubes, _times(_number(3), _times(mean, squares))), cubic)
        root = Call("sqrt", (_times(count, _minus(count, _number(1))),), Kind.NUMBER)
        scale = _over(root, _minus(count, _number(2)))
        deviation = Call("sqrt", (variance,), Kind.NUMBER)
        return _times(_over(third, _times(variance, deviation)), scale)

    @property
    def kurtosis(self) -> Expr:
        """The excess kurtosis of a sample."""
        apart, mean = _apart(self.x), self.offset(self.x)
        variance, count = self.variance(self.x), self.count
        square = _times(apart, apart)
        cubes, fourths = self.average(_times(square, apart)), self.average(_times(square, square))
        squares, squared = _plus(variance, _times(mean, mean)), _times(mean, mean)
        fourth = _minus(fourths, _times(_number(4), _times(mean, cubes)))
        fourth = _plus(fourth, _times(_number(6), _times(squared, squares)))
        fourth = _minus(fourth, _times(_number(3), _times(squared, squared)))
        less = _minus(count, _number(1))
        more = _times(_plus(count, _number(1)), _over(fourth, _times(variance, variance)))
        fewer = _times(_minus(count, _number(2)), _minus(count, _number(3)))
        return _over(_times(_minus(more, _times(_number(3), less)), less), fewer)

    @property
    def geometric_mean(self) -> Expr:
        """The geometric mean."""
        return Call("exp", (self.average(Call("ln", (self.x,), Kind.NUMBER)),), Kind.NUMBER)

    @property
    def entropy(self) -> Expr:
        """The entropy of the declared values in bits, from noisy counts, those below 0 as 0."""
        try:
            values = key_values(self.x, self.condition, {})
        except Unsupported as fault:
            hint = "a column with `values` in the policy, or CASE with constants"
            raise Unsupported(f"ENTROPY: {fault.message}", hint=hint, place=self.place) from None
        if len(values) > MAX_VALUES:
            message = f"ENTROPY of {len(values)} values, {MAX_VALUES} are allowed"
            raise TooLarge(message, place=self.place)
        counts: list[Expr] = []
        for value in values:
            equal = compare("=", self.x, Literal(value, self.x.kind))
            where = conjunction(self.condition, equal)
            counted = self.slot(Aggregate(Function.COUNT, None, where, place=self.place))
            counts.append(Call("greatest", (counted, Literal(0, Kind.INTEGER)), Kind.INTEGER))
        whole = _sum(counts)
        bits = (_times(each, Call("log2", (each,), Kind.NUMBER)) for each in counts)
        known = (Call("coalesce", (each, _number(0)), Kind.NUMBER) for each in bits)
        entropy = _minus(Call("log2", (whole,), Kind.NUMBER), _over(_sum([*known]), whole))
        return Call("greatest", (entropy, _number(0)), Kind.NUMBER)


_FORMULAS: dict[type[exp.Expr] | str, Callable[[_Pairs], Expr]] = {
    exp.CovarPop: lambda pairs: pairs.covariance,
    exp.CovarSamp: lambda pairs: pairs.of_sample,
    exp.Corr: lambda pairs: pairs.correlation,
    exp.RegrSlope: lambda pairs: pairs.slope,
    exp.RegrIntercept: lambda pairs: pairs.intercept,
    exp.RegrR2: lambda pairs: _squared(pairs.correlation),
    exp.RegrCount: lambda pairs: pairs.count,
    exp.RegrAvgx: lambda pairs: pairs.average(pairs.x),
    exp.RegrAvgy: lambda pairs: pairs.average(pairs.y),
    exp.RegrSxx: lambda pairs: _times(pairs.count, pairs.variance(pairs.x)),
    exp.RegrSyy: lambda pairs: _times(pairs.count, pairs.variance(pairs.y)),
    exp.RegrSxy: lambda pairs: _times(pairs.count, pairs.covariance),
    exp.Skewness: lambda pairs: pairs.skewness,
    exp.Kurtosis: lambda pairs: pairs.kurtosis,
    "ENTROPY": lambda pairs: pairs.entropy,
    "GEOMEAN": lambda pairs: pairs.geometric_mean,
    "GEOMETRIC_MEAN": lambda pairs: pairs.geometric_mean,
}
"""The formulas, by the types of calls or the names of those that sqlglot does not know."""


def _row(key: type[exp.Expr] | str) -> TableRow:
    """The row of a formula in the table of aggregates, without which no help would name it."""
    names = [key] if isinstance(key, str) else cast("type[exp.Func]", key).sql_names()
    for name in names:
        if name in AGGREGATES:
            return AGGREGATES[name]
    raise InternalError(f"without a row in functions.py: {key}")


_ROWS = {key: _row(key) for key in _FORMULAS}


def _sum(parts: list[Expr]) -> Expr:
    """The sum of the parts, nested no deeper than need be."""
    if len(parts) == 1:
        return parts[0]
    half = len(parts) // 2
    return _plus(_sum(parts[:half]), _sum(parts[half:]))


def _middle(argument: Expr) -> Expr:
    """The middle of the bounds of an expression over rows; 0 where it has none."""
    limits = interval(argument, {})
    if not limits.bounded:
        return _number(0)
    return _number((Fraction(limits.lower) + Fraction(limits.upper)) / 2)


def _apart(argument: Expr) -> Expr:
    """The distance of a value from the middle of its bounds."""
    return _minus(argument, _middle(argument))


def _number(value: int | Fraction) -> Literal:
    return Literal(Fraction(value), Kind.NUMBER)


def _squared(number: Expr) -> Expr:
    """The square as |x|·|x|, which interval arithmetic knows to be at least 0."""
    distance = Call("abs", (number,), Kind.NUMBER)
    return _times(distance, distance)
