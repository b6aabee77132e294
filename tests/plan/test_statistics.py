"""What one row adds to a sum, and the grid that values lie on."""

from __future__ import annotations

from fractions import Fraction

import pytest

from dpdb.plan.expressions import Literal
from dpdb.plan.statistics import Grid, Total, fit_grid
from dpdb.policy.catalog import Kind
from dpdb.policy.numbers import MAGNITUDE_LIMIT

ONE, CENT = Fraction(1), Fraction(1, 100)


@pytest.mark.parametrize(
    ("lower", "upper", "centre"), [(0, 10, 5), (0, 9, 4), (-3, 0, -2), (-5, 5, 0), (7, 7, 7)]
)
def test_the_centre_is_the_middle_or_the_step_below(lower: int, upper: int, centre: int) -> None:
    assert Grid(ONE, lower, upper).centre == centre


@pytest.mark.parametrize("grid", [Grid(ONE, 0, 9), Grid(CENT, -7, 2), Grid(ONE, 3, 3)])
@pytest.mark.parametrize("power", [1, 2])
@pytest.mark.parametrize("offset", [0, 5])
def test_no_row_adds_more_than_the_bounds_say(grid: Grid, power: int, offset: int) -> None:
    total = Total(Literal(0, Kind.INTEGER), None, grid, grid.centre, power, offset)
    values = range(grid.lower, grid.upper + 1)
    added = [(value - grid.centre) ** power - offset for value in values]
    assert total.bounds == (min(added), max(added))


def test_a_grid_lies_within_the_bounds() -> None:
    assert fit_grid(ONE, Fraction(-5, 2), Fraction(5, 2), MAGNITUDE_LIMIT) == Grid(ONE, -2, 2)
    assert fit_grid(CENT, Fraction(1, 300), ONE, MAGNITUDE_LIMIT) == Grid(CENT, 1, 100)


def test_bounds_between_two_steps_leave_the_lower() -> None:
    quarter = Fraction(1, 4)
    assert fit_grid(ONE, quarter, 2 * quarter, MAGNITUDE_LIMIT) == Grid(ONE, 0, 0)
    assert fit_grid(ONE, -2 * quarter, -quarter, MAGNITUDE_LIMIT) == Grid(ONE, -1, -1)


def test_a_grid_is_coarsened_by_tens_until_sums_fit() -> None:
    limit = Fraction(MAGNITUDE_LIMIT)
    assert fit_grid(ONE, -limit, limit, MAGNITUDE_LIMIT).step == 1
    assert fit_grid(ONE, Fraction(0), limit + 1, MAGNITUDE_LIMIT).step == 10
    assert fit_grid(ONE, -101 * limit, Fraction(0), MAGNITUDE_LIMIT).step == 1000


def test_for_squares_what_counts_is_the_width() -> None:
    far = Fraction(10**6)
    assert fit_grid(ONE, far, far + 2000, 1000) == Grid(ONE, 10**6, 10**6 + 2000)
    assert fit_grid(ONE, far, far + 2001, 1000) == Grid(Fraction(10), 10**5, 10**5 + 200)
