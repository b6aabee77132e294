"""Texts of cells without the quotes around them, many at a time."""

from __future__ import annotations

import numpy as np

from dpdb.engines.sources.csv_records import Cells
from dpdb.engines.sources.packed_cells import PackedCells
from dpdb.engines.sources.plain_numbers import unquoted


def within_quotes(cells: Cells, quote: bytes) -> Cells:
    """The cells, without the quotes of those that have no other quote between two.

    Each still has the same text, as quotes have no part in what is between them.
    """
    if not quote:
        return cells
    inner = unquoted(cells, quote)
    changed = np.flatnonzero(inner.starts != cells.starts)
    others = changed[PackedCells.of(inner.among(changed)).having(ord(quote))]
    starts, ends = inner.starts.copy(), inner.ends.copy()
    starts[others], ends[others] = cells.starts[others], cells.ends[others]
    return Cells(cells.text, starts, ends)
