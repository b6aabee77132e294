"""The engine over numpy: plans into exact statistics."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

import numpy as np

from dpdb.engines.memory.contribution_bounds import Units
from dpdb.engines.memory.counted_rows import counted_rows
from dpdb.engines.memory.csv_loader import Loaded, load, load_more
from dpdb.engines.memory.found_keys import key_counts
from dpdb.engines.memory.joins import JoinedRows
from dpdb.engines.memory.keys import Columns, check_declarations, declared_of
from dpdb.engines.memory.leaves import Leaf, Leaves, Rows, with_null_row
from dpdb.engines.memory.matching import Matches
from dpdb.engines.memory.owners import TableOwners
from dpdb.engines.memory.statistics import Statistics
from dpdb.engines.protocol import CountedValues, Exact, KeyCounts, OpenEngine, Progress, Witness
from dpdb.plan.expressions import ColumnRef, Slot
from dpdb.plan.plan import Plan
from dpdb.plan.relations import Joined, Scan, columns_joined_on, scans
from dpdb.policy.catalog import Table
from dpdb.vectors.evaluate import Frame, evaluate
from dpdb.vectors.vector import AnyVector


@dataclass
class MemoryEngine(OpenEngine):
    """Holds in memory the columns that it was asked about."""

    progress: Progress | None = None
    witness: Witness | None = None
    """Is shown the digest of what is read, each time that a file is, before anything is used."""
    tables: tuple[Table, ...] = ()
    """All tables of the policy: whose a row is may be said by a row of another."""
    _tables: dict[str, Loaded] = field(default_factory=dict, repr=False)
    _units: dict[str, Units] = field(default_factory=dict, repr=False)
    _owners: TableOwners = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self._owners = TableOwners(self._columns, self.tables)

    # numpy's warnings about overflow and the like would tell of rows.
    @np.errstate(all="ignore")
    def rows(self, table: Table) -> int:
        """The number of rows: public under `replace`, otherwise nobody's business."""
        return self._loaded(table, frozenset()).rows

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
        if isinstance(plan.table, Joined):
            frame, joined = self._joined(plan, plan.table, slots)
            return key_counts(plan, frame, len(joined), None, joined.owners)
        frame, rows, units = self._of_table(plan, plan.table, slots)
        owners = None if units is None else units.owners.numbers
        return key_counts(plan, frame, rows, counted_rows(plan, frame, rows, units), owners)

    @np.errstate(all="ignore")
    def values(self, plan: Plan, slots: Mapping[Slot, AnyVector]) -> list[CountedValues]:
        statistics = self._statistics(plan, slots)
        return [statistics.counted_values(estimate.aggregate) for estimate in plan.estimates]

    def _statistics(self, plan: Plan, slots: Mapping[Slot, AnyVector]) -> Statistics:
        if isinstance(plan.table, Joined):
            frame, joined = self._joined(plan, plan.table, slots)
            return Statistics(plan, frame, len(joined), None)
        return Statistics(plan, *self._of_table(plan, plan.table, slots))

    def _of_table(
        self, plan: Plan, table: Table, slots: Mapping[Slot, AnyVector]
    ) -> tuple[Frame, int, Units | None]:
        """The columns that a plan reads of a table, their number of rows, and whose these are."""
        names = plan.column_names
        if table.unit is not None:
            # Which of a unit's rows count depends on all declared columns.
            names = frozenset(column.name for column in table.columns)
        loaded = self._loaded(table, names)
        return Frame(loaded.columns, slots), loaded.rows, self._units_of(table, loaded)

    def _joined(
        self, plan: Plan, source: Joined, slots: Mapping[Slot, AnyVector]
    ) -> tuple[Frame, Rows]:
        """The columns that the plan reads of the rows that count, and these rows."""
        names = plan.column_names | columns_joined_on(source.relation)
        leaves = Leaves(
            {scan.leaf: self._leaf(scan, names) for scan in scans(source.relation)}, slots
        )
        rows = JoinedRows(source, plan, leaves).counted()
        return leaves.frame(rows, plan.column_names), rows

    def _leaf(self, scan: Scan, names: Collection[str]) -> Leaf:
        """The table of a scan, with what is read of it and what tells its rows apart."""
        table = scan.table
        digest = table.key or tuple(column.name for column in table.columns)
        read = {c.name for c in table.columns if scan.name(c) in names or c.name in digest}
        loaded = self._loaded(table, frozenset(read))
        columns = {
            column.name: with_null_row(loaded.columns[column.name])
            for column in table.columns
            if column.name in read
        }
        return Leaf(scan, columns, loaded.rows, self._owners.of(table))

    def fan_out(self, table: Table, columns: tuple[str, ...]) -> int:
        """The most rows of a public table that have the same values, none NULL."""
        if not columns:
            return self.rows(table)
        frame = Frame(self._columns(table, columns))
        read = (column for column in table.columns if column.name in columns)
        vectors = [evaluate(ColumnRef(column), frame) for column in read]
        return Matches.of(vectors, self.rows(table)).most

    def _units_of(self, table: Table, loaded: Loaded) -> Units | None:
        """The rows of a table by their units; None where each row is one."""
        owners = self._owners.of(table)
        if owners is not None and table.name not in self._units:
            self._units[table.name] = Units.of(table, loaded.columns, owners)
        return self._units.get(table.name)

    def _columns(self, table: Table, names: Collection[str]) -> Columns:
        return self._loaded(table, frozenset(names)).columns

    def _loaded(self, table: Table, names: frozenset[str]) -> Loaded:
        """The table with at least these columns; those not yet there are read now.

        What is declared of its values is checked first.
        """
        before = self._tables.get(table.name)
        if before is None:
            loaded = load(table, names | declared_of(table), self.progress, self.witness)
            check_declarations(table, loaded.columns)
            self._tables[table.name] = loaded
        else:
            self._tables[table.name] = load_more(table, before, names, self.progress, self.witness)
        return self._tables[table.name]
