"""Parts of a table, from which the statistics of the whole are put together."""

from __future__ import annotations

from collections.abc import Mapping

from dpdb.engines.sources.protocol import Loaded
from dpdb.engines.streams.unit_words import numbered, unit_words
from dpdb.engines.units.caps import PlanRows, Units
from dpdb.engines.units.held_rows import HeldRows
from dpdb.plan.expressions.expressions import Slot
from dpdb.plan.physical.plan import Plan
from dpdb.policy.catalog import Table
from dpdb.vectors.evaluate import Frame
from dpdb.vectors.vector import AnyVector


class Part(PlanRows):
    """Rows of a table, of which no unit has others."""

    @classmethod
    def of(cls, plan: Plan, loaded: Loaded, slots: Mapping[Slot, AnyVector]) -> Part:
        """The loaded rows of a plan's table; those of one with units have all declared columns."""
        table = plan.table
        assert isinstance(table, Table)
        owners = HeldRows((table,)).owners(table, lambda *_: loaded.columns, plan.sample_key)
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
