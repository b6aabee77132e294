"""The answer that a session gives: a record that shows itself in Python and in a notebook."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpdb.answers.formats.render import as_table
from dpdb.answers.record import AnswerRecord

if TYPE_CHECKING:
    import pandas as pd


class Answer(AnswerRecord):
    """The answer to a statement: columns, rows and intervals as plain values, and the cost.

    `repr(answer)` is the table that the command line prints, and a notebook shows the same as HTML.
    Neither shows any other field of the answer.
    """

    def to_pandas(self) -> pd.DataFrame:
        """The rows as a DataFrame; raises UsageError where pandas is not installed.

        The type of a column follows from the query: `Int64`, `Float64`, `boolean`, `str`,
        `datetime64[s]` for dates, `datetime64[us]` for timestamps. Only where a whole number does
        not fit 64 bits the column is `Float64`. A NULL is pandas' missing value.
        """
        from dpdb.answers.formats.notebooks import data_frame  # noqa: PLC0415 (pandas)

        return data_frame(self)

    def __repr__(self) -> str:
        return as_table(self)

    def _repr_html_(self) -> str:
        """The HTML that IPython shows in a notebook."""
        from dpdb.answers.formats.notebooks import as_html  # noqa: PLC0415 (jinja2)

        return as_html(self)
