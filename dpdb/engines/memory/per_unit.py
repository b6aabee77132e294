"""What the rows of each unit come to, group by group: exact, in whole steps."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dpdb.engines.memory.coded_values import coded
from dpdb.engines.memory.grid_values import on_grid
from dpdb.engines.memory.leaves import taken
from dpdb.engines.memory.made_columns import made_column, rescaled
from dpdb.engines.memory.row_blocks import mask
from dpdb.engines.protocol import representation
from dpdb.plan.expressions import conjunction
from dpdb.plan.per_unit import PerUnit, argument_grid
from dpdb.plan.query import Aggregate, Function
from dpdb.plan.statistics import Grid
from dpdb.policy.catalog import Column
from dpdb.vectors.columns import Codes, Numbers
from dpdb.vectors.evaluate import Frame, evaluate
from dpdb.vectors.vector import Array, Bools


@dataclass(frozen=True, repr=False)
class GroupedRows:
    """The rows of a table per unit, in groups of one owner and one value of each key."""

    table: PerUnit
    frame: Frame
    owners: Array

    @property
    def _rows(self) -> int:
        return len(self.owners)

    @cached_property
    def _order(self) -> Array:
        """The rows group by group."""
        return np.lexsort((*self._keys, self.owners))

    @cached_property
    def _keys(self) -> list[Array]:
        """The keys as numbers, equal where the values are; NULL is a value of its own."""
        found: list[Array] = []
        for key in self.table.keys:
            column = self.frame.columns[key.column.name]
            if isinstance(column, Codes):
                found.append(column.codes)
            else:
                found += [column.units, *([] if column.null is None else [column.null])]
        return found

    @cached_property
    def _starts(self) -> Array:
        """Where each group starts in the order."""
        new = np.zeros(self._rows, dtype=np.bool_)
        new[:1] = True
        for each in (*self._keys, self.owners):
            ordered = each[self._order]
            new[1:] |= ordered[1:] != ordered[:-1]
        return np.flatnonzero(new)

    @property
    def first(self) -> Array:
        """One row of each group."""
        return self._order[self._starts]

    def columns(self) -> dict[str, Numbers | Codes]:
        """The keys and the aggregates of every group."""
        table = self.table
        columns = {
            column.name: taken(self.frame.columns[key.column.name], self.first)
            for column, key in zip(table.key_columns, table.keys, strict=True)
        }
        for column, aggregate in zip(table.aggregate_columns, table.aggregates, strict=True):
            columns[column.name] = self._aggregated(column, aggregate)
        return columns

    def _aggregated(self, column: Column, aggregate: Aggregate) -> Numbers:
        """An aggregate of every group, clamped to the bounds of its column."""
        counted, values, grid = self._counted(aggregate)
        number = self._sums(counted.astype(np.int64), self._rows)
        match aggregate.function:
            case Function.COUNT:
                return made_column(column, number, None)
            case Function.COUNT_DISTINCT:
                return made_column(column, self._different(aggregate, counted), None)
        missing = number == 0
        if grid is None:
            found = self._of_doubles(aggregate.function, values, counted, number)
            return made_column(column, found, missing)
        largest = max(abs(grid.lower), abs(grid.upper))
        steps = self._of_steps(aggregate.function, values, counted, number, largest)
        return made_column(column, rescaled(steps, grid, column), missing)

    def _counted(self, aggregate: Aggregate) -> tuple[Bools, Array, Grid | None]:
        """The rows that count, in the order of the groups, with their values on a grid."""
        counted = np.ones(self._rows, dtype=np.bool_)
        if aggregate.where is not None:
            counted &= mask(aggregate.where, self.frame, self._rows)
        values, grid, argument = np.zeros(self._rows), None, aggregate.argument
        if argument is not None and aggregate.function in (Function.COUNT, Function.COUNT_DISTINCT):
            null = evaluate(argument, self.frame).null
        elif argument is None:
            null = None
        else:
            grid = argument_grid(argument, conjunction(self.table.where, aggregate.where))
            if grid is None:
                vector = evaluate(argument, self.frame)
                values = np.broadcast_to(vector.values, self._rows)  # type: ignore[union-attr]
                null = vector.null
            else:
                steps = on_grid(argument, grid, self.frame, self._rows)
                values, null = np.broadcast_to(steps.values, self._rows), steps.null
        if null is not None:
            counted &= ~np.broadcast_to(null, self._rows)
        return counted[self._order], values[self._order], grid

    def _sums(self, values: Array, largest: int) -> Array:
        """The sum of each group."""
        held = values.astype(representation(largest))
        return np.add.reduceat(held, self._starts) if len(self._starts) else held[:0]

    def _of_steps(
        self, function: Function, values: Array, counted: Bools, number: Array, largest: int
    ) -> Array:
        """SUM, MIN, MAX, or the mean in doubles, of whole steps."""
        whole = values.astype(np.int64)
        match function:
            case Function.MIN | Function.MAX:
                return self._extreme(function, whole, counted, largest + 1)
            case _:
                sums = self._sums(np.where(counted, whole, 0), largest)
        if function is Function.SUM:
            return sums
        return np.asarray(sums.astype(np.float64) / np.maximum(number, 1))

    def _of_doubles(
        self, function: Function, values: Array, counted: Bools, number: Array
    ) -> Array:
        """The same of doubles without bounds, which are added in ascending order."""
        if function in (Function.MIN, Function.MAX):
            return self._extreme(function, values, counted, np.inf)
        groups = np.repeat(np.arange(len(self._starts)), np.diff([*self._starts, self._rows]))
        ascending = np.where(counted, values, 0.0)[np.lexsort((values, groups))]
        sums = np.add.reduceat(ascending, self._starts) if len(self._starts) else ascending[:0]
        return sums if function is Function.SUM else np.asarray(sums / np.maximum(number, 1))

    def _extreme(self, function: Function, values: Array, counted: Bools, beyond: float) -> Array:
        """The least or greatest counted value of each group, beyond all values without any."""
        if not len(self._starts):
            return values[:0]
        least = function is Function.MIN
        chosen = np.where(counted, values, beyond if least else -beyond)
        pick: Callable[..., Array] = np.minimum.reduceat if least else np.maximum.reduceat
        return np.asarray(pick(chosen, self._starts))

    def _different(self, aggregate: Aggregate, counted: Bools) -> Array:
        """The number of different values of each group."""
        assert aggregate.argument is not None
        codes = np.broadcast_to(coded(aggregate.argument, self.frame).codes, self._rows)
        codes = codes[self._order]
        groups = np.repeat(np.arange(len(self._starts)), np.diff([*self._starts, self._rows]))
        groups, codes = groups[counted], codes[counted]
        order = np.lexsort((codes, groups))
        groups, codes = groups[order], codes[order]
        new = np.ones(len(order), dtype=np.bool_)
        new[1:] = (groups[1:] != groups[:-1]) | (codes[1:] != codes[:-1])
        return np.bincount(groups[new], minlength=len(self._starts))
