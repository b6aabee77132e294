"""What a plan is made of: statistics, the releases of them, and estimates from those."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from dpdb.policy import MAGNITUDE_LIMIT, Value
from dpdb.privacy.mechanisms import Mechanism
from dpdb.sql.intervals import Interval
from dpdb.sql.query import Aggregate, ColumnRef, Expr

CONFIDENCE = 0.95
"""Of every interval, and of an error that is asked for without one."""


def at_once(confidence: float, number: int) -> float:
    """What each of `number` independent intervals is held to for all to hold (Šidák 1967)."""
    return float(confidence ** (1 / number))


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


@dataclass(frozen=True)
class Release:
    """One noisy thing to be drawn, a value for each cell."""

    aggregate: str
    """What it is of, by the name the contract uses."""
    statistic: Statistic
    mechanism: Mechanism
    unit: Fraction = Fraction(1)
    """One step of the mechanism in the analyst's units."""


@dataclass(frozen=True)
class Estimate:
    """How one aggregate comes out of the releases, by their indices.

    For averages and variances (squares,) sum and count, in this order; `rows`
    stands for a count that is public.
    """

    aggregate: Aggregate
    releases: tuple[int, ...]
    interval: Interval
    """Where the exact answer must lie."""
    rows: int | None = None


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
