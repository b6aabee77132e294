"""The engine over numpy: plans into exact statistics."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from dpdb.engines.memory.contribution_bounds import Units
from dpdb.engines.memory.csv_loader import Loaded, load, load_more
from dpdb.engines.memory.found_keys import key_counts
from dpdb.engines.memory.statistics import Statistics
from dpdb.engines.protocol import CountedValues, Exact, KeyCounts, OpenEngine, Progress, Witness
from dpdb.plan.expressions import Slot
from dpdb.plan.plan import Plan
from dpdb.policy.catalog import Table
from dpdb.vectors.evaluate import Frame
from dpdb.vectors.vector import AnyVector


@dataclass
class MemoryEngine(OpenEngine):
    """Holds in memory the columns that it was asked about."""

    progress: Progress | None = None
    witness: Witness | None = None
    """Is shown the digest of what is read, each time that a file is, before anything is used."""
    _tables: dict[str, Loaded] = field(default_factory=dict, repr=False)
    _units: dict[str, Units | None] = field(default_factory=dict, repr=False)

    def rows(self, table: Table) -> int:
        """The number of rows: public under `replace`, otherwise nobody's business."""
        return self._loaded(table, frozenset()).rows

    # numpy's warnings about overflow and the like would tell of rows.
    @np.errstate(all="ignore")
    def exact(self, plan: Plan, slots: Mapping[Slot, AnyVector]) -> tuple[Exact, ...]:
        """The exact result of each of the plan's own releases, in order."""
        statistics = self._statistics(plan, slots)
        return tuple(
            Exact(statistics.statistic(release.statistic)) for release in plan.exact_releases
        )

    @np.errstate(all="ignore")
    def key_counts(self, plan: Plan, slots: Mapping[Slot, AnyVector]) -> KeyCounts:
        """The keys that are found in the data, with the number of units of each."""
        return key_counts(plan, *self._rows_of(plan, slots))

    @np.errstate(all="ignore")
    def values(self, plan: Plan, slots: Mapping[Slot, AnyVector]) -> list[CountedValues]:
        statistics = self._statistics(plan, slots)
        return [statistics.counted_values(estimate.aggregate) for estimate in plan.estimates]

    def _statistics(self, plan: Plan, slots: Mapping[Slot, AnyVector]) -> Statistics:
        return Statistics(plan, *self._rows_of(plan, slots))

    def _rows_of(
        self, plan: Plan, slots: Mapping[Slot, AnyVector]
    ) -> tuple[Frame, int, Units | None]:
        """The columns that a plan reads, how many rows they have, and whose these are."""
        table, names = plan.table, plan.column_names
        if table.unit is not None:
            # Which of a unit's rows count depends on all declared columns.
            names = frozenset(column.name for column in table.columns)
        loaded = self._loaded(table, names)
        if table.name not in self._units:
            self._units[table.name] = Units.of(table, loaded.columns)
        return Frame(loaded.columns, slots), loaded.rows, self._units[table.name]

    def _loaded(self, table: Table, names: frozenset[str]) -> Loaded:
        """The table with at least these columns; those not yet there are read now."""
        before = self._tables.get(table.name)
        if before is None:
            self._tables[table.name] = load(table, names, self.progress, self.witness)
        else:
            self._tables[table.name] = load_more(table, before, names, self.progress, self.witness)
        return self._tables[table.name]
