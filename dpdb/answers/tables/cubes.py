"""The levels of a cube as they are shown: least-squares values, rounded so that they add up.

All of it is computed from noisy values and public sizes: post-processing ([DR14] Proposition 2.1).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from dpdb.answers.estimates import Draws, Noisy, SlotVectors, points, read, scaled
from dpdb.answers.tables.noisy_table import NoisyTable
from dpdb.answers.tables.rows import answer_table
from dpdb.plan.expressions.expressions import Slot
from dpdb.plan.logical.query import Function
from dpdb.plan.physical.cubes import Cube, KeySet, subsets
from dpdb.plan.physical.plan import DrawnCube, Plan
from dpdb.vectors.vector import Array, numbers

_OUTWEIGHS = 1e9
Components = Mapping[KeySet, Array]
"""The part of the cells of all keys that depends on each set of keys; other axes have length 1."""


def level_tables(drawn: DrawnCube, plan: Plan, noisy: Noisy) -> list[NoisyTable]:
    """The rows of each level of a cube among the subplans of a plan, in the order of the levels."""
    cube, model = drawn.cube, drawn.shown[0]
    releases = [
        components(cube, list(_values(drawn, plan, noisy, index)))
        for index in range(len(model.releases))
    ]

    def draws(keys: KeySet) -> Draws:
        return [cells_of(cube, of_release, keys) for of_release in releases]

    finest = draws(tuple(range(len(cube.sizes))))
    whole = {  # counts and sums add up
        index: _whole(drawn, index, finest)
        for index, estimate in enumerate(model.estimates)
        if estimate.combination is not None and estimate.releases
    }
    tables = []
    for keys, shown in zip(cube.levels, drawn.shown, strict=True):
        own = Noisy(draws(keys), {})
        tables.append(answer_table(shown, _points(shown, own, whole, keys), {}, own))
    return tables


def _points(shown: Plan, noisy: Noisy, whole: Mapping[int, Array], keys: KeySet) -> SlotVectors:
    """The values of a level: counts and sums are those of `whole` cells, added up."""
    known = dict(points(shown, noisy.draws))
    for index, cells in whole.items():
        axes = tuple(axis for axis in range(cells.ndim) if axis not in keys)
        sums = np.asarray(cells.sum(axis=axes)).ravel().astype(np.float64)
        estimate = shown.estimates[index]
        slot = Slot("aggregate", index, estimate.aggregate.kind)
        known[slot] = numbers(scaled(sums, estimate.moments.step))
    return known


def _values(drawn: DrawnCube, plan: Plan, noisy: Noisy, index: int) -> Iterator[Array | None]:
    """The noisy values of a release at each level, with an axis for each key and one for parts.

    A level that is not drawn has none, unless it is public.
    """
    for keys, place in zip(drawn.cube.levels, drawn.places, strict=True):
        sizes = [n if key in keys else 1 for key, n in enumerate(drawn.cube.sizes)]
        subplan = plan.subplans[place]
        if subplan.releases:
            values = noisy.subresults[place].draws[index].astype(np.float64)
            yield values.reshape(*sizes, -1)
        else:
            rows = subplan.estimates[0].rows
            yield None if rows is None else np.full((*sizes, 1), float(rows))


def components(cube: Cube, values: Sequence[Array | None]) -> Components:
    """The least-squares component of the cells for each set of keys, as `Cube` has it."""
    components: dict[KeySet, Array] = {}
    drawn = zip(cube.levels, cube.precisions, values, strict=True)
    for keys, precision, own in drawn:
        if own is None:
            continue
        parts: dict[KeySet, Array] = {(): own * float(precision)}
        for key in keys:
            for within in list(parts):
                mean = parts[within].mean(axis=key, keepdims=True)
                parts[*within, key] = parts[within] - mean
                parts[within] = mean
        for within, part in parts.items():
            components[within] = components.get(within, np.zeros(1)) + part
    return {keys: part / cube.information[keys] for keys, part in components.items()}


def cells_of(cube: Cube, components: Components, keys: KeySet) -> Array:
    """The least-squares values of a level, as a release has them: cells, or cells and parts.

    Of all keys together, where that is no level, what no level tells is taken to be 0.
    """
    sizes = [n if key in keys else 1 for key, n in enumerate(cube.sizes)]
    parts = [components[within] for within in subsets(keys) if within in components]
    total = np.zeros((*sizes, parts[0].shape[-1]))
    for part in parts:
        total += part
    cells = total.reshape(cube.cells(keys), -1) / cube.cells(keys)
    return cells[:, 0] if cells.shape[1] == 1 else cells


def _whole(drawn: DrawnCube, index: int, finest: Draws) -> Array:
    """The cells of all keys of a count or a sum as whole grid steps, with an axis for each key."""
    estimate = drawn.shown[0].estimates[index]
    cells = read(estimate.combination, finest)
    counts = estimate.aggregate.function is Function.COUNT
    if drawn.nonnegative and counts:
        whole = _nonnegative(cells)
    else:
        whole = _rounded(drawn.cube, cells.tolist())
    return np.array(whole, dtype=object).reshape(drawn.cube.sizes)


def _rounded(cube: Cube, cells: Sequence[float]) -> list[int]:
    """Whole numbers near the cells, whose sums over levels are near the sums of the cells, too.

    Cell by cell the number is taken that makes the squares of the errors so far least, of the
    cell and of all sums of levels that it is in. Numbers that are each the nearest would lose what
    the coarse levels tell, which moves many cells by a small part of one.
    """
    coarser = [keys for keys in cube.levels if len(keys) < len(cube.sizes)]
    axes = np.indices(cube.sizes).reshape(len(cube.sizes), -1)
    places = [
        np.ravel_multi_index(
            tuple(axes[key] for key in keys), tuple(cube.sizes[key] for key in keys)
        ).tolist() if keys else [0] * axes.shape[1]
        for keys in coarser
    ]  # fmt: skip
    errors = [[0.0] * cube.cells(keys) for keys in coarser]
    # A level that is public is exact, and outweighs the others.
    known = dict(zip(cube.levels, cube.precisions, strict=True))
    weights = [1.0 if known[keys] <= 1 else _OUTWEIGHS for keys in coarser]
    every = 1 + sum(weights)
    whole = []
    for cell, value in enumerate(cells):
        sums = [(error, place[cell]) for error, place in zip(errors, places, strict=True)]
        pairs = zip(weights, sums, strict=True)
        drift = sum(weight * error[place] for weight, (error, place) in pairs) / every
        number = round(value - drift)
        for error, place in sums:
            error[place] += number - value
        whole.append(number)
    return whole


def _nonnegative(cells: Array) -> list[int]:
    """Whole numbers of at least 0 near some cells, with the sum that the cells have, or 0.

    They are the nearest point to the cells with that sum, by largest remainders: each cell less
    the same amount, or 0 where that is more ([DSSC08], projection onto a simplex).
    """
    total = max(round(float(cells.sum())), 0)
    ordered = np.sort(cells)[::-1]
    beyond = (np.cumsum(ordered) - total) / np.arange(1, len(cells) + 1)
    less = beyond[np.flatnonzero(ordered - beyond > 0)[-1]] if total else np.inf
    near = np.maximum(cells - less, 0)
    whole = np.floor(near).astype(np.int64)
    order = np.argsort(whole - near, kind="stable")
    whole[order[: total - int(whole.sum())]] += 1
    return [int(each) for each in whole.tolist()]
