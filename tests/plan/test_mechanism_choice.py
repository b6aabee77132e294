"""Which mechanism is chosen when, for which sensitivity, and when there is none."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import pytest

from dpdb.errors import InvalidOption, TooLarge
from dpdb.plan.expressions.expressions import ColumnRef
from dpdb.plan.logical.query import Options
from dpdb.plan.physical.mechanism_choice import MechanismChoice
from dpdb.plan.ranges.grids import Grid
from dpdb.plan.ranges.statistics import Ranks
from dpdb.policy.budget import SMALLEST_DELTA, Neighbors
from dpdb.policy.catalog import Column, Kind
from dpdb.privacy.accounting.accountants import BudgetShare
from dpdb.privacy.gaussian_calibration import epsilon_of, variance_for
from dpdb.privacy.levels import LOOKS
from dpdb.privacy.mechanisms.gaussian import Gaussian
from dpdb.privacy.mechanisms.kinds import NoiseKind
from dpdb.privacy.mechanisms.laplace import MAX_SCALE, Laplace
from dpdb.privacy.mechanisms.selections.exponential import SLACK, Exponential
from dpdb.privacy.mechanisms.selections.walk import Walk
from dpdb.privacy.mechanisms.smooth import Smooth
from dpdb.privacy.sensitivity import Contribution

SHARE = BudgetShare(Fraction(1, 2), Fraction(1, 10**6))
CONCENTRATED = BudgetShare(Fraction(1, 2), Fraction(1, 10**6), concentrated=True)
ALONE = Contribution(Neighbors.ADD_REMOVE, optional=False)
MOVED = Contribution(Neighbors.REPLACE, optional=True, group_count=4)
"""A row can leave one group for another."""
OWNED = Contribution(Neighbors.ADD_REMOVE, optional=True, group_count=2, rows_per_unit=3)
MANY = Contribution(Neighbors.REPLACE, optional=True, group_count=50, rows_per_unit=20)
GAUSSIAN, SMOOTH = Options(mechanism=NoiseKind.GAUSSIAN), Options(sensitivity="smooth")
HALF = Fraction(1, 2)


GRID = Grid(Fraction(1), 0, 100)


def ranks(fraction: Fraction, grid: Grid = GRID, *, tight: bool = False) -> Ranks:
    column = Column("x", Kind.INTEGER, tight=tight)
    return Ranks(ColumnRef(column), None, grid, fraction)


def choice(contribution: Contribution = ALONE, options: Options | None = None) -> MechanismChoice:
    return MechanismChoice(options or Options(), contribution, None)


@pytest.mark.parametrize(
    ("contribution", "total", "distinct", "units"),
    [(ALONE, 7, 1, 1), (MOVED, 14, 2, 2), (OWNED, 21, 3, 2)],
)
def test_laplace_noise_of_the_l1_sensitivity_is_the_rule(
    contribution: Contribution, total: int, distinct: int, units: int
) -> None:
    chosen = choice(contribution)
    assert chosen.for_total(-7, 5, SHARE) == Laplace(total, HALF)
    assert chosen.for_distinct(SHARE) == Laplace(distinct, HALF)
    assert chosen.for_units(SHARE) == Laplace(units, HALF)


@pytest.mark.parametrize(
    ("contribution", "total", "distinct", "units"),
    [(ALONE, 49, 1, 1), (MOVED, 144, 2, 2), (OWNED, 441, 9, 2)],
)
def test_gaussian_noise_of_the_l2_sensitivity_is_asked_for(
    contribution: Contribution, total: int, distinct: int, units: int
) -> None:
    """Of values from -7 to 5 that move: 2·7² = 98 between groups, (5 + 7)² within one."""
    chosen = choice(contribution, GAUSSIAN)
    found = chosen.for_total(-7, 5, SHARE), chosen.for_distinct(SHARE), chosen.for_units(SHARE)
    for mechanism, squared in zip(found, (total, distinct, units), strict=True):
        assert isinstance(mechanism, Gaussian)
        assert mechanism.squared == squared
        assert (mechanism.epsilon, mechanism.delta) == (SHARE.epsilon, SHARE.delta)


def test_a_unit_that_touches_one_group_needs_less_gaussian_noise() -> None:
    """Its change is in one value, and the discrete Gaussian of one value is known better."""
    for contribution, single in ((ALONE, True), (OWNED, False)):
        for share in (SHARE, CONCENTRATED):
            found = choice(contribution, GAUSSIAN).for_total(0, 1, share)
            assert isinstance(found, Gaussian)
            change = contribution.rows_per_unit
            if share.concentrated:
                expected = epsilon_of(found.variance, change, change**2, single, share.delta)
                assert found.epsilon == expected
            else:
                expected = variance_for(change, change**2, single, share.epsilon, share.delta)
                assert found.variance == expected


def test_a_concentrated_share_sets_the_variance() -> None:
    """squared / 2·variance is ρ = ε²/2; its ε alone, at its δ, is another."""
    found = choice(options=GAUSSIAN).for_total(0, 3, CONCENTRATED)
    assert isinstance(found, Gaussian)
    assert (found.variance, found.loss.rho) == (36, Fraction(1, 8))
    assert found.epsilon > CONCENTRATED.epsilon


@pytest.mark.parametrize(
    ("contribution", "change", "squared", "ends"),
    [(replace(OWNED, rows_per_unit=20), 1, 1, 1), (MANY, 2, 2, 2),
     (replace(MANY, group_count=1), 1, 1, 2)],
)  # fmt: skip
def test_a_limit_is_found_where_units_have_many_rows(
    contribution: Contribution, change: int, squared: int, ends: int
) -> None:
    """Laplace noise by the ℓ1 change of D_1, Gaussian noise by the squared ℓ2 change."""
    laplace = choice(contribution).for_limited_distinct(SHARE)
    gaussian = choice(contribution, GAUSSIAN).for_limited_distinct(CONCENTRATED)
    assert laplace is not None
    assert gaussian is not None
    assert isinstance(gaussian.unit_noise, Gaussian)
    assert (laplace.sensitivity, gaussian.unit_noise.squared) == (change, squared)
    assert laplace.score_sensitivity == gaussian.score_sensitivity == ends
    assert laplace.loss.epsilon == HALF
    assert math.isclose(gaussian.loss.rho, Fraction(1, 8), rel_tol=1e-8)
    assert gaussian.loss.rho <= Fraction(1, 8)


def test_no_limit_is_found_for_few_rows_or_little_epsilon() -> None:
    few, little = replace(MANY, rows_per_unit=15), replace(SHARE, epsilon=Fraction(9, 100))
    goal = Options(error=Fraction(10))
    asked = [(few, SHARE, Options()), (MANY, little, Options()), (MANY, SHARE, goal)]
    for contribution, share, options in asked:
        assert choice(contribution, options).for_limited_distinct(share) is None


def test_what_no_row_can_change_has_no_noise_whatever_is_asked() -> None:
    for options in (Options(), GAUSSIAN):
        found = choice(options=options).for_total(0, 0, SHARE)
        assert isinstance(found, Laplace)
        assert found.scale == 0


def test_a_relative_error_is_looked_at_in_steps() -> None:
    options = Options(relative_error=Fraction(1, 10))
    assert choice(options=options).for_total(0, 1, SHARE) == Laplace(1, HALF, LOOKS)
    least = BudgetShare(Fraction(1, MAX_SCALE))
    found = choice(options=options).for_total(0, 1, least)
    assert found == Laplace(1, least.epsilon, LOOKS)
    assert found.scale == MAX_SCALE
    with pytest.raises(TooLarge, match="epsilon is too small"):
        choice(options=options).for_total(0, 1, BudgetShare(least.epsilon * 2 / 3))


def test_values_are_selected_by_the_exponential_mechanism() -> None:
    quarter = Fraction(1, 4)
    assert choice().for_quantile(ranks(quarter), SHARE) == Exponential(Fraction(3, 4), HALF)
    moved = choice(MOVED)
    assert moved.for_quantile(ranks(quarter), SHARE) == Exponential(Fraction(3, 2), HALF, False, 2)
    assert moved.for_mode(1, 1, SHARE) == Exponential(
        Fraction(2), HALF, one_sided=True, selections=2
    )
    assert choice(options=SMOOTH).for_mode(1, 1, SHARE) == Exponential(
        Fraction(1), HALF, one_sided=True
    )
    staying = Contribution(Neighbors.REPLACE, optional=True)
    assert choice(staying).for_mode(1, 1, SHARE) == Exponential(Fraction(1), HALF)


@pytest.mark.parametrize(
    ("contribution", "groups"), [(ALONE, 1), (MOVED, 2), (OWNED, 2), (MANY, 40)]
)
def test_rounding_is_paid_for_in_each_group_that_a_unit_can_be_in(
    contribution: Contribution, groups: int
) -> None:
    chosen = choice(contribution)
    bracket = chosen.for_bracket(ranks(HALF), SHARE, 0.95)
    assert bracket is not None
    for made in (
        chosen.for_quantile(ranks(HALF), SHARE),
        chosen.for_mode(1, 1, SHARE),
        bracket.selection,
    ):
        assert isinstance(made, Exponential)
        assert made.span * made.rate + groups * SLACK == made.loss.epsilon == HALF


LONG = Grid(Fraction(1), 0, 10**6)


@pytest.mark.parametrize("fraction", [Fraction(0), Fraction(1)], ids=["MIN", "MAX"])
def test_extremes_are_found_by_a_walk(fraction: Fraction) -> None:
    """Unless there are few rungs, or the policy says that the bounds are tight."""
    far = ranks(fraction, LONG)
    assert choice().for_quantile(far, SHARE) == Walk(1, HALF, one_way=True)
    assert choice(OWNED).for_quantile(far, SHARE) == Walk(3, HALF, one_way=True)
    assert choice(MOVED).for_quantile(far, SHARE) == Walk(1, HALF, one_way=False)
    near = Exponential(Fraction(1), HALF, one_sided=True)
    assert choice().for_quantile(ranks(fraction, LONG, tight=True), SHARE) == near
    assert choice().for_quantile(ranks(fraction, Grid(Fraction(1), 18, 65)), SHARE) == near


@pytest.mark.parametrize("contribution", [ALONE, MOVED], ids=["one way", "moved"])
def test_a_walk_has_all_of_a_concentrated_share(contribution: Contribution) -> None:
    found = choice(contribution).for_quantile(ranks(Fraction(1), LONG), CONCENTRATED)
    assert found.loss.rho == CONCENTRATED.epsilon**2 / 2


def test_an_epsilon_too_small_for_a_walk_is_refused() -> None:
    with pytest.raises(TooLarge, match="epsilon is too small"):
        choice().for_quantile(ranks(Fraction(1), LONG), BudgetShare(Fraction(1, 2**50)))


def test_a_selection_has_twice_the_epsilon_of_a_concentrated_share() -> None:
    """It is ε²/8-zCDP, and the share stands for ε²/2."""
    found = choice().for_mode(1, 1, CONCENTRATED)
    assert found == Exponential(Fraction(1), Fraction(1), one_sided=True)
    assert found.loss.rho == CONCENTRATED.epsilon**2 / 2


def test_smooth_sensitivity_is_asked_for() -> None:
    found = choice(OWNED, SMOOTH).for_quantile(ranks(HALF), SHARE)
    assert found == Smooth(HALF, SHARE.epsilon, SHARE.delta, rows_per_unit=3, groups_per_unit=2)


@pytest.mark.parametrize("options", [GAUSSIAN, SMOOTH], ids=["gaussian", "smooth"])
def test_some_mechanisms_need_delta(options: Options) -> None:
    chosen = choice(options=options)

    def tried(delta: Fraction) -> object:
        share = BudgetShare(HALF, delta)
        if options is GAUSSIAN:
            return chosen.for_total(0, 1, share)
        return chosen.for_quantile(ranks(HALF), share)

    assert tried(SMALLEST_DELTA) is not None
    with pytest.raises(InvalidOption, match="needs delta above 0"):
        tried(SMALLEST_DELTA / 2)


def test_noise_that_would_not_fit_64_bits_is_refused() -> None:
    assert choice().for_total(0, MAX_SCALE // 2, SHARE) == Laplace(MAX_SCALE // 2, HALF)
    with pytest.raises(TooLarge, match="the noise would be all there is"):
        choice().for_total(0, MAX_SCALE // 2 + 1, SHARE)
    with pytest.raises(TooLarge, match="the noise would be all there is"):
        choice(options=GAUSSIAN).for_total(0, MAX_SCALE, SHARE)
    # Its scale is 2S/ε, of S = the width at the worst.
    wide = Grid(Fraction(1), 0, math.floor(MAX_SCALE / 4))
    with pytest.raises(TooLarge, match="the noise would be all there is"):
        choice(options=SMOOTH).for_quantile(ranks(HALF, wide), SHARE)
    near = Grid(Fraction(1), 0, wide.upper - wide.upper // 2**30)
    assert choice(options=SMOOTH).for_quantile(ranks(HALF, near), SHARE).epsilon == HALF


def test_an_epsilon_that_rounding_uses_up_is_refused() -> None:
    for share, fits in (
        (BudgetShare(2 * SLACK), True),
        (BudgetShare(SLACK * 3 / 2), False),
        (BudgetShare(SLACK * 3 / 2, concentrated=True), True),
    ):
        if fits:
            choice().for_mode(1, 1, share)
        else:
            with pytest.raises(TooLarge, match="too small to select"):
                choice().for_mode(1, 1, share)
