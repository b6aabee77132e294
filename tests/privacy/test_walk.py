"""The walk: its ladder, its privacy over all small tables, and what may be said of its stop."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise, product

import pytest

from dpdb.policy.budget import Neighbors
from dpdb.privacy.accounting.loss import Loss
from dpdb.privacy.mechanisms.selections.walk import SPAN, Walk, ladder
from tests.support.brute import ADD_REMOVE, REPLACE, multisets, neighbouring
from tests.support.walks import law, rows_beyond

EPSILONS = [Fraction(1, 3), Fraction(1), Fraction(4)]
ROUNDING = 1e-9


# ------------------------------------------------------------------------- the ladder


@pytest.mark.parametrize(
    ("lower", "upper"), [(0, 10**8), (18, 65), (-(10**6), 10**7), (-900, -4), (7305, 20000), (3, 3)]
)
def test_a_ladder_rises_to_the_upper_bound(lower: int, upper: int) -> None:
    rungs = ladder(lower, upper)
    assert rungs[-1] == upper
    assert lower <= rungs[0]
    assert all(low < high for low, high in pairwise(rungs))


def test_the_steps_of_a_ladder_grow_with_the_distance_from_zero() -> None:
    """Every whole number near zero, and at most 2^(1/16) and a rounded unit farther out."""
    rungs = ladder(-1000, 10**6)
    assert [rung for rung in rungs if abs(rung) <= 20] == list(range(-20, 21))
    for low, high in pairwise(rungs):
        nearest, farthest = sorted((abs(low), abs(high)))
        assert farthest <= nearest * 2 ** (1 / 16) + 2


def test_a_ladder_away_from_zero_begins_at_the_bound_nearest_to_zero() -> None:
    assert ladder(100, 110) == tuple(range(100, 111))
    assert ladder(-110, -100) == tuple(range(-110, -99))


def test_ladders_of_the_sample_data_have_the_published_lengths() -> None:
    """377 values for incomes in cents up to a million; about 1,600 for all there is."""
    assert len(ladder(0, 10**8)) == 377
    assert 1500 < len(ladder(-(2**53), 2**53)) < 1700


# ------------------------------------------------------------------------- privacy


RUNGS = range(4)
MOST = 3


def distributions(walk: Walk) -> list[list[float]]:
    """The law of every table of up to three values among five, four of them rungs."""
    return [law(rows_beyond(values, RUNGS), walk) for values in multisets(5, MOST)]


def ratios(
    laws: Sequence[Sequence[float]], relation: Neighbors
) -> list[tuple[Sequence[float], Sequence[float]]]:
    sides = neighbouring(5, MOST, relation)
    return [(laws[i], laws[j]) for i, j in zip(*(side.tolist() for side in sides), strict=True)]


def largest_loss(pairs: Sequence[tuple[Sequence[float], Sequence[float]]]) -> float:
    return max(
        abs(math.log(p / q)) for one, other in pairs for p, q in zip(one, other, strict=True)
    )


@pytest.mark.parametrize("relation", [ADD_REMOVE, REPLACE])
@pytest.mark.parametrize("epsilon", EPSILONS, ids=str)
def test_one_cell_loses_what_is_charged(epsilon: Fraction, relation: Neighbors) -> None:
    walk = Walk(1, epsilon, one_way=True)
    laws = distributions(walk)
    assert all(math.isclose(sum(each), 1, rel_tol=ROUNDING) for each in laws)
    loss = largest_loss(ratios(laws, relation))
    assert 0.95 * epsilon <= loss <= walk.loss.epsilon + ROUNDING


def moved(walk: Walk) -> float:
    """The largest loss of a row that leaves one cell and enters another.

    It is that of two walks: of a cell that has a row less, and of one that has one more. There are
    many rows in both, so that a walk may stop early though it should not.
    """
    many = (4,) * (walk.threshold + 4)
    laws = [law(rows_beyond((*many, *values), RUNGS), walk) for values in multisets(5, MOST)]
    losses = [
        math.log(p / q)
        for fewer, more in ratios(laws, ADD_REMOVE)
        for p, q in zip(fewer, more, strict=True)
    ] + [
        math.log(p / q)
        for fewer, more in ratios(distributions(walk), ADD_REMOVE)
        for p, q in zip(fewer, more, strict=True)
    ]
    return max(losses) - min(losses)


@pytest.mark.parametrize("epsilon", EPSILONS, ids=str)
def test_a_row_that_moves_between_cells_loses_what_is_charged(epsilon: Fraction) -> None:
    assert 0.95 * epsilon <= moved(Walk(1, epsilon, one_way=False)) <= epsilon + ROUNDING
    assert moved(Walk(1, epsilon, one_way=True)) > 1.2 * epsilon


def test_two_rows_of_a_unit_lose_what_is_charged() -> None:
    """All tables of up to three values with up to two more; under `replace` two come for two."""
    tables = multisets(5, MOST)
    walk, exchanged = Walk(2, Fraction(1), one_way=True), Walk(2, Fraction(1), one_way=False)
    for base in multisets(5, 1):
        laws = [law(rows_beyond((*base, *more), RUNGS), walk) for more in tables if len(more) <= 2]
        assert largest_loss([(laws[0], each) for each in laws]) <= 1 + ROUNDING
        laws = [law(rows_beyond((*base, *more), RUNGS), exchanged)
                for more in tables if len(more) <= 2]  # fmt: skip
        assert largest_loss(list(product(laws, laws))) <= 1 + ROUNDING


@pytest.mark.parametrize("epsilon", EPSILONS, ids=str)
def test_the_walk_is_as_concentrated_as_it_says(epsilon: Fraction) -> None:
    """The Rényi divergence of order α is at most α·ρ, for both directions of every pair."""
    walk = Walk(1, epsilon, one_way=True)
    rho = float(walk.loss.rho)
    assert walk.loss == Loss(epsilon, rho=(SPAN * epsilon) ** 2 / 8)
    for one, other in ratios(distributions(walk), ADD_REMOVE):
        for order in (1.5, 2.0, 8.0, 32.0):
            for p, q in ((one, other), (other, one)):
                powers = sum(a**order * b ** (1 - order) for a, b in zip(p, q, strict=True))
                assert math.log(powers) / (order - 1) <= order * rho + ROUNDING


# ------------------------------------------------------------------------- what may be said


@pytest.mark.parametrize("epsilon", [Fraction(1, 10), Fraction(1), Fraction(3)], ids=str)
def test_the_bound_on_passing_empty_rungs_is_that_of_the_law(epsilon: Fraction) -> None:
    """It is the law's where no row is beyond any rung, and nothing else can be worse."""
    walk = Walk(1, epsilon, one_way=True)
    chances = law([0] * 12, walk)
    for empty in range(1, 12):
        assert math.isclose(walk.passes(empty), sum(chances[empty:]), rel_tol=1e-6)


