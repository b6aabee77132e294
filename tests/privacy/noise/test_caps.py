"""Caps on what units add: the law of the selection, by enumeration of small tables.

A table is the numbers of its units here, whatever rows they come from: one unit, one number.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from fractions import Fraction
from functools import cache

import numpy as np
import pytest
from scipy.stats import chisquare

from dpdb.policy.budget import Neighbors
from dpdb.privacy.mechanisms.selections.caps import FoundCaps
from dpdb.privacy.mechanisms.selections.ends import rungs
from dpdb.privacy.noise.ends import average_weights, end_weights, select_caps
from tests.privacy.noise.test_ends import GRID, Law, Rows, neighbours, normed, widest
from tests.support.audited import noise
from tests.support.brute import ADD_REMOVE, REPLACE

STEPS = rungs(GRID[1])
EPSILON, OF_AVERAGES = Fraction(8), Fraction(2)
"""The ε of caps, and of those of averages."""


@cache
def places(rows: Rows, mechanism: FoundCaps) -> Law:
    """The law of both rungs, up and down; of averages they are one."""
    values, (selecting,) = np.array(rows, dtype=np.int64), mechanism.selections
    if mechanism.of_averages:
        each = average_weights(values, STEPS, selecting)
        return normed(Counter({(at, at): weight for at, weight in enumerate(each)}))
    up, down = end_weights(values, (0, 1), STEPS, selecting)
    pairs = itertools.product(range(len(up)), range(len(down)))
    return normed(Counter({(i, j): up[i] * down[j] for i, j in pairs}))


@cache
def caps(rows: Rows, mechanism: FoundCaps) -> dict[tuple[int, int], float]:
    """The probability of each pair of caps that may be drawn."""
    chances: Counter[tuple[int, int]] = Counter()
    for rungs_of, chance in places(rows, mechanism).items():
        assert isinstance(rungs_of, tuple)
        more = 0 if mechanism.of_averages else 1
        up, down = (STEPS[min(each + more, len(STEPS) - 1)] for each in rungs_of)
        chances[max(-down, GRID[0]), min(up, GRID[1])] += math.exp(chance)  # type: ignore[assignment]
    return dict(chances)


@pytest.mark.parametrize("of_averages", [False, True])
@pytest.mark.parametrize("relation", [ADD_REMOVE, REPLACE])
def test_neighbours_change_the_law_by_epsilon(relation: Neighbors, of_averages: bool) -> None:
    """At most by ε, and by .8 of it for some pair; what is drawn by no more."""
    epsilon = OF_AVERAGES if of_averages else EPSILON
    mechanism = FoundCaps(2 if relation is REPLACE else 1, epsilon, of_averages)
    assert mechanism.loss.epsilon == epsilon
    used = together = 0.0
    for one, other in neighbours(4, relation):
        used = max(used, widest(places(one, mechanism), places(other, mechanism)))
        own_caps, its_caps = caps(one, mechanism), caps(other, mechanism)
        ratios = (abs(math.log(own_caps[each] / its_caps[each])) for each in own_caps)
        together = max(together, *ratios)
    assert 0.8 * epsilon < used <= epsilon + 1e-9
    assert together <= epsilon + 1e-9


@pytest.mark.parametrize("of_averages", [False, True])
def test_half_the_sensitivity_would_not_be_enough_under_replace(of_averages: bool) -> None:
    mechanism = FoundCaps(1, EPSILON, of_averages)
    pairs = neighbours(4, REPLACE)
    most = max(widest(places(a, mechanism), places(b, mechanism)) for a, b in pairs)
    assert most > EPSILON * 1.2


@pytest.mark.parametrize("of_averages", [False, True])
def test_what_is_drawn_has_the_law_of_its_weights(of_averages: bool) -> None:
    """Chi-square at 1 in 1,000."""
    rows, runs, source = (-2, 0, 1, 8), 8_000, noise(3)
    mechanism = FoundCaps(1, OF_AVERAGES if of_averages else EPSILON, of_averages)
    expected = caps(rows, mechanism)
    values = np.array(rows, dtype=np.int64)
    drawn = Counter(select_caps(values, GRID, mechanism, source) for _ in range(runs))
    assert drawn.keys() <= expected.keys()
    common = [each for each, chance in expected.items() if chance * runs >= 10]
    seen = [drawn[each] for each in common]
    wanted = [expected[each] * runs for each in common]
    rest = runs - sum(seen), runs - sum(wanted)
    tail = rest[1] > 1e-6
    assert len(common) > 2
    pair = ([*seen, rest[0]], [*wanted, rest[1]]) if tail else (seen, wanted)
    assert chisquare(*pair).pvalue > 1e-3


def test_a_cap_stops_where_few_units_are_left() -> None:
    """Of 10,000 units with 8 rows and 5 with 1,000: 5 are fewer than 17/ε for each octave."""
    values = np.sort(np.array([8] * 10_000 + [1_000] * 5))
    drawn = [
        select_caps(values, (0, 2**20), FoundCaps(1, Fraction(1, 4)), noise(seed))
        for seed in range(20)
    ]
    assert all(low == 0 for low, _ in drawn)
    assert all(8 <= high <= 40 for _, high in drawn)
    many = np.sort(np.array([8] * 10_000 + [1_000] * 200))
    _, high = select_caps(many, (0, 2**20), FoundCaps(1, Fraction(1, 4)), noise(1))
    assert high >= 1_000


@pytest.mark.parametrize("of_averages", [False, True])
def test_a_cap_of_few_units_is_low_rather_than_high(of_averages: bool) -> None:
    """Of 60 units with 8 rows, far fewer than are needed: its mean square stays small."""
    values, mechanism = np.full(60, 8), FoundCaps(1, Fraction(1, 16), of_averages, 1_000)
    assert mechanism.rows_needed > 600
    drawn = [select_caps(values, (0, 1_000), mechanism, noise(seed))[1] for seed in range(200)]
    assert np.sqrt(np.mean(np.square(drawn))) < 16
    many, enough = np.full(mechanism.rows_needed, 1_000), range(100)
    found = [select_caps(many, (0, 1_000), mechanism, noise(seed))[1] for seed in enough]
    assert sum(cap < 500 for cap in found) <= 2


def test_no_units_have_caps_as_well() -> None:
    low, high = select_caps(np.zeros(0, dtype=np.int64), GRID, FoundCaps(1, EPSILON), noise(9))
    assert GRID[0] <= low <= 0 < high <= GRID[1]
