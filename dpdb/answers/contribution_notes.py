"""EXPLAIN's notes on bounding: which rows are left out before the noise, which values clamped.

They say what the plan will do, not how many rows or values that meets: that would be private.
"""

from __future__ import annotations

from collections.abc import Iterator

from dpdb.answers.declarations import plain_value
from dpdb.plan.expressions import ColumnRef, Expr, children
from dpdb.plan.plan import Plan
from dpdb.plan.relations import Source
from dpdb.plan.statistics import Distinct, Ranks, Total
from dpdb.policy.catalog import Column


def bounding_notes(planned: Plan) -> tuple[str, ...]:
    """A note for each cap on a unit's rows, and for each column whose values are clamped."""
    plans = list(_with_subplans(planned))
    caps = [_cap(each.table) for each in plans if each.table.unit is not None]
    clamps = [
        _clamp(column)
        for each in plans
        for release in each.releases
        for part in release.parts
        if isinstance(part.statistic, Total | Ranks | Distinct)
        for column in _bounded(part.statistic.argument)
    ]
    return tuple(dict.fromkeys([*caps, *clamps]))


def _with_subplans(planned: Plan) -> Iterator[Plan]:
    for subplan in planned.subplans:
        yield from _with_subplans(subplan)
    yield planned


def _cap(table: Source) -> str:
    rows = "1 row" if table.rows_per_unit == 1 else f"{table.rows_per_unit} rows"
    within = ""
    if table.groups_per_unit is not None:
        groups = "1 group" if table.groups_per_unit == 1 else f"{table.groups_per_unit} groups"
        within = f" in at most {groups}"
    return f"at most {rows} per {table.unit_in_words}{within}, chosen by a keyed hash"


def _bounded(expression: Expr) -> Iterator[Column]:
    """The columns that an expression reads and that have bounds."""
    match expression:
        case ColumnRef(column=Column(values=None, bounds=(_, _)) as column):
            yield column
    for child in children(expression):
        yield from _bounded(child)


def _clamp(column: Column) -> str:
    assert column.bounds is not None
    low, high = (plain_value(bound, column.kind) for bound in column.bounds)
    return f"{column.name}: values are clamped to {low} … {high}"
