"""The engine over numpy: plans into exact statistics."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

import numpy as np

from dpdb.engines.memory.contribution_bounds import Units
from dpdb.engines.memory.held_rows import HeldRows, decided_by
from dpdb.engines.memory.joins import JoinedRows
from dpdb.engines.memory.keys import Columns, check_declarations, declared_of
from dpdb.engines.memory.leaves import Leaf, Leaves, with_null_row
from dpdb.engines.memory.owners import Owners, each_its_own
from dpdb.engines.memory.per_unit import UnitGroups
from dpdb.engines.memory.plan_rows import PlanRows
from dpdb.engines.memory.row_blocks import mask
from dpdb.engines.memory.row_hashes import HashKey
from dpdb.engines.memory.row_unions import PassedRows, columns_of_all, owners_of_all
from dpdb.engines.memory.row_windows import RowsOfUnits
from dpdb.engines.protocol import CountedValues, Exact, KeyCounts, OpenEngine, Progress, Witness
from dpdb.engines.sources.opening import Sources
from dpdb.engines.sources.protocol import NO_DATA, Loaded, load_more
from dpdb.plan.expressions import Expr, Slot
from dpdb.plan.per_unit import PerUnit
from dpdb.plan.plan import Plan
from dpdb.plan.relations import Joined, Scan, Source, columns_joined_on, scans
from dpdb.plan.row_unions import RowUnion
from dpdb.plan.row_windows import WindowedRows
from dpdb.policy.catalog import Table
from dpdb.vectors.columns import Codes, Numbers
from dpdb.vectors.evaluate import Frame
from dpdb.vectors.vector import AnyVector

MadeTable = PerUnit | RowUnion | WindowedRows
"""A table that a SELECT within FROM makes of the rows of others."""


@dataclass(frozen=True, repr=False)
class _Made:
    """The rows of a table that a SELECT within FROM makes, and whose they are."""

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
    sources: Sources = field(default_factory=Sources)
    _tables: dict[str, Loaded] = field(default_factory=dict, repr=False)
    _units: dict[str, Units] = field(default_factory=dict, repr=False)
    _made: dict[str, _Made] = field(default_factory=dict, repr=False)
    _held: HeldRows = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self._held = HeldRows(self.tables)

    # numpy's warnings about overflow and the like would tell of rows.
    @np.errstate(all="ignore")
    def rows(self, table: Table) -> int:
        """The number of rows: public under `replace`, otherwise nobody's business."""
        return self._loaded(table, frozenset()).rows

    @np.errstate(all="ignore")
    def exact(self, plan: Plan, slots: Mapping[Slot, AnyVector]) -> tuple[Exact, ...]:
        """The exact result of each of the plan's own releases, in order."""
        statistics = self._rows_of(plan, slots).statistics(plan)
        return tuple(
            Exact(statistics.statistic(release.statistic)) for release in plan.exact_releases
        )

    @np.errstate(all="ignore")
    def key_counts(self, plan: Plan, slots: Mapping[Slot, AnyVector]) -> KeyCounts:
        """The keys that are found in the data, with the number of units of each."""
        return self._rows_of(plan, slots).key_counts(plan)

    @np.errstate(all="ignore")
    def values(self, plan: Plan, slots: Mapping[Slot, AnyVector]) -> list[CountedValues]:
        statistics = self._rows_of(plan, slots).statistics(plan)
        return [statistics.counted_values(estimate.aggregate) for estimate in plan.estimates]

    @np.errstate(all="ignore")
    def public_rows(self, source: Source, names: frozenset[str]) -> tuple[Frame, int]:
        """The rows of public tables, of which all count, and their number."""
        assert source.public
        self._made.clear()
        passed = self._passed(source, None, names, "")
        return passed.frame, len(passed)

    def _rows_of(self, plan: Plan, slots: Mapping[Slot, AnyVector]) -> PlanRows:
        """The rows of a plan's table, with the columns that the plan reads."""
        self._made.clear()
        table, names = plan.table, plan.column_names
        if isinstance(table, Joined):
            leaves = self._leaves(table, names, slots, plan.sample_key)
            joined = JoinedRows(table, plan.where, leaves)
            rows = joined.all() if table.public else joined.counted()
            return PlanRows(leaves.frame(rows, names), len(rows), None, rows.owners)
        if table.unit is not None:
            # Which of a unit's rows count depends on all declared columns.
            names = frozenset(column.name for column in table.columns)
        loaded = self._read(table, names)
        units = self._units_of(table, loaded, plan.sample_key)
        owners = None if units is None else units.owners.numbers
        columns = self._columns_of(table, plan.column_names, plan.sample_key)
        return PlanRows(Frame(columns, slots), loaded.rows, units, owners)

    def _leaves(
        self,
        source: Joined,
        names: frozenset[str],
        slots: Mapping[Slot, AnyVector],
        sample_key: str,
    ) -> Leaves:
        read = names | columns_joined_on(source.relation)
        leaves = {scan.leaf: self._leaf(scan, read, sample_key) for scan in scans(source.relation)}
        return Leaves(leaves, slots)

    def _made_rows(self, table: MadeTable) -> _Made:
        """The rows of a table that is made of others': kept for one plan."""
        if table.name not in self._made:
            self._made[table.name] = self._worked_out(table)
        return self._made[table.name]

    def _worked_out(self, table: MadeTable) -> _Made:
        match table:
            case PerUnit():
                return self._grouped(table)
            case RowUnion():
                return self._united(table)
        return self._windowed(table)

    def _windowed(self, table: WindowedRows) -> _Made:
        """Rows with windows over those of their unit."""
        assert table.rows is not None
        made = self._made_rows(table.rows)
        columns = made.loaded.columns
        windows = RowsOfUnits(table, columns, made.owners).windows()
        return _Made(Loaded({**columns, **windows}, made.loaded.rows, NO_DATA), made.owners)

    def _grouped(self, table: PerUnit) -> _Made:
        """What the rows of each unit come to."""
        assert table.source is not None
        passed = self._passed(table.source, table.where, table.names_read, table.sample_key)
        groups = UnitGroups(table, passed.frame, passed.owners.numbers)
        return _Made(
            Loaded(groups.columns(), len(groups.first), NO_DATA),
            passed.owners.of_rows(groups.first),
        )

    def _united(self, table: RowUnion) -> _Made:
        """The rows of several SELECTs."""
        parts = [
            self._passed(part.source, part.where, part.names_read, table.sample_key)
            for part in table.parts
        ]
        owners = owners_of_all(parts)
        return _Made(Loaded(columns_of_all(table, parts), len(owners.numbers), NO_DATA), owners)

    def _passed(
        self, source: Source, where: Expr | None, names: frozenset[str], sample_key: str
    ) -> PassedRows:
        """The rows of a source that have an owner and pass a condition."""
        if isinstance(source, Joined):
            leaves = self._leaves(source, names, {}, sample_key)
            rows = JoinedRows(source, where, leaves).all()
            base = next(scans(source.relation))
            frame, places = leaves.frame(rows, names), rows.numbers[base.leaf]
            owners, number = leaves.leaves[base.leaf].owners, leaves.leaves[base.leaf].rows
        else:
            number, owners = self._read(source, names).rows, self._owners_of(source, sample_key)
            whole = Frame(self._columns_of(source, names, sample_key))
            passing = np.ones(number, dtype=np.bool_) if owners is None else owners.numbers >= 0
            if where is not None:
                passing = passing & mask(where, whole, number)
            places = np.flatnonzero(passing)
            frame = Frame({name: whole.columns[name].taken(places) for name in names})
        own = each_its_own(number) if owners is None else owners
        return PassedRows(frame, own.of_rows(places))

    def _owners_of(self, table: Table, sample_key: str) -> Owners | None:
        """The owners of a table's rows; None where each row is a unit, or the table public."""
        if isinstance(table, MadeTable):
            return None if table.public else self._made_rows(table).owners
        return self._held.owners(table, self._columns, sample_key)

    def _columns_of(
        self, table: Table, names: Collection[str], sample_key: str
    ) -> dict[str, Numbers | Codes]:
        """The columns of these names, as they are held."""
        if isinstance(table, MadeTable):
            return self._made_rows(table).loaded.columns
        return {
            column.name: self._held.column(table, column, self._columns, sample_key)
            for column in table.columns
            if column.name in names
        }

    def _leaf(self, scan: Scan, names: Collection[str], sample_key: str) -> Leaf:
        """The table of a scan, with what is read of it and what tells its rows apart."""
        table = scan.table
        digest = table.told_apart_by
        read = {c.name for c in table.columns if scan.name(c) in names or c in digest}
        rows = self._read(table, frozenset(read)).rows
        held = self._columns_of(table, read, sample_key)
        columns = {name: with_null_row(held[name]) for name in read}
        owners = self._owners_of(table, sample_key)
        return Leaf(scan, columns, rows, owners, HashKey.of(sample_key))

    def _units_of(self, table: Table, loaded: Loaded, sample_key: str) -> Units | None:
        """The rows of a table by their units; None where each row is one."""
        owners = self._owners_of(table, sample_key)
        if owners is not None and isinstance(table, MadeTable):
            return Units.of(table, loaded.columns, owners, sample_key)
        if owners is not None and table.name not in self._units:
            self._units[table.name] = Units.of(table, loaded.columns, owners, sample_key)
        return self._units.get(table.name)

    def _columns(self, table: Table, names: Collection[str]) -> Columns:
        return self._loaded(table, frozenset(names)).columns

    def _read(self, table: Table, names: frozenset[str]) -> Loaded:
        """The table with these columns, and with those that say which of its rows are held."""
        return self._loaded(table, names | decided_by(table))

    def _loaded(self, table: Table, names: frozenset[str]) -> Loaded:
        """The table with at least these columns; those not yet there are read now.

        What is declared of its values is checked first.
        """
        if isinstance(table, MadeTable):
            return self._made_rows(table).loaded
        source, before = self.sources.of(table), self._tables.get(table.name)
        if before is None:
            loaded = source.load(names | declared_of(table), self.progress, self.witness)
            check_declarations(table, loaded.columns)
        else:
            loaded = load_more(source, before, names, self.progress, self.witness)
        self._tables[table.name] = loaded
        return loaded
