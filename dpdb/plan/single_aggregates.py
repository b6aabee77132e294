"""Aggregates of what units come to in a group, and of different values."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

from dpdb.plan.expressions import ColumnRef, Expr, conjunction
from dpdb.plan.identity import identity
from dpdb.plan.per_unit import unit_column
from dpdb.plan.query import Aggregate, Function
from dpdb.plan.single_values import DistinctValue, UnitValue, single_value
from dpdb.plan.statistics import fit_grid, step_of
from dpdb.policy.catalog import Kind
from dpdb.policy.numbers import MAGNITUDE_LIMIT


def of_units(aggregate: Aggregate, low: Fraction, high: Fraction, most: int) -> Aggregate:
    """A COUNT or SUM of each unit's rows in a group, clamped, and added up over units.

    For an AVG it is the mean over units of the mean of each unit's rows, clamped. A unit has at
    most so many rows, so that its count and its sum have bounds, too.
    """
    function, argument, where = aggregate.function, aggregate.argument, aggregate.where
    plain = unit_column("", aggregate, None, most)
    ends, step = (low, high), plain.step
    if plain.bounds is not None:
        ends = tuple(min(max(end, low), high) for end in plain.bounds)  # type: ignore[assignment]
    elif argument is not None:
        step = step_of(argument, low, high)
    grid = fit_grid(step, *ends, MAGNITUDE_LIMIT)
    value = UnitValue(
        name=f"unit {identity((function, argument, where, low, high))}",
        kind=Kind.INTEGER if function is Function.COUNT else aggregate.kind,
        lower=grid.lower * grid.step,
        upper=grid.upper * grid.step,
        step=grid.step,
        argument=argument,
        where=where,
        function=function.value,
    )
    whole = Function.AVG if function is Function.AVG else Function.SUM
    return Aggregate(
        whole, ColumnRef(value), conjunction(where, value.present), None, aggregate.place
    )


def of_different(aggregate: Aggregate) -> Aggregate:
    """An aggregate of a number's different values in a group."""
    argument, where = aggregate.argument, aggregate.where
    assert argument is not None
    value = DistinctValue(
        name=f"distinct {identity((argument, where))}",
        kind=argument.kind,
        argument=argument,
        where=where,
    )
    if isinstance(argument, ColumnRef):
        declared = argument.column
        value = replace(
            value,
            lower=declared.lower,
            upper=declared.upper,
            step=declared.step,
            values=declared.values,
        )
    return replace(aggregate, argument=ColumnRef(value), where=conjunction(where, value.present))


def number_of_values(value: DistinctValue) -> float:
    """The most different values that there can be, whatever the rows are; infinite if none is sure.

    Only columns keep to their declaration: what follows from it for an expression is assumed.
    """
    if not isinstance(value.argument, ColumnRef):
        return math.inf
    if value.values is not None:
        return len(value.values)
    if value.bounds is None:
        return math.inf
    low, high = value.bounds
    return (high - low) // value.step + 1


def filtered(aggregate: Aggregate, condition: Expr | None) -> Aggregate:
    """The aggregate over only those rows that also pass a condition.

    An aggregate of what units come to has no condition added, as WHERE says which rows of a unit
    count before anything is worked out from them.
    """
    assert condition is None or not isinstance(single_value(aggregate.argument), UnitValue)
    every = without_distinct(aggregate)
    if every is not None:
        return of_different(filtered(every, condition))
    return replace(aggregate, where=conjunction(condition, aggregate.where))


def without_distinct(aggregate: Aggregate) -> Aggregate | None:
    """The aggregate of all values for one of different ones; None for any other."""
    value = single_value(aggregate.argument)
    if not isinstance(value, DistinctValue):
        return None
    return replace(aggregate, argument=value.argument, where=value.where)
