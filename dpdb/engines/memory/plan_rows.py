"""The rows that a plan is worked out from."""

from __future__ import annotations

from dataclasses import dataclass

from dpdb.engines.memory.contribution_bounds import Units
from dpdb.engines.memory.counted_rows import counted_rows
from dpdb.engines.memory.found_keys import key_counts
from dpdb.engines.memory.statistics import Statistics
from dpdb.engines.protocol import KeyCounts
from dpdb.plan.plan import Plan
from dpdb.vectors.evaluate import Frame
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
        """The keys that are found in the rows that count."""
        counted = counted_rows(plan, self.frame, self.rows, self.units)
        return key_counts(plan, self.frame, self.rows, counted, self.owners)
