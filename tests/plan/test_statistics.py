"""What one row adds to a sum, and the grid that values lie on."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import pytest

from dpdb.plan.expressions.expressions import Literal
from dpdb.plan.ranges.grids import Grid, fit_grid
from dpdb.plan.ranges.statistics import Count, Joint, Part, Total
from dpdb.policy.catalog import Kind
from dpdb.policy.numbers import MAGNITUDE_LIMIT

ONE, CENT = Fraction(1), Fraction(1, 100)


@pytest.mark.parametrize(
    ("lower", "upper", "centre"), [(0, 10, 5), (0, 9, 4), (-3, 0, -2), (-5, 5, 0), (7, 7, 7)]
)
def test_the_centre_is_the_middle_or_the_step_below(lower: int, upper: int, centre: int) -> None:
    assert Grid(ONE, lower, upper).centre == centre


@pytest.mark.parametrize("grid", [Grid(ONE, 0, 9), Grid(CENT, -7, 2), Grid(ONE, 3, 3)])
@pytest.mark.parametrize("coefficients", list(product((-7, 0, 5), (-3, 0, 4), (-2, 0, 1, 3))))
def test_no_row_adds_more_than_the_bounds_say(grid: Grid, coefficients: tuple[int, ...]) -> None:
    total = Total(Literal(0, Kind.INTEGER), None, grid, grid.centre, coefficients)
    distances = [value - grid.centre for value in range(grid.lower, grid.upper + 1)]
    added = [sum(c * y**power for power, c in enumerate(coefficients)) for y in distances]
    assert total.bounds == (min(added), max(added))


def test_the_signed_bounds_of_a_vector_are_those_of_its_signed_sums() -> None:
    """|t₁| + |t₂| + |t₃| is the largest of them, whatever a row holds; NULL is a row of its own."""
    grid, argument = Grid(ONE, -3, 5), Literal(0, Kind.INTEGER)
    polynomials = ((2, 1), (0, -4, 3))
    totals = [Total(argument, None, grid, grid.centre, p) for p in polynomials]
    nulls = Count(argument, None, nulls=True)
    vector = Joint((Part("a", totals[0]), Part("b", totals[1], 2), Part("c", nulls, 9)))
    rows = [(2 + y, 2 * (3 * y * y - 4 * y), 0) for y in range(-3 - 1, 5)] + [(0, 0, 9)]
    found = list(vector.signed_bounds)
    for signs, ends in zip(product((1, -1), repeat=2), found, strict=True):
        sums = [row[0] + signs[0] * row[1] + signs[1] * row[2] for row in rows]
        assert ends == (min(sums), max(sums))
    assert max(max(-low, high) for low, high in found) == max(sum(map(abs, r)) for r in rows)


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
