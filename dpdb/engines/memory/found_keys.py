"""The keys that are found in the data, and how many units have each of them."""

from __future__ import annotations

import numpy as np

from dpdb.engines.memory.groups import declared_codes
from dpdb.engines.memory.key_numbers import numbered, whole
from dpdb.engines.protocol import WORD, KeyCounts
from dpdb.plan.plan import Plan
from dpdb.vectors.evaluate import Frame, evaluate
from dpdb.vectors.vector import Array, Bools


def key_counts(
    plan: Plan, frame: Frame, rows: int, counted: Bools | None, owners: Array | None
) -> KeyCounts:
    """The keys of the rows that count, in their order, and the number of units of each.

    `owners` has the unit of each row; without it each row is one. A row counts for no key if it has
    no value of the declared keys beside them.
    """
    assert plan.found is not None
    inside = declared_codes(plan, frame, rows) < plan.declared_groups
    kept = np.flatnonzero(inside if counted is None else counted & inside)
    keys = [plan.keys[place] for place in plan.found.places]
    vectors = [whole(evaluate(key, frame), rows) for key in keys]
    groups, first = numbered(vectors, kept)
    if owners is not None:
        of_rows = owners[kept].astype(np.int64)
        number = int(of_rows.max(initial=0)) + 1
        groups = np.unique(groups * number + of_rows) // number
    counts = np.bincount(groups, minlength=len(first)).astype(WORD)
    return KeyCounts(counts, first, tuple(zip(vectors, (key.kind for key in keys), strict=True)))
