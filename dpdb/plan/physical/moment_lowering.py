"""The lowering of counts, sums, averages and variances of one argument over one filter.

They are made of moments of the argument x. Let y = x - c for the middle c of bounds [L, U] and
h = max |y|. Statistics that one row moves together are one vector with one joint sensitivity.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import lru_cache

from dpdb.plan.expressions.expressions import Expr
from dpdb.plan.physical.mechanism_choice import MechanismChoice
from dpdb.plan.physical.moments import Combination, Moment, Moments, constant, value
from dpdb.plan.physical.release import Release
from dpdb.plan.ranges.grids import Grid
from dpdb.plan.ranges.statistics import Count, Joint, Part, Statistic, Total
from dpdb.policy.budget import Neighbors
from dpdb.privacy.accounting.accountants import BudgetShare
from dpdb.privacy.sensitivity import Contribution, joint
from dpdb.records import dataclass

SQUARES_LIMIT = 2**18
"""The most grid steps on either side of the centre for values that are squared.

A vector with squares in it moves by up to 17 h² for one row, and so its noise fits 64 bits down to
an ε of 2^-10.
"""

AVERAGE_SPLIT = (Fraction(13, 25), Fraction(12, 25))
"""The shares of an average's sum and count, where each is a release of its own.

The mean is c + S/N for the sum S of x - c, where c is the middle of bounds
c ± h. To first order its error is (s - (m-c)·t)/n for noise s, t of scale h/ε₁
and 1/ε₂ and true mean m, with variance ∝ (h/ε₁)² + ((m-c)/ε₂)². Over means
anywhere up to |m-c| = a·h the worst case is least for ε₁ : ε₂ = 1 : a^(2/3).
At a = 1, all rows on one bound, that is half and half; a = 0.9, skewed as
incomes are, gives 0.52.
"""

VARIANCE_SPLIT = (Fraction(1, 2), Fraction(1, 4), Fraction(1, 4))
"""The shares of a variance's squares, sum and count, where each is a release of its own.

With y = x - c in [-h, h] and z = y² - h²/2, the variance is h²/2 + Z/N - (Y/N)².
Its first-order error weighs the three noises by h²/2, 2|ȳ|h and |z̄ - 2ȳ²|.
Data spread evenly over the bounds has ȳ = 0 and z̄ = -h²/6, so weights
(1/2, 0, 1/6)·h²; shares ∝ weight^(2/3) would starve Y, whose weight is not
known. A half and two quarters is best where |ȳ| is about h/11; in the worst
corner (|ȳ| = h) its error is 1.52 times the smallest possible.
"""

PUBLIC_COUNT_WEIGHTS = 7, 4
"""The weights a, b of the vector (a·Σy², b·h·Σy), from which a variance of n rows is computed.

A row that is replaced moves it by a|y² - y'²| + bh|y - y'|, at most (a + b + b²/4a)·h²: 11.6 h². So
the two have parts .605 and .691 of the ε that each would need alone. The sum of the parts is more
than 1, as a row that moves one the most does not move the other the most.
"""

GridOf = Callable[[bool], Grid]
"""Returns the argument's grid; called with True for the coarser grid of values to be squared."""
Lowering = tuple[list[Release], Moments]
"""Releases, and the moments that are read from them."""


