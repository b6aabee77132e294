"""The law of filling, enumerated: a unit that enters moves a sum by 0 … its room."""

import random
from array import array
from collections import Counter
from fractions import Fraction
from itertools import chain, product
from unittest.mock import patch

import numpy as np
import pytest

from dpdb.engines.statistics.filled_sums import FilledSums
from dpdb.engines.units.filling import SharedRows, fill
from dpdb.plan.expressions.expressions import Literal
from dpdb.plan.ranges.grids import Grid
from dpdb.plan.ranges.statistics import Total
from dpdb.policy.catalog import Kind

# A table is a list of rows in the order of their hashes: (owners, weight), or (owners, group,
# weight). Owners are "c5" for customer 5, "s5" for supplier 5.


def filled(rows, room):
    """F, by the loop that engines run."""
    names = {name: at for at, name in enumerate(room)}
    ends = [(names[owners[0]], names[owners[-1]]) for owners, _ in rows]
    left = array("q", room.values())
    return fill((a for a, _ in ends), (b for _, b in ends), (w for *_, w in rows), left)


def moves(rows, room, summed=filled):
    """For each unit by how much its rows move F."""
    whole = summed(rows, dict(room))
    for unit in {unit for owners, *_ in rows for unit in owners}:
        yield unit, whole - summed([row for row in rows if unit not in row[0]], dict(room))


def small_tables():
    """All tables of up to four rows of three units, in every order, with weights 1 and 2."""
    owners = [*(("a",), ("a", "b"), ("a", "c"), ("b", "c"))]
    for number in range(1, 5):
        yield from map(list, product(product(owners, (1, 2)), repeat=number))


def random_tables(number, seed, *, owners=2, most=5):
    """Tables of up to seven units, general and bipartite, and rooms that differ by kind."""
    draw = random.Random(seed)
    for _ in range(number):
        ids = range(draw.randint(2, 4))
        kinds = "cs" if draw.random() < 0.5 and owners == 2 else "p" * owners
        room = dict(zip("csp", (draw.randint(1, 4) for _ in "csp"), strict=True))
        rows = [
            (
                tuple(dict.fromkeys(f"{kind}{draw.choice(ids)}" for kind in kinds)),
                draw.randint(1, most),
            )
            for _ in range(draw.randint(1, 12))
        ]
        named = dict.fromkeys(chain.from_iterable(owners for owners, _ in rows))
        yield rows, {name: room[name[0]] for name in named}


def test_a_unit_moves_the_filled_sum_by_nothing_to_its_room():
    seen = set()
    tables = chain(
        ((rows, dict.fromkeys("abc", room)) for rows in small_tables() for room in (1, 2)),
        random_tables(4_000, seed=1),
    )
    for rows, room in tables:
        for unit, moved in moves(rows, room):
            assert 0 <= moved <= room[unit], (rows, room, unit)
            seen.add((moved, room[unit]))
    assert {(0, 2), (2, 2), (0, 4), (4, 4)} <= seen  # both ends are reached


def _all_or_nothing(rows, room):
    total = 0
    for owners, weight in rows:
        if all(room[unit] >= weight for unit in owners):
            total += weight
            for unit in owners:
                room[unit] -= weight
    return total


def _first_of_each(rows, room):
    total, seen = 0, Counter()
    for owners, _ in rows:
        seen.update(owners)
        total += all(seen[unit] <= room[unit] for unit in owners)
    return total


def _small_units(rows, room):
    sizes = Counter(unit for owners, _ in rows for unit in owners)
    return sum(all(sizes[unit] <= room[unit] for unit in owners) for owners, _ in rows)


def _of_any_number(rows, room):
    total = 0
    for owners, weight in rows:
        part = min(weight, *(room[unit] for unit in owners))
        total += part
        for unit in owners:
            room[unit] -= part
    return total


def _filled_at_load(rows, room):
    left, held = dict(room), []
    for owners, weight in rows:
        if all(left[unit] for unit in owners):
            held.append((owners, weight))
            left.update((unit, left[unit] - 1) for unit in owners)
    return filled([(owners, 1) for owners, weight in held if weight == 1], room)


def _merged(rows, room):
    """Customer 5 and supplier 5 as one unit; only the rows of one of them are taken away."""
    left = {unit[1:]: room[unit] for unit in room}
    return filled([(tuple(dict.fromkeys(u[1:] for u in owners)), w) for owners, w in rows], left)


