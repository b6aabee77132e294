"""The room of a unit, where rows have two owners: the law of the selection, by enumeration.

A table is a list of rows in the order of their hashes, each with its owners and its weight.
"""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from unittest import mock

import numpy as np
import pytest
from scipy.stats import chisquare

from dpdb.privacy.mechanisms.selections.found_room import FoundRoom
from dpdb.privacy.noise import ends
from dpdb.privacy.noise.ends import room_weights, select_bounds
from tests.support.audited import noise

Rows = list[tuple[tuple[int, ...], int]]


def filled(rows: Rows, room: int) -> int:
    """F, by the definition in `engines.units.filling`."""
    left: Counter[int] = Counter({unit: room for owners, _ in rows for unit in owners})
    total = 0
    for owners, weight in rows:
        part = min(weight, *(left[unit] for unit in owners))
        left.subtract(dict.fromkeys(owners, part))
        total += part
    return total


def logs(rows: Rows, mechanism: FoundRoom) -> list[float]:
    """The logarithm of the chance of each rung."""
    each = room_weights([filled(rows, mechanism.largest * t) for t in mechanism.rungs], mechanism)
    return [math.log(weight) - math.log(sum(each)) for weight in each]


def tables() -> Iterator[Rows]:
    """Tables of up to five units; the first was found by a search for a large change."""
    yield [((2, 3), 1), ((2, 3), 8), ((2, 3), 2), ((2, 3), 2), ((2, 4), 2), ((0, 3), 29),
           ((2,), 16), ((1, 4), 2)]  # fmt: skip
    draw = random.Random(1)
    for _ in range(400):
        units = range(draw.randint(2, 5))
        yield [
            (tuple({draw.choice(units), draw.choice(units)}), draw.choice((1, 2, 4, 8, 16, 30)))
            for _ in range(draw.randint(1, 8))
        ]


def used(mechanism: FoundRoom) -> float:
    """The most that a unit changes the chance of a rung, as a part of ε."""
    most = 0.0
    for rows in tables():
        whole = logs(rows, mechanism)
        for unit in {unit for owners, _ in rows for unit in owners}:
            without = logs([row for row in rows if unit not in row[0]], mechanism)
            most = max(most, *(abs(a - b) for a, b in zip(whole, without, strict=True)))
    return most / float(mechanism.epsilon)


def test_a_unit_changes_the_law_by_epsilon() -> None:
    mechanism = FoundRoom(Fraction(2), 32)
    assert mechanism.rungs == (1, 2, 4, 8, 16, 32)
    assert mechanism.loss.epsilon == 2
    assert 0.9 < used(mechanism) <= 1
    assert used(FoundRoom(Fraction(6), 11, largest=3)) <= 1


def test_scores_of_a_smaller_span_are_found() -> None:
    with mock.patch.object(ends, "PARTS", 4):
        assert used(FoundRoom(Fraction(2), 32)) > 1


def test_what_is_drawn_has_the_law_of_its_definition() -> None:
    """Chi-square at 1 in 1,000."""
    mechanism, sums, runs = FoundRoom(Fraction(1), 20, largest=2), (9, 18, 33, 60, 90, 95), 8_000
    rungs, eps = (1, 2, 4, 8, 16, 20), 1
    weights = [
        math.exp(-eps * (sums[min(at + 2, 5)] - sums[at]) / (5 * t * 2)) / t**2
        for at, t in enumerate(rungs)
    ]
    source, wanted = noise(3), Counter[int]()
    for at, weight in enumerate(weights):
        wanted[rungs[min(at + 1, 5)]] += runs * weight / sum(weights)  # type: ignore[assignment]
    values = np.array(sums)
    drawn = Counter(select_bounds(values, (0, 20), mechanism, source)[1] for _ in range(runs))
    assert min(wanted.values()) > 5
    assert chisquare([drawn[each] for each in wanted], [*wanted.values()]).pvalue > 1e-3


@pytest.mark.parametrize("units", [10, 300])
def test_of_few_units_a_room_is_low_and_of_those_needed_it_is_not(units: int) -> None:
    """Units that share each of 100 rows with one other."""
    mechanism = FoundRoom(Fraction(1, 5), 80)
    assert 10 < mechanism.rows_needed < 300
    sums, source = np.array([units * t // 2 for t in mechanism.rungs]), noise(5)
    rooms = [select_bounds(sums, (0, 80), mechanism, source)[1] for _ in range(500)]
    low = sum(room < 64 for room in rooms)
    assert low > 400 if units == 10 else low <= 5
