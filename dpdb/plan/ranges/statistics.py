"""The exact statistics that an engine computes."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from functools import cached_property
from itertools import product

from dpdb.plan.expressions.expressions import ColumnRef, Expr
from dpdb.plan.ranges.grids import Grid
from dpdb.policy.catalog import Value
from dpdb.privacy.mechanisms.selections.walk import ladder
from dpdb.records import dataclass


@dataclass(frozen=True)
class Count:
    """The number of rows that pass `where`, or of those with an `argument` that is not NULL.

    With `nulls` it is the number of those with an argument that is NULL.
    """

    argument: Expr | None
    where: Expr | None
    nulls: bool = False
    rooms: tuple[int, ...] = ()
    """For each kind of unit the rows that fill a unit's room in each cell, where rows have two
    owners; none elsewhere."""


@dataclass(frozen=True)
class Histogram:
    """The numbers of rows in the segments of `conditions`: no row is in two of them.

    Rows in one segment make the same conditions true, and so the rows for which a condition is true
    are those of some segments. Where no condition is true a row is in no segment.
    """

    conditions: tuple[Expr, ...]
    segments: tuple[tuple[bool, ...], ...]
    """For each segment the truth of each condition; segments are in ascending order."""
    rows: tuple[tuple[int, ...], ...] = ()
    """The weights of the segments in each sum that is drawn; none where each segment is."""


@dataclass(frozen=True)
class Total:
    """Σ p(x - centre) over counted rows, for the `argument` x in grid steps.

    The polynomial p has whole `coefficients`, that of the constant first: (0, 1) is the sum of
    x - centre, and (0, 0, 1) the sum of its squares.
    """

    argument: Expr
    where: Expr | None
    grid: Grid
    centre: int = 0
    coefficients: tuple[int, ...] = (0, 1)
    rooms: tuple[int, ...] = ()
    """The rooms, as a `Count` has them; a value as far as the `bounds` takes a row of each."""

    @property
    def bounds(self) -> tuple[int, int]:
        """The least and the greatest term that one row can add."""
        low, high = self.grid.lower - self.centre, self.grid.upper - self.centre
        return _range_of(self.coefficients, low, high)


@dataclass(frozen=True)
class Part:
    """An element of a vector that is drawn: `weight` times a statistic."""

    name: str
    """Name in reports of releases: `count`, `sum`, `sum_above_lower`, …"""
    statistic: Count | Histogram | Total | FilledLadder | Distinct | Ranks | Tally | KeyUnits
    weight: int = 1
    unit: Fraction = Fraction(1)
    """The size of one step of the statistic, in the analyst's units."""


@dataclass(frozen=True)
class Joint:
    """A vector of statistics that one row moves together, so that they have one sensitivity.

    All totals have the same argument, grid and rows. Beside them may stand a count of rows in which
    the argument is NULL, as no row is in both. In a vector with the noise of a box each total has
    an argument of its own, over the same rows.
    """

    parts: tuple[Part, ...]

    @property
    def argument(self) -> Expr | None:
        """The argument of the totals; None where there are only counts."""
        return next((each.argument for each in self.totals), None)

    @property
    def grid(self) -> Grid | None:
        """The grid of the totals."""
        return next((each.grid for each in self.totals), None)

    @property
    def where(self) -> Expr | None:
        """The filter of the rows that count."""
        statistic = self.parts[0].statistic
        return None if isinstance(statistic, Histogram | KeyUnits) else statistic.where

    @property
    def totals(self) -> list[Total]:
        """The totals among the parts."""
        return [part.statistic for part in self.parts if isinstance(part.statistic, Total)]

    @property
    def largest(self) -> int:
        """The most that one row adds to a part, with its weight."""
        if len({each.argument for each in self.totals}) > 1:
            return max(1, *(abs(end) for each in self.totals for end in each.bounds))
        return max(abs(end) for bounds in self.signed_bounds for end in bounds)

    @property
    def apart(self) -> tuple[tuple[int, int], ...]:
        """For each part the least and the greatest that one row adds to it, with its weight."""
        bounds = (
            p.statistic.bounds if isinstance(p.statistic, Total) else (1, 1) for p in self.parts
        )
        return tuple(
            (part.weight * low, part.weight * high)
            for part, (low, high) in zip(self.parts, bounds, strict=True)
        )

    @cached_property
    def signed_bounds(self) -> tuple[tuple[int, int], ...]:
        """For each choice of signs s, the least and greatest Σ s·t over what one row can add.

        The ℓ1 norm of t is the largest Σ s·t over all signs, so these decide how far one row moves
        the vector. Opposite signs give the same norm, so the first sign is always plus.
        """
        choices = product((1, -1), repeat=len(self.parts) - 1)
        return tuple(self._bounds((1, *signs)) for signs in choices)

    def _bounds(self, signs: tuple[int, ...]) -> tuple[int, int]:
        """The least and greatest Σ s·t for these signs."""
        polynomial, apart = [0, 0, 0], []
        for sign, part in zip(signs, self.parts, strict=True):
            match part.statistic:
                case Total(coefficients=coefficients):
                    for power, coefficient in enumerate(coefficients):
                        polynomial[power] += sign * part.weight * coefficient
                case Count(nulls=True):
                    apart.append(sign * part.weight)
                case Count():
                    polynomial[0] += sign * part.weight
        ends = [*self._ends(polynomial), *apart]
        return min(ends), max(ends)

    def _ends(self, polynomial: list[int]) -> tuple[int, int]:
        """The least and greatest value of a polynomial in x - centre on the grid."""
        total = next(iter(self.totals), None)
        if total is None:
            return polynomial[0], polynomial[0]
        low, high = total.grid.lower - total.centre, total.grid.upper - total.centre
        return _range_of(tuple(polynomial), low, high)


