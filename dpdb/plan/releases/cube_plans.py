"""The plans of the levels of a CUBE, which share ε by what is asked of them.

One row is in one cell of each level, so the losses of the levels add up, as those of any answers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction

from dpdb.plan.logical.query import Options, Query
from dpdb.plan.physical.cubes import Cube, LevelNoise
from dpdb.plan.physical.moments import Estimate
from dpdb.plan.physical.plan import DrawnCube, Plan
from dpdb.plan.releases.cube_splits import HUNDRED, Goal, split
from dpdb.privacy.mechanisms.mechanism import Additive

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

    def noise(plan: Plan, index: int) -> Additive | None:
        return plan.releases[index].noise if plan.releases else None

    releases = tuple(
        replace(each, level=LevelNoise(cube, keys, tuple(noise(one, index) for one in drawn)))
        for index, each in enumerate(model.releases)
    )
    return replace(plan, releases=releases, groups=(), parallel=(), estimates=model.estimates)
