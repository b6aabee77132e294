"""Tables with a row for what the rows of each unit come to: exact, and without noise.

`SELECT customer_id, SUM(amount) AS total FROM orders GROUP BY customer_id` within FROM is such a
table, as customer_id names a unit. Each row is a function of one unit's rows, so that further
queries of the table are about units as those of any other table are. What a unit comes to is
clamped to bounds that follow from those of its rows and from their cap.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path

from dpdb.errors import Unsupported
from dpdb.plan.expressions import ColumnRef, Expr, columns_of, conjunction
from dpdb.plan.owners import THE_UNIT, Name, unit_columns
from dpdb.plan.query import COUNTS, Aggregate, Function
from dpdb.plan.ranges import interval, narrow, nullable
from dpdb.plan.relations import Source
from dpdb.plan.single_values import single_value
from dpdb.plan.statistics import Grid, fit_grid, step_of
from dpdb.policy.catalog import Column, Kind, Reference, Table
from dpdb.policy.numbers import MAGNITUDE_LIMIT, grid_step

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
    """What is aggregated."""
    where: Expr | None = None
    keys: tuple[ColumnRef, ...] = ()
    """What is grouped by, besides the owner."""
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

    Its columns are named by where they stand, so that labels, which are for messages, have no say.
    """
    key_columns = [
        replace(
            key.column,
            name=f"k{at}",
            label=key.column.called,
            references=_reference(naming) or key.column.references,
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
    direct = [c for c, (_, name) in named if name == THE_UNIT and c.references is None]
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


def _reference(name: Name | None) -> Reference | None:
    if name is None or name.table is None or name.column is None:
        return None
    return Reference(name.table, name.column)


def _most(rows: int, others: Iterable[Column], chain: Reference | None) -> int:
    """The most rows of a unit: as many as it has rows, or combinations of the other keys."""
    if chain is not None:
        return rows
    sizes = [len(c.values) + c.nullable if c.values is not None else math.inf for c in others]
    return int(min(rows, math.prod(sizes)))


def unit_column(name: str, aggregate: Aggregate, where: Expr | None, most: int) -> Column:
    """The column of an aggregate of at most so many rows."""
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
