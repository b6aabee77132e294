"""What is worked out for rows or groups of a unit, as columns of a made table hold it."""

from __future__ import annotations

import numpy as np

from dpdb.engines.sources.grid_rounding import grid_of
from dpdb.plan.statistics import Grid
from dpdb.policy.catalog import Column
from dpdb.vectors.columns import Codes, Numbers
from dpdb.vectors.vector import Array, Bools


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


def with_nulls(column: Numbers | Codes, missing: Bools) -> Numbers | Codes:
    """The column, NULL in these rows, too."""
    if isinstance(column, Codes):
        return Codes(np.where(missing, len(column.values), column.codes), column.values)
    null = missing if column.null is None else missing | column.null
    units = np.where(missing, column.filler, column.units)
    return Numbers(units, column.step, null, column.filler, column.held)
