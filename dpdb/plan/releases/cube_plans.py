"""The plans of the levels of a CUBE, and the split of ε over the levels by what is asked of them.

One row is in one cell of each level, so the losses of the levels add up, as those of any answers.
The split is in whole hundredths, and the same wherever it is computed: the search adds,
multiplies and divides doubles, and nothing else, in an order that follows from public sizes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from enum import StrEnum
from fractions import Fraction
from functools import lru_cache

from dpdb.errors import InvalidOption
from dpdb.plan.logical.query import Options, Query
from dpdb.plan.physical.cubes import Cube, KeySet, LevelNoise, subsets
from dpdb.plan.physical.moments import Estimate
from dpdb.plan.physical.plan import DrawnCube, Plan
from dpdb.privacy.mechanisms.mechanism import PublicNoise

HUNDRED = 100
MOST_TRIES = 6_000
"""The most splits that are tried from one start: half a second with five keys."""
SLACK = 1.21
"""Under RELATIVE the variance of the finest level is at most this multiple of its least."""


class Goal(StrEnum):
    """The errors that the split of ε over the levels of a CUBE makes small.

    RELATIVE: the error of a value over its size is largest in the finest level, and least there
    with all of ε on it. So among the splits with a standard deviation of the finest level within a
    tenth of that, it is the one with the least product of the levels' variances. CELLS: the mean
    variance of all values. TOTALS: the mean variance of the levels, each counted once.
    """

    RELATIVE = "relative"
    CELLS = "cells"
    TOTALS = "totals"


Parts = tuple[int, ...]
"""The hundredths of the share that each level has."""


class _Variances:
    """The variances of levels, as `plan.physical.cubes` has them, for splits that are tried."""

    def __init__(self, sizes: Sequence[int], levels: Sequence[KeySet], noise: Sequence[float]):
        sets = list(dict.fromkeys(within for keys in levels for within in subsets(keys)))
        place = {each: at for at, each in enumerate(sets)}
        self.cells = [math.prod(sizes[key] for key in keys) for keys in levels]
        self._within = [[place[within] for within in subsets(keys)] for keys in levels]
        self._dimension = [math.prod(sizes[key] - 1.0 for key in keys) for keys in sets]
        self._noise = noise

    def of(self, precisions: Sequence[float]) -> list[float]:
        """The variance of a value of each level; infinite where the split does not tell it."""
        known = [0.0] * len(self._dimension)
        for at, precision in enumerate(precisions):
            if precision:
                more = precision / (self._noise[at] * self.cells[at])
                for within in self._within[at]:
                    known[within] += more
        inverse = [
            dimension / information if information else math.inf
            for dimension, information in zip(self._dimension, known, strict=True)
        ]
        return [
            sum(inverse[at] for at in within) / (cells * cells)
            for within, cells in zip(self._within, self.cells, strict=True)
        ]


@lru_cache(maxsize=256)
def split(
    sizes: tuple[int, ...],
    levels: tuple[KeySet, ...],
    noise: tuple[Fraction, ...],
    goal: Goal,
    *,
    concentrated: bool,
) -> Parts:
    """The hundredths of a share for each level, the best that a search from several starts finds.

    `noise` has the variance of each level, where it has the whole share; 0 for one that is public.
    With a part p of the share it is 1/p² times that, or 1/p where shares are `concentrated`.
    """
    fixed = [not each for each in noise]
    variances = _Variances(sizes, levels, [float(each) or 1e-24 for each in noise])

    def of(parts: Sequence[int]) -> list[float]:
        each = [part / HUNDRED for part in parts]
        precisions = each if concentrated else [part * part for part in each]
        pairs = zip(precisions, fixed, strict=True)
        return variances.of([1.0 if public else precision for precision, public in pairs])

    finest = [
        at for at, keys in enumerate(levels)
        if not fixed[at] and not any(set(keys) < set(other) for other in levels)
    ]  # fmt: skip
    starts = [_evenly(finest, len(levels))]
    starts.append(_evenly([at for at, public in enumerate(fixed) if not public], len(levels)))
    least = of(starts[0])

    def cost(parts: list[int]) -> float:
        each = of(parts)
        match goal:
            case Goal.CELLS:
                return sum(one * cells for one, cells in zip(each, variances.cells, strict=True))
            case Goal.TOTALS:
                return sum(each)
            case Goal.RELATIVE:
                if any(each[at] > SLACK * least[at] for at in finest):
                    return math.inf
                return math.prod(one / before for one, before in zip(each, least, strict=True))

    free = [at for at, public in enumerate(fixed) if not public]
    found = [_improved(start, free, cost) for start in starts]
    costs = list(map(cost, found))
    return tuple(found[costs.index(min(costs))])


def _evenly(chosen: Sequence[int], number: int) -> list[int]:
    """The hundredths, divided evenly over the chosen levels; the first has what is left over."""
    parts = [0] * number
    for at in chosen:
        parts[at] = HUNDRED // len(chosen)
    parts[chosen[0]] += HUNDRED - sum(parts)
    return parts


def _improved(
    parts: list[int], free: Sequence[int], cost: Callable[[list[int]], float]
) -> list[int]:
    """The split after moves of hundredths from one level to another, while any lowers the cost."""
    best, tries, step = cost(parts), 0, 32
    while step and tries < MOST_TRIES:
        better = False
        for source in free:
            for target in free:
                if source == target or parts[source] < step:
                    continue
                parts[source] -= step
                parts[target] += step
                now, tries = cost(parts), tries + 1
                if now < best:
                    best, better = now, True
                else:
                    parts[source] += step
                    parts[target] -= step
        step = step if better else step // 2
    return parts


MOST_CELLS = 100_000
"""The most cells of all keys together of levels that are made to add up."""
_SURE = Fraction(10) ** 24
"""The precision of a level that is public; that of a drawn one is 1 at most."""

PlanWith = Callable[[int, Fraction], Plan]
"""Gives the plan of a subquery, by its index, that has so many times its share of the budget."""


def members(queries: Sequence[Query]) -> list[tuple[int, ...]]:
    """The indices of the queries that are levels of one cube, for each cube."""
    cubes: dict[object, list[int]] = {}
    for index, query in enumerate(queries):
        if query.cube:
            rows = query.table, query.where, query.aggregates, query.cube
            cubes.setdefault(rows, []).append(index)
    return [tuple(indices) for indices in cubes.values()]


def drawn_together(
    queries: Sequence[Query],
    places: tuple[int, ...],
    plan_with: PlanWith,
    number: int,
    options: Options,
    *,
    concentrated: bool,
) -> tuple[tuple[Plan, ...], DrawnCube | None]:
    """The plans of the levels of a cube, at these places among queries, and how they add up.

    All levels together have the shares of those that are not public, of which there is this
    number. Where the releases of the levels differ, as under `replace` those of an average can,
    each level has its own share and stands alone.
    """
    whole = [plan_with(place, Fraction(number)) for place in places]
    keys = queries[places[0]].cube
    levels = tuple(tuple(map(keys.index, queries[place].keys)) for place in places)
    values = {
        key: known
        for level, plan in zip(levels, whole, strict=True)
        for key, known in zip(level, plan.key_values, strict=True)
    }
    cube = Cube(tuple(len(values.get(key, (0,))) for key in range(len(keys))), levels, ())
    if options.nonnegative == "on" and not any(len(level) == len(keys) for level in levels):
        raise InvalidOption(
            "nonnegative needs a level that groups by all keys",
            hint="counts of at least 0 are those of its groups, and their sums",
        )
    noise = _variances(whole)
    if noise is None or cube.cells(tuple(range(len(keys)))) > MOST_CELLS:
        return tuple(plan_with(place, Fraction(1)) for place in places), None
    hundredths = split(
        cube.sizes, levels, noise, Goal(options.goal or Goal.RELATIVE), concentrated=concentrated
    )
    parts = tuple(Fraction(part, HUNDRED) for part in hundredths)
    drawn = tuple(
        plan_with(place, number * part) if part else _undrawn(plan)
        for place, part, plan in zip(places, parts, whole, strict=True)
    )
    least = min(each for each in noise if each)
    cube = replace(
        cube,
        precisions=tuple(
            part ** (1 if concentrated else 2) * least / variance if variance else _SURE
            for part, variance in zip(parts, noise, strict=True)
        ),
    )
    shown = tuple(
        _shown(plan, cube, level, drawn, whole) for level, plan in zip(levels, whole, strict=True)
    )
    return drawn, DrawnCube(cube, places, shown, parts, options.nonnegative == "on")


def _variances(plans: Sequence[Plan]) -> tuple[Fraction, ...] | None:
    """The variance of the first release of each level, 0 of a level that is public.

    None where levels do not draw the same statistics with noise that has a law, or draw nothing.
    """
    drawn = [plan.releases for plan in plans if plan.releases]
    statistics = {tuple((each.statistic, each.unit) for each in releases) for releases in drawn}
    public = [plan for plan in plans if not plan.releases]
    if len(statistics) != 1 or any(each.rows is None for plan in public for each in plan.estimates):
        return None
    variances = []
    for releases in drawn:
        noises = [each.noise for each in releases]
        if not all(each and each.law and each.sensitivity for each in noises):
            return None
        variances.append(noises[0].variance if noises[0] else Fraction(0))
    each = iter(variances)
    return tuple(next(each) if plan.releases else Fraction(0) for plan in plans)


def _undrawn(plan: Plan) -> Plan:
    """The plan of a level that has no part of ε."""
    estimates = tuple(
        Estimate(each.aggregate, (), each.interval, each.rows) for each in plan.estimates
    )
    return replace(plan, releases=(), groups=(), parallel=(), estimates=estimates)


def _shown(
    plan: Plan, cube: Cube, keys: tuple[int, ...], drawn: Sequence[Plan], whole: Sequence[Plan]
) -> Plan:
    """The plan of a level that reads the values that add up, with the noises that they have."""
    model = next(each for each in whole if each.releases)

    def noise(plan: Plan, index: int) -> PublicNoise | None:
        return plan.releases[index].noise if plan.releases else None

    releases = tuple(
        replace(each, level=LevelNoise(cube, keys, tuple(noise(one, index) for one in drawn)))
        for index, each in enumerate(model.releases)
    )
    return replace(plan, releases=releases, groups=(), parallel=(), estimates=model.estimates)
