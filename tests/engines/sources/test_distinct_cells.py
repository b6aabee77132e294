"""Distinct cells are told apart by all of their bytes, however they are hashed and cut in blocks."""

from __future__ import annotations

from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from dpdb.engines.sources.cells.distinct import DistinctCells
from dpdb.engines.sources.cells.words import PackedCells
from tests.support.csv_files import cells_of


def the_same_hash(words):
    return np.zeros(len(words.counts), dtype=np.uint64)


def written_of(distinct):
    """The bytes of all cells by their numbers."""
    return distinct.cells(np.arange(len(distinct))).written()


# Lengths around those of one, two and three words, and bytes that differ in one place.
RAWS = st.tuples(st.integers(0, 34), st.integers(0, 33), st.sampled_from([0, 1, 0x80, 0xFF])).map(
    lambda case: bytes(case[2] * (place == case[1]) for place in range(case[0]))
)
BLOCKS_OF_CELLS = st.lists(st.lists(RAWS | st.binary(max_size=3), max_size=20), max_size=4)


@settings(max_examples=40, deadline=None)
@given(BLOCKS_OF_CELLS, st.booleans())
@example([[b"", b"\0", b"\0\0"], [b"\0" * 8, b"\0" * 16, b"\0" * 17, b""]], True)
@example([[b"a" * 24 + b"b" * 16, b"c" * 24 + b"b" * 16]], True)
def test_cells_share_a_number_where_all_their_bytes_are_the_same(blocks, collide):
    distinct = DistinctCells()
    hashes = the_same_hash if collide else PackedCells.hashes
    with patch.object(PackedCells, "hashes", hashes):
        numbers = [distinct.numbers(cells_of(raws)).tolist() for raws in blocks]
    written = written_of(distinct)
    found = [[written[number] for number in block] for block in numbers]
    assert found == blocks
    assert len(distinct) == len({raw for raws in blocks for raw in raws})


@pytest.mark.parametrize("size", [1, 7, 10_000])
def test_many_cells(size):
    """As many as make the table grow several times."""
    distinct = DistinctCells()
    raws = [str(number).encode().rjust(size, b"x") for number in range(5000 if size < 10 else 50)]
    for start in range(0, len(raws), 700):
        part = raws[start : start + 700]
        numbers = distinct.numbers(cells_of([*part, *raws[:5], *part]))
        written = written_of(distinct)
        assert [written[number] for number in numbers.tolist()] == [*part, *raws[:5], *part]
    assert sorted(written_of(distinct)) == sorted(raws)
