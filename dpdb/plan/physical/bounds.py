"""Bounds of an aggregate's argument: the error for missing ones, and the bins of APPROX_BOUNDS."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from fractions import Fraction
from itertools import pairwise

from dpdb.errors import MissingBounds
from dpdb.plan.expressions.expressions import (
    Cast,
    ColumnRef,
    Expr,
    Literal,
    children,
    compare,
    logic,
)
from dpdb.plan.expressions.single_values import SingleValue
from dpdb.plan.logical.query import Aggregate
from dpdb.plan.ranges.ranges import Environment, interval
from dpdb.plan.ranges.statistics import Histogram
from dpdb.policy.catalog import Column, Kind
from dpdb.policy.names import written
from dpdb.privacy.mechanisms.mechanism import Additive
from dpdb.records import dataclass

FAILURE = 0.001
"""The probability that a bin without rows is mistaken for one with rows."""
_SMALLEST, _LARGEST = -10, 53
"""The exponents of the bins' ends; for whole numbers they begin at 0."""


@dataclass(frozen=True)
class Bin:
    """Numbers from `low` to `high`: an end nearer to zero is not in it, but in a bin of zero."""

    low: Fraction
    high: Fraction


def bins(kind: Kind) -> tuple[Bin, ...]:
    """All bins in ascending order; that of zero holds nothing else.

    The outermost bins also hold the values beyond them, as no bounds can reach farther.
    """
    first = 0 if kind is Kind.INTEGER else _SMALLEST
    ends = [Fraction(0), *(Fraction(2) ** exponent for exponent in range(first, _LARGEST + 1))]
    above = [Bin(low, high) for low, high in pairwise(ends)]
    below = [Bin(-each.high, -each.low) for each in reversed(above)]
    return (*below, Bin(Fraction(0), Fraction(0)), *above)


def histogram(argument: Expr, where: Expr | None) -> Histogram:
    """The statistic that counts the values in each bin: a segment for each, the highest bin first.

    Its conditions are, for each bin, that a value is in it or below it: so a row fulfils that of
    its own bin and those of all above.
    """
    *others, _ = bins(argument.kind)
    whole = argument.kind is Kind.INTEGER
    inside = [
        compare(
            "<=" if each.low >= 0 else "<",
            argument,
            Literal(int(each.high) if whole else each.high, argument.kind),
        )
        for each in others
    ]
    inside.append(compare("=", argument, argument))  # whatever is not NULL
    conditions = tuple(each if where is None else logic("and", [where, each]) for each in inside)
    number = len(conditions)
    segments = ((False,) * place + (True,) * (number - place) for place in reversed(range(number)))
    return Histogram(conditions, tuple(segments))


def threshold(mechanism: Additive, number: int) -> float:
    """The level that noise exceeds in any of `number` bins with probability at most FAILURE."""
    return mechanism.quantile(1 - FAILURE / number)


def in_query(column: Column) -> str:
    """The column as a hint writes it: x for one of a join, whose table may have another name."""
    return "x" if "." in column.name else written(column.called)


def missing_bounds(aggregate: Aggregate, known: Environment) -> MissingBounds:
    """The error, which names the first column without bounds."""
    assert aggregate.argument is not None
    named = next(_unbounded(aggregate.argument, known), None)
    if named is None:
        what, hint = "this expression", "wrap it in CLAMP(x, low, high)"
    else:
        what, name = named.column.called, in_query(named.column)
        dated = named.kind.temporal  # the command line has no dates, nor have powers of two
        option = what.rpartition(".")[2] if what == named.column.name else what
        option = "" if dated else f" or --bounds {shlex.quote(f'{option}=LOW:HIGH')},"
        made = named.column.label and named.column.label != named.column.name
        declared = "" if made else f"declare bounds for {what} in the policy,{option} or "
        suggestion = "" if dated else f"; for some epsilon APPROX_BOUNDS({name}) suggests some"
        low, high = ("'2000-01-01'", "'2029-12-31'") if dated else ("low", "high")
        hint = (
            f"{declared}write CLAMP({name}, {low}, {high}), "
            f"or WHERE {name} BETWEEN {low} AND {high}{suggestion}"
        )
    message = f"{what} has no bounds, so one row could change the answer without limit"
    return MissingBounds(message, hint=hint, place=aggregate.place)


def _unbounded(expression: Expr, known: Environment) -> Iterator[ColumnRef]:
    """The columns within an expression that have no bounds and can have some: no texts."""
    match expression:
        case ColumnRef(column=SingleValue(argument=argument)) if argument is not None:
            yield from _unbounded(argument, known)
        case (ColumnRef() as column) | Cast(
            operand=ColumnRef(column=Column(guessed=True)) as column,
            kind=Kind.NUMBER | Kind.INTEGER,
        ) if expression.kind.ordinal:
            if not interval(expression, known).bounded:
                yield column
        case _:
            for child in children(expression):
                yield from _unbounded(child, known)
