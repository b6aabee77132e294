"""Caps on what a unit adds, if a query finds them: on its total, or on the number of its rows.

COUNT or SUM alone needs no cap on rows: what each unit adds in all is clamped, and no row is left
out. For averages, several aggregates, and groups of which a unit can be in several, as many rows
of each unit count as the cap says, chosen by the keyed hash. Rows of two owners have a room for
each unit (`engines.units.filling`), found by how much of a filled sum is lost in smaller ones.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from dpdb.errors import InvalidOption
from dpdb.plan.expressions.expressions import ColumnRef, Expr, Slot
from dpdb.plan.expressions.single_values import UnitValue, single_value
from dpdb.plan.identity import identity
from dpdb.plan.logical.per_unit import of_units, unit_column
from dpdb.plan.logical.query import VARIANCES, Aggregate, Function, Output, Query
from dpdb.policy.catalog import Kind
from dpdb.records import changed, dataclass

_WIDEST = 2**43
"""The most steps of a total without bounds; noise on it fits 64 bits where ε is large enough."""
_FINE = Fraction(1, 1000)
"""The step of a total of numbers without bounds."""
_DECLARED = "OPTIONS(rows_per_unit = 'declared') takes as many rows as can count"
_TOTALS = {Function.COUNT, Function.SUM}
_AVERAGES = {Function.AVG, Function.QUANTILE, *VARIANCES}
"""The functions that fewer rows of each unit change little, and whose noise grows with the cap."""
_PARTS = {"averages": Fraction(1, 16), "room": Fraction(7, 20)}
"""The parts of a share that find these caps; other caps take a quarter. The part for a room is
chosen for the mean square errors over 21 tables, at ε from 1/4 to 1."""
Ends = tuple[Fraction, Fraction]


@dataclass(frozen=True, repr=False)
class CappedValue(UnitValue):
    """A number that each unit has, and that a cap is found for."""

    caps: str = "total"
    """The number that is capped: a unit's `total`, its number of `rows` (`averages` if only these
    need it), or its `room` where rows have two owners.

    Rows that are left out make no average, median or variance smaller, so the cap for these is low.
    """

    @property
    def part(self) -> Fraction:
        """The part of a query's share that finds the cap."""
        return _PARTS.get(self.caps, Fraction(1, 4))


def capped_value(expression: Expr) -> CappedValue | None:
    """The number that a cap is sought for; None for an argument that bounds are sought for."""
    value = single_value(expression)
    return value if isinstance(value, CappedValue) else None


def is_total(expression: Expr) -> bool:
    """Whether a cap is on what a unit adds in all, and not on the number of its rows."""
    value = capped_value(expression)
    return value is not None and value.caps == "total"


def finds_room(query: Query) -> bool:
    """Whether a query is the search for the room of a unit, and answers nothing itself."""
    values = (capped_value(each.argument) for each in query.aggregates if each.argument)
    return any(value is not None and value.caps == "room" for value in values)


def sought_cap(query: Query) -> Expr | None:
    """The number of each unit that a query finds a cap for; None if it finds none.

    A SUM of nothing but zeros needs none: it is 0, and free.
    """
    if query.options.rows_per_unit != "find" or query.subqueries or any(query.contradictions):
        return None
    table, functions = query.table, {each.function for each in query.aggregates}
    capped = table.unit is not None and not table.public and table.rows_held > 1
    plain = all(single_value(each.argument) is None for each in query.aggregates)
    if not (capped and plain and functions) or functions - _TOTALS - _AVERAGES:
        return None
    alone = _adds_alone(query)
    total = alone and not table.kinds
    filters = {each.where for each in query.aggregates}
    # What is drawn must be the same whichever cap is found: counts under several filters are
    # drawn together where that is better, and a unit's rows say how much a found key costs.
    same = len(filters) == 1 and not query.found_places and table.rows_per_unit > 1
    # The search fills the sum of all groups, and cannot know what a room would lose in each.
    same = same and not (table.kinds and query.keys)
    if not (total or same) or (alone and _adds_nothing(query)):
        return None
    if query.options.has_accuracy_goal:
        raise InvalidOption(
            "an error, or a noise_index, cannot be kept with rows_per_unit = 'find'", hint=_DECLARED
        )
    if query.options.kind.is_euclidean:
        raise InvalidOption(
            "rows_per_unit = 'find' goes with noise that is not Gaussian", hint=_DECLARED
        )
    if total:
        return _value(query, query.aggregates[0], "total")
    if table.kinds:
        return _room(query)
    rows = Aggregate(Function.COUNT, where=filters.pop())
    return _value(query, rows, "averages" if functions <= _AVERAGES else "rows")


