"""Rows are sorted by all that decides, though most of them are by less."""

from __future__ import annotations

import numpy as np

from dpdb.engines.units.caps import hash_order, within_cap
from dpdb.vectors.vector import Array


def test_hashes_may_differ_in_any_bit() -> None:
    """Some are equal in one half, or in both, and then rows are in their order."""
    chance = np.random.default_rng(7)
    bits = np.array([0, 1, 2**31, 2**32, 2**63], dtype=np.uint64)
    units = chance.choice([0, 1, 2, 2**31 - 1], 4_000).astype(np.int32)
    hashes = chance.choice(bits, 4_000) | chance.choice(bits, 4_000)
    order = hash_order(units, hashes)
    assert order.tolist() == np.lexsort((np.arange(4_000), hashes, units)).tolist()


def test_those_with_the_least_hashes_stay_and_the_first_of_those_with_the_same() -> None:
    """Of units that have too many rows, and hashes are asked for no others."""
    units = np.array([3, 0, 3, 0, 3, 3])
    hashes = np.array([9, 9, 7, 9, 7, 7], dtype=np.uint64)
    asked = list[int]()

    def hashes_of(rows: Array) -> Array:
        asked.extend(rows.tolist())
        return hashes[rows]

    assert within_cap(units, 2, hashes_of).tolist() == [False, True, True, True, True, False]
    assert asked == [0, 2, 4, 5]
