"""Combinations of values, each with a number."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dpdb.engines.memory.coded_values import identities
from dpdb.vectors.vector import AnyVector, Array, TextVector, Vector, distinct


def whole(vector: AnyVector, rows: int) -> AnyVector:
    """The vector with a value for each row, also if it is a constant."""
    if isinstance(vector, TextVector):
        return TextVector(np.broadcast_to(vector.codes, rows), vector.dictionary)
    null = None if vector.null is None else np.broadcast_to(vector.null, rows)
    return Vector(np.broadcast_to(vector.values, rows), null)


def numbered(vectors: Sequence[AnyVector], kept: Array) -> tuple[Array, Array]:
    """For each row kept the number of its combination of values, and a row of each of these.

    Combinations are numbered in their order, by the first of the vectors first, with NULL last.
    """
    numbers, first = np.zeros(len(kept), dtype=np.int64), kept[:1]
    for vector in vectors:
        different, places = distinct(identities(vector)[kept])
        if vector.null is not None:
            places = np.where(vector.null[kept], len(different), places)
        pairs = numbers * (len(different) + 1) + places
        _, index, numbers = np.unique(pairs, return_index=True, return_inverse=True)
        first = kept[index]
    return numbers, first
