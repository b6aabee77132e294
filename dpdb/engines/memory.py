"""The engine over numpy: plans into exact statistics."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field

import numpy as np

from dpdb.engines.loop import Threads, run
from dpdb.engines.protocol import CountedValues, Exact, KeyCounts, OpenEngine, Progress, Witness
from dpdb.engines.relations.unit_rows import UnitRows, together, unit_partitions
from dpdb.engines.sources.opening import Sources
from dpdb.engines.sources.protocol import Loaded, load_more
from dpdb.engines.statistics.accumulators import PlanStatistics, UnitedKeys, has_sums_alone
from dpdb.engines.statistics.statistics import Statistics
from dpdb.engines.units.caps import PlanRows
from dpdb.engines.units.held_rows import HeldRows
from dpdb.engines.units.keys import check_declarations, declared_of
from dpdb.plan.expressions.expressions import Slot
from dpdb.plan.physical.plan import Plan
from dpdb.plan.relations.relations import Source
from dpdb.policy.catalog import Table
from dpdb.records import dataclass
from dpdb.vectors.evaluate import Frame
from dpdb.vectors.vector import AnyVector


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
        """The exact result of each of the plan's own releases, in order.

        Sums over the batches add up. Otherwise the rows that count are put together first.
        """
        runner = self._batches(plan, slots)
        if runner.partitions != [None] and not has_sums_alone(plan):
            batch = together([rows for each in runner.partitions for rows in runner.read(each)])
            runner = Threads([None], lambda _: iter([batch]))
        return run(PlanStatistics.of_sums(plan), runner)

    @np.errstate(all="ignore")
    def key_counts(self, plan: Plan, slots: Mapping[Slot, AnyVector]) -> KeyCounts:
        """The keys that are found in the data, with the number of units of each."""
        return run(UnitedKeys(plan), self._batches(plan, slots))

    @np.errstate(all="ignore")
    def values(self, plan: Plan, slots: Mapping[Slot, AnyVector]) -> list[CountedValues]:
        statistics = Statistics(plan, self._unit_rows(plan.sample_key).counted(plan, slots))
        return [statistics.counted_values(estimate.aggregate) for estimate in plan.estimates]

    @np.errstate(all="ignore")
    def public_rows(self, source: Source, names: frozenset[str]) -> tuple[Frame, int]:
        """The rows of public tables, of which all count, and their number."""
        assert source.public
        passed = self._unit_rows("").passed(source, None, names)
        return passed.frame, len(passed)

    def _batches(
        self, plan: Plan, slots: Mapping[Slot, AnyVector]
    ) -> Threads[range | None, PlanRows]:
        """The rows of a plan's table, with the columns that the plan reads: cached blocks."""
        rows = self._unit_rows(plan.sample_key)

        def read(piece: range | None) -> Iterator[PlanRows]:
            # No name holds a piece, so that all but the rows that count is freed before the next.
            yield rows.of(piece).counted(plan, slots)

        return Threads(unit_partitions(rows, plan), read)

    def _unit_rows(self, sample_key: str) -> UnitRows:
        """The rows of all units."""
        return UnitRows(self._held, self._loaded, sample_key)

    def _loaded(self, table: Table, names: frozenset[str]) -> Loaded:
        """The table with at least these columns; those not yet there are read now.

        What is declared of its values is checked first.
        """
        before = self._tables.get(table.name)
        if before is not None and names <= before.columns.keys():
            return before
        source = self.sources.of(table)
        if before is None:
            loaded = source.load(names | declared_of(table), self.progress, self.witness)
            check_declarations(table, loaded.columns)
        else:
            loaded = load_more(source, before, names, self.progress, self.witness)
        self._tables[table.name] = loaded
        return loaded
