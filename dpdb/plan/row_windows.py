"""Tables of rows with their places among the rows of their unit: windows within FROM and WITH.

`ROW_NUMBER() OVER (PARTITION BY customer_id ORDER BY day)` is a function of one unit's rows, as
customer_id names a unit. Rows that are equal in ORDER BY are told apart by a hash of their values.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from dpdb.plan.derived import Window
from dpdb.plan.expressions import ColumnRef, Expr
from dpdb.plan.per_unit import different
from dpdb.plan.relations import Source
from dpdb.plan.row_unions import Part, RowUnion, row_union
from dpdb.policy.catalog import Column, Kind, Policy, Table

RANKINGS = ("row_number", "rank", "dense_rank")
"""The window functions that say where a row stands among those of its unit."""


@dataclass(frozen=True)
class RankedRows(Table):
    """The rows of a SELECT with a column for each window, which come last."""

    rows: RowUnion | None = None
    """The rows, of one part; `windows` read its columns."""
    windows: tuple[Window, ...] = ()
    sample_key: str = ""

    @property
    def unit_in_words(self) -> str:
        assert self.rows is not None
        return self.rows.unit_in_words

    @property
    def ranks(self) -> tuple[Column, ...]:
        """The columns of the windows."""
        return self.columns[len(self.columns) - len(self.windows) :]


def rows_read(
    source: Source, where: Expr | None, read: Sequence[ColumnRef], policy: Policy
) -> RowUnion:
    """The rows of a source that pass a condition, with the columns that are read of them."""
    part = Part(source, where, tuple(read))
    names = [each.column.name for each in read]
    return row_union(names, [each.kind for each in read], [part], policy)


def ranked_rows(rows: RowUnion, windows: Sequence[tuple[str, Window]]) -> RankedRows:
    """The table of these rows and of named windows over them."""
    own = (name.replace(".", "_") for name, _ in windows)
    names = [*different([*(each.name for each in rows.columns), *own])]
    most = Fraction(rows.rows_per_unit)
    ranks = (
        Column(name, Kind.INTEGER, Fraction(1), most, nullable=False)
        for name in names[len(rows.columns) :]
    )
    meant = tuple(window for _, window in windows)
    return RankedRows(
        name=repr((rows.name, meant)),
        path=Path(),
        columns=(*rows.columns, *ranks),
        unit=rows.unit,
        rows_per_unit=rows.rows_per_unit,
        rows=rows,
        windows=meant,
        sample_key=rows.sample_key,
    )
