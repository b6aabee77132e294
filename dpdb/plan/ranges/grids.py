"""The public grid on which the values of an argument lie, and its step."""

from __future__ import annotations

import math
from fractions import Fraction

from dpdb.plan.expressions.expressions import ColumnRef, Expr
from dpdb.plan.ranges.function_ranges import DATES, MOMENTS, timestamp_step
from dpdb.plan.ranges.intervals import Interval
from dpdb.policy.catalog import Kind
from dpdb.policy.numbers import MAGNITUDE_LIMIT, grid_step
from dpdb.records import dataclass

_FINE_STEP = Fraction(1, 1000)
"""The step for the MIN or MAX of numbers without bounds."""


@dataclass(frozen=True)
class Grid:
    """The whole multiples of `step` from `lower`·`step` to `upper`·`step`."""

    step: Fraction
    lower: int
    upper: int

    @property
    def centre(self) -> int:
        """The middle of the grid, in steps, rounded down."""
        return (self.lower + self.upper) // 2


def step_of(argument: Expr, lower: Fraction, upper: Fraction) -> Fraction:
    """The grid's step: 1 for integers and dates, a column's own, otherwise by magnitude."""
    if argument.kind is Kind.TIMESTAMP:
        return timestamp_step(argument)
    if argument.kind.whole:
        return Fraction(1)
    if isinstance(argument, ColumnRef) and argument.column.bounds is not None:
        return argument.column.step
    return grid_step(lower, upper)


def reach_of(argument: Expr) -> tuple[Fraction, Interval]:
    """The step of values without bounds, and the interval in which they are looked for."""
    match argument.kind:
        case Kind.DATE:
            return Fraction(1), DATES
        case Kind.TIMESTAMP:
            return timestamp_step(argument), MOMENTS
    step = Fraction(1) if argument.kind is Kind.INTEGER else _FINE_STEP
    return step, Interval(-MAGNITUDE_LIMIT * step, MAGNITUDE_LIMIT * step)


def fit_grid(step: Fraction, lower: Fraction, upper: Fraction, limit: int) -> Grid:
    """The grid within the bounds, with a step made ten times larger until `limit` is kept.

    For MAGNITUDE_LIMIT no grid point is more than `limit` steps from zero; for any other limit none
    is more than `limit` steps from the centre.
    """
    while True:
        low, high = math.ceil(lower / step), math.floor(upper / step)
        if low > high:
            low = high = math.floor(upper / step)
        size = max(abs(low), abs(high)) if limit == MAGNITUDE_LIMIT else (high - low + 1) // 2
        if size <= limit:
            return Grid(step, low, high)
        step *= 10
