"""Rows are sorted by all that decides, though most of them are by less."""

from __future__ import annotations

import numpy as np

from dpdb.engines.memory.hash_order import hash_order


def test_hashes_may_differ_in_any_bit() -> None:
    """Some are equal in one half, or in both, and then what breaks ties decides."""
    chance = np.random.default_rng(7)
    bits = np.array([0, 1, 2**31, 2**32, 2**63], dtype=np.uint64)
    units = chance.choice([0, 1, 2, 2**31 - 1], 4_000).astype(np.int32)
    first, last = (chance.choice(bits, (2, 4_000)) | chance.choice(bits, (2, 4_000)))[:2]
    tied = chance.random(4_000)
    order = hash_order(units, (first, last, tied))
    assert order.tolist() == np.lexsort((tied, last, first, units)).tolist()


def test_without_hashes_rows_are_sorted_by_units() -> None:
    units = np.random.default_rng(8).integers(0, 50, 1_000)
    assert (np.diff(units[hash_order(units, ())]) >= 0).all()
