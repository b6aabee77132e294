"""Numbers that stand for the values of an argument, or for combinations of values."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dpdb.engines.sources.cells.grids import grid_of
from dpdb.engines.values.exact_sums import count_codes
from dpdb.plan.expressions.expressions import ColumnRef, Expr
from dpdb.records import dataclass
from dpdb.vectors.columns import Numbers
from dpdb.vectors.evaluate import Frame, evaluate, public_dictionary
from dpdb.vectors.keys import changes
from dpdb.vectors.stored_texts import StoredTexts
from dpdb.vectors.vector import Array, Bools, TextVector


@dataclass(frozen=True, repr=False)
class CodedValues:
    """A number for every row, equal where the values of an argument are."""

    codes: Array
    null: Bools | None
    range: tuple[int, int] | None = None
    """The least and the greatest code, where that is public."""
    texts: Sequence[object] | None = None
    """The values that the codes number, if the codes come from the rows."""


def stored_texts(argument: Expr, frame: Frame) -> StoredTexts | None:
    """The column that the argument names, if its texts are as a source has them."""
    held = frame.columns[argument.column.name] if isinstance(argument, ColumnRef) else None
    return held if isinstance(held, StoredTexts) else None


def coded(argument: Expr, frame: Frame) -> CodedValues:
    """A number for every value of an argument."""
    if isinstance(argument, ColumnRef):
        column = argument.column
        held = frame.columns[column.name]
        if isinstance(held, Numbers):
            grid = grid_of(column)
            limits = None if grid is None else (grid.lowest, grid.highest)
            return CodedValues(held.units, held.null, limits)
        if public_dictionary(column):
            return CodedValues(held.codes, held.null, (0, len(held.values)))
        return CodedValues(held.codes, held.null, texts=held.values)
    vector = evaluate(argument, frame)
    if isinstance(vector, TextVector):
        texts, same = _different_texts(vector)
        return CodedValues(same[vector.codes], vector.null, texts=texts)
    return CodedValues(vector.values, vector.null)


def _different_texts(vector: TextVector) -> tuple[Sequence[object], Array]:
    """The texts of a dictionary, each once, and the place of each of its codes among them."""
    texts = [*vector.dictionary, ""]
    place_of = {text: place for place, text in enumerate(dict.fromkeys(texts))}
    places = np.fromiter(map(place_of.__getitem__, texts), np.intp, len(texts))
    return [*place_of], places


FEW = 2**16
"""The most different values that are counted one by one rather than sorted."""


@dataclass(frozen=True, repr=False)
class DifferentValues:
    """The pairs of an answer cell and a value in it, each pair once."""

    number: int
    """The number of cells."""
    cells: Array
    codes: Array
    """Numbers that stand for the values."""
    texts: Sequence[object] | None = None
    """The values that the codes number, where these come from the rows."""

    def per_cell(self) -> Array:
        """The number of different values of each cell."""
        return np.bincount(self.cells, minlength=self.number).astype(np.int64, copy=False)


def different(
    groups: Array | None, codes: Array, cells: int, texts: Sequence[object] | None
) -> DifferentValues:
    """The different values of the counted rows, in the cells that `groups` says.

    A row of no cell is in the group past the last one.
    """
    if groups is None:
        once = _once(codes) if texts is None else np.flatnonzero(present(codes, len(texts)))
        return DifferentValues(cells, np.zeros(len(once), dtype=np.intp), once, texts)
    order = np.lexsort((codes, groups))
    groups, codes = groups[order], codes[order]
    new = changes((groups, codes), len(order)) & (groups < cells)
    return DifferentValues(cells, groups[new], codes[new], texts)


def present(codes: Array, number: int) -> Bools:
    """Whether each whole number below `number` is among the codes."""
    is_there = np.zeros(number, dtype=np.bool_)
    is_there[codes] = True
    return is_there


def different_among_few(
    values: CodedValues, groups: Array | None, counted: Bools | None, cells: int
) -> DifferentValues:
    """The different values of codes with a small public range, by counting each in each cell.

    Rows count where `counted` is true; without groups there is one cell.
    """
    assert values.range is not None
    low, high = values.range
    size = high - low + 1
    # So few bits wrap around on the way, and hold each place in the end.
    narrow = np.min_scalar_type((cells + 1) * size)
    places = values.codes.astype(narrow) - np.array(low).astype(narrow)
    if groups is not None:
        places += groups.astype(narrow) * narrow.type(size)
    if counted is not None:
        np.copyto(places, cells * size, where=~counted)
    counts = count_codes(places, (cells + 1) * size).reshape(cells + 1, size)
    present, codes = np.nonzero(counts[:cells])
    return DifferentValues(cells, present, codes + low)


def _once(codes: Array) -> Array:
    """Each code once, in order: sorting is faster than numpy's unique, which hashes."""
    ordered = np.sort(codes)
    return ordered.compress(changes([ordered], len(ordered)))
