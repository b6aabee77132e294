"""Rows in the order of their hashes, unit by unit."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dpdb.vectors.vector import Array

_HALF = np.uint64(32)
"""Half of the bits of a hash; a unit's number takes no more."""


def hash_order(units: Array, keys: Sequence[Array]) -> Array:
    """How to sort rows by the number of their unit, and then by `keys`.

    The first of the keys is the beginning of a hash, of 64 bits. So nearly all rows are told apart
    by half of these and the unit, which are one number: sorting by that takes a tenth of the time.
    """
    nearly = units.astype(np.uint64) << _HALF
    if not keys:
        return np.argsort(nearly)
    nearly |= keys[0] >> _HALF
    order = np.argsort(nearly)
    nearly = nearly[order]
    alike = np.zeros(len(order) + 1, dtype=np.bool_)
    alike[1:-1] = nearly[1:] == nearly[:-1]
    places = np.flatnonzero(alike[1:] | alike[:-1])
    rows = order[places]
    # The last of the keys is the first to be sorted by.
    decided = np.lexsort((*(key[rows] for key in reversed(keys)), nearly[places]))
    order[places] = rows[decided]
    return order
