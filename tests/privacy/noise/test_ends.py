"""The ends of a column: the law of each selection, by enumeration of small tables.

The laws are made of the integer weights that are drawn from, and neighbours of formulas: nothing
here says what a mechanism's sensitivity is but the tables themselves.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from functools import cache

import numpy as np
import pytest
from scipy.stats import chisquare

from dpdb.policy.budget import Neighbors
from dpdb.privacy.mechanisms.selections.ends import MORE_IF_CONCENTRATED, FoundEnds, rungs
from dpdb.privacy.noise.ends import centre_pieces, end_weights, scale_weights, select_ends
from tests.support.audited import noise
from tests.support.brute import ADD_REMOVE, REPLACE

GRID = -8, 8
POINTS = -8, -2, 0, 1, 8
EPSILON = Fraction(8)
Rows = tuple[int, ...]
Law = dict[object, float]
"""The logarithm of the probability of each outcome."""


def tables(most: int) -> list[Rows]:
    numbers = range(most + 1)
    return [
        rows for each in numbers for rows in itertools.combinations_with_replacement(POINTS, each)
    ]


def neighbours(
    most: int, relation: Neighbors, rows_per_unit: int = 1
) -> Iterator[tuple[Rows, Rows]]:
    """Tables that differ by one unit of so many rows, at most."""
    units = [unit for unit in tables(rows_per_unit) if unit]
    for rest in tables(most - rows_per_unit):
        for one in units:
            pairs = (
                [()]
                if relation is ADD_REMOVE
                else [each for each in units if len(each) == len(one)]
            )
            for other in pairs:
                yield tuple(sorted(rest + one)), tuple(sorted(rest + other))


def normed(each: Counter[object]) -> Law:
    total = math.log(sum(each.values()))
    return {key: math.log(weight) - total for key, weight in each.items()}


@cache
def centres(rows: Rows, mechanism: FoundEnds) -> Law:
    starts, lengths, each = centre_pieces(
        np.array(rows, dtype=np.int64), GRID, mechanism.selections[0]
    )
    points: Counter[object] = Counter()
    for start, length, weight in zip(starts.tolist(), lengths.tolist(), each.whole(), strict=True):
        points.update(dict.fromkeys(range(start, start + length), weight))
    return normed(points)


@cache
def scales(rows: Rows, centre: int, mechanism: FoundEnds) -> Law:
    steps = rungs(GRID[1] - GRID[0])
    each = scale_weights(np.array(rows, dtype=np.int64), centre, steps, mechanism.selections[1])
    return normed(Counter(dict(zip(steps, each, strict=True))))


@cache
def pairs(rows: Rows, centre: int, scale: int, mechanism: FoundEnds) -> Law:
    steps, values = rungs(GRID[1] - GRID[0]), np.array(rows, dtype=np.int64)
    up, down = end_weights(values, (centre, scale), steps, mechanism.selections[2])
    return normed(
        Counter({(i, j): up[i] * down[j] for i in range(len(up)) for j in range(len(down))})
    )


def widest(one: Law, other: Law) -> float:
    """The largest logarithm of a ratio of probabilities, either way."""
    assert one.keys() == other.keys()
    return max(abs(one[key] - other[key]) for key in one)


@pytest.mark.parametrize(
    ("relation", "rows", "least"),
    [(ADD_REMOVE, 1, 0.8), (REPLACE, 1, 0.8), (ADD_REMOVE, 2, 0.8), (REPLACE, 2, 0.65)],
)
def test_neighbours_change_each_law_by_its_part_of_epsilon(
    relation: Neighbors, rows: int, least: float
) -> None:
    """At most by the part, and by `least` of it for some pair; larger tables use more."""
    mechanism = FoundEnds(rows * (2 if relation is REPLACE else 1), EPSILON)
    parts = [float(each.epsilon) for each in mechanism.selections]
    assert sum(parts) == float(mechanism.loss.epsilon)
    used = [0.0, 0.0, 0.0]
    for one, other in neighbours(4, relation, rows):
        own, its = centres(one, mechanism), centres(other, mechanism)
        used[0] = max(used[0], widest(own, its))
        for centre in POINTS:
            own, its = scales(one, centre, mechanism), scales(other, centre, mechanism)
            used[1] = max(used[1], widest(own, its))
        for centre, scale in itertools.product((-8, 0, 1), (1, 3)):
            own, its = (pairs(each, centre, scale, mechanism) for each in (one, other))
            used[2] = max(used[2], widest(own, its))
    for part, most in zip(parts, used, strict=True):
        assert least * part < most <= part + 1e-9


def renyi(one: Law, other: Law, order: int) -> float:
    """The Rényi divergence of one law from another."""
    terms = (math.exp(order * one[key] - (order - 1) * other[key]) for key in one)
    return math.log(math.fsum(terms)) / (order - 1)


@pytest.mark.parametrize("order", [2, 8])
def test_each_law_is_as_concentrated_as_it_says(order: int) -> None:
    """D_α <= α·ρ, both ways; the ρ of all selections is that of the share, and little less."""
    mechanism = FoundEnds(1, EPSILON)
    rhos = [float(each.loss.rho) for each in mechanism.selections]
    for one, other in neighbours(3, ADD_REMOVE):
        laws = [(centres(each, mechanism), scales(each, 0, mechanism),
                 pairs(each, 0, 1, mechanism)) for each in (one, other)]  # fmt: skip
        for rho, own, its in zip(rhos, *laws, strict=True):
            assert max(renyi(own, its, order), renyi(its, own, order)) <= order * rho + 1e-9
    of_share = FoundEnds(1, MORE_IF_CONCENTRATED * EPSILON).loss.rho / (EPSILON**2 / 2)
    assert 0.97 < of_share <= 1


def test_what_is_drawn_has_the_law_of_its_weights() -> None:
    """Centre, scale and both rungs follow from the ends here; chi-square at 1 in 1,000."""
    rows, mechanism, runs = (-1, 0, 0, 2), FoundEnds(1, EPSILON), 4_000
    values, source = np.array(rows, dtype=np.int64), noise(3)
    steps, expected = rungs(GRID[1] - GRID[0]), Counter[tuple[int, int]]()
    for centre, chance in centres(rows, mechanism).items():
        inside = min(max(centre, GRID[0]), GRID[1])
        for scale, next_chance in scales(rows, inside, mechanism).items():
            for (up, down), last in pairs(rows, inside, scale, mechanism).items():
                far = [
                    steps[
                        min(
                            each + sum(steps[each] > t * scale for t in (4, 16, 64)), len(steps) - 1
                        )
                    ]
                    for each in (down, up)
                ]
                found = max(inside - far[0], GRID[0]), min(inside + far[1], GRID[1])
                expected[found] += math.exp(chance + next_chance + last)  # type: ignore[assignment]
    drawn = Counter(select_ends(values, GRID, mechanism, source) for _ in range(runs))
    common = [each for each, chance in expected.items() if chance * runs >= 10]
    seen = [drawn[each] for each in common]
    wanted = [float(expected[each] * runs) for each in common]
    rest = runs - sum(seen), runs - sum(wanted)
    assert len(common) > 4
    assert chisquare([*seen, rest[0]], [*wanted, rest[1]]).pvalue > 1e-3


@pytest.mark.parametrize("centre", [0, 1_000_000, -(2**24)])
def test_the_range_of_many_rows_is_found(centre: int) -> None:
    """Every value of 2,000 rows that spread evenly over 200 steps; at most 30 of them are cut."""
    values = np.sort(np.tile(np.arange(centre - 100, centre + 100), 10))
    low, high = select_ends(values, (-(2**53), 2**53), FoundEnds(1, Fraction(1, 4)), noise(5))
    assert low < high
    cut = int(((values < low) | (values > high)).sum())
    assert cut < 300
    assert high - low < 2_000


def test_of_zeros_alone_the_bounds_are_next_to_zero() -> None:
    values = np.zeros(2_000, dtype=np.int64)
    low, high = select_ends(values, (-(2**53), 2**53), FoundEnds(1, Fraction(1, 4)), noise(7))
    assert -8 <= low < high <= 8


def test_no_rows_have_bounds_as_well() -> None:
    """Nothing depends on there being rows: the same weights are drawn from."""
    low, high = select_ends(np.zeros(0, dtype=np.int64), GRID, FoundEnds(1, EPSILON), noise(9))
    assert GRID[0] <= low < high <= GRID[1]
