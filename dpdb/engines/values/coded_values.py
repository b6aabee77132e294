"""Numbers that stand for the values of an argument, or for combinations of values."""

from __future__ import annotations

import operator
from collections.abc import Sequence

import numpy as np

from dpdb.engines.sources.cells.grids import grid_of
from dpdb.engines.values.exact_sums import count_codes
from dpdb.engines.values.row_blocks import changes
from dpdb.plan.expressions.expressions import ColumnRef, Expr
from dpdb.records import dataclass
from dpdb.vectors.columns import Numbers
from dpdb.vectors.evaluate import Frame, evaluate, public_dictionary
from dpdb.vectors.stored_texts import StoredTexts
from dpdb.vectors.vector import AnyVector, Array, Bools, TextVector, Vector, distinct


@dataclass(frozen=True, repr=False)
class CodedValues:
    """A number for every row, equal where the values of an argument are."""

    codes: Array
    null: Bools | None
    range: tuple[int, int] | None = None
    """The least and the greatest code, where that is public."""
    texts: Sequence[object] | None = None
    """The values that the codes number, where these come from the rows."""


def stored_texts(argument: Expr, frame: Frame) -> StoredTexts | None:
    """The column that is the argument, if its texts are as a source has them."""
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


def identities(vector: AnyVector) -> Array:
    """A number for every row, equal where the values are, and in their order."""
    if isinstance(vector, TextVector):
        return np.asarray(_ranks(vector.dictionary)[vector.codes])
    return vector.values


def _ranks(dictionary: Sequence[str]) -> Array:
    """The place of each text among the different ones in their order, and that of the empty one."""
    texts = [*dictionary, ""]
    # Python sorts texts in less time than numpy, which compares them as any objects.
    order = sorted(range(len(texts)), key=texts.__getitem__)
    ordered = [texts[place] for place in order]
    new = np.fromiter(map(operator.ne, ordered[1:], ordered), np.bool_, len(ordered) - 1)
    places = np.empty(len(texts), dtype=np.intp)
    places[order] = np.append(0, np.cumsum(new))
    return places


def _different_texts(vector: TextVector) -> tuple[Sequence[object], Array]:
    """The texts of a dictionary, each once, and the place of each of its codes among them."""
    texts = [*vector.dictionary, ""]
    place_of = {text: place for place, text in enumerate(dict.fromkeys(texts))}
    places = np.fromiter(map(place_of.__getitem__, texts), np.intp, len(texts))
    return [*place_of], places


def whole(vector: AnyVector, rows: int) -> AnyVector:
    """The vector with a value for each row, also if it is a constant."""
    if isinstance(vector, TextVector):
        return TextVector(np.broadcast_to(vector.codes, rows), vector.dictionary)
    null = None if vector.null is None else np.broadcast_to(vector.null, rows)
    return Vector(np.broadcast_to(vector.values, rows), null)


def numbered(vectors: Sequence[AnyVector], kept: Array) -> tuple[Array, Array]:
    """For each row kept the number of its combination of values, and a row of each of these.

    Combinations are numbered in their order, by the first of the vectors first, with NULL last.
    """
    numbers, first = np.zeros(len(kept), dtype=np.int64), kept[:1]
    for vector in vectors:
        different, places = distinct(identities(vector)[kept])
        if vector.null is not None:
            places = np.where(vector.null[kept], len(different), places)
        pairs = numbers * (len(different) + 1) + places
        _, index, numbers = np.unique(pairs, return_index=True, return_inverse=True)
        first = kept[index]
    return numbers, first


FEW = 2**16
"""How many different values are counted one by one rather than sorted."""


@dataclass(frozen=True, repr=False)
class DifferentValues:
    """Pairs of a cell and a value that there is in it, each pair once."""

    number: int
    """The number of cells."""
    cells: Array
    codes: Array
    """What stands for the values."""
    texts: Sequence[object] | None = None
    """The values that the codes number, where these come from the rows."""

    def per_cell(self) -> Array:
        """How many different values each cell has."""
        return np.bincount(self.cells, minlength=self.number).astype(np.int64, copy=False)


def different(
    groups: Array | None, codes: Array, cells: int, texts: Sequence[object] | None
) -> DifferentValues:
    """The different values of the rows that count, in the cells that `groups` says.

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
    """Which of the whole numbers below a number are among the codes."""
    is_there = np.zeros(number, dtype=np.bool_)
    is_there[codes] = True
    return is_there


def different_among_few(
    values: CodedValues, groups: Array | None, counted: Bools | None, cells: int
) -> DifferentValues:
    """The different values where codes have a small public range: each of each cell is counted.

    All rows are given, and which of them count; without groups there is one cell.
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
