"""Levels of a cube: least squares in closed form, variances and margins by the law of the sum."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from dpdb.answers.intervals.weighted_noises import margin
from dpdb.answers.tables.cubes import cells_of, components
from dpdb.plan.physical.cubes import Cube, KeySet, LevelNoise, subsets
from dpdb.plan.releases.cube_plans import HUNDRED, Goal, split
from dpdb.privacy.mechanisms.laplace import Laplace
from dpdb.vectors.vector import Array

RUNS = 2_000
ALPHA = 1e-6
"""The probability that a right program fails one of the tests of a random mean here."""
DEVIATIONS = 4.9
"""The standard deviations that a normal variable exceeds with that probability."""


def summing(cube: Cube, keys: KeySet) -> Array:
    """The matrix that sums the cells of all keys to those of a level."""
    whole = np.ones((1, 1))
    for key, size in enumerate(cube.sizes):
        whole = np.kron(whole, np.eye(size) if key in keys else np.ones((1, size)))
    return whole


def shaped(cube: Cube, keys: KeySet, values: Array) -> Array:
    return values.reshape(*(n if key in keys else 1 for key, n in enumerate(cube.sizes)), 1)


def variance(cube: Cube, keys: KeySet) -> float:
    """The variance of each value of a level, by the weights of the noises in it."""
    return math.fsum(
        weight**2 * number / float(precision)
        for drawn, precision in enumerate(cube.precisions)
        if precision
        for weight, number in cube.weights(keys, drawn).items()
    )


def random_cube(random: np.random.Generator) -> Cube:
    """A few keys, and some levels with the finest among them, some of which are not drawn."""
    number = int(random.integers(1, 4))
    sizes = tuple(int(n) for n in random.integers(1, 5, number))
    finest, *others = reversed(list(subsets(tuple(range(number)))))
    levels = (finest, *(each for each in others if random.integers(2)))
    drawn = (Fraction(int(n), 100) for n in (random.integers(0, 100, len(levels))))
    return Cube(sizes, levels, (Fraction(1, 7), *list(drawn)[1:]))


@pytest.mark.parametrize("seed", range(50))
def test_the_closed_form_is_dense_least_squares(seed: int) -> None:
    random = np.random.default_rng(seed)
    cube = random_cube(random)
    noisy = [random.normal(size=cube.cells(keys)) * 100 for keys in cube.levels]
    drawn = [at for at, precision in enumerate(cube.precisions) if precision]
    roots = {at: math.sqrt(cube.precisions[at]) for at in drawn}
    design = np.vstack([roots[at] * summing(cube, cube.levels[at]) for at in drawn])
    weighted = np.concatenate([roots[at] * noisy[at] for at in drawn])
    inverse = np.linalg.pinv(design)
    known = components(
        cube,
        [
            shaped(cube, keys, own) if at in drawn else None
            for at, (keys, own) in enumerate(zip(cube.levels, noisy, strict=True))
        ],
    )
    for keys in cube.levels:
        dense = summing(cube, keys) @ inverse
        assert cells_of(cube, known, keys) == pytest.approx(dense @ weighted, abs=1e-8)
        # Each weighted value has variance 1.
        assert [variance(cube, keys)] * len(dense) == pytest.approx((dense**2).sum(axis=1))
        for at in drawn:
            start = sum(cube.cells(cube.levels[each]) for each in drawn if each < at)
            own = (dense * roots[at])[:, start : start + cube.cells(cube.levels[at])]
            told = [w for w, n in cube.weights(keys, at).items() for _ in range(n)]
            told += [0.0] * (own.shape[1] - len(told))
            for row in own:
                assert sorted(row) == pytest.approx(sorted(told), abs=1e-12)


@pytest.mark.parametrize(
    ("sizes", "goal", "concentrated", "most"),
    [
        ((40, 6), Goal.CELLS, False, 2.53),
        ((40, 6), Goal.RELATIVE, False, 2.53),
        ((10, 5, 4), Goal.CELLS, False, 3.12),
        ((40, 6), Goal.CELLS, True, math.sqrt(8) / 1.51),
        ((10, 5, 4), Goal.CELLS, True, 4 / 1.745),
    ],
)
def test_the_splits_reach_the_errors_that_are_published(
    sizes: tuple[int, ...], goal: Goal, concentrated: bool, most: float
) -> None:
    """In rows at ε = 1, or where the levels would share ρ = 1/2 evenly."""
    levels = tuple(reversed(list(subsets(tuple(range(len(sizes)))))))
    noise = (Fraction(2),) * len(levels)
    parts = split(sizes, levels, noise, goal, concentrated=concentrated)
    assert sum(parts) == HUNDRED
    power = 1 if concentrated else 2
    cube = Cube(sizes, levels, tuple(Fraction(part, HUNDRED) ** power / 2 for part in parts))
    cells = [cube.cells(keys) for keys in levels]
    squares = [variance(cube, keys) for keys in levels]
    mean = sum(map(math.prod, zip(squares, cells, strict=True))) / sum(cells)
    assert math.sqrt(mean) <= most
    if goal is Goal.RELATIVE:
        assert squares[0] <= 1.21 * 2


def test_totals_are_better_where_they_are_asked_for() -> None:
    levels = tuple(reversed(list(subsets((0, 1)))))
    worst = {}
    for goal in Goal:
        parts = split((40, 6), levels, (Fraction(2),) * 4, goal, concentrated=False)
        cube = Cube((40, 6), levels, tuple(Fraction(part, HUNDRED) ** 2 / 2 for part in parts))
        worst[goal] = max(variance(cube, keys) for keys in levels)
    assert worst[Goal.TOTALS] < worst[Goal.RELATIVE] < worst[Goal.CELLS]


@pytest.mark.parametrize("goal", Goal)
def test_variances_and_margins_are_those_of_draws(goal: Goal) -> None:
    """Each within DEVIATIONS of its own standard error, which is by ALPHA."""
    sizes, levels = (7, 4), tuple(reversed(list(subsets((0, 1)))))
    parts = split(sizes, levels, (Fraction(2),) * 4, goal, concentrated=False)
    noises = [Laplace(1, Fraction(part, HUNDRED)) if part else None for part in parts]
    cube = Cube(sizes, levels, tuple(Fraction(part, HUNDRED) ** 2 / 2 for part in parts))
    random = np.random.default_rng(7)
    drawn: dict[KeySet, list[Array]] = {keys: [] for keys in levels}
    for _ in range(RUNS):
        known = components(
            cube,
            [
                None if noise is None else shaped(cube, keys, _laplace(random, noise, cube, keys))
                for keys, noise in zip(levels, noises, strict=True)
            ],
        )
        for keys in levels:
            drawn[keys].append(cells_of(cube, known, keys))
    for keys in levels:
        values, level = np.array(drawn[keys]), LevelNoise(cube, keys, tuple(noises))
        squares = (values**2).mean(axis=1)
        # The variance of whole noise is less than that of Laplace's law, by 1/6 at most.
        told, error = level.deviation**2, float(squares.std() / math.sqrt(RUNS))
        exact = sum(w * w * n * _variance(noise) for w, n, noise in level.terms)
        assert exact <= told <= exact + sum(w * w * n for w, n, _ in level.terms) / 6
        assert abs(squares.mean() - exact) < DEVIATIONS * error
        for confidence in (0.5, 0.95):
            reach = margin(level.terms, confidence)
            error = DEVIATIONS * math.sqrt(confidence * (1 - confidence) / RUNS)
            assert (abs(values[:, 0]) <= reach).mean() > confidence - error
            # Sums of whole noise can be as far as the margin with a probability of their own.
            step = max(weight for weight, _, _ in level.terms)
            assert (abs(values[:, 0]) <= reach - step).mean() < confidence + error


def _laplace(random: np.random.Generator, noise: Laplace, cube: Cube, keys: KeySet) -> Array:
    size, stop = cube.cells(keys), -math.expm1(-1 / float(noise.scale))
    return np.asarray(random.geometric(stop, size) - random.geometric(stop, size), dtype=float)


def _variance(noise: object) -> float:
    assert isinstance(noise, Laplace)
    r = math.exp(-1 / float(noise.scale))
    return 2 * r / (1 - r) ** 2
