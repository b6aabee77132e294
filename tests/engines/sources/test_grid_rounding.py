"""Integers onto the grid: where the doubles nearest to their multiples are put."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from dpdb.engines.sources.cells.grids import grid_of
from dpdb.policy.catalog import Kind
from tests.support.csv_files import anywhere, ordinal

ENDS = st.integers(-(2**51) * 1000, 2**51 * 1000) | st.integers(-9_000, 9_000)
WORDS = st.integers(-(2**63), 2**63 - 1) | st.integers(-20, 20)


@given(ENDS, ENDS, st.sampled_from(["1", "0.01", "0.000001"]), st.lists(WORDS), st.data())
@settings(anywhere, max_examples=80)
def test_multiples_are_clamped_to_what_their_doubles_are(one, other, step, words, data):
    """Bounds are anywhere between two steps, and so far from zero as they may be."""
    size = Fraction(step)
    low, high = sorted((one, other))
    lower, upper = low * size / 1000, high * size / 1000 + size
    grid = grid_of(ordinal(Kind.NUMBER, lower, upper, step=step))
    assert grid is not None
    near = [end + data.draw(st.integers(-2, 2)) for end in (grid.lowest, grid.highest)]
    multiples = np.array([*words, *near], dtype=np.int64)
    doubles = np.array([float(word * size) for word in multiples.tolist()])
    assert grid.holds_multiples(size) == (max(abs(grid.lowest), abs(grid.highest)) <= 2**51)
    if grid.holds_multiples(size):
        assert grid.clamped(multiples).tolist() == grid.units(doubles).tolist()
        assert grid.clamped(multiples).dtype == grid.dtype
    assert not grid.holds_multiples(size / 10)


def test_a_grid_can_lie_outside_the_type_of_the_integers():
    grid = grid_of(ordinal(Kind.INTEGER, -900, -300))
    assert grid is not None
    assert grid.clamped(np.array([7, 255], dtype=np.uint8)).tolist() == [-300, -300]
