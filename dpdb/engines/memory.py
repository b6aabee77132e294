"""The engine over numpy: plans into exact statistics."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field

import numpy as np

from dpdb.engines.protocol import CountedValues, Exact, KeyCounts, OpenEngine, Progress, Witness
from dpdb.engines.relations.unit_rows import UnitRows, pieces, together
from dpdb.engines.sources.opening import Sources
from dpdb.engines.sources.protocol import Loaded, load_more
from dpdb.engines.statistics.found_keys import key_counts
from dpdb.engines.statistics.statistics import Statistics
from dpdb.engines.units.caps import PlanRows
from dpdb.engines.units.held_rows import HeldRows
from dpdb.engines.units.keys import check_declarations, declared_of
from dpdb.plan.expressions.expressions import Slot
from dpdb.plan.expressions.single_values import DistinctValue, single_value
from dpdb.plan.logical.row_tables import MadeTable
from dpdb.plan.physical.plan import Plan
from dpdb.plan.ranges.statistics import Count, Histogram, Joint, Statistic, Tally, Total
from dpdb.plan.relations.relations import Joined, Source
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

        Sums over pieces of the units add up. Otherwise the rows that count are put together first.
        """
        parts = self._pieces(plan, slots)
        if not _adds_up(plan):
            return _exact(plan, Statistics(plan, together([*parts])))
        sums = _exact(plan, Statistics(plan, next(parts)))
        for part in parts:
            own = _exact(plan, Statistics(plan, part))
            sums = tuple(_sum(*each) for each in zip(sums, own, strict=True))
        return sums

    @np.errstate(all="ignore")
    def key_counts(self, plan: Plan, slots: Mapping[Slot, AnyVector]) -> KeyCounts:
        """The keys that are found in the data, with the number of units of each."""
        return key_counts(plan, together([*self._pieces(plan, slots)]))

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

    def _pieces(self, plan: Plan, slots: Mapping[Slot, AnyVector]) -> Iterator[PlanRows]:
        """The rows of a plan's table, with the columns that the plan reads, in one part or more."""
        table, rows = plan.table, self._unit_rows(plan.sample_key)
        if not table.public and isinstance(table, Joined | MadeTable):
            return pieces(rows, plan, slots)
        return iter([rows.counted(plan, slots)])

    def _unit_rows(self, sample_key: str) -> UnitRows:
        """The rows of all units."""
        return UnitRows(self._held, self._loaded, sample_key)

    def _loaded(self, table: Table, names: frozenset[str]) -> Loaded:
        """The table with at least these columns; those not yet there are read now.

        What is declared of its values is checked first.
        """
        source, before = self.sources.of(table), self._tables.get(table.name)
        if before is None:
            loaded = source.load(names | declared_of(table), self.progress, self.witness)
            check_declarations(table, loaded.columns)
        else:
            loaded = load_more(source, before, names, self.progress, self.witness)
        self._tables[table.name] = loaded
        return loaded


def _adds_up(plan: Plan) -> bool:
    """Whether all statistics of a plan are sums over units."""
    arguments = (estimate.aggregate.argument for estimate in plan.estimates)
    if any(isinstance(single_value(argument), DistinctValue) for argument in arguments):
        return False
    return all(_is_sum(release.statistic) for release in plan.exact_releases)


def _is_sum(statistic: Statistic) -> bool:
    if isinstance(statistic, Joint):
        return all(_is_sum(part.statistic) for part in statistic.parts)
    return isinstance(statistic, Count | Histogram | Total | Tally)


def _exact(plan: Plan, statistics: Statistics) -> tuple[Exact, ...]:
    return tuple(Exact(statistics.statistic(release.statistic)) for release in plan.exact_releases)


def _sum(one: Exact, other: Exact) -> Exact:
    """The sum of two parts, in the representation that both have: it holds all rows."""
    if isinstance(one.cells, np.ndarray) and isinstance(other.cells, np.ndarray):
        return Exact(one.cells + other.cells)
    counts = [np.asarray(own) + its for own, its in zip(one.cells, other.cells, strict=True)]
    return Exact(counts)
