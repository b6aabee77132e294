"""The bracket: half-widths, the exact law of the selection, what it loses, and what it covers.

Weights are integers and one uniform integer decides, so probabilities are fractions that can be
written down. The loss and the coverage are found by enumeration: of all small tables, all their
neighbours, and all values that may have been released.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from random import Random

import numpy as np
import pytest

from dpdb.policy.budget import Neighbors
from dpdb.privacy import sensitivity
from dpdb.privacy.mechanisms.selections.bracket import Bracket, half_widths
from dpdb.privacy.noise.exponential import select_width, width_weights
from dpdb.privacy.noise.system import SystemNoise
from dpdb.privacy.sensitivity import Contribution
from tests.support.brute import ADD_REMOVE, REPLACE, multisets, neighbouring
from tests.support.fits import fit
from tests.support.selections import close, exponential, integers, largest_ratio

ALPHA = 1e-6
CONFIDENCE = 0.95
GRID = (0, 4)
FRACTIONS = [Fraction(1, 2), Fraction(1, 4), Fraction(9, 10)]


def bracket(fraction: Fraction, relation: Neighbors, epsilon: Fraction) -> Bracket:
    """The mechanism that the planner chooses for one cell of values on GRID."""
    change = sensitivity.rank(fraction, Contribution(relation, optional=True))
    return Bracket(change, epsilon, CONFIDENCE, GRID[1] - GRID[0])


def law(values: Sequence[int], centre: int, fraction: Fraction, chosen: Bracket) -> list[Fraction]:
    each = width_weights(integers(values), centre, fraction, chosen)
    assert all(isinstance(weight, int) and weight > 0 for weight in each)
    assert len(each) == len(chosen.widths)
    return [Fraction(weight, sum(each)) for weight in each]


def by_definition(
    values: Sequence[int], centre: int, fraction: Fraction, chosen: Bracket
) -> list[Fraction]:
    """P(j) ∝ exp(-η·dist(T, [s_(j-1), s_j])), by counting, with T in whole parts of a rank."""
    middle = fraction * (len(values) - 1)
    slacks = [
        min(
            middle - sum(value < centre - width for value in values),
            sum(value <= centre + width for value in values) - 1 - middle,
        )
        for width in chosen.widths[:-1]
    ]
    target = Fraction(math.ceil(fraction.denominator * chosen.target), fraction.denominator)
    lows, highs = [target, *slacks], [*slacks, target]
    distances = [
        max(Fraction(0), low - target, target - high) for low, high in zip(lows, highs, strict=True)
    ]
    each = [exponential(-min(distance * chosen.rate, Fraction(80))) for distance in distances]
    return [weight / sum(each) for weight in each]


def quantile_ends(values: Sequence[int], fraction: Fraction) -> tuple[int, int]:
    """The least and the greatest of the quantile as QUANTILE_CONT has it, and by its rank alone."""
    number, ordered = len(values), sorted(values)
    place = fraction * (number - 1)
    ends = {ordered[math.floor(place)], ordered[math.ceil(place)]}
    for value in range(GRID[0], GRID[1] + 1):
        below = sum(each < value for each in values)
        if below <= fraction * number <= below + values.count(value):
            ends.add(value)
    return min(ends), max(ends)


def test_half_widths_grow_by_the_root_of_two_and_end_with_the_grid() -> None:
    assert half_widths(0) == (0,)
    assert half_widths(1) == (0, 1)
    assert half_widths(20) == (0, 1, 2, 3, 4, 6, 8, 12, 16, 20)
    widest = half_widths(2**54)
    assert len(widest) < 120
    assert all(math.isclose(b / a, math.sqrt(2)) for a, b in pairwise(widest[60:-1]))


@pytest.mark.parametrize("relation", [ADD_REMOVE, REPLACE])
@pytest.mark.parametrize("fraction", FRACTIONS, ids=str)
@pytest.mark.parametrize("epsilon", [Fraction(1, 1000), Fraction(8)], ids=str)
def test_what_neighbours_lose_and_what_is_covered(
    fraction: Fraction, relation: Neighbors, epsilon: Fraction
) -> None:
    """Of all tables of up to three of five values, and all values that the interval is around."""
    chosen = bracket(fraction, relation, epsilon)
    assert chosen.loss.epsilon == epsilon
    tables, largest = multisets(5, 3), Fraction(1)
    for centre in range(GRID[0], GRID[1] + 1):
        laws = [law(values, centre, fraction, chosen) for values in tables]
        largest = max(largest, largest_ratio(laws, neighbouring(5, 3, relation)))
        for values, found in zip(tables, laws, strict=True):
            if not values:
                continue  # there is no quantile to be missed
            low, high = quantile_ends(values, fraction)
            missed = sum(
                chance
                for chance, width in zip(found, chosen.widths, strict=True)
                if centre - width > low or centre + width < high
            )
            assert missed <= 1 - Fraction(CONFIDENCE)
    assert largest <= exponential(epsilon)


@pytest.mark.parametrize("relation", [ADD_REMOVE, REPLACE])
def test_nearly_all_of_the_charge_is_used(relation: Neighbors) -> None:
    """By two heaps far apart, so that many half-widths have the same slack; and Δ is no larger."""
    fraction, wide = Fraction(1, 2), 10**9
    chosen = replace(bracket(fraction, relation, Fraction(1)), reach=wide)
    smaller = replace(chosen, sensitivity=chosen.sensitivity * Fraction(4, 5))
    removed = [] if relation is ADD_REMOVE else [500]
    largest = {}
    for each in (chosen, smaller):
        ratios = []
        for rows in range(12, 36):
            values = [500] * (rows // 2) + [10**8] * (rows - rows // 2)
            pair = [law([*table, *values], 500, fraction, each) for table in (removed, [wide])]
            ratios.append(largest_ratio(pair, neighbouring(1, 1, ADD_REMOVE)))
        largest[each] = max(ratios)
    assert exponential(Fraction(17, 20)) < largest[chosen] <= exponential(Fraction(1))
    assert largest[smaller] > exponential(Fraction(1))


@pytest.mark.parametrize("fraction", FRACTIONS, ids=str)
def test_the_law_is_the_defined_one(fraction: Fraction) -> None:
    chosen = bracket(fraction, ADD_REMOVE, Fraction(1))
    random = Random(2)
    for rows in (0, 1, 2, 30, 300):
        values = [random.choice((0, 2, 3, 3, 4)) for _ in range(rows)]
        for centre in (0, 3, 4):
            found = law(values, centre, fraction, chosen)
            close(found, by_definition(values, centre, fraction, chosen))


def test_draws_fit_the_law_and_no_other() -> None:
    values = list(range(60))
    fraction, source = Fraction(1, 2), SystemNoise(Random(6).randbytes)
    chosen = replace(bracket(fraction, ADD_REMOVE, Fraction(1)), reach=1000)
    table = integers(values)
    draws = [select_width(table, 30, fraction, chosen, source) for _ in range(4000)]
    for confidence, fits in ((CONFIDENCE, True), (0.5, False)):
        exact = law(values, 30, fraction, replace(chosen, confidence=confidence))
        assert (fit(draws, dict(enumerate(map(float, exact)))) > ALPHA) is fits


def test_as_many_half_widths_are_weighed_whatever_the_rows_are() -> None:
    """And a confidence near 1 or a tiny ε leaves weights that are whole and above zero."""
    for epsilon in (Fraction(1, 10**9), Fraction(10**4)):
        chosen = Bracket(Fraction(1, 2), epsilon, 1 - 1e-12, 2**54)
        for values in ([], [0], [2**53] * 1000, list(range(1000))):
            each = width_weights(np.array(values), 2**52, Fraction(1, 10**6), chosen)
            assert len(each) == len(chosen.widths)
            assert min(each) > 0
