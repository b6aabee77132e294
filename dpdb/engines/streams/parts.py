"""Parts of a table, from which the statistics of the whole are put together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from dpdb.engines.memory.contribution_bounds import Units
from dpdb.engines.memory.counted_rows import counted_rows
from dpdb.engines.memory.found_keys import key_counts
from dpdb.engines.memory.owners import TableOwners
from dpdb.engines.memory.statistics import Statistics
from dpdb.engines.protocol import KeyCounts
from dpdb.engines.sources.protocol import Loaded
from dpdb.plan.expressions import Slot
from dpdb.plan.plan import Plan
from dpdb.policy.catalog import Table
from dpdb.vectors.evaluate import Frame
from dpdb.vectors.vector import AnyVector


@dataclass(frozen=True, repr=False)
class Part:
    """Rows of a table, of which no unit has others."""

    frame: Frame
    rows: int
    units: Units | None

    @classmethod
    def of(cls, table: Table, loaded: Loaded, slots: Mapping[Slot, AnyVector]) -> Part:
        """These rows; of a table with a unit they have all columns that are declared."""
        units = None
        if table.unit is not None:
            owners = TableOwners((table,)).of(table, lambda *_: loaded.columns)
            assert owners is not None
            units = Units.of(table, loaded.columns, owners)
        return cls(Frame(loaded.columns, slots), loaded.rows, units)

    def statistics(self, plan: Plan) -> Statistics:
        """What the rows come to."""
        return Statistics(plan, self.frame, self.rows, self.units)

    def key_counts(self, plan: Plan) -> KeyCounts:
        """The keys that are found in the rows that count."""
        counted = counted_rows(plan, self.frame, self.rows, self.units)
        owners = None if self.units is None else self.units.owners.numbers
        return key_counts(plan, self.frame, self.rows, counted, owners)
