"""Regions as JSON, so that filters of later sessions can be compared with those of earlier ones."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from dpdb.plan.relations.regions import EVERY_POINT, ColumnLimit, Region, Span
from dpdb.policy.catalog import Column, Kind, Table

RegionText = dict[str, Any]


class UnreadableRegionError(Exception):
    """The text of a region is not one that `written` writes."""


def written(region: Region | None, tables: Sequence[Table]) -> RegionText | None:
    """The region in the types of JSON; None where it is of none of these tables, as for all rows.

    Doubles, whole numbers and texts stay what they are. Limits on columns that the table does not
    have, such as those that an aggregate of different values makes up, are left out: the region
    that is left is larger, and excludes no more than it may.
    """
    if region is None or not isinstance(region.table, Table) or region.table not in tables:
        return None
    columns = {column.name: column for column in region.table.columns}
    limits = {
        name: [limit.span.below, list(limit.span.turns), limit.null]
        for name, limit in region.limits.items()
        if columns.get(name) == limit.column
    }
    return {"table": region.table.name, "limits": limits}


def kept(region: Region | None, tables: Sequence[Table]) -> tuple[RegionText | None, Region | None]:
    """The text of a region, and the region that is read from the text."""
    told = written(region, tables)
    return told, None if told is None else read(json.loads(json.dumps(told)), tables)


def read(told: RegionText, tables: Sequence[Table]) -> Region:
    """The region that was written, of one of these tables.

    Earlier versions wrote limits on columns that were made up, which say that a value is there and
    exclude nothing. They are kept as limits that exclude nothing, as other entries count them.
    Raises UnreadableRegionError where it is no region that was written.
    """
    try:
        table = next(table for table in tables if table.name == told["table"])
        columns = {column.name: column for column in table.columns}
        limits = {
            name: _limit(columns.get(name), name, Span(bool(below), tuple(turns)), bool(null))
            for name, (below, turns, null) in told["limits"].items()
        }
    except (StopIteration, KeyError, TypeError, ValueError, AttributeError):
        raise UnreadableRegionError from None
    return Region(table, limits)


def _limit(column: Column | None, name: str, span: Span, null: bool) -> ColumnLimit:
    """A limit of a column of the table, or of one that was made up: of that on all points alone."""
    if column is None and span != EVERY_POINT:
        raise UnreadableRegionError
    return ColumnLimit(column or Column(name, Kind.TEXT), span, null)
