"""The rows at which sorted rows change."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from dpdb.vectors.vector import Array, Bools


def changes(keys: Iterable[Array], rows: int) -> Bools:
    """Which of so many rows is the first, or differs in a key from the one before.

    Those are best taken by `compress`: what has such an array as an index takes several times as
    long where rows change now and then.
    """
    new = np.zeros(rows, dtype=np.bool_)
    new[:1] = True
    for key in keys:
        new[1:] |= key[1:] != key[:-1]
    return new
