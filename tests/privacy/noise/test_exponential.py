"""The exponential mechanism as it is implemented: its exact output distribution.

Weights are integers and one uniform integer decides, so the probability of every output is a
fraction that can be written down. It is compared with the definition (McSherry and Talwar 2007,
Theorem 6) in decimal arithmetic, and the ratios between neighbouring tables with e^ε, both
without floating point.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from functools import cache
from random import Random

import numpy as np
import pytest

from dpdb.policy.budget import Neighbors
from dpdb.privacy.mechanisms.selections.exponential import FARTHEST, SLACK, Exponential
from dpdb.privacy.noise.exponential import weights
from tests.support.brute import ADD_REMOVE, REPLACE, multisets, neighbouring, score
from tests.support.selections import (
    CLAIMED,
    by_definition,
    close,
    distribution,
    exponential,
    integers,
    largest_ratio,
    listed_pieces,
    mechanism,
)

FRACTIONS = [Fraction(0), Fraction(1, 4), Fraction(1, 2), Fraction(1)]
EPSILONS = [
    Fraction(1, 10**9),
    Fraction(1, 1000),
    Fraction(1, 3),
    Fraction(1),
    Fraction(8),
    Fraction(10**4),
]


# ------------------------------------------------------------------------- weights


@pytest.mark.parametrize(
    "rate", [Fraction(1, 10**12), Fraction(1, 7), Fraction(1), Fraction(10**4, 3)], ids=str
)
def test_weights_are_within_the_stated_error_of_exp(rate: Fraction) -> None:
    """And those of all distances too far to matter weigh the same, and something."""
    random = Random(5)
    last = math.ceil(FARTHEST / rate)
    near = {0, 1, 2, 3, last - 1, last, last + 1, 2 * last, 2**50}
    distances = sorted(near | {random.randrange(last + 1) for _ in range(400)})
    found = weights(np.array(distances, dtype=np.int64), rate)
    assert distances[0] == 0
    assert all(isinstance(weight, int) for weight in found)
    for distance, weight in zip(distances, found, strict=True):
        exact = exponential(-min(distance * rate, Fraction(FARTHEST)))
        assert abs(Fraction(weight, found[0]) / exact - 1) <= CLAIMED
    assert all(weight >= 2**45 for weight in found)
    assert len({w for d, w in zip(distances, found, strict=True) if d > last}) == 1
    assert found == sorted(found, reverse=True)


def test_the_slack_covers_the_error_of_four_weights() -> None:
    """A ratio of two probabilities has a weight and a total above the line, and two below."""
    assert exponential(SLACK) >= ((1 + CLAIMED) / (1 - CLAIMED)) ** 2
    chosen_by = Exponential(Fraction(1, 2), Fraction(1, 3))
    assert 2 * chosen_by.sensitivity * chosen_by.rate + SLACK == chosen_by.epsilon
    assert chosen_by.loss.epsilon == chosen_by.epsilon
    one_sided = replace(chosen_by, one_sided=True)
    assert chosen_by.sensitivity * one_sided.rate + SLACK == one_sided.epsilon
    assert one_sided.loss == chosen_by.loss


# ------------------------------------------------------------------------- small tables


POINTS = 5
MOST = 4


@cache
def small_distributions(
    fraction: Fraction, relation: Neighbors, epsilon: Fraction
) -> list[list[Fraction]]:
    """Of all tables of up to four values among 0..4, on the grid -1..5."""
    chosen_by = mechanism(fraction, relation, epsilon)
    return [
        distribution(integers(values), (-1, POINTS), fraction, chosen_by)
        for values in multisets(POINTS, MOST)
    ]


@pytest.mark.parametrize("relation", [ADD_REMOVE, REPLACE])
@pytest.mark.parametrize("fraction", FRACTIONS, ids=str)
@pytest.mark.parametrize("epsilon", EPSILONS, ids=str)
def test_neighbours_differ_by_no_more_than_is_charged(
    fraction: Fraction, relation: Neighbors, epsilon: Fraction
) -> None:
    distributions = small_distributions(fraction, relation, epsilon)
    ratio = largest_ratio(distributions, neighbouring(POINTS, MOST, relation))
    assert all(sum(each) == 1 for each in distributions)
    assert ratio <= exponential(epsilon)
    # And the charge is used, where scores are not clamped: of the least and the greatest value
    # nearly all of it, from ε = 1 on.
    if epsilon <= 8:
        assert ratio > exponential(epsilon * used(fraction))
    if 1 <= epsilon <= 8 and fraction in (0, 1):
        assert ratio > exponential(epsilon * Fraction(19, 20))


def used(fraction: Fraction) -> Fraction:
    """A part of the charge that the ratios are sure to reach."""
    return Fraction(4, 5) if fraction in (0, 1) else Fraction(3, 5)


@pytest.mark.parametrize("relation", [ADD_REMOVE, REPLACE])
@pytest.mark.parametrize("fraction", FRACTIONS, ids=str)
def test_too_small_a_sensitivity_would_be_caught(fraction: Fraction, relation: Neighbors) -> None:
    right = mechanism(fraction, relation, Fraction(1))
    wrong = replace(right, sensitivity=right.sensitivity * used(fraction))
    distributions = [
        distribution(integers(values), (-1, POINTS), fraction, wrong)
        for values in multisets(POINTS, MOST)
    ]
    ratio = largest_ratio(distributions, neighbouring(POINTS, MOST, relation))
    assert ratio > exponential(Fraction(1))


@pytest.mark.parametrize("fraction", FRACTIONS, ids=str)
@pytest.mark.parametrize("epsilon", EPSILONS, ids=str)
def test_small_tables_have_the_defined_distribution(fraction: Fraction, epsilon: Fraction) -> None:
    chosen_by = mechanism(fraction, ADD_REMOVE, epsilon)
    found = small_distributions(fraction, ADD_REMOVE, epsilon)
    for values, probabilities in zip(multisets(POINTS, MOST), found, strict=True):
        close(probabilities, by_definition(values, (-1, POINTS), fraction, chosen_by))


# ------------------------------------------------------------------------- large tables


GRID = (-20, 300)


def large_tables() -> Iterator[tuple[str, list[int]]]:
    random = Random(7)
    yield "spread", [random.randrange(280) for _ in range(5000)]
    yield "few values", [random.choice((0, 1, 150, 151, 279)) for _ in range(5000)]
    yield "all at one bound", [GRID[1]] * 5000
    yield "half at each bound", [GRID[0]] * 2500 + [GRID[1]] * 2500
    yield "one outlier", [100] * 4999 + [GRID[0]]
    yield "skewed", [min(299, int(random.expovariate(0.05))) for _ in range(5000)]


@cache
def clamped_scores(values: tuple[int, ...], fraction: Fraction) -> list[Fraction]:
    """The scores of the whole grid by counting: the values are sorted here, not searched."""
    counts = Counter(values)
    below, scores = 0, []
    for v in range(GRID[0], GRID[1] + 1):
        upto = below + counts[v]
        target = fraction * len(values)
        scores.append(-max(below - target, target - upto, Fraction(0)))
        below = upto
    return scores


@pytest.mark.parametrize("name", [name for name, _ in large_tables()])
@pytest.mark.parametrize("fraction", [*FRACTIONS, Fraction(999, 1000)], ids=str)
def test_the_window_leaves_out_nothing(name: str, fraction: Fraction) -> None:
    """From rates at which the window holds all 5,000 values to those where it holds three."""
    values = dict(large_tables())[name]
    assert len(values) == 5000
    widths = set()
    for epsilon in (Fraction(1, 1000), Fraction(1), Fraction(1000)):
        chosen_by = mechanism(fraction, ADD_REMOVE, epsilon)
        found = distribution(integers(values), GRID, fraction, chosen_by)
        scores = clamped_scores(tuple(values), fraction)
        exponents = [max(s * chosen_by.rate, Fraction(-FARTHEST)) for s in scores]
        memory = {x: exponential(x) for x in set(exponents)}
        total = sum(memory[x] for x in exponents)
        close(found, [memory[x] / total for x in exponents])
        widths.add(len(listed_pieces(integers(values), GRID, fraction, chosen_by)[0]))
    assert len(widths) > 1 or len(set(values)) <= 5


def test_counted_scores_are_the_scores() -> None:
    """The reference for large tables agrees with the one for small ones."""
    values = (0, 3, 3, 7, 300, 300)
    for fraction in FRACTIONS:
        grid = range(GRID[0], GRID[1] + 1)
        assert clamped_scores(values, fraction) == [score(values, v, fraction) for v in grid]


@pytest.mark.parametrize("relation", [ADD_REMOVE, REPLACE])
@pytest.mark.parametrize("fraction", FRACTIONS, ids=str)
def test_a_window_that_moves_costs_nothing(fraction: Fraction, relation: Neighbors) -> None:
    """Neighbours whose windows begin and end at different values, outliers and ties among them."""
    random = Random(f"{fraction}{relation}")
    epsilon = Fraction(4)
    chosen_by = mechanism(fraction, relation, epsilon)
    assert FARTHEST / chosen_by.rate < 100
    allowed, largest = exponential(epsilon), Fraction(1)
    for _ in range(12):
        spread = random.choice((2, 10, 60))
        values = [random.randrange(spread) for _ in range(400)]
        first = distribution(integers(values), (-3, 63), fraction, chosen_by)
        for new in (-3, 0, spread // 2, spread - 1, 63):
            kept = values if relation is ADD_REMOVE else values[1:]
            second = distribution(integers([*kept, new]), (-3, 63), fraction, chosen_by)
            largest = max(largest, largest_ratio([first, second], neighbouring(1, 1, ADD_REMOVE)))
    assert 1 < largest <= allowed


@pytest.mark.parametrize("fraction", [*FRACTIONS, Fraction(1, 10**6)], ids=str)
def test_wide_grids_and_narrow_arrays(fraction: Fraction) -> None:
    """Gaps of 2^53 points, and values in the narrow types that columns have."""
    grid = (-(2**53), 2**53)
    chosen_by = mechanism(fraction, ADD_REMOVE, Fraction(1))
    values = integers([grid[0], -5, 0, 0, 100, 101, grid[1]])
    starts, lengths, each = listed_pieces(values, grid, fraction, chosen_by)
    assert sum(lengths) == 2**54 + 1
    scored = [
        (score(values.tolist(), v, fraction), weight)
        for start, length, weight in zip(starts, lengths, each, strict=True)
        for v in {start, start + length // 2, start + length - 1}
        if length
    ]
    assert len(scored) > 12
    best, heaviest = max(scored)
    for points, weight in scored:
        exact = exponential((points - best) * chosen_by.rate)
        assert abs(Fraction(weight, heaviest) / exact - 1) <= 2 * CLAIMED + CLAIMED**2 * 4
    for narrow in (np.uint8, np.int8, np.uint32):
        small = np.array([0, 5, 5, 127], dtype=narrow)
        wide = small.astype(np.int64)
        assert listed_pieces(small, (0, 127), fraction, chosen_by) == listed_pieces(
            wide, (0, 127), fraction, chosen_by
        )


def test_no_values_make_all_points_alike() -> None:
    chosen_by = mechanism(Fraction(1, 2), ADD_REMOVE, Fraction(1))
    found = distribution(integers([]), (3, 12), Fraction(1, 2), chosen_by)
    assert found == [Fraction(1, 10)] * 10
