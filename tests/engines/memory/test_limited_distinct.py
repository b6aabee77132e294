"""Values that units take in turn: how far one unit changes their number."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from itertools import combinations, permutations, product

import numpy as np
import pytest

from dpdb.engines.statistics.limited_distinct import UnitValues, taken

List = tuple[int, ...]
VALUES = range(3)
LISTS: list[List] = [own for size in range(4) for own in permutations(VALUES, size)]


def numbers_after(units: Sequence[List], most: int) -> list[int]:
    """D_0 … D_most of units in this order, each with its values in order."""
    ends = np.cumsum([len(own) for own in units]).tolist()
    values = np.array([value for own in units for value in own], dtype=np.int64)
    passes = [each for each in taken(values, ends, 8) if each]
    return [sum(each <= p for each in passes) for p in range(most + 1)]


def without_and_with(units: Sequence[List], place: int, most: int) -> Iterator[tuple[int, int]]:
    """For each number of passes, D without the unit at a place, and with it."""
    others = [own for at, own in enumerate(units) if at != place]
    return zip(numbers_after(others, most), numbers_after(units, most), strict=True)


def random_tables() -> Iterator[list[List]]:
    chance = random.Random(1)
    for _ in range(3_000):
        number = chance.randint(1, 6)
        yield [tuple(chance.sample(range(8), chance.randint(0, 6))) for _ in range(number)]


def test_one_unit_changes_each_number_by_a_value_a_pass() -> None:
    """Every table of three units and three values, and larger ones; the unit in every place."""
    changed, moved = set(), set()
    for units in [*product(LISTS, repeat=3), *random_tables()]:
        for place in range(len(units)):
            pairs = list(without_and_with(units, place, 8))
            changed |= {(p, after - before) for p, (before, after) in enumerate(pairs)}
            for limit in range(1, 5):
                (one, other), (two, more) = pairs[limit], pairs[2 * limit]
                moved.add((limit, (more - other) - (two - one)))
    assert all(0 <= change <= p for p, change in changed)
    assert all(-limit <= change <= limit for limit, change in moved)
    assert {(0, 0), (1, 0), (1, 1), (2, 2), (3, 3)} <= changed
    assert {(1, -1), (1, 1), (2, -2), (2, 2)} <= moved


@pytest.mark.parametrize("cells", [1, 3])
def test_rows_in_any_order_and_parts_have_the_same_numbers(cells: int) -> None:
    chance = np.random.default_rng(2)
    owners, values = chance.integers(0, 40, 900), chance.integers(0, 90, 900).astype(np.uint64)
    groups = chance.integers(0, cells, 900)
    limits = (1, 2, 3, 4, 30)
    found = UnitValues.of(owners, groups, values).per_cell(limits, cells)
    for seed in range(3):
        order = np.random.default_rng(seed).permutation(900)
        named = chance.permutation(40)[owners]
        parts = [
            UnitValues.of(named[rows], groups[rows], values[rows])
            for half in (0, 1)
            for rows in [order[named[order] % 2 == half]]
        ]
        assert (UnitValues.together(parts).per_cell(limits, cells) == found).all()
    pairs = {*zip(groups.tolist(), values.tolist(), strict=True)}
    assert found[:, -1].tolist() == [sum(cell == at for cell, _ in pairs) for at in range(cells)]


def test_groups_change_together_by_no_more_than_the_passes() -> None:
    """Some rows of each of six units; one of them leaves."""
    reached = 0
    for seed in range(400):
        chance = np.random.default_rng(seed)
        owners, groups = chance.integers(0, 6, 24), chance.integers(0, 3, 24)
        values = chance.integers(0, 4, 24).astype(np.uint64)
        limits = (1, 2, 3, 4)
        every = UnitValues.of(owners, groups, values).per_cell(limits, 3)
        rows = np.flatnonzero(owners != 0)
        fewer = UnitValues.of(owners[rows], groups[rows], values[rows]).per_cell(limits, 3)
        change = (every - fewer).sum(axis=0)
        assert (every >= fewer).all()
        assert (change <= limits).all()
        reached = max(reached, int(change[1]))
    assert reached == 2


def test_nobody_has_values() -> None:
    nothing = np.zeros(0, dtype=np.int64)
    found = UnitValues.of(nothing, None, nothing.astype(np.uint64)).per_cell((1, 2), 2)
    assert found.tolist() == [[0, 0], [0, 0]]


def test_equal_units_are_as_good_as_each_other() -> None:
    for own in combinations(range(4), 2):
        owners = np.array([0, 0, 1, 1])
        values = np.array([*own, *own], dtype=np.uint64)
        assert UnitValues.of(owners, None, values).per_cell((1, 2), 1).tolist() == [[2, 2]]
