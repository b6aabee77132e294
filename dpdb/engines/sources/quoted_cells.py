"""Cells without the quotes around them, many at a time."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpdb.engines.sources.csv_records import Cells
from dpdb.engines.sources.packed_cells import PackedCells


def unquoted(cells: Cells, quote: bytes) -> Cells:
    """The cells without the quotes around them; those within are not looked at."""
    return unquoted_with_first(cells, quote)[0]


def unquoted_with_first(cells: Cells, quote: bytes) -> tuple[Cells, NDArray[np.uint8]]:
    """The cells without the quotes around them, and the byte that each then begins with."""
    raw = np.frombuffer(cells.text, np.uint8)
    first = raw[cells.starts]
    if not quote:
        return cells, first
    quoted = np.flatnonzero(first == ord(quote))
    quoted = quoted[cells.ends[quoted] - cells.starts[quoted] >= 2]
    quoted = quoted[raw[cells.ends[quoted] - 1] == ord(quote)]
    if not len(quoted):
        return cells, first
    starts, ends = cells.starts.copy(), cells.ends.copy()
    starts[quoted] += 1
    ends[quoted] -= 1
    first[quoted] = raw[starts[quoted]]
    return Cells(cells.text, starts, ends), first


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
