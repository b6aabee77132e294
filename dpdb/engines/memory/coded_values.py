"""Numbers that stand for the values of an argument, equal where the values are."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dpdb.engines.sources.grid_rounding import grid_of
from dpdb.plan.expressions import ColumnRef, Expr
from dpdb.vectors.columns import Numbers
from dpdb.vectors.evaluate import Frame, evaluate, public_dictionary
from dpdb.vectors.vector import AnyVector, Array, Bools, TextVector


@dataclass(frozen=True, repr=False)
class CodedValues:
    """A number for every row, equal where the values of an argument are."""

    codes: Array
    null: Bools | None
    range: tuple[int, int] | None = None
    """The least and the greatest code, where that is public."""


def coded(argument: Expr, frame: Frame) -> CodedValues:
    """A number for every value of an argument."""
    if isinstance(argument, ColumnRef):
        column = argument.column
        held = frame.columns[column.name]
        if isinstance(held, Numbers):
            grid = grid_of(column)
            limits = None if grid is None else (grid.lowest, grid.highest)
            return CodedValues(held.units, held.null, limits)
        missing = len(held.values)
        limits = (0, missing) if public_dictionary(column) else None
        return CodedValues(held.codes, held.codes == missing, limits)
    vector = evaluate(argument, frame)
    return CodedValues(identities(vector), vector.null)


def identities(vector: AnyVector) -> Array:
    """A number for every row, equal where the values are."""
    if isinstance(vector, TextVector):
        _, same = np.unique(np.array([*vector.dictionary, ""], dtype=object), return_inverse=True)
        return np.asarray(same[vector.codes])
    return vector.values
