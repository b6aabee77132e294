"""Global sensitivities: how far one privacy unit can move an exact result.

Definition (Dwork, McSherry, Nissim, Smith 2006, Definition 2): the largest
ℓ1 distance between f(x) and f(y) over all neighbouring x and y. A grouped
answer is one vector, and a unit of r rows moves it at most r times as far as
one row does. All results are exact, in units of the statistic's grid.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from dpdb.policy.budget import Neighbors


@dataclass(frozen=True)
class Contribution:
    """How a privacy unit's rows can enter a statistic."""

    neighbors: Neighbors
    optional: bool
    """Whether a row may be left out: by a filter, a NULL or a group's key."""
    cells: int = 1
    """The number of groups; under `replace` a row can move from one to another."""
    rows_per_unit: int = 1

    @property
    def fixed(self) -> bool:
        """Whether every row is always counted, so that the number counted is public.

        That number is n only if a unit is one row.
        """
        return self.neighbors is Neighbors.REPLACE and not self.optional and self.rows_per_unit == 1

    @property
    def touched(self) -> int:
        """The most cells that one unit's rows can enter or leave."""
        ends = 2 if self.neighbors is Neighbors.REPLACE else 1
        return min(self.cells, ends * self.rows_per_unit)


def total(lower: int, upper: int, exposure: Contribution) -> int:
    """Sensitivity of Σ y over counted rows, each with an integer y in [lower, upper].

    add-remove: a row enters or leaves one cell, max(|lower|, |upper|).
    replace: its y changes, upper - lower; if it may be left out, y changes between
    0 and either end; with several cells it can leave one and enter another.
    """
    largest = max(abs(lower), abs(upper))
    if exposure.neighbors is Neighbors.ADD_REMOVE:
        change = largest
    elif exposure.cells > 1:
        change = 2 * largest
    elif exposure.optional:
        change = max(upper, 0) - min(lower, 0)
    else:
        change = upper - lower
    return change * exposure.rows_per_unit


def distinct(exposure: Contribution) -> int:
    """Sensitivity of the number of distinct values.

    One row adds or takes away at most one value; replacing it can do both, in
    one cell to no more than ±1 in sum, over two cells to 1 each.
    """
    moved = exposure.neighbors is Neighbors.REPLACE and exposure.cells > 1
    return (2 if moved else 1) * exposure.rows_per_unit


def units(exposure: Contribution) -> int:
    """Sensitivity of the number of units that have rows, and the square of its ℓ2 sensitivity.

    A unit counts once in each cell that it has rows in, so each cell changes by at most
    1. Under `replace` one that the old rows leave and the new ones enter does not change.
    """
    return exposure.touched


def total_squared(lower: int, upper: int, exposure: Contribution) -> int:
    """Square of the ℓ2 sensitivity of the sum that `total` is of.

    A unit that touches one cell moves it by the ℓ1 sensitivity. Under `replace` a row
    either stays in its cell, or leaves one and enters another: |a| and |b| in two cells
    make √2 of the larger at most, where ℓ1 would have their sum.
    """
    if exposure.neighbors is Neighbors.ADD_REMOVE or exposure.touched == 1:
        return total(lower, upper, exposure) ** 2
    largest = max(abs(lower), abs(upper))
    return max(2 * largest**2, (upper - lower) ** 2) * exposure.rows_per_unit**2


def distinct_squared(exposure: Contribution) -> int:
    """Square of the ℓ2 sensitivity of the numbers of distinct values: 1 in each of two cells."""
    if exposure.neighbors is Neighbors.ADD_REMOVE or exposure.touched == 1:
        return distinct(exposure) ** 2
    return 2 * exposure.rows_per_unit**2


def rank(fraction: Fraction, exposure: Contribution) -> Fraction:
    """Sensitivity of the score of a value v as the `fraction`-quantile.

    The score is -distance(fraction·n, [#{x < v}, #{x <= v}]), in ranks: the
    rank error of v (Smith 2011, "Privacy-preserving statistical estimation",
    section 3, with ties counted as an interval). A row that enters moves n
    and at most one end: max(q, 1-q). A row that is replaced moves at most one
    place, or, over two cells, leaves one and enters the other.
    """
    one = max(fraction, 1 - fraction)
    if exposure.neighbors is Neighbors.REPLACE:
        one = 2 * one if exposure.cells > 1 else Fraction(1)
    return one * exposure.rows_per_unit


def tally(exposure: Contribution) -> Fraction:
    """Sensitivity of the score of a value as the mode, its number of rows.

    Any one score changes by at most 1 for each cell that a row enters or leaves.
    """
    moved = exposure.neighbors is Neighbors.REPLACE and exposure.cells > 1
    return Fraction((2 if moved else 1) * exposure.rows_per_unit)
