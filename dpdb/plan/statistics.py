"""The exact statistics that an engine computes, and the grid that values lie on."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from dpdb.plan.expressions import ColumnRef, Expr
from dpdb.policy.catalog import Value
from dpdb.policy.numbers import MAGNITUDE_LIMIT


@dataclass(frozen=True)
class Grid:
    """Whole multiples of `step`, from `lower` to `upper`."""

    step: Fraction
    lower: int
    upper: int

    @property
    def centre(self) -> int:
        """The middle, or the step below it."""
        return (self.lower + self.upper) // 2


@dataclass(frozen=True)
class Count:
    """How many rows are counted; of those where `argument` is not NULL, if there is one."""

    argument: Expr | None
    where: Expr | None


@dataclass(frozen=True)
class Total:
    """Σ ((x - centre)^power - offset) over counted rows, in steps of the grid."""

    argument: Expr
    where: Expr | None
    grid: Grid
    centre: int = 0
    power: int = 1
    offset: int = 0

    @property
    def bounds(self) -> tuple[int, int]:
        """The range of what one row adds."""
        low, high = self.grid.lower - self.centre, self.grid.upper - self.centre
        if self.power == 1:
            return low - self.offset, high - self.offset
        return -self.offset, max(abs(low), abs(high)) ** 2 - self.offset


@dataclass(frozen=True)
class Distinct:
    """How many different values `argument` has."""

    argument: Expr
    where: Expr | None


@dataclass(frozen=True)
class Ranks:
    """The values of `argument`, to select their `fraction`-quantile from the grid."""

    argument: Expr
    where: Expr | None
    grid: Grid
    fraction: Fraction


@dataclass(frozen=True)
class Tally:
    """How often `argument` has each of `values`, to select the commonest."""

    argument: ColumnRef
    where: Expr | None
    values: tuple[Value, ...]


Statistic = Count | Total | Distinct | Ranks | Tally


def fit_grid(step: Fraction, lower: Fraction, upper: Fraction, limit: int) -> Grid:
    """The grid within the bounds, coarsened by tens until it has at most `limit` steps a side."""
    while True:
        low, high = math.ceil(lower / step), math.floor(upper / step)
        if low > high:
            low = high = math.floor(upper / step)
        size = max(abs(low), abs(high)) if limit == MAGNITUDE_LIMIT else (high - low + 1) // 2
        if size <= limit:
            return Grid(step, low, high)
        step *= 10
