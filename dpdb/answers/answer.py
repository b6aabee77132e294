"""The answer that a session gives: a record that shows itself in Python and in a notebook."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from dpdb.answers.formats import frames
from dpdb.answers.formats.render import FORMATS
from dpdb.answers.record import AnswerRecord, Cell
from dpdb.errors import UsageError

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    import pyarrow as pa
    from matplotlib.axes import Axes


class Answer(AnswerRecord):
    """The answer to a statement: columns, rows and intervals as plain values, and the cost.

    `repr(answer)` is the table that the command line prints, and a notebook shows the same as HTML.
    Neither shows any other field of the answer.
    """

    def __iter__(self) -> Iterator[tuple[Cell, ...]]:
        """The rows, each a tuple."""
        return iter(self.rows)

    def __len__(self) -> int:
        """The number of rows; 0 for an EXPLAIN."""
        return len(self.rows)

    def __bool__(self) -> bool:
        """True, also for an answer without rows."""
        return True

    def fetchall(self) -> list[tuple[Cell, ...]]:
        """The rows as a list."""
        return list(self.rows)

    def scalar(self) -> Cell:
        """The one value of an answer with one row and one column; raises UsageError for others."""
        if len(self) == len(self.columns) == 1:
            return self.rows[0][0]
        raise UsageError(
            f"scalar() is for one value, and the answer has {len(self)} rows and"
            f" {len(self.columns)} columns",
            hint="iterate over its rows, or df() is a DataFrame",
        )

    def df(self, intervals: bool = False) -> pd.DataFrame:
        """The rows as a DataFrame of pandas; raises UsageError where it is not installed.

        The type of a column follows from the query: `Int64`, `Float64`, `boolean`, `str`,
        `datetime64[s]` for dates, `datetime64[us]` for timestamps. Only where a whole number does
        not fit 64 bits the column is `Float64`. A NULL is pandas' missing value. With `intervals`
        the ends of the interval of `n` are in the columns `n_low` and `n_high`.
        """
        return frames.data_frame(self, intervals=intervals)

    to_pandas = df

    def to_polars(self, intervals: bool = False) -> pl.DataFrame:
        """The rows as a DataFrame of polars, with the same types as `df`; a date is a `Date`."""
        return frames.polars_frame(self, intervals=intervals)

    def to_arrow(self, intervals: bool = False) -> pa.Table:
        """The rows as a table of Arrow, with the same types as `df`; a date is a `date32`."""
        return frames.arrow_table(self, intervals=intervals)

    def plot(self, ax: Axes | None = None, *, kind: str | None = None) -> Axes:
        """Draw the noisy numbers over their keys, with their 95 % intervals, by matplotlib.

        `kind` is "bar" or "line"; without it, numbers over a date are lines, and others bars.
        """
        from dpdb.answers.formats.notebooks import plotted  # noqa: PLC0415

        return plotted(self, ax, kind)

    def __repr__(self) -> str:
        return FORMATS["table"](self)

    def _repr_html_(self) -> str:
        """The HTML that IPython shows in a notebook."""
        from dpdb.answers.formats.notebooks import as_html  # noqa: PLC0415 (jinja2)

        return as_html(self)
