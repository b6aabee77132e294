"""Parts of plans, and regions, as JSON: later sessions recognise releases, and compare filters.

A record is written as its name and its fields, a column as its identity: which columns there are
is for the reader to know. Only the records of these modules can be written and read.

Earlier versions wrote a column as its name alone, and a table as a text made to be read, which left
out the names of its columns. Of stored tables and their joins both say enough, so that what was
released of these is still found, by their former names; of tables that a SELECT makes they do not.
"""

from __future__ import annotations

import hashlib
import inspect
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import Field, fields, is_dataclass
from enum import StrEnum
from fractions import Fraction
from functools import cache
from typing import Any

from dpdb.plan.expressions import expressions
from dpdb.plan.expressions.expressions import Expr
from dpdb.plan.identity import identity
from dpdb.plan.logical import query
from dpdb.plan.logical.query import Options
from dpdb.plan.physical import moments, plan
from dpdb.plan.physical.plan import Plan
from dpdb.plan.ranges import statistics
from dpdb.plan.relations.regions import EVERY_POINT, ColumnLimit, Region, Span
from dpdb.plan.relations.relations import Source, scans
from dpdb.policy.budget import Neighbors
from dpdb.policy.catalog import Column, Kind, Table
from dpdb.privacy import sensitivity
from dpdb.privacy.mechanisms.mechanism import MECHANISMS

_MODULES = expressions, moments, plan, query, statistics, sensitivity
_RECORDS: Mapping[str, Any] = {record.__name__: record for record in MECHANISMS} | {
    name: record
    for module in _MODULES
    for name, record in vars(module).items()
    if inspect.isclass(record) and is_dataclass(record) and record is not Column
}
_ENUMS: Mapping[str, type[StrEnum]] = {
    each.__name__: each for each in (Kind, query.Function, moments.Moment, Neighbors)
}


WriteColumn = Callable[[Column], dict[str, str]]
"""The form in which a column is written."""


def _by_identity(column: Column) -> dict[str, str]:
    return {"Column": identity(column)}


def _by_name(column: Column) -> dict[str, str]:
    return {"column": column.name}


def written(value: object, column: WriteColumn = _by_identity) -> Any:  # noqa: ANN401 (JSON)
    """The value in the types of JSON; raises TypeError where it cannot be written."""
    match value:
        case StrEnum():
            if type(value).__name__ not in _ENUMS:
                raise TypeError(f"no {type(value).__name__} is kept")
            return {type(value).__name__: value.value}
        case None | bool() | int() | float() | str():
            return value
        case Fraction():
            return {"/": [value.numerator, value.denominator]}
        case tuple():
            return [written(each, column) for each in value]
        case Column():
            return column(value)
    name = type(value).__name__
    if _RECORDS.get(name) is not type(value):
        raise TypeError(f"no {name} is kept")
    values = (getattr(value, field.name) for field in _fields(_RECORDS[name]))
    return {name: [written(each, column) for each in values]}


def read(value: Any, columns: Mapping[str, Column]) -> Any:  # noqa: ANN401 (JSON)
    """The value that was written, with columns by what they were written as.

    Fields that a later version added have their defaults. Raises LookupError for any other column.
    """
    match value:
        case list():
            return tuple(read(each, columns) for each in value)
        case dict():
            ((name, inside),) = value.items()
            if name == "/":
                return Fraction(*inside)
            if name in ("Column", "column"):
                return columns[inside]
            if name in _ENUMS:
                return _ENUMS[name](inside)
            record = _RECORDS[name]
            names = [field.name for field in _fields(record)]
            values = [read(each, columns) for each in inside]
            return record(**dict(zip(names[: len(values)], values, strict=True)))
    return value


@cache
def _fields(record: Any) -> tuple[Field[Any], ...]:  # noqa: ANN401 (a class)
    """The fields that two equal records have in common."""
    return tuple(field for field in fields(record) if field.init and field.compare)


def former_scope(source: Source, where: Expr | None) -> str | None:
    """The name of a scope in ledgers of earlier versions; None where it may mean several."""
    rows = _former_rows(source)
    if rows is None:
        return None
    try:
        fields = written((*rows, where), _by_name)
    except TypeError:
        return None
    text = json.dumps(fields, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def former_key(planned: Plan, options: Options, confidence: float | None) -> object:
    """The key of a plan in earlier versions, without or with a `confidence` for its goal.

    None where that may mean several.
    """
    key = _former_identity(planned)
    return key if key is None or confidence is None else (key, options.relative_error, confidence)


def _former_identity(planned: Plan) -> tuple[object, ...] | None:
    rows, nested = _former_rows(planned.table), list[tuple[object, ...]]()
    for inner in planned.subplans:
        key = _former_identity(inner)
        if key is None:
            return None
        own = None if planned.derived else (inner.derived, inner.outputs[0].expression)
        nested.append((key, own, *(estimate.aggregate for estimate in inner.estimates)))
    if rows is None:
        return None
    about = planned.where, planned.key_values, planned.keys
    return *rows, *about, planned.releases, tuple(nested)


def _former_rows(source: Source) -> tuple[str, int, int | None] | None:
    """The name of stored tables, which a join had from its `repr`, and the caps on a unit."""
    tables = [source] if isinstance(source, Table) else [s.table for s in scans(source.relation)]
    if any(type(table) is not Table for table in tables):
        return None
    name = source.name if isinstance(source, Table) else repr(source.relation)
    return name, source.rows_per_unit, source.groups_per_unit


RegionText = dict[str, Any]


class UnreadableRegionError(Exception):
    """The text of a region is not one that `region_text` writes."""


def region_text(region: Region | None, tables: Sequence[Table]) -> RegionText | None:
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


def kept_region(
    region: Region | None, tables: Sequence[Table]
) -> tuple[RegionText | None, Region | None]:
    """The text of a region, and the region that is read from the text."""
    text = region_text(region, tables)
    return text, None if text is None else read_region(json.loads(json.dumps(text)), tables)


def read_region(text: RegionText, tables: Sequence[Table]) -> Region:
    """The region that was written, of one of these tables.

    Earlier versions wrote limits on columns that were made up, which say that a value is there and
    exclude nothing. They are kept as limits that exclude nothing, as other entries count them.
    Raises UnreadableRegionError where it is no region that was written.
    """
    try:
        table = next(table for table in tables if table.name == text["table"])
        columns = {column.name: column for column in table.columns}
        limits = {
            name: _limit(columns.get(name), name, Span(bool(below), tuple(turns)), bool(null))
            for name, (below, turns, null) in text["limits"].items()
        }
    except (StopIteration, KeyError, TypeError, ValueError, AttributeError):
        raise UnreadableRegionError from None
    return Region(table, limits)


def _limit(column: Column | None, name: str, span: Span, null: bool) -> ColumnLimit:
    """A limit of a column of the table, or of one that was made up: of that on all points alone."""
    if column is None and span != EVERY_POINT:
        raise UnreadableRegionError
    return ColumnLimit(column or Column(name, Kind.TEXT), span, null)
