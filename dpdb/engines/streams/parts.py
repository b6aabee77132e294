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
from dpdb.engines.streams.unit_words import numbered, unit_words
from dpdb.plan.expressions import Slot
from dpdb.plan.plan import Plan
from dpdb.policy.catalog import Table
from dpdb.vectors.evaluate import Frame
from dpdb.vectors.vector import AnyVector, Array


@dataclass(frozen=True, repr=False)
class Part:
    """Rows of a table, of which no unit has others."""

    frame: Frame
    rows: int
    units: Units | None
    """None where rows need not be capped any more."""
    owners: Array | None = None
    """The number of each row's unit; None where nothing looks at it."""

    @classmethod
    def of(cls, plan: Plan, loaded: Loaded, slots: Mapping[Slot, AnyVector]) -> Part:
        """The loaded rows of a plan's table; those of one with units have all declared columns."""
        table = plan.table
        assert isinstance(table, Table)
        owners = TableOwners((table,)).of(table, lambda *_: loaded.columns)
        if owners is None:
            return cls.of_counted(loaded, slots)
        units = Units.of(table, loaded.columns, owners, plan.sample_key)
        return cls(Frame(loaded.columns, slots), loaded.rows, units, owners.numbers)

    @classmethod
    def of_counted(
        cls, loaded: Loaded, slots: Mapping[Slot, AnyVector], unit: str | None = None
    ) -> Part:
        """Loaded rows, of which no unit has more than count; `unit` names whose they are."""
        owners = None if unit is None else numbered(unit_words(loaded.columns[unit]))
        return cls(Frame(loaded.columns, slots), loaded.rows, None, owners)

    def statistics(self, plan: Plan) -> Statistics:
        """What the rows come to."""
        return Statistics(plan, self.frame, self.rows, self.units, self.owners)

    def key_counts(self, plan: Plan) -> KeyCounts:
        """The keys that are found in the rows that count."""
        counted = counted_rows(plan, self.frame, self.rows, self.units)
        return key_counts(plan, self.frame, self.rows, counted, self.owners)
