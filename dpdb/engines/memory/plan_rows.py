"""The rows that a plan is worked out from."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dpdb.engines.memory.contribution_bounds import Units
from dpdb.engines.memory.counted_rows import counted_rows
from dpdb.engines.memory.groups import declared_codes
from dpdb.engines.memory.key_numbers import numbered, whole
from dpdb.engines.memory.statistics import Statistics
from dpdb.engines.protocol import WORD, KeyCounts
from dpdb.plan.plan import Plan
from dpdb.vectors.evaluate import Frame, evaluate
from dpdb.vectors.vector import Array


@dataclass(frozen=True, repr=False)
class PlanRows:
    """All rows of a plan's table, or those of some of its units."""

    frame: Frame
    rows: int
    units: Units | None
    """None where rows need not be capped any more."""
    owners: Array | None
    """The number of each row's unit; None where each row is one, or nothing looks at it."""

    def statistics(self, plan: Plan) -> Statistics:
        """What the rows come to."""
        return Statistics(plan, self.frame, self.rows, self.units, self.owners)

    def key_counts(self, plan: Plan) -> KeyCounts:
        """The keys of the rows that count, in their order, and the number of units of each.

        A row counts for no key if it has no value of the declared keys beside them.
        """
        assert plan.found is not None
        counted = counted_rows(plan, self.frame, self.rows, self.units)
        inside = declared_codes(plan, self.frame, self.rows) < plan.declared_groups
        kept = np.flatnonzero(inside if counted is None else counted & inside)
        keys = [plan.keys[place] for place in plan.found.places]
        vectors = [whole(evaluate(key, self.frame), self.rows) for key in keys]
        groups, first = numbered(vectors, kept)
        if self.owners is not None:
            owners = self.owners[kept].astype(np.int64)
            number = int(owners.max(initial=0)) + 1
            # Each pair of a key and a unit that there is counts once.
            groups = np.unique(groups * number + owners) // number
        units = np.bincount(groups, minlength=len(first)).astype(WORD)
        return KeyCounts(units, first, tuple(zip(vectors, (key.kind for key in keys), strict=True)))
