"""Expressions worked out block by block of rows, and their values as whole steps of a grid.

Every step of an expression makes a copy, which should stay in the cache. The size of a block, and
whether there are any, follows from the expression and the policy.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from dpdb.engines.sources.cells.grids import grid_of, narrowest
from dpdb.plan.expressions.expressions import (
    Arithmetic,
    Call,
    Case,
    Cast,
    ColumnRef,
    Expr,
    children,
    columns_of,
)
from dpdb.plan.ranges.grids import Grid
from dpdb.policy.catalog import Column, Kind
from dpdb.records import dataclass
from dpdb.vectors.columns import Numbers
from dpdb.vectors.evaluate import Frame, evaluate, holds, public_dictionary
from dpdb.vectors.vector import Array, Bools, Vector

BLOCK = 2**16
"""The rows of a block."""
_SHORT = BLOCK // 64
"""The most values of a dictionary that may be worked through for every block."""


def row_blocks(rows: int, size: int = BLOCK) -> Iterator[slice]:
    """The rows of a table, block by block; one empty block where there are none."""
    for start in range(0, max(rows, 1), size):
        yield slice(start, min(start + size, rows))


def mask(condition: Expr, frame: Frame, rows: int) -> Bools:
    """Whether a condition is true in each row."""
    if not _makes_doubles(condition):
        return np.broadcast_to(holds(condition, frame), rows)
    passed = np.empty(rows, dtype=np.bool_)
    for block, part in parts(condition, frame, rows):
        passed[block] = holds(condition, part)
    return passed


def null_mask(argument: Expr, frame: Frame, rows: int) -> Bools | None:
    """Whether an expression is NULL in each row; None if it never is."""
    null: Bools | None = None
    for block, part in parts(argument, frame, rows):
        missing = evaluate(argument, part).null
        if missing is not None:
            null = np.empty(rows, dtype=np.bool_) if null is None else null
            null[block] = missing
    return null


def parts(expression: Expr, frame: Frame, rows: int) -> Iterator[tuple[slice, Frame]]:
    """The blocks of rows, with the columns that the expression reads."""
    columns = columns_of(expression)
    read = Frame({name: frame.columns[name] for name in columns}, frame.slots)
    # An expression over a long dictionary is worked out once, and not for every block.
    long = any(map(_has_long_dictionary, columns.values()))
    for block in row_blocks(rows, max(rows, 1) if long else BLOCK):
        yield block, read.within(block)


def _has_long_dictionary(column: Column) -> bool:
    """Whether a column may have many values; the number of texts in a file is private."""
    if column.kind is Kind.TEXT and not public_dictionary(column):
        return True
    return len(column.values or ()) > _SHORT


def _makes_doubles(condition: Expr) -> bool:
    """Whether a condition computes doubles, rather than comparing numbers as they are stored."""
    read = columns_of(condition).values()
    return any(column.step != 1 for column in read) or _works_out(condition)


def _works_out(expression: Expr) -> bool:
    """Whether an expression or a part of it is more than a condition on stored values."""
    if isinstance(expression, Arithmetic | Call | Case | Cast):
        return True
    return any(map(_works_out, children(expression)))


@dataclass(frozen=True, repr=False)
class Steps:
    """The values of all rows, in steps of a grid."""

    values: Array
    null: Bools | None
    filler: int | None = None
    """The value in every row that is NULL; None if that is not public."""


def on_grid(argument: Expr, grid: Grid, frame: Frame, rows: int) -> Steps:
    """The values of an argument as steps of a grid, as stored if the column has the same step."""
    if isinstance(argument, ColumnRef):
        column = frame.columns[argument.column.name]
        if isinstance(column, Numbers) and column.step == grid.step:
            return _stored(column, grid)
    return _computed(argument, grid, frame, rows)


def _stored(column: Numbers, grid: Grid) -> Steps:
    """Stored steps, clamped to the grid unless the column was clamped to bounds within it.

    The noise of a release is for values within its grid: no declaration is relied on.
    """
    filler = min(max(column.filler, grid.lower), grid.upper)
    if column.held is not None and grid.lower <= column.held[0] <= column.held[1] <= grid.upper:
        return Steps(column.units, column.null, filler)
    # A grid narrowed to nothing can lie outside a narrow column's type.
    limits, values = np.iinfo(column.units.dtype), column.units
    if not limits.min <= grid.lower <= grid.upper <= limits.max:
        values = values.astype(np.int64)
    return Steps(np.clip(values, grid.lower, grid.upper), column.null, filler)


def _computed(argument: Expr, grid: Grid, frame: Frame, rows: int) -> Steps:
    """The values of an expression in whole steps of the grid, clamped to it."""
    units = np.empty(rows, dtype=narrowest(grid.lower, grid.upper))
    null: Bools | None = None
    for block, part in parts(argument, frame, rows):
        computed = evaluate(argument, part)
        assert isinstance(computed, Vector)
        units[block] = _rounded(computed.values, grid)
        if computed.null is not None:
            null = np.empty(rows, dtype=np.bool_) if null is None else null
            null[block] = computed.null
    return Steps(units, null)


def _rounded(values: Array, grid: Grid) -> Array:
    """Numbers in whole steps of the grid, clamped to it."""
    if grid.step.denominator != 1:
        values = values * float(grid.step.denominator)
    if grid.step.numerator != 1:
        values = values / float(grid.step.numerator)
    clamped = np.clip(values, float(grid.lower), float(grid.upper))
    return np.asarray(np.rint(clamped, out=clamped))


def rescaled(steps: Array, grid: Grid, column: Column) -> Array:
    """Steps of a grid as those of a column, which may be coarser, or finer for a mean."""
    ratio = grid.step / column.step
    if ratio == 1 and steps.dtype != np.float64:
        return steps
    return np.rint(steps.astype(np.float64) * float(ratio))


def made_column(column: Column, values: Array, missing: Bools | None) -> Numbers:
    """The values as a column holds them, clamped to its grid; doubles where it has none."""
    null, grid = missing if column.nullable else None, grid_of(column)
    if grid is None:
        doubles = values.astype(np.float64)
        null = ~np.isfinite(doubles) if null is None else null | ~np.isfinite(doubles)
        return Numbers(np.where(null, 0.0, doubles), None, null, 0)
    filler = min(max(0, grid.lowest), grid.highest)
    units = np.clip(values, grid.lowest, grid.highest)
    if null is not None:
        units = np.where(null, filler, units)
    held = grid.lowest, grid.highest
    return Numbers(units.astype(grid.dtype), grid.step, null, filler, held)
