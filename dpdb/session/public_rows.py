"""The rows of public tables, computed, chosen, sorted and cut as a SELECT says."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dpdb.answers.tables.noisy_table import NoisyColumn, NoisyTable, in_order
from dpdb.errors import TooLarge
from dpdb.vectors.evaluate import Frame, evaluate, true_rows

if TYPE_CHECKING:
    from dpdb.plan.logical.query import PublicRows

MAX_PUBLIC_ROWS = 100_000
"""The most rows of public tables that are shown."""
MAX_PUBLIC_CELLS = 2_000_000
"""The most cells that these rows have."""


@np.errstate(all="ignore")
def table_of(query: PublicRows, frame: Frame, number: int) -> NoisyTable:
    """The rows that the query shows, of so many in the frame."""
    rows = np.arange(number) if query.where is None else true_rows(query.where, frame, number)
    rows = in_order(query.order, frame, rows, number)
    rows = rows[query.offset : None if query.limit is None else query.offset + query.limit]
    if len(rows) > MAX_PUBLIC_ROWS:
        raise TooLarge(
            f"{len(rows)} rows, {MAX_PUBLIC_ROWS} are allowed", hint=f"LIMIT {MAX_PUBLIC_ROWS}"
        )
    if len(rows) * len(query.outputs) > MAX_PUBLIC_CELLS:
        raise TooLarge(
            f"{len(rows)} rows of {len(query.outputs)} columns, "
            f"{MAX_PUBLIC_CELLS} cells are allowed",
            hint=f"LIMIT {MAX_PUBLIC_CELLS // len(query.outputs)}",
        )
    columns = (each.expression for each in query.outputs)
    shown = (NoisyColumn(evaluate(each, frame).take(rows), each.kind) for each in columns)
    return NoisyTable(tuple(shown), len(rows))
