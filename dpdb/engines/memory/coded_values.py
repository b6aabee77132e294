"""Numbers that stand for the values of an argument, equal where the values are."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dpdb.engines.sources.grid_rounding import grid_of
from dpdb.plan.expressions import ColumnRef, Expr
from dpdb.vectors.columns import Numbers
from dpdb.vectors.evaluate import Frame, evaluate, public_dictionary
from dpdb.vectors.stored_texts import StoredTexts
from dpdb.vectors.vector import AnyVector, Array, Bools, TextVector


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
