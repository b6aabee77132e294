"""Regions as JSON, so that filters of later sessions can be compared with those of earlier ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dpdb.plan.regions import ColumnLimit, Region
from dpdb.plan.spans import Span
from dpdb.policy.catalog import Table

RegionText = dict[str, Any]


def written(region: Region | None, tables: Sequence[Table]) -> RegionText | None:
    """The region in the types of JSON; None where it is of none of these tables, as for all rows.

    Doubles, whole numbers and texts stay what they are.
    """
    if region is None or not isinstance(region.table, Table) or region.table not in tables:
        return None
    limits = {
        name: [limit.span.below, list(limit.span.turns), limit.null]
        for name, limit in region.limits.items()
    }
    return {"table": region.table.name, "limits": limits}


def read(told: RegionText, tables: Sequence[Table]) -> Region:
    """The region that was written, of one of these tables."""
    table = next(table for table in tables if table.name == told["table"])
    columns = {column.name: column for column in table.columns}
    limits = {
        name: ColumnLimit(columns[name], Span(below, tuple(turns)), null)
        for name, (below, turns, null) in told["limits"].items()
    }
    return Region(table, limits)