def _adds_alone(query: Query) -> bool:
    """Whether a query is a COUNT or SUM, with one group for all rows of a unit."""
    in_one_group = not query.keys or query.groups_per_unit == 1
    functions = [each.function for each in query.aggregates]
    return in_one_group and len(functions) == 1 and functions[0] in _TOTALS


def _added(query: Query, rows: int) -> Ends | None:
    """The bounds of what so many rows of a unit add to the only aggregate."""
    return unit_column("", query.aggregates[0], query.where, rows).bounds


def _adds_nothing(query: Query) -> bool:
    """Whether no unit can add anything to the only aggregate."""
    bounds = _added(query, query.table.rows_held)
    return bounds is not None and not any(bounds)


def with_declared_total(query: Query) -> Query | None:
    """A SUM alone that clamps what a unit adds to what its rows may add by the policy's cap.

    No row is left out, and the noise is the same. None where the options do not ask for it, or
    nothing limits a row.
    """
    table, options = query.table, query.options
    asked = options.rows_per_unit == "totals" and _adds_alone(query) and not query.subqueries
    if not asked or table.unit is None or table.kinds or table.rows_held <= table.rows_per_unit:
        return None
    (summed,) = query.aggregates
    if summed.function is not Function.SUM or single_value(summed.argument) is not None:
        return None
    bounds = _added(query, table.rows_per_unit)
    if bounds is None:
        return None
    ends = min(bounds[0], Fraction(0)), max(bounds[1], Fraction(0))
    table = changed(table, rows_per_unit=table.rows_held)
    return replace(query, table=table, aggregates=(of_units(summed, *ends, table.rows_held),))


def _value(query: Query, of: Aggregate, caps: str) -> ColumnRef:
    """The value of an aggregate over a unit's rows, with the widest caps that can be found."""
    table, argument = query.table, of.argument
    fine = argument is not None and argument.kind is Kind.NUMBER
    widest = _WIDEST * (_FINE if fine else Fraction(1))
    value = single_value(of_units(of, -widest, widest, table.rows_held).argument)
    assert value is not None
    assert value.bounds is not None
    low, high = min(value.bounds[0], Fraction(0)), max(value.bounds[1], Fraction(0))
    high = high if caps == "total" else min(high, Fraction(table.rows_per_unit))
    return ColumnRef(
        CappedValue(
            name=f"{caps} {identity((of.function, argument, of.where))}",
            kind=value.kind,
            lower=low,
            upper=high,
            step=_FINE if fine and (low, high) == (-widest, widest) else value.step,
            argument=argument,
            where=of.where,
            function=of.function.value,
            caps=caps,
        )
    )


def _room(query: Query) -> ColumnRef:
    """The room of a unit: for the only aggregate, or for the rows that several count."""
    first, most = query.aggregates[0], query.table.rows_per_unit
    of = first if len(query.aggregates) == 1 else Aggregate(Function.COUNT, where=first.where)
    function = Function.SUM if of.function is Function.SUM else Function.COUNT
    return ColumnRef(
        CappedValue(
            name=f"room {identity((function, of.argument, of.where))}",
            kind=Kind.INTEGER,
            lower=Fraction(0),
            upper=Fraction(most),
            step=Fraction(1),
            argument=of.argument,
            where=of.where,
            function=function.value,
            caps="room",
        )
    )


def finding_cap(query: Query, cap: CappedValue, limit: int) -> Query:
    """The query that finds a cap, over the rows of each unit that are held.

    No cap is more than `limit` steps from 0.
    """
    most = limit * cap.step
    assert cap.bounds is not None
    value = replace(cap, lower=max(cap.bounds[0], -most), upper=min(cap.bounds[1], most))
    where = value.where if value.caps == "room" else value.present
    found = Aggregate(Function.APPROX_BOUNDS, ColumnRef(value), where)
    outputs = (Output("cap", Slot("aggregate", 0, Kind.TEXT)),)
    options, table = replace(query.options, rows_per_unit="declared"), query.table
    if value.caps != "room":
        table = changed(table, rows_per_unit=table.rows_held)
    return Query(table, outputs, (found,), query.where, options=options)


def with_cap(query: Query, cap: CappedValue, ends: Ends) -> Query:
    """The query with a cap that was found."""
    table, options = query.table, replace(query.options, rows_per_unit="declared")
    if cap.caps != "total":
        table = changed(table, rows_per_unit=int(ends[1]))
        return replace(query, table=table, options=options)
    (summed,) = query.aggregates
    clamped = of_units(summed, *ends, table.rows_held)
    table = changed(table, rows_per_unit=table.rows_held)
    return replace(query, table=table, aggregates=(clamped,), options=options)
