"""Which rows count for a plan: those that pass its filter and its caps on each unit."""

from __future__ import annotations

from dpdb.engines.memory import row_blocks
from dpdb.engines.memory.contribution_bounds import Units
from dpdb.engines.memory.group_caps import within_groups
from dpdb.plan.plan import Plan
from dpdb.policy.catalog import Table
from dpdb.vectors.evaluate import Frame
from dpdb.vectors.vector import Bools


def counted_rows(plan: Plan, frame: Frame, rows: int, units: Units | None) -> Bools | None:
    """The rows that count; None where all do.

    A unit is capped after the filter and before all else, so that all aggregates see the same
    rows: first the number of its groups, and then that of its rows.
    """
    where = None if plan.where is None else row_blocks.mask(plan.where, frame, rows)
    if units is None:
        return where
    table = plan.table
    assert isinstance(table, Table)
    if plan.keys and table.groups_per_unit is not None:
        where = within_groups(plan, frame, units, where, table.groups_per_unit)
    return units.capped(where, table.rows_per_unit)
