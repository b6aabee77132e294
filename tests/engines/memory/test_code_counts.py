"""Codes that are counted one by one: how often each is there, and which there are in each cell."""

from __future__ import annotations

import numpy as np
import pytest

from dpdb.engines.values.coded_values import CodedValues, different, different_among_few
from dpdb.engines.values.exact_sums import count_codes

RNG = np.random.default_rng(1)


@pytest.mark.parametrize("rows", [0, 9, 2**16 + 1, 2**17, 2**17 + 1])
@pytest.mark.parametrize("number", [1, 3, 255, 256])
def test_bytes_are_counted_as_other_codes_are(rows, number):
    """In several blocks; of an odd number of rows none is left out."""
    codes = RNG.integers(0, number, rows).astype(np.uint8)
    codes[-1:] = number - 1
    counted = count_codes(codes, number)
    assert counted.tolist() == count_codes(codes.astype(np.int64), number).tolist()
    assert counted.tolist() == [np.count_nonzero(codes == code) for code in range(number)]


def test_bytes_need_not_lie_side_by_side():
    codes = np.broadcast_to(np.uint8(7), 2**17)
    assert count_codes(codes, 9).tolist() == [*[0] * 7, 2**17, 0]


@pytest.mark.parametrize("cells", [None, 1, 2, 200])
@pytest.mark.parametrize(
    ("low", "high", "held"),
    [(-60, 60, np.int8), (-100, 27, np.int8), (250, 255, np.uint8), (10**12, 10**12 + 9, np.int64)],
)
def test_different_values_of_a_small_range(low, high, held, cells):
    """They are those that sorting finds, also where a narrow type wraps around on the way."""
    codes = RNG.integers(low, high, 500, endpoint=True).astype(held)
    codes[:2] = low, high
    counted = RNG.random(500) < 0.1
    counted[:2] = True
    groups = None if cells is None else RNG.integers(0, cells, 500, endpoint=True)
    number = cells or 1
    few = different_among_few(CodedValues(codes, None, (low, high)), groups, counted, number)
    those = None if groups is None else groups[counted]
    found = different(those, codes[counted], number, None)
    assert few.cells.tolist() == found.cells.tolist()
    assert few.codes.tolist() == found.codes.tolist()