def test_the_integral_bounds_the_sum() -> None:
    """Where the sum is not computed any more, and not by much."""
    for epsilon in (Fraction(1, 20), Fraction(1, 200)):
        walk = Walk(1, epsilon, one_way=True)
        chances = law([0] * 6, walk)
        for empty in range(1, 6):
            exact = sum(chances[empty:])
            assert exact - ROUNDING <= walk.passes(empty) <= 1.1 * exact


@pytest.mark.parametrize("epsilon", [Fraction(1, 10), Fraction(1), Fraction(10)], ids=str)
def test_no_more_rows_are_above_than_is_said(epsilon: Fraction) -> None:
    """On ladders whose rungs have one row each, ten rows each, and all rows at the end."""
    walk = Walk(1, epsilon, one_way=True)
    for beyond in ([*range(400, -1, -1)], [*range(4000, -1, -10)], [400] * 400 + [0]):
        most = walk.rows_above(0.95, len(beyond))
        chances = law(beyond, walk)
        above = sum(p for p, n in zip(chances, beyond, strict=True) if n > most)
        assert above <= 0.05


def test_the_published_numbers() -> None:
    """Extremes at ε = 1 over 377 rungs: two rows aimed at, at most 31 above with 95 %."""
    walk = Walk(1, Fraction(1), one_way=True)
    assert (walk.threshold, walk.rows_above(0.95, 377), walk.rows_needed(377)) == (2, 31, 22)
    assert walk.steps_below(0.95) == 1
