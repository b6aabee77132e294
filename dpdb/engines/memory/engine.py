"""The engine over numpy: plans into exact statistics."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

import numpy as np

from dpdb.engines.memory.contribution_bounds import Units
from dpdb.engines.memory.csv_loader import NO_FILE, Loaded, load, load_more
from dpdb.engines.memory.found_keys import key_counts
from dpdb.engines.memory.joins import JoinedRows
from dpdb.engines.memory.keys import Columns, check_declarations, declared_of
from dpdb.engines.memory.leaves import Leaf, Leaves, Rows, taken, with_null_row
from dpdb.engines.memory.matching import Matches
from dpdb.engines.memory.owners import Owners, TableOwners
from dpdb.engines.memory.per_unit import GroupedRows
from dpdb.engines.memory.row_blocks import mask
from dpdb.engines.memory.statistics import Statistics
from dpdb.engines.protocol import CountedValues, Exact, KeyCounts, OpenEngine, Progress, Witness
from dpdb.plan.expressions import ColumnRef, Slot
from dpdb.plan.per_unit import PerUnit
from dpdb.plan.plan import Plan
from dpdb.plan.relations import Joined, Scan, columns_joined_on, scans
from dpdb.policy.catalog import Table
from dpdb.vectors.evaluate import Frame, evaluate
from dpdb.vectors.vector import AnyVector


@dataclass(frozen=True, repr=False)
class _Grouped:
    """The rows of a table per unit, and whose they are."""

    loaded: Loaded
    owners: Owners


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
    _per_unit: dict[str, _Grouped] = field(default_factory=dict, repr=False)
    _owners: TableOwners = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self._owners = TableOwners(self.tables)

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
        self._per_unit.clear()
        if isinstance(plan.table, Joined):
            frame, joined = self._joined(plan, plan.table, slots)
            return key_counts(plan, frame, len(joined), None, joined.owners)
        frame, rows, units = self._rows_of(plan.table, plan, slots)
        return key_counts(plan, frame, rows, units, None if units is None else units.owners.numbers)

    @np.errstate(all="ignore")
    def values(self, plan: Plan, slots: Mapping[Slot, AnyVector]) -> list[CountedValues]:
        statistics = self._statistics(plan, slots)
        return [statistics.counted_values(estimate.aggregate) for estimate in plan.estimates]

    def _statistics(self, plan: Plan, slots: Mapping[Slot, AnyVector]) -> Statistics:
        self._per_unit.clear()
        if isinstance(plan.table, Joined):
            frame, rows = self._joined(plan, plan.table, slots)
            return Statistics(plan, frame, len(rows), None)
        return Statistics(plan, *self._rows_of(plan.table, plan, slots))

    def _rows_of(
        self, table: Table, plan: Plan, slots: Mapping[Slot, AnyVector]
    ) -> tuple[Frame, int, Units | None]:
        """The columns that a plan reads of a table, how many rows they have, and whose they are."""
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
        leaves = self._leaves(source, plan.column_names, slots)
        rows = JoinedRows(source, plan.where, plan.sample_key, leaves).counted()
        return leaves.frame(rows, plan.column_names), rows

    def _leaves(
        self, source: Joined, names: frozenset[str], slots: Mapping[Slot, AnyVector]
    ) -> Leaves:
        read = names | columns_joined_on(source.relation)
        leaves = {scan.leaf: self._leaf(scan, read) for scan in scans(source.relation)}
        return Leaves(leaves, slots)

    def _grouped(self, table: PerUnit) -> _Grouped:
        """What the rows of each unit come to: kept for one plan."""
        if table.name not in self._per_unit:
            self._per_unit[table.name] = self._worked_out(table)
        return self._per_unit[table.name]

    def _worked_out(self, table: PerUnit) -> _Grouped:
        source, names = table.source, table.names_read
        if isinstance(source, Joined):
            leaves = self._leaves(source, names, {})
            rows = JoinedRows(source, table.where, table.sample_key, leaves).all()
            frame, base = leaves.frame(rows, names), next(scans(source.relation))
            owners, places = leaves.leaves[base.leaf].owners, rows.numbers[base.leaf]
        else:
            assert source is not None
            loaded, owners = self._loaded(source, names), self._owners_of(source)
            assert owners is not None
            whole = Frame(loaded.columns)
            passed = owners.numbers >= 0
            if table.where is not None:
                passed = passed & mask(table.where, whole, loaded.rows)
            places = np.flatnonzero(passed)
            frame = Frame({name: taken(whole.columns[name], places) for name in names})
        assert owners is not None
        groups = GroupedRows(table, frame, owners.numbers[places])
        first = places[groups.first]
        named = first if owners.rows is None else owners.rows[first]
        own = Owners(owners.numbers[first], owners.names, named)
        return _Grouped(Loaded(groups.columns(), len(first), NO_FILE), own)

    def _owners_of(self, table: Table) -> Owners | None:
        """The owners of a table's rows; None where each row is a unit, or the table public."""
        if isinstance(table, PerUnit):
            return self._grouped(table).owners
        return self._owners.of(table, self._columns)

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
        return Leaf(scan, columns, loaded.rows, self._owners_of(table))

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
        owners = self._owners_of(table)
        if owners is not None and isinstance(table, PerUnit):
            return Units.of(table, loaded.columns, owners)
        if owners is not None and table.name not in self._units:
            self._units[table.name] = Units.of(table, loaded.columns, owners)
        return self._units.get(table.name)

    def _columns(self, table: Table, names: Collection[str]) -> Columns:
        return self._loaded(table, frozenset(names)).columns

    def _loaded(self, table: Table, names: frozenset[str]) -> Loaded:
        """The table with at least these columns; those not yet there are read now.

        What is declared of its values is checked first.
        """
        if isinstance(table, PerUnit):
            return self._grouped(table).loaded
        before = self._tables.get(table.name)
        if before is None:
            loaded = load(table, names | declared_of(table), self.progress, self.witness)
            check_declarations(table, loaded.columns)
            self._tables[table.name] = loaded
        else:
            self._tables[table.name] = load_more(table, before, names, self.progress, self.witness)
        return self._tables[table.name]
