"""The keys that are found in the data, and how many units have each of them."""

from __future__ import annotations

import numpy as np

from dpdb.engines.memory.contribution_bounds import Units
from dpdb.engines.memory.counted_rows import counted_rows
from dpdb.engines.memory.groups import declared_codes
from dpdb.engines.memory.key_numbers import numbered, whole
from dpdb.engines.protocol import WORD, KeyCounts
from dpdb.plan.plan import Plan
from dpdb.vectors.evaluate import Frame, evaluate
from dpdb.vectors.vector import Array

_UNITS = np.int64(2**31)
"""More than there are numbers of units."""


def key_counts(
    plan: Plan, frame: Frame, rows: int, units: Units | None, owners: Array | None
) -> KeyCounts:
    """The keys of the rows that count, in their order, and the number of units of each.

    `units` cap the rows, where that is not done yet; `owners` has the number of each row's unit,
    and is None where each row is one.

    A row counts for no key if it has no value of the declared keys beside them.
    """
    assert plan.found is not None
    counted, declared = counted_rows(plan, frame, rows, units), declared_codes(plan, frame, rows)
    inside = declared < plan.declared_groups
    kept = np.flatnonzero(inside if counted is None else counted & inside)
    keys = [plan.keys[place] for place in plan.found.places]
    vectors = [whole(evaluate(key, frame), rows) for key in keys]
    groups, first = numbered(vectors, kept)
    if owners is not None:
        pairs = np.unique(groups * _UNITS + owners[kept])
        groups = pairs // _UNITS
    counts = np.bincount(groups, minlength=len(first)).astype(WORD)
    return KeyCounts(counts, first, tuple(zip(vectors, (key.kind for key in keys), strict=True)))
