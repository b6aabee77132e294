"""Columns that have one value for each unit of a group, or for each different value in it.

What several rows come to together stands on one of them, and the column is NULL on the others. So
`SUM` of such a column adds up what units come to, or different values, and all that is made for
sums and averages of columns holds for it. An engine works the column out, group by group, from the
rows that count; which of the rows it stands on changes nothing.
"""

from __future__ import annotations

from dpdb.plan.expressions.expressions import ColumnRef, Expr, IsNull, Not, columns_of
from dpdb.policy.catalog import Column
from dpdb.records import dataclass


@dataclass(frozen=True, repr=False)
class SingleValue(Column):
    """A column that is worked out from the `argument` in the rows of a group that pass `where`."""

    argument: Expr | None = None
    """The aggregated expression; None where rows are counted."""
    where: Expr | None = None

    @property
    def present(self) -> Expr:
        """The condition that a row has the value."""
        return Not(IsNull(ColumnRef(self)))


@dataclass(frozen=True, repr=False)
class UnitValue(SingleValue):
    """The aggregate of a unit's rows in a group, clamped to the bounds of this column."""

    function: str = "sum"
    """The aggregate: `count`, `sum` or `avg`."""


@dataclass(frozen=True, repr=False)
class DistinctValue(SingleValue):
    """Each different value in a group once; it has the bounds that its argument has."""


def single_value(expression: Expr | None) -> SingleValue | None:
    """The column, where an expression is one of these and nothing else."""
    if isinstance(expression, ColumnRef) and isinstance(expression.column, SingleValue):
        return expression.column
    return None


def stored_columns(expression: Expr) -> dict[str, Column]:
    """The columns that tables hold of which an expression is made, by name."""
    stored: dict[str, Column] = {}
    for name, column in columns_of(expression).items():
        if isinstance(column, SingleValue):
            for part in (column.argument, column.where):
                stored |= {} if part is None else stored_columns(part)
        else:
            stored[name] = column
    return stored
