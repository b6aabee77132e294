"""Mechanisms draw from windows exactly as they do from all values in an array."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from random import Random
from unittest import mock

import numpy as np
import pytest

from dpdb.engines.protocol import RankWindow
from dpdb.engines.statistics import rank_windows
from dpdb.engines.statistics.gathered import Accumulator
from dpdb.engines.statistics.groups import sorted_by_group
from dpdb.engines.statistics.rank_windows import (
    AllValues,
    RefinedWindows,
    RungCounts,
    bucket_widths,
)
from dpdb.plan.expressions.expressions import ColumnRef
from dpdb.plan.ranges.grids import Grid
from dpdb.plan.ranges.statistics import Ranks
from dpdb.policy.budget import Neighbors
from dpdb.policy.catalog import Column, Kind
from dpdb.privacy.mechanisms.selections.bracket import Bracket
from dpdb.privacy.mechanisms.selections.exponential import Exponential
from dpdb.privacy.mechanisms.selections.halves import Halves
from dpdb.privacy.mechanisms.selections.walk import Walk
from dpdb.privacy.mechanisms.smooth import Smooth
from dpdb.privacy.noise.exponential import ranked_pieces, select_value, width_weights
from dpdb.privacy.noise.halves import select_quantiles
from dpdb.privacy.noise.smooth import statistic_and_scale
from dpdb.privacy.noise.sources import seeded
from dpdb.privacy.noise.thresholds import stops
from dpdb.privacy.sensitivity import Contribution
from dpdb.vectors.vector import Array, Bools

X = ColumnRef(Column("x", Kind.INTEGER))
ENDS = [(0, 9), (-90, -7), (-500, 3000), (-(2**53), 2**53)]
GRIDS = [Grid(Fraction(1), low, high) for low, high in ENDS]
FRACTIONS = [Fraction(1, 2), Fraction(1, 100), Fraction(123457, 10**6)]
CELLS = 3


@dataclass(frozen=True)
class Part:
    """Stands for the statistics of some rows."""

    groups: Array | None
    values: Array

    def counted_steps(self, _: Ranks) -> tuple[Array | None, Array]:
        return self.groups, self.values

    def all_steps(self, _: Ranks) -> tuple[Array | None, Array, Bools | None]:
        """With some rows that do not count, of any value; in groups they are in none."""
        if self.groups is not None:
            return self.groups, self.values, None
        values = np.repeat(self.values, 2)
        return None, values, np.arange(len(values)) % 2 == 0


def tables(grid: Grid, chance: Random) -> Iterator[list[int]]:
    """Few values and many, spread, heaped at one point, at both ends, or all alike."""
    yield []
    yield [grid.upper]
    for size in (2, 40, 300):
        heap = chance.randint(grid.lower, grid.upper)
        yield [chance.randint(grid.lower, grid.upper) for _ in range(size)]
        yield [heap] * size
        yield [chance.choice([grid.lower, grid.upper, heap]) for _ in range(size)]
        near = [chance.randint(-3, 3) + heap for _ in range(size)]
        yield [min(max(value, grid.lower), grid.upper) for value in near]


def pairs(
    accumulator: Accumulator, values: list[int], chance: Random, *, grouped: bool
) -> Iterator[tuple[Array, RankWindow]]:
    """All values of each cell, sorted, and what is kept of them after passes over their parts."""
    array = np.array(values, dtype=np.int64)
    groups = np.array([chance.choice([0, 1, 1, CELLS]) for _ in values], dtype=np.int64)
    cuts = sorted(chance.randint(0, len(values)) for _ in range(3))
    parts = [
        Part(own if grouped else None, some)
        for own, some in zip(np.split(groups, cuts), np.split(array, cuts), strict=True)
    ]
    finished, passes = False, 0
    while not finished:
        for part in parts:
            accumulator.add(part)  # type: ignore[arg-type]
        finished, passes = accumulator.settle(), passes + 1
    assert passes == 1 or isinstance(accumulator, RefinedWindows)
    cells = sorted_by_group(groups, array, CELLS) if grouped else [np.sort(array)]
    for cell, window in zip(cells, accumulator.result(), strict=True):
        assert isinstance(window, RankWindow)
        assert len(window) == len(cell)
        yield cell, window


@pytest.fixture(autouse=True)
def few_buckets() -> Iterator[None]:
    """So that there are several passes."""
    with mock.patch.object(rank_windows, "BUCKETS", 50):
        yield


@pytest.mark.parametrize("grouped", [False, True])
@pytest.mark.parametrize("grid", GRIDS)
@pytest.mark.parametrize("fraction", FRACTIONS)
def test_a_quantile_is_selected_alike(grid: Grid, fraction: Fraction, grouped: bool) -> None:
    """From the same pieces; and of many values only those within reach are kept."""
    chance, ends, most = Random(7), (grid.lower, grid.upper), 0
    selection = Exponential(Fraction(1), Fraction(20))
    for values in tables(grid, chance):
        made = RefinedWindows(
            Ranks(X, None, grid, fraction), CELLS if grouped else 1, selection.reach
        )
        for cell, window in pairs(made, values, chance, grouped=grouped):
            most = max(most, len(window.points))
            both = [ranked_pieces(each, ends, fraction, selection) for each in (cell, window)]
            for one, other in zip(*both, strict=True):
                assert one.tolist() == other.tolist()
            drawn = [
                select_value(each, ends, fraction, selection, seeded(3)) for each in (cell, window)
            ]
            assert drawn[0] == drawn[1]
    assert 3 < most <= 2 * selection.reach + 1


@pytest.mark.parametrize("grid", GRIDS)
@pytest.mark.parametrize("fraction", FRACTIONS)
def test_a_bracket_has_the_same_weights(grid: Grid, fraction: Fraction) -> None:
    """Around each released value, however far from the quantile it is."""
    chance = Random(7)
    bracket = Bracket(Fraction(1), Fraction(4), 0.95, grid.upper - grid.lower)
    assert bracket.rank_reach < 60
    for values in tables(grid, chance):
        made = RefinedWindows(Ranks(X, None, grid, fraction), 1, bracket.rank_reach)
        [(cell, window)] = pairs(made, values, chance, grouped=False)
        for centre in (grid.lower, grid.upper, 0, *cell[::9].tolist()):
            expected = width_weights(cell, centre, fraction, bracket)
            assert width_weights(window, centre, fraction, bracket) == expected


@pytest.mark.parametrize("fraction", [Fraction(0), Fraction(1)])
@pytest.mark.parametrize("grid", GRIDS)
@pytest.mark.parametrize("grouped", [False, True])
def test_a_walk_sees_the_same_numbers_beyond_each_rung(
    grid: Grid, fraction: Fraction, grouped: bool
) -> None:
    statistic, chance = Ranks(X, None, grid, fraction), Random(8)
    walk = Walk(1, Fraction(1), one_way=True)
    for values in tables(grid, chance):
        made = RungCounts(statistic, CELLS if grouped else 1)
        for cell, window in pairs(made, values, chance, grouped=grouped):
            rungs = np.array(statistic.rungs)
            for side in ("left", "right"):
                if (side == "left") == (rungs[0] > rungs[-1]):
                    assert (
                        window.searchsorted(rungs, side=side) == cell.searchsorted(rungs, side)
                    ).all()
            both = [stops([each], statistic.rungs, walk, seeded(4)) for each in (cell, window)]
            assert both[0] == both[1]


@pytest.mark.parametrize("grid", GRIDS)
@pytest.mark.parametrize("grouped", [False, True])
def test_halves_and_smooth_sensitivities_see_all_values(grid: Grid, grouped: bool) -> None:
    chance, ends = Random(9), (grid.lower, grid.upper)
    smooth = Smooth(Fraction(1, 2), Fraction(1), Fraction(1, 10**6))
    fractions = (Fraction(1, 10), Fraction(1, 2), Fraction(9, 10))
    halves = Halves(fractions, Fraction(3), Contribution(Neighbors.ADD_REMOVE, optional=True))
    for values in tables(grid, chance):
        made = AllValues(Ranks(X, None, grid, Fraction(1, 2)), CELLS if grouped else 1)
        for cell, window in pairs(made, values, chance, grouped=grouped):
            assert np.asarray(window).tolist() == cell.tolist()
            both = [select_quantiles(each, ends, halves, seeded(5)) for each in (cell, window)]
            assert both[0] == both[1]
            known = [statistic_and_scale(each, ends, smooth) for each in (cell, window)]
            assert known[0] == known[1]


def test_the_number_of_passes_follows_from_the_width_of_the_grid() -> None:
    assert bucket_widths(50, 50) == []
    assert bucket_widths(51, 50) == [2]
    assert bucket_widths(2500, 50) == [50]
    assert bucket_widths(2501, 50) == [51, 2]
    assert len(bucket_widths(2**54 + 1, 2**16)) + 1 == 4


def test_a_window_says_nothing_of_its_values() -> None:
    window = RankWindow(9, 3, np.array([17]), np.array([2]))
    assert repr(window) == "<sorted values>"
    assert [window[3], window[4]] == [17, 17]
    assert len(window[2:8]) == 6  # type: ignore[arg-type]
