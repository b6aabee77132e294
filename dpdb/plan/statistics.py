"""The exact statistics that an engine computes, and the grid on which values lie."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from dpdb.plan.expressions import ColumnRef, Expr
from dpdb.policy.catalog import Value
from dpdb.policy.numbers import MAGNITUDE_LIMIT
from dpdb.privacy.walk import ladder


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


@dataclass(frozen=True)
class Count:
    """The number of rows that pass `where`, or of those with an `argument` that is not NULL."""

    argument: Expr | None
    where: Expr | None


@dataclass(frozen=True)
class Total:
    """Σ ((x - centre)^power - offset) over counted rows, for the `argument` x in grid steps."""

    argument: Expr
    where: Expr | None
    grid: Grid
    centre: int = 0
    power: int = 1
    offset: int = 0

    @property
    def bounds(self) -> tuple[int, int]:
        """The least and the greatest term that one row can add."""
        low, high = self.grid.lower - self.centre, self.grid.upper - self.centre
        if self.power == 1:
            return low - self.offset, high - self.offset
        return -self.offset, max(abs(low), abs(high)) ** 2 - self.offset


@dataclass(frozen=True)
class Distinct:
    """The number of different values of `argument`, NULL not counted."""

    argument: Expr
    where: Expr | None


@dataclass(frozen=True)
class Ranks:
    """The values of `argument`, from which the `fraction`-quantile is selected."""

    argument: Expr
    where: Expr | None
    grid: Grid
    fraction: Fraction

    @property
    def rungs(self) -> tuple[int, ...]:
        """The ladder of a walk, in the order in which the walk goes.

        It goes up for the greatest value, and down for the least one: up the ladder of the
        negated values.
        """
        low, high = self.grid.lower, self.grid.upper
        if self.fraction:
            return ladder(low, high)
        return tuple(-rung for rung in ladder(-high, -low))


@dataclass(frozen=True)
class JointRanks(Ranks):
    """The values of `argument`, from which all `fractions` are selected; `fraction` is one."""

    fractions: tuple[Fraction, ...] = ()

    @property
    def alone(self) -> Ranks:
        """The same for `fraction` alone."""
        return Ranks(self.argument, self.where, self.grid, self.fraction)


@dataclass(frozen=True)
class Tally:
    """The number of rows with each of `values`, from which the commonest value is selected."""

    argument: ColumnRef
    where: Expr | None
    values: tuple[Value, ...]


Statistic = Count | Total | Distinct | Ranks | Tally


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
