"""Columns that have one value for each unit of a group, or for each different value in it."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from dpdb.engines.relations.row_groups import RowGroups
from dpdb.engines.values.coded_values import coded
from dpdb.engines.values.row_blocks import mask
from dpdb.plan.expressions.expressions import ColumnRef, Expr
from dpdb.plan.expressions.single_values import SingleValue, UnitValue, single_value
from dpdb.plan.logical.query import Aggregate, Function
from dpdb.plan.physical.plan import Plan
from dpdb.records import dataclass
from dpdb.vectors.columns import Codes, Numbers
from dpdb.vectors.evaluate import Frame, evaluate
from dpdb.vectors.relational.keys import sorted_groups
from dpdb.vectors.vector import Array, Bools, Vector


def single_values(plan: Plan) -> Iterable[SingleValue]:
    """The columns of this kind that a plan reads, each once."""
    read = (single_value(estimate.aggregate.argument) for estimate in plan.estimates)
    return dict.fromkeys(column for column in read if column is not None)


@dataclass(frozen=True, repr=False)
class CellRows:
    """The rows that count for a plan, and in which cells they do."""

    frame: Frame
    rows: int
    """The number of all rows."""
    counted: Bools | None
    """Mask of the rows that count; None if all do."""
    groups: Array | None
    """The cell of each row, or one past the last; None where there is one cell of all rows."""
    cells: int
    owners: Array | None
    """The number of each row's unit; None where each row is one."""

    def column(self, value: SingleValue) -> Numbers | Codes:
        """The column, NULL in all rows on which no value stands."""
        return self._of_units(value) if isinstance(value, UnitValue) else self._different(value)

    def _of_units(self, value: UnitValue) -> Numbers:
        passed = self._passed(value.where)
        assert self.owners is not None
        order, starts = self._in_order(passed, self.owners[passed])
        aggregate = Aggregate(Function(value.function), value.argument, value.where)
        groups = RowGroups(self.frame, self.rows, order, starts, None)
        aggregated, first = groups.aggregated(value, aggregate), order[starts]
        null = np.ones(self.rows, dtype=np.bool_)
        null[first] = np.False_ if aggregated.null is None else aggregated.null
        units = np.full(self.rows, aggregated.filler, dtype=np.int64)
        units[first] = aggregated.units
        return Numbers(units, aggregated.step, null, aggregated.filler, aggregated.held)

    def _different(self, value: SingleValue) -> Numbers | Codes:
        assert value.argument is not None
        values = coded(value.argument, self.frame)
        passed = self._passed(value.where)
        if values.null is not None:
            passed = passed[~np.broadcast_to(values.null, self.rows)[passed]]
        codes = np.broadcast_to(values.codes, self.rows)
        order, starts = self._in_order(passed, codes[passed])
        null = np.ones(self.rows, dtype=np.bool_)
        null[order[starts]] = False
        return self._with_nulls(value.argument, null)

    def _with_nulls(self, argument: Expr, null: Bools) -> Numbers | Codes:
        """The values of an argument as a column holds them, with NULL in these rows."""
        if isinstance(argument, ColumnRef):
            return self.frame.columns[argument.column.name].with_nulls(null)
        vector = evaluate(argument, self.frame)
        assert isinstance(vector, Vector)
        return Numbers(np.where(null, 0.0, vector.values), None, null, 0)

    def _passed(self, condition: Expr | None) -> Array:
        """The rows that count in some cell and pass a condition, too."""
        kept = np.ones(self.rows, dtype=np.bool_) if self.counted is None else self.counted.copy()
        if condition is not None:
            kept &= mask(condition, self.frame, self.rows)
        if self.groups is not None:
            kept &= self.groups < self.cells
        return np.flatnonzero(kept)

    def _in_order(self, rows: Array, keys: Array) -> tuple[Array, Array]:
        """The rows by cell and key, and where in this order each pair of these begins."""
        cells = np.zeros(len(rows), dtype=np.int64) if self.groups is None else self.groups[rows]
        order, starts = sorted_groups(cells, keys)
        return rows[order], starts