@dataclass(frozen=True)
class MomentLowering:
    """The lowering of the moments of an argument over a filter into releases."""

    argument: Expr | None
    where: Expr | None
    nullable: bool
    """Whether the argument can be NULL."""
    grid_of: GridOf
    choice: MechanismChoice
    share: BudgetShare
    rows: Callable[[], int] | None
    """Returns the number of rows that count; None if that number is not public."""

    def lower(self, needed: frozenset[Moment]) -> Lowering:
        """The releases from which the `needed` moments can be read."""
        if not self.nullable and Moment.ROWS in needed:
            needed = needed - {Moment.ROWS} | {Moment.COUNT}
        if needed == {Moment.TOTAL}:
            return self._sum()
        if self.rows is not None:
            return self._with_public_count(needed, self.rows())
        if not needed & {Moment.TOTAL, Moment.SQUARES}:
            return self._counts(needed)
        grid = self.grid_of(Moment.SQUARES in needed)
        if grid.lower == grid.upper:
            return self._of_one_value(grid, needed)
        if self.is_split:
            return self._split(grid, needed)
        return self._jointly(grid, needed)

    @property
    def is_split(self) -> bool:
        """Whether each moment is a release of its own.

        Under zCDP the squares of ε add up, and a vector gains nothing over its parts; nor does one
        with noise of a kind that draws none.
        """
        return self.share.concentrated or not self.choice.options.kind.draws_vectors

    @property
    def _contribution(self) -> Contribution:
        return self.choice.contribution

    @property
    def summed(self) -> Expr:
        """The argument, of which there are sums."""
        assert self.argument is not None
        return self.argument

    def _sum(self) -> Lowering:
        grid = self.grid_of(False)
        release = self._release("sum", self._total_of(grid, 0), self.share)
        return [release], Moments(grid, sum=value())

    def _counts(self, needed: frozenset[Moment]) -> Lowering:
        """Counts alone; those of all rows and of values that are not NULL may be one vector."""
        if len(needed) == 1:
            every = needed == {Moment.ROWS}
            release = self._release("count", self._count(all_rows=every), self.share)
            rows = value() if every or not self.nullable else None
            return [release], Moments(rows=rows, count=None if every else value())
        if self.is_split:
            half = self.share.part(Fraction(1, 2))
            counts = self._count(), self._count(all_rows=True)
            releases = [self._release("count", each, half) for each in counts]
            return releases, Moments(rows=value(1), count=value(0))
        nulls = self._count(nulls=True)
        parts = Part("count", self._count()), Part("null_count", nulls)
        read = Moments(rows=value(0, 0) + value(0, 1), count=value(0, 0))
        return [self._joint("counts", parts)], read

    def _of_one_value(self, grid: Grid, needed: frozenset[Moment]) -> Lowering:
        """An argument of which the bounds leave one value: only the number of rows is unknown."""
        releases, counted = self._counts(needed & {Moment.ROWS} | {Moment.COUNT})
        assert counted.count is not None
        nothing, total = constant(0), counted.count * grid.lower
        return releases, Moments(
            grid, grid.lower, counted.rows, counted.count, nothing, nothing, total
        )

    def _with_public_count(self, needed: frozenset[Moment], rows: int) -> Lowering:
        """Moments of a known number of rows, each of which may be replaced."""
        number = constant(rows)
        if not needed & {Moment.TOTAL, Moment.SQUARES}:
            return [], Moments(rows=number, count=number)
        grid = self.grid_of(Moment.SQUARES in needed)
        total = self._total(grid)
        if Moment.SQUARES not in needed:
            release = self._release("avg", total, self.share, max(rows, 1))
            return [release], self.about(grid, number, value())
        if self.is_split:
            return self._split(grid, needed, rows)
        squares = self._total(grid, 0, 0, 1)
        of_squares, of_total = PUBLIC_COUNT_WEIGHTS
        of_total *= max(_half(grid), 1)
        parts = (
            Part("sum_of_squares", squares, of_squares, grid.step**2 / of_squares),
            Part("sum", total, of_total, grid.step / of_total),
        )
        read_total, read_squares = (
            value(0, 1, 1 / Fraction(of_total)),
            value(0, 0, 1 / Fraction(of_squares)),
        )
        return [self._joint("variance", parts)], self.about(grid, number, read_total, read_squares)

    def _split(
        self, grid: Grid, needed: frozenset[Moment], public_rows: int | None = None
    ) -> Lowering:
        """A release of its own for each moment, with a part of the share each."""
        parts: list[tuple[Fraction, str, Statistic]] = []
        offset = _half(grid) ** 2 // 2
        of_total, of_count = AVERAGE_SPLIT
        if Moment.SQUARES in needed:
            of_squares, of_total, of_count = VARIANCE_SPLIT
            squares = self._total(grid, -offset, 0, 1)
            parts.append((of_squares, "sum_of_squares", squares))
        total = self._total(grid)
        parts.append((of_total, "sum", total))
        if public_rows is None:
            parts.append((of_count, "count", self._count()))
        if Moment.ROWS in needed:
            parts.append((of_count, "count", self._count(all_rows=True)))
        whole = sum((weight for weight, *_ in parts), Fraction(0))
        releases = [
            self._release(name, statistic, self.share.part(weight / whole))
            for weight, name, statistic in parts
        ]
        at = int(Moment.SQUARES in needed)
        number = value(at + 1) if public_rows is None else constant(public_rows)
        read_squares = value(0) + number * offset if Moment.SQUARES in needed else None
        rows = value(at + 2) if Moment.ROWS in needed else None
        return releases, self.about(grid, number, value(at), read_squares, rows=rows)

    def _jointly(self, grid: Grid, needed: frozenset[Moment]) -> Lowering:
        """All moments from one vector, and the number of NULLs, which no other part counts."""
        one_cell = self._contribution.group_count == 1
        parts: list[Part]
        combinations: tuple[Combination, ...]
        if Moment.SQUARES in needed:
            parts, combinations = self._three_polynomials(grid)
        elif one_cell and self._contribution.neighbors is Neighbors.REPLACE:
            parts, combinations = self._sum_and_count(grid)
        else:
            parts, combinations = self._distances(grid)
        rows = None
        if Moment.ROWS in needed:
            entered = Contribution(Neighbors.ADD_REMOVE, optional=True)
            weight = joint(Joint(tuple(parts)).signed_bounds, entered)
            nulls = self._count(nulls=True)
            rows = combinations[0] + value(0, len(parts), Fraction(1, weight))
            parts.append(Part("null_count", nulls, weight, Fraction(1, weight)))
        name = "variance" if Moment.SQUARES in needed else "avg"
        return [self._joint(name, parts)], self.about(grid, *combinations, rows=rows)

    def _distances(self, grid: Grid) -> tuple[list[Part], tuple[Combination, Combination]]:
        """A = Σ (x - L) and B = Σ (U - x), to which a row adds w = U - L in all, whatever it holds.

        The number of rows is (A + B)/w, and Σ y = A - (c - L)·(A + B)/w. A row moves the pair
        by w, so noise of scale w/ε is enough. No noise does better for the worst mean: in terms of
        the number t and Σ y the density is exp(-ε·max(|t|, |Σ y|/h)), and the rectangle around
        ±(1, y) for |y| <= h is the least convex set that holds all that one row can change.
        """
        low, high = grid.lower - grid.centre, grid.upper - grid.centre
        above, below = self._total(grid, -low, 1), self._total(grid, high, -1)
        parts = [
            Part("sum_above_lower", above, unit=grid.step),
            Part("sum_below_upper", below, unit=grid.step),
        ]
        return parts, _combinations_of_distances(low, high)

    def _sum_and_count(self, grid: Grid) -> tuple[list[Part], tuple[Combination, Combination]]:
        """Σ y and the number of rows times h, for a row that may be replaced or left out.

        A row can change (number, Σ y) by (1, y) or by (0, y - y'): a hexagon, in which the cost
        |Σ y|/2h + |number|/2 is 1 at all corners. So noise of scale 2h/ε on the sum and of 2/ε
        on the number is ε-DP.
        """
        half = _half(grid)
        parts = [
            Part("sum", self._total(grid, 0, 1), unit=grid.step),
            Part("count", self._count(), half, Fraction(1, half)),
        ]
        return parts, (value(0, 1, Fraction(1, half)), value(0, 0))

    def _three_polynomials(
        self, grid: Grid
    ) -> tuple[list[Part], tuple[Combination, Combination, Combination]]:
        """P = 4Σ(y² + hy), M = 4Σ(y² - hy) and R = 5Σ(h² - y²).

        A row adds |P| + |M| + |R| = 8h|y| + 5(h² - y²), which is largest at |y| = 0.8h: 8.2 h².
        Then Σ y² = (P + M)/8, Σ y = (P - M)/8h, and the number of rows is (R/5 + Σ y²)/h².
        The weights 4 and 5 are nearly best for data at any place within the bounds.
        """
        half, step = _half(grid), grid.step**2
        polynomials = (
            ("squares_above", (0, 4 * half, 4)),
            ("squares_below", (0, -4 * half, 4)),
            ("squares_between", (5 * half**2, 0, -5)),
        )
        parts = [
            Part(name, self._total(grid, *coefficients), unit=step)
            for name, coefficients in polynomials
        ]
        return parts, _combinations_of_polynomials(half)

    def about(
        self,
        grid: Grid,
        number: Combination,
        total: Combination,
        squares: Combination | None = None,
        *,
        rows: Combination | None = None,
    ) -> Moments:
        """The moments about the middle of a grid; `number` counts the values."""
        rows = rows if self.nullable else number
        about_zero = total + number * grid.centre
        return Moments(grid, grid.centre, rows, number, total, squares, about_zero)

    @property
    def _rooms(self) -> tuple[int, ...]:
        return tuple(room for _, room in self._contribution.rooms)

    def _total(self, grid: Grid, *coefficients: int) -> Total:
        return self._total_of(grid, grid.centre, coefficients or (0, 1))

    def _total_of(self, grid: Grid, centre: int, coefficients: tuple[int, ...] = (0, 1)) -> Total:
        return Total(self.summed, self.where, grid, centre, coefficients, self._rooms)

    def _count(self, *, all_rows: bool = False, nulls: bool = False) -> Count:
        of_values = self.nullable and not all_rows
        return Count(self.argument if of_values else None, self.where, nulls, self._rooms)

    def _release(
        self, name: str, statistic: Statistic, share: BudgetShare, rows: int = 1
    ) -> Release:
        """The release of a single statistic, in units of its mean over `rows` rows."""
        assert isinstance(statistic, Count | Total)
        if isinstance(statistic, Count):
            return Release(name, statistic, self.choice.for_total(1, 1, share))
        power = len(statistic.coefficients) - 1
        unit = statistic.grid.step**power / rows
        return Release(name, statistic, self.choice.for_total(*statistic.bounds, share), unit)

    def _joint(self, name: str, parts: Iterator[Part] | list[Part] | tuple[Part, ...]) -> Release:
        """A vector that is drawn as one, with the whole share."""
        statistic = Joint(tuple(parts))
        return Release(name, statistic, self.choice.for_joint(statistic, self.share))


@lru_cache(maxsize=64)
def _combinations_of_distances(low: int, high: int) -> tuple[Combination, Combination]:
    """The number of rows and Σ y, for values from `low` to `high` about the centre."""
    number = (value(0, 0) + value(0, 1)) * Fraction(1, high - low)
    return number, value(0, 0) + number * low


@lru_cache(maxsize=64)
def _combinations_of_polynomials(half: int) -> tuple[Combination, Combination, Combination]:
    """The number of rows, Σ y and Σ y², for values up to `half` from the centre."""
    above, below, between = (value(0, part) for part in range(3))
    squares = (above + below) * Fraction(1, 8)
    total = (above - below) * Fraction(1, 8 * half)
    number = (between * Fraction(1, 5) + squares) * Fraction(1, half**2)
    return number, total, squares


def _half(grid: Grid) -> int:
    """The most steps from the middle of the grid to an end of it."""
    return max(grid.upper - grid.centre, grid.centre - grid.lower)