@pytest.mark.parametrize(
    ("wrong", "tables"),
    [
        pytest.param(_all_or_nothing, {}, id="sums, all or nothing"),
        pytest.param(_first_of_each, {"most": 1}, id="the first rows of each owner"),
        pytest.param(_small_units, {"most": 1}, id="units above the cap are left out"),
        pytest.param(_of_any_number, {"owners": 3}, id="three owners"),
        pytest.param(_filled_at_load, {"most": 2}, id="rows held by filling, then a filter"),
        pytest.param(_merged, {}, id="equal ids of two kinds are one unit"),
    ],
)
def test_the_enumeration_finds_rules_that_do_not_hold(wrong, tables):
    found = [
        moved
        for rows, room in random_tables(3_000, seed=2, **tables)
        for unit, moved in moves(rows, room, wrong)
        if not 0 <= moved <= room[unit]
    ]
    assert found


CELLS = 3


def _grouped_tables(number, seed):
    draw = random.Random(seed)
    for rows, room in random_tables(number, seed):
        yield [(owners, draw.randrange(CELLS), weight) for owners, weight in rows], room


def _sums(rows, room, cells=CELLS):
    """The rows as an engine has them, in the order of the list, and the rooms of both kinds."""
    names = sorted(room, key=lambda name: name[0] == "s")
    numbers = {name: at for at, name in enumerate(names)}
    first, second = (np.array([numbers[o[at]] for o, *_ in rows], np.int32) for at in (0, -1))
    before = sum(name[0] != "s" for name in names) % len(names)
    shared = SharedRows(first, second, before, len(names), lambda at: at.astype(np.uint64))
    groups = np.array([group for _, group, _ in rows])
    return FilledSums(shared, groups, cells), tuple(room[name] for name in (names[0], names[-1]))


def _vector(rows, room):
    """F of each cell, each filled apart, by the engines' own arrays."""
    sums, rooms = _sums(rows, room)
    weights = np.array([weight for *_, weight in rows])
    # The greatest value of this grid is 1, so that rooms are as they are given.
    statistic = Total(Literal(1, Kind.INTEGER), None, Grid(Fraction(1), 0, 1), rooms=rooms)
    return sums.total(np.ones(len(rows), np.bool_), weights, statistic)


def _one_filling(rows, room):
    sums = np.zeros(CELLS, np.int64)
    for owners, group, weight in rows:
        part = min(weight, *(room[unit] for unit in owners))
        sums[group] += part
        for unit in owners:
            room[unit] -= part
    return sums


def _farthest(summed):
    """The most that a unit moves all cells together, in rooms for each cell that it is in."""
    worst = 0.0
    for rows, room in _grouped_tables(2_000, seed=3):
        for unit, moved in moves(rows, room, summed):
            own = len({group for owners, group, _ in rows if unit in owners})
            worst = max(worst, np.abs(moved).sum() / (own * room[unit]))
    return worst


def test_each_cell_filled_apart_moves_by_a_room_for_each_cell_of_the_unit():
    assert _farthest(_vector) == 1
    for rows, room in _grouped_tables(200, seed=4):
        apart = [
            filled([(o, w) for o, g, w in rows if g == cell], dict(room)) for cell in range(CELLS)
        ]
        assert _vector(rows, room).tolist() == apart


def test_one_filling_for_all_cells_moves_by_more():
    assert _farthest(_one_filling) > 1


def test_rows_that_nobody_owns_or_that_do_not_count_take_no_room():
    sums, _ = _sums([(("a", "b"), 0, 1)] * 4, {"a": 1, "b": 1}, 1)
    sums.shared.first[0] = -1
    counted = np.array([True, False, True, True])
    assert [sums.count(counted, (room,)).tolist() for room in (5, 1)] == [[2], [1]]


def test_a_row_in_the_last_group_is_one_step_more():
    """Groups without a row are not gone through: a unit could add a million of them."""
    steps = []

    def run_through(_, runs, *__):
        steps.append(len([*runs]))
        return [0] * steps[-1]

    for last in (0, 10**6):
        rows = [(("a", "b"), group, 1) for group in (0, 0, last)]
        sums, rooms = _sums(rows, {"a": 2, "b": 2}, 10**6 + 1)
        with patch.object(SharedRows, "sums", run_through):
            sums.count(np.ones(3, np.bool_), rooms)
    assert steps == [1, 2]
