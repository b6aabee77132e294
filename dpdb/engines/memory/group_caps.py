"""At most so many groups of each privacy unit.

Of a unit with rows in more groups those stay that have the least keyed hashes. What is hashed are
the unit and the keys, as `row_hashes` says. Which groups these are is a function of the unit's rows
alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from dpdb.engines.memory.contribution_bounds import Units
from dpdb.engines.memory.hash_order import within_cap
from dpdb.engines.memory.key_numbers import numbered, whole
from dpdb.engines.memory.keys import NONE
from dpdb.engines.memory.row_hashes import HashedColumn, HashKey, row_hashes
from dpdb.plan.plan import Plan
from dpdb.vectors.columns import Codes, Numbers
from dpdb.vectors.evaluate import Frame, evaluate
from dpdb.vectors.vector import AnyVector, Bools, TextVector


def within_groups(plan: Plan, frame: Frame, units: Units, where: Bools | None, limit: int) -> Bools:
    """The rows for which `where` holds, in the at most `limit` groups that each unit keeps."""
    numbers = units.owners.numbers
    rows, owned = len(numbers), numbers != NONE
    kept = np.flatnonzero(owned if where is None else owned & where)
    vectors = [whole(evaluate(key, frame), rows) for key in plan.keys]
    groups, different = numbered(vectors, kept)
    number = max(len(different), 1)
    pairs, first, pair_of = np.unique(
        numbers[kept].astype(np.int64) * number + groups,
        return_index=True,
        return_inverse=True,
    )
    terms = [units.owner_terms, *(column.terms for column in _hashed(vectors, plan.sample_key))]
    stays = within_cap(
        pairs // number, limit, lambda places: row_hashes(terms, kept[first[places]])
    )
    passed = np.zeros(rows, dtype=np.bool_)
    passed[kept[stays[pair_of]]] = True
    return passed


def _hashed(vectors: Sequence[AnyVector], sample_key: str) -> list[HashedColumn]:
    """The keys of all rows, each by its place among them."""
    key = HashKey.of(sample_key)
    held = [
        Codes(vector.codes, vector.dictionary)
        if isinstance(vector, TextVector)
        else Numbers(vector.values, None, vector.null, 0)
        for vector in vectors
    ]
    return [
        HashedColumn(column, Fraction(1), key, key.place("key", str(at)))
        for at, column in enumerate(held)
    ]