@dataclass(frozen=True)
class FilledLadder:
    """A count or a total over rows of two owners, filled with each of several rooms in turn."""

    filled: Count | Total
    rungs: tuple[int, ...]
    """The rooms, in rows; each in turn takes the place of all rooms of `filled`."""

    @property
    def argument(self) -> Expr | None:
        """The argument of the sum."""
        return self.filled.argument

    @property
    def where(self) -> Expr | None:
        """The filter of the rows that count."""
        return self.filled.where

    @property
    def grid(self) -> Grid:
        """The grid of the rooms, in rows."""
        return Grid(Fraction(1), *self.ends)

    @property
    def ends(self) -> tuple[int, int]:
        """The least and the greatest cap that can be found."""
        return 0, self.rungs[-1]

    @property
    def largest(self) -> int:
        """The most that a row adds, in grid steps."""
        bounds = self.filled.bounds if isinstance(self.filled, Total) else (1, 1)
        return max(1, *map(abs, bounds))

    @property
    def sums(self) -> list[Count | Total]:
        """The sum with each room."""
        kinds = len(self.filled.rooms)
        return [replace(self.filled, rooms=(room,) * kinds) for room in self.rungs]


@dataclass(frozen=True)
class Distinct:
    """The number of different values of `argument`, NULL not counted."""

    argument: Expr
    where: Expr | None


@dataclass(frozen=True)
class LimitedDistinct(Distinct):
    """The number of different values, if a unit adds at most so many: one for each of `limits`.

    See `engines.statistics.limited_distinct` for which of its values a unit adds.
    """

    limits: tuple[int, ...] = ()


@dataclass(frozen=True)
class Ranks:
    """The values of `argument`, from which the `fraction`-quantile is selected."""

    argument: Expr
    where: Expr | None
    grid: Grid
    fraction: Fraction

    @property
    def ends(self) -> tuple[int, int]:
        """The least and the greatest point of the grid."""
        return self.grid.lower, self.grid.upper

    @property
    def rungs(self) -> tuple[int, ...]:
        """The grid points of a walk, in the walk's order.

        The walk goes up for the greatest value, and down for the least: up the ladder of the
        negated values.
        """
        low, high = self.grid.lower, self.grid.upper
        if self.fraction:
            return ladder(low, high)
        return tuple(-rung for rung in ladder(-high, -low))


@dataclass(frozen=True)
class JointRanks(Ranks):
    """The values of `argument`, from which all `fractions` are selected, `fraction` among them."""

    fractions: tuple[Fraction, ...] = ()

    @property
    def alone(self) -> Ranks:
        """The ranks of which `fraction` alone is selected."""
        return Ranks(self.argument, self.where, self.grid, self.fraction)


@dataclass(frozen=True)
class Tally:
    """The number of rows with each of `values`, from which the commonest value is selected.

    With a `weight` each value has that total of its rows, and not their number.
    """

    argument: ColumnRef
    where: Expr | None
    values: tuple[Value, ...]
    weight: Total | None = None

    @property
    def bounds(self) -> tuple[int, int]:
        """The least and the greatest that one row adds to the score of its value."""
        return (1, 1) if self.weight is None else self.weight.bounds


@dataclass(frozen=True)
class KeyUnits:
    """The number of units that have rows with each key found in the data."""


Statistic = Count | Histogram | Total | FilledLadder | Joint | Distinct | Ranks | Tally | KeyUnits


def filters_of(statistic: Statistic) -> frozenset[Expr | None]:
    """Filters such that each row a statistic reads passes one of them; all rows pass None."""
    match statistic:
        case Joint(parts=parts):
            return frozenset().union(*(filters_of(part.statistic) for part in parts))
        case Histogram() | KeyUnits():
            return frozenset({None})
    return frozenset({statistic.where})


def _range_of(coefficients: tuple[int, ...], low: int, high: int) -> tuple[int, int]:
    """The least and greatest value at a whole number from `low` to `high` of a polynomial.

    Its degree is at most 2. Between the ends of the range only whole numbers beside the turning
    point can have an extreme value.
    """
    constant, linear, square = (*coefficients, 0, 0)[:3]
    places = {low, high}
    if square:
        turn = -linear // (2 * square)
        places |= {place for place in (turn, turn + 1) if low < place < high}
    values = [constant + place * (linear + place * square) for place in places]
    return min(values), max(values)
