"""Caps on what units add: the law of each selection, by enumeration of small tables.

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
from dpdb.privacy.mechanisms.caps import POWER, FoundCaps
from dpdb.privacy.mechanisms.ends import rungs
from dpdb.privacy.noise.ends import end_weights, scale_weights, select_caps
from tests.privacy.noise.test_ends import GRID, Law, Rows, neighbours, normed, widest
from tests.support.audited import noise
from tests.support.brute import ADD_REMOVE, REPLACE

STEPS = rungs(GRID[1])
EPSILON, OF_AVERAGES = Fraction(8), Fraction(2)
"""The ε of caps, and of those of averages, which have one selection."""


@cache
def scales(rows: Rows, mechanism: FoundCaps) -> Law:
    each = scale_weights(np.array(rows, dtype=np.int64), 0, STEPS, mechanism.selections[0])
    return normed(Counter(dict(zip(range(len(STEPS)), each, strict=True))))


@cache
def ends(rows: Rows, place: int, mechanism: FoundCaps) -> Law:
    """The law of both rungs, given that of the scale, which is both where no cap is selected."""
    if mechanism.of_averages:
        return {(place, place): 0.0}
    values, about = np.array(rows, dtype=np.int64), (0, STEPS[place])
    up, down = end_weights(values, about, STEPS, mechanism.selections[1], POWER)
    pairs = itertools.product(range(len(up)), range(len(down)))
    return normed(Counter({(i, j): up[i] * down[j] for i, j in pairs}))


@cache
def caps(rows: Rows, mechanism: FoundCaps) -> dict[tuple[int, int], float]:
    """The probability of each pair of caps that may be drawn."""
    chances: Counter[tuple[int, int]] = Counter()
    for place, chance in scales(rows, mechanism).items():
        assert isinstance(place, int)
        for rungs_of, last in ends(rows, place, mechanism).items():
            assert isinstance(rungs_of, tuple)
            more = 0 if mechanism.of_averages else 1
            up, down = (STEPS[min(each + more, len(STEPS) - 1)] for each in rungs_of)
            chances[max(-down, GRID[0]), min(up, GRID[1])] += math.exp(chance + last)  # type: ignore[assignment]
    return dict(chances)


@pytest.mark.parametrize("of_averages", [False, True])
@pytest.mark.parametrize("relation", [ADD_REMOVE, REPLACE])
def test_neighbours_change_each_law_by_its_part_of_epsilon(
    relation: Neighbors, of_averages: bool
) -> None:
    """At most by the part, and by .8 of it for some pair; what is drawn by all of ε at most."""
    epsilon = OF_AVERAGES if of_averages else EPSILON
    mechanism = FoundCaps(2 if relation is REPLACE else 1, epsilon, of_averages)
    parts = [float(each.epsilon) for each in mechanism.selections]
    assert sum(parts) == float(mechanism.loss.epsilon) == epsilon
    used, together = [0.0] * len(parts), 0.0
    for one, other in neighbours(4, relation):
        used[0] = max(used[0], widest(scales(one, mechanism), scales(other, mechanism)))
        for place in range(len(STEPS)) if parts[1:] else ():
            own, its = ends(one, place, mechanism), ends(other, place, mechanism)
            used[1] = max(used[1], widest(own, its))
        own_caps, its_caps = caps(one, mechanism), caps(other, mechanism)
        ratios = (abs(math.log(own_caps[each] / its_caps[each])) for each in own_caps)
        together = max(together, *ratios)
    for part, most in zip(parts, used, strict=True):
        assert 0.8 * part < most <= part + 1e-9
    assert together <= epsilon + 1e-9


def test_half_the_sensitivity_would_not_be_enough_under_replace() -> None:
    mechanism = FoundCaps(1, EPSILON)
    pairs = neighbours(4, REPLACE)
    most = max(widest(scales(a, mechanism), scales(b, mechanism)) for a, b in pairs)
    assert most > float(mechanism.selections[0].epsilon) * 1.2


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
    """Of 10,000 units with 8 rows and 5 with 1,000: 5 are fewer than 11/ε for each octave."""
    values = np.sort(np.array([8] * 10_000 + [1_000] * 5))
    drawn = [
        select_caps(values, (0, 2**20), FoundCaps(1, Fraction(5, 16)), noise(seed))
        for seed in range(20)
    ]
    assert all(low == 0 for low, _ in drawn)
    assert all(8 <= high <= 40 for _, high in drawn)
    many = np.sort(np.array([8] * 10_000 + [1_000] * 200))
    _, high = select_caps(many, (0, 2**20), FoundCaps(1, Fraction(5, 16)), noise(1))
    assert high >= 1_000


def test_no_units_have_caps_as_well() -> None:
    low, high = select_caps(np.zeros(0, dtype=np.int64), GRID, FoundCaps(1, EPSILON), noise(9))
    assert GRID[0] <= low <= 0 < high <= GRID[1]
