"""Tables with one row for each unit, computed from the unit's rows: exact, and without noise.

`SELECT customer_id, SUM(amount) AS total FROM orders GROUP BY customer_id` within FROM is such a
table, as customer_id names a unit. Each row is a function of one unit's rows, so that further
queries of the table are about units as those of any other table are. A unit's value is clamped to
bounds that follow from those of its rows and from their cap.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

from dpdb.errors import Unsupported
from dpdb.plan.expressions.expressions import ColumnRef, Expr, columns_of, conjunction
from dpdb.plan.expressions.single_values import DistinctValue, UnitValue, single_value
from dpdb.plan.identity import identity
from dpdb.plan.logical.query import COUNTS, Aggregate, Function
from dpdb.plan.ranges.grids import Grid, fit_grid, step_of
from dpdb.plan.ranges.ranges import interval, narrow, nullable
from dpdb.plan.relations.privacy_ids import Name, unit_columns
from dpdb.plan.relations.relations import Source
from dpdb.policy.catalog import Column, Kind, Table
from dpdb.policy.names import Reference
from dpdb.policy.numbers import MAGNITUDE_LIMIT, grid_step
from dpdb.records import dataclass

_FUNCTIONS = (
    Function.COUNT,
    Function.COUNT_DISTINCT,
    Function.SUM,
    Function.AVG,
    Function.MIN,
    Function.MAX,
)


@dataclass(frozen=True)
class PerUnit(Table):
    """A table of aggregates per unit; its first columns are the keys."""

    source: Source | None = None
    """The table or relation whose rows are aggregated."""
    where: Expr | None = None
    keys: tuple[ColumnRef, ...] = ()
    """The GROUP BY columns of `source`, the one that names the unit among them."""
    aggregates: tuple[Aggregate, ...] = ()
    sample_key: str = ""

    @property
    def unit_in_words(self) -> str:
        if self.chain is not None:
            return super().unit_in_words
        return next(column.called for column in self.columns if column.name == self.unit)

    @property
    def names_every_unit(self) -> bool:
        assert self.source is not None
        pairs = zip(self.key_columns, self.keys, strict=True)
        naming = {key.column.name for column, key in pairs if column.name == self.unit}
        return naming <= unit_columns(self.source, always=True)

    @property
    def names_read(self) -> frozenset[str]:
        """The names of the columns of `source` that are read."""
        read = [self.where, *self.keys]
        read += [part for each in self.aggregates for part in each.parts]
        return frozenset().union(*(columns_of(each) for each in read if each is not None))

    @property
    def key_columns(self) -> tuple[Column, ...]:
        """The columns of the keys."""
        return self.columns[: len(self.keys)]

    @property
    def aggregate_columns(self) -> tuple[Column, ...]:
        """The columns of the aggregates."""
        return self.columns[len(self.keys) :]

    @property
    def rows_held(self) -> int:
        """The most rows of a unit: as many as are grouped, or combinations of the keys."""
        assert self.source is not None
        others = [column for column in self.key_columns if column.name != self.unit]
        most = _most(self.source.rows_held, others, self.chain)
        # Where the key that names the unit can be NULL, its rows make twice as many groups.
        return most if self.names_every_unit else min(self.source.rows_held, 2 * most)


def per_unit(
    source: Source,
    where: Expr | None,
    keys: tuple[tuple[ColumnRef, Name | None], ...],
    aggregates: tuple[tuple[str, Aggregate], ...],
    sample_key: str,
) -> PerUnit:
    """The table with these keys, of which one names a unit or its row, and labelled aggregates.

    Columns are named `k1`, `a1`, … by their position; labels are for messages only.
    """
    key_columns = [
        replace(
            key.column,
            name=f"k{at}",
            label=key.column.called,
            references=(naming and naming.reference) or key.column.references,
        )
        for at, (key, naming) in enumerate(keys, 1)
    ]
    # Where an aggregate stands in the text is no part of what it means.
    meant = tuple(replace(aggregate, place=None) for _, aggregate in aggregates)
    columns = [
        replace(unit_column(f"a{at}", aggregate, where, source.rows_per_unit), label=label)
        for at, (label, aggregate) in enumerate(aggregates, 1)
    ]
    # A column that references the unit's names it only by what the policy says.
    named = zip(key_columns, keys, strict=True)
    direct = [c for c, (_, name) in named if name and name.is_unit and c.references is None]
    naming = next(iter(direct), None) or next(c for c in key_columns if c.references is not None)
    chain = naming.references
    others = [c for c in key_columns if c is not naming]
    return PerUnit(
        name="",
        path=Path(),
        columns=(*key_columns, *columns),
        unit=naming.name,
        rows_per_unit=_most(source.rows_per_unit, others, chain),
        chain=chain,
        key=tuple(column.name for column in key_columns),
        source=source,
        where=where,
        keys=tuple(key for key, _ in keys),
        aggregates=meant,
        sample_key=sample_key,
    )


def _most(rows: int, others: Iterable[Column], chain: Reference | None) -> int:
    """The most rows of a unit: as many as it has rows, or combinations of the other keys."""
    if chain is not None:
        return rows
    sizes = [len(c.values) + c.nullable if c.values is not None else math.inf for c in others]
    return int(min(rows, math.prod(sizes)))


def unit_column(name: str, aggregate: Aggregate, where: Expr | None, most: int) -> Column:
    """The column of an aggregate of at most `most` rows."""
    function, argument = aggregate.function, aggregate.argument
    if single_value(argument) is not None:
        raise Unsupported(
            "neither DISTINCT nor contribution bounds are worked out per unit",
            hint=f"CLAMP({function.name}(x), low, high) is clamped for each unit",
            place=aggregate.place,
        )
    if function not in _FUNCTIONS:
        raise Unsupported(
            f"{function.name} is not worked out per unit",
            hint="COUNT, SUM, AVG, MIN and MAX are",
            place=aggregate.place,
        )
    if function in COUNTS:
        always = argument is None and aggregate.where is None
        return Column(name, Kind.INTEGER, Fraction(int(always)), Fraction(most), nullable=False)
    assert argument is not None
    missing = nullable(argument) or aggregate.where is not None
    grid = argument_grid(argument, conjunction(where, aggregate.where))
    bare = Column(name, aggregate.kind, nullable=missing)
    return bare if grid is None else aggregate_bounds(bare, function, grid, most)


def aggregate_bounds(bare: Column, function: Function, grid: Grid, most: int) -> Column:
    """The column with the bounds of a SUM, AVG, MIN or MAX of one to `most` values of a grid."""
    low, high = grid.lower * grid.step, grid.upper * grid.step
    step = grid.step
    if function is Function.SUM:
        low, high = min(low, most * low), max(high, most * high)
    elif function is Function.AVG:
        step = grid_step(low, high) if bare.kind is Kind.NUMBER else step
    fitted = fit_grid(step, low, high, MAGNITUDE_LIMIT)
    return replace(
        bare, lower=fitted.lower * fitted.step, upper=fitted.upper * fitted.step, step=fitted.step
    )


def argument_grid(argument: Expr, where: Expr | None) -> Grid | None:
    """The grid of the values in rows for which `where` is true; None where they have no bounds."""
    bounds = interval(argument, narrow(where, {}))
    bounds = interval(argument, {}) if bounds.empty else bounds
    if not (isinstance(bounds.lower, Fraction) and isinstance(bounds.upper, Fraction)):
        return None
    step = step_of(argument, bounds.lower, bounds.upper)
    return fit_grid(step, bounds.lower, bounds.upper, MAGNITUDE_LIMIT)


def of_units(aggregate: Aggregate, low: Fraction, high: Fraction, most: int) -> Aggregate:
    """A COUNT or SUM of each unit's rows in a group, clamped, and added up over units.

    For an AVG: the mean over units of the mean of each unit's rows, clamped. A unit has at
    most `most` rows, which bounds its count and its sum, too.
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
    """The most different values in any data; infinite if the policy sets no limit.

    Only columns are sure to keep to their declaration; bounds of expressions are assumptions.
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
