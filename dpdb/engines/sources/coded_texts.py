"""The texts of distinct cells in their order, and the numbers that they have there."""

from __future__ import annotations

import operator
from collections.abc import Callable
from itertools import compress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpdb.engines.sources.cell_words import Bools
from dpdb.engines.sources.csv_records import Cells
from dpdb.engines.sources.distinct_cells import DistinctCells

_NUL, _BEYOND_ASCII = 0, 0x80


def coded_texts(
    distinct: DistinctCells, quote: bytes, read: Callable[[bytes], str | None]
) -> tuple[tuple[str, ...], NDArray[Any]]:
    """The texts of cells, each once and in order, and for each cell the place of its own.

    `read` says what the text of a cell is, None if it has none; of a plain one it is not asked.
    The place after the last text stands for None.
    """
    # Texts that are made in about their order stand so in memory, where they are compared.
    rough = distinct.by_first_bytes()
    texts = _texts(distinct.cells(rough), quote, read)
    order = [place for place, text in enumerate(texts) if text is not None]
    order.sort(key=texts.__getitem__)
    ordered = [texts[place] for place in order]
    # Cells that are written in two ways can have one text.
    new = np.fromiter(map(operator.ne, ordered[1:], ordered), np.bool_, max(len(ordered) - 1, 0))
    values = (*ordered[:1], *compress(ordered[1:], new.tolist()))
    codes = np.full(len(texts), len(values), np.min_scalar_type(len(values)))
    codes[rough[order]] = np.concatenate(([0], np.cumsum(new)))[: len(order)]
    return values, codes


def _texts(cells: Cells, quote: bytes, read: Callable[[bytes], str | None]) -> list[Any]:
    """The text of each cell, or None. The cells stand in order, with a NUL after each.

    A plain cell is ASCII without NUL, is not empty and does not begin with the quote: so it is
    its own text.
    """
    raw = np.frombuffer(cells.text, np.uint8).copy()
    inside = _inside(cells, len(raw))
    others = np.flatnonzero(inside & ((raw == _NUL) | (raw >= _BEYOND_ASCII)))
    plain = cells.starts < cells.ends
    plain[np.searchsorted(cells.ends, others)] = False
    if quote:
        plain &= raw[cells.starts] != ord(quote)
    raw[others] = ord("?")
    inside[cells.ends] = True
    texts: list[Any] = raw[inside].tobytes().decode("ascii").split("\0")[:-1]
    special = np.flatnonzero(~plain)
    for place, written in zip(special.tolist(), cells.among(special).written(), strict=True):
        texts[place] = read(written)
    return texts


def _inside(cells: Cells, size: int) -> Bools:
    """Which bytes of the cells' text, which has so many, are in a cell."""
    steps = np.zeros(size, dtype=np.int8)
    steps[cells.starts] += 1
    steps[cells.ends] -= 1
    return np.cumsum(steps, dtype=np.int8).view(np.bool_)
