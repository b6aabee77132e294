"""Tables of rows with windows over the rows of their unit: OVER within FROM and WITH.

`LAG(amount) OVER (PARTITION BY customer_id ORDER BY day)` is a function of one unit's rows, as
customer_id names a unit. So the rows with such columns are unit-wise wherever the rows alone are,
and one unit has as many of them as before. Rows that are equal in ORDER BY are told apart by a
hash of their values, never by where they stand in a file. A window reads all rows of a unit; what
it comes to is clamped to bounds that follow from those of one row and from the cap on rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

from dpdb.errors import MissingBounds, Place
from dpdb.plan.expressions.expressions import ColumnRef
from dpdb.plan.logical.derived import Window
from dpdb.plan.logical.per_unit import aggregate_bounds, argument_grid
from dpdb.plan.logical.query import Function
from dpdb.plan.logical.row_unions import RowUnion
from dpdb.policy.catalog import Column, Kind, Table
from dpdb.records import dataclass

RANKINGS = ("row_number", "rank", "dense_rank")
"""The window functions that say where a row stands among those of its unit."""
PICKS = ("lag", "lead", "first_value", "last_value", "nth_value")
"""The window functions whose value is that of another row of the unit, or NULL."""
TOTALS = ("count", "sum", "avg", "min", "max")
"""The window functions that aggregate rows of the unit."""


@dataclass(frozen=True)
class WindowedRows(Table):
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
    def rows_held(self) -> int:
        """The most rows of a unit."""
        assert self.rows is not None
        return self.rows.rows_held

    @property
    def names_every_unit(self) -> bool:
        assert self.rows is not None
        return self.rows.names_every_unit

    @property
    def window_columns(self) -> tuple[Column, ...]:
        """The columns of the windows."""
        return self.columns[len(self.columns) - len(self.windows) :]


def windowed_rows(
    rows: RowUnion, windows: Sequence[tuple[str, Window]], where: Place | None
) -> WindowedRows:
    """The table of these rows and of labelled windows over them, whose values are its columns.

    The columns of windows are named by where they stand; labels are for messages. Raises
    MissingBounds, with the place, where a total has none.
    """
    most = rows.rows_per_unit
    columns = (
        replace(_column(f"w{at}", window, most, where), label=label)
        for at, (label, window) in enumerate(windows, 1)
    )
    return WindowedRows(
        name="",
        path=Path(),
        columns=(*rows.columns, *columns),
        unit=rows.unit,
        rows_per_unit=most,
        rows=rows,
        windows=tuple(window for _, window in windows),
        sample_key=rows.sample_key,
    )


def _column(name: str, window: Window, cap: int, where: Place | None) -> Column:
    """The column of a window over rows of a unit that has at most `cap`."""
    if window.function in RANKINGS:
        return Column(name, Kind.INTEGER, Fraction(1), Fraction(cap), nullable=False)
    most = _frame_rows(window, cap)
    if window.function == "count":
        return Column(name, Kind.INTEGER, Fraction(0), Fraction(most), nullable=False)
    value = window.arguments[0]
    assert isinstance(value, ColumnRef)
    if window.function in PICKS:
        # What another row names is of the same unit, but the row itself is about its own.
        return replace(value.column, name=name, nullable=True, references=None)
    grid, bare = argument_grid(value, window.where), Column(name, window.kind)
    if grid is not None:
        return aggregate_bounds(bare, Function(window.function), grid, most)
    if window.function in ("sum", "avg"):
        raise MissingBounds(
            f"{window.function.upper()} over the rows of a unit needs bounds of its argument",
            hint="declare bounds in the policy, or write CLAMP(x, low, high)",
            place=where,
        )
    return bare


def _frame_rows(window: Window, cap: int) -> int:
    """The most rows that a row reads."""
    frame = window.frame
    if frame is None or frame.first is None or frame.last is None:
        return cap
    return max(1, min(cap, frame.last - frame.first + 1))
