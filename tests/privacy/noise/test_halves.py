"""Several quantiles by recursive halves: the exact law of what is selected, and what it loses.

Weights are integers, so the probability of every answer is a fraction that can be written down. It
is compared with the definition in decimal arithmetic, and the ratios between neighbouring tables
with e^ε: of all small tables.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cache
from itertools import combinations
from random import Random

import numpy as np
import pytest

from dpdb.policy.budget import Neighbors
from dpdb.privacy.mechanisms.selections import halves as module
from dpdb.privacy.mechanisms.selections.exponential import SLACK, Exponential
from dpdb.privacy.mechanisms.selections.halves import Halves, Node, nodes
from dpdb.privacy.noise.exponential import select_value
from dpdb.privacy.noise.halves import cut_pieces, select_cut, select_quantiles
from dpdb.privacy.noise.system import SystemNoise
from dpdb.privacy.sensitivity import Contribution
from tests.support.brute import ADD_REMOVE, REPLACE, Pairs, as_pairs, multisets, neighbouring
from tests.support.fits import fit
from tests.support.selections import close, distribution, exponential, integers, largest_ratio

ALPHA = 1e-6
QUARTILES = (Fraction(1, 4), Fraction(1, 2), Fraction(3, 4))
LOPSIDED = (Fraction(1, 10), Fraction(1, 5), Fraction(9, 10), Fraction(95, 100))
GRID = (0, 2)
Law = dict[tuple[int, ...], Fraction]


def cut_law(
    values: Sequence[int], grid: tuple[int, int], fraction: Fraction, chosen_by: Exponential
) -> dict[tuple[int, int], Fraction]:
    """P(v, k) ∝ exp(-rate·|k - fraction·n|)/(t + 1), for the t values that are v, by counting."""
    weights = {}
    for point in range(grid[0], grid[1] + 1):
        below, ties = sum(v < point for v in values), sum(v == point for v in values)
        for cut in range(below, below + ties + 1):
            exponent = min(abs(cut - fraction * len(values)) * chosen_by.rate, Fraction(80))
            weights[point, cut] = exponential(-exponent) / (ties + 1)
    return {each: weight / sum(weights.values()) for each, weight in weights.items()}


def law(values: Sequence[int], grid: tuple[int, int], halves: Halves, node: Node) -> Law:
    """The exact probability of what a node and those below it select, by their places."""
    chosen_by = halves.selection(node)
    if not node.children:
        points = range(grid[0], grid[1] + 1)
        each = distribution(integers(values), grid, node.fraction, chosen_by)
        return {(point,): chance for point, chance in zip(points, each, strict=True)}
    found: Law = defaultdict(Fraction)
    for (point, cut), chance in cut_law(values, grid, node.fraction, chosen_by).items():
        lower: Law = {(): Fraction(1)}
        upper: Law = {(): Fraction(1)}
        if node.lower is not None:
            lower = law(values[:cut], (grid[0], point), halves, node.lower)
        if node.upper is not None:
            upper = law(values[cut:], (point, grid[1]), halves, node.upper)
        for below, p in lower.items():
            for above, q in upper.items():
                found[(*below, point, *above)] += chance * p * q
    return found


@cache
def laws(halves: Halves, most: int) -> list[list[Fraction]]:
    """Of all tables of up to so many of three values."""
    found = [law(values, GRID, halves, halves.root) for values in multisets(3, most)]
    answers = sorted(set().union(*found))
    assert all(list(answer) == sorted(answer) for answer in answers)
    return [[each.get(answer, Fraction(0)) for answer in answers] for each in found]


def contribution(relation: Neighbors, groups: int = 1, rows: int = 1) -> Contribution:
    return Contribution(relation, optional=True, group_count=groups, rows_per_unit=rows)


@pytest.mark.parametrize("relation", [ADD_REMOVE, REPLACE])
@pytest.mark.parametrize("fractions", [QUARTILES, LOPSIDED], ids=["quartiles", "lopsided"])
@pytest.mark.parametrize("epsilon", [Fraction(1, 100), Fraction(2)], ids=str)
def test_neighbours_differ_by_no_more_than_is_charged(
    fractions: tuple[Fraction, ...], relation: Neighbors, epsilon: Fraction
) -> None:
    halves = Halves(fractions, epsilon, contribution(relation))
    found = [_seen(each) for each in laws(halves, 4)]
    assert largest_ratio(found, neighbouring(3, 4, relation)) <= exponential(epsilon)


def _seen(chances: list[Fraction]) -> list[Fraction]:
    """The probabilities of answers that there can be: no answer is possible of one table alone."""
    assert all(chances)
    return chances


@pytest.mark.parametrize(("relation", "grid", "before", "after"), [
    (ADD_REMOVE, (0, 12), [0] * 5 + [11] * 3, [0] * 5 + [11] * 4),
    (REPLACE, (0, 14), [0] * 3 + [11] * 3, [0] * 2 + [11] * 3 + [13]),
])  # fmt: skip
def test_most_of_the_charge_is_used(
    relation: Neighbors, grid: tuple[int, int], before: list[int], after: list[int]
) -> None:
    """By a row that moves the wide gap's weight and that of rare answers in two directions."""
    halves = Halves(QUARTILES, Fraction(2), contribution(relation))
    ratios = []
    for each in (halves, replace(halves, epsilon=Fraction(3))):
        first, second = (law(table, grid, each, each.root) for table in (before, after))
        pair = [[found[answer] for answer in first] for found in (first, second)]
        ratios.append(largest_ratio(pair, _ONE_PAIR))
    assert exponential(Fraction(2) * Fraction(3, 4)) < ratios[0] <= exponential(Fraction(2))
    assert ratios[1] > exponential(Fraction(2))  # so rates half as large again would be caught


_ONE_PAIR = as_pairs([(0, 1)])


def test_two_cells_and_units_of_two_rows_are_within_the_charge() -> None:
    epsilon = Fraction(2)
    moved = Halves(QUARTILES, epsilon, contribution(REPLACE, groups=2))
    enters = largest_ratio(laws(moved, 3), neighbouring(3, 3, ADD_REMOVE))
    within = largest_ratio(laws(moved, 3), neighbouring(3, 3, REPLACE))
    assert max(enters**2, within) <= exponential(epsilon)
    for relation in (ADD_REMOVE, REPLACE):
        units = Halves(QUARTILES, epsilon, contribution(relation, rows=2))
        assert largest_ratio(laws(units, 3), _two_apart(relation)) <= exponential(epsilon)


def _two_apart(relation: Neighbors) -> Pairs:
    """All pairs of tables of up to three rows that two rows can come or go, or change, between."""
    tables, pairs = multisets(3, 3), []
    for i, j in combinations(range(len(tables)), 2):
        shared = sum(min(tables[i].count(v), tables[j].count(v)) for v in range(3))
        left, right = len(tables[i]) - shared, len(tables[j]) - shared
        apart = max(left, right) if relation is REPLACE else left + right
        if apart <= 2 and (relation is REPLACE or not min(left, right)):
            pairs.append((i, j))
    return as_pairs(pairs)


def test_the_rates_use_all_of_the_charge_on_every_way() -> None:
    halves = Halves(QUARTILES, Fraction(2), contribution(ADD_REMOVE))
    spare = 4 * SLACK
    assert all(rate == (2 - spare) / 2 for rate in halves.rates.values())
    lopsided = Halves(LOPSIDED, Fraction(1), contribution(ADD_REMOVE))
    for way in ((2, 1, 0), (2, 3)):
        fractions = {node.place: node for node in nodes(lopsided.root)}
        spent = sum(2 * fractions[at].sensitivity * lopsided.rates[at] for at in way)
        assert spent == 1 - 2 * 3 * SLACK
    assert module.tree(()) is None


@pytest.mark.parametrize("rate", [Fraction(1, 1000), Fraction(1, 3), Fraction(30)], ids=str)
def test_cuts_have_the_defined_distribution(rate: Fraction) -> None:
    """From rates at which all cuts are weighed by themselves to those where a few are."""
    random = Random(4)
    chosen_by = Exponential(Fraction(1), 2 * rate + SLACK)
    for rows in (0, 1, 5, 60):
        for fraction in (Fraction(1, 2), Fraction(2, 7)):
            values = sorted(random.choice((0, 3, 3, 4, 9)) for _ in range(rows))
            exact: dict[int, Fraction] = defaultdict(Fraction)
            for (point, _), chance in cut_law(values, (-1, 9), fraction, chosen_by).items():
                exact[point] += chance
            starts, lengths, each = cut_pieces(integers(values), (-1, 9), fraction, chosen_by)
            total = sum(w * n for w, n in zip(each, lengths, strict=True))
            found = {
                start + offset: Fraction(weight, total)
                for start, length, weight in zip(starts, lengths, each, strict=True)
                for offset in range(length)
            }
            close([found[point] for point in exact], list(exact.values()))


def test_drawn_cuts_fit_the_definition() -> None:
    values, fraction = [1, 1, 1, 1, 2, 4], Fraction(1, 2)
    chosen_by, source = Exponential(Fraction(1), Fraction(1)), SystemNoise(Random(1).randbytes)
    draws = [select_cut(integers(values), (0, 5), fraction, chosen_by, source) for _ in range(3000)]
    exact = cut_law(values, (0, 5), fraction, chosen_by)
    places = {each: at for at, each in enumerate(exact)}
    found = [places[each] for each in draws]
    assert fit(found, {places[each]: float(p) for each, p in exact.items()}) > ALPHA
    sharper = cut_law(values, (0, 5), fraction, replace(chosen_by, epsilon=Fraction(2)))
    assert fit(found, {places[each]: float(p) for each, p in sharper.items()}) < ALPHA


def test_drawn_quantiles_fit_the_law() -> None:
    halves = Halves(QUARTILES, Fraction(4), contribution(ADD_REMOVE))
    values, source = [0, 0, 1, 2, 2, 2], SystemNoise(Random(2).randbytes)
    draws = [tuple(select_quantiles(integers(values), GRID, halves, source)) for _ in range(1500)]
    exact = law(values, GRID, halves, halves.root)
    places = {each: at for at, each in enumerate(exact)}
    assert fit([places[d] for d in draws], {places[a]: float(p) for a, p in exact.items()}) > ALPHA


@pytest.mark.parametrize("rows", [0, 1, 2, 1000])
def test_what_is_selected_rises_whatever_the_rows_are(rows: int) -> None:
    source, random = SystemNoise(Random(rows).randbytes), Random(3)
    fractions = tuple(Fraction(i, 10) for i in range(1, 10))
    halves = Halves(fractions, Fraction(1), contribution(ADD_REMOVE))
    assert halves.root.levels == 4
    for spread in (0, 1, 2**50):
        values = integers(random.randrange(spread + 1) for _ in range(rows))
        for grid in ((0, spread), (-(2**53), 2**53)):
            chosen = select_quantiles(values, grid, halves, source)
            assert chosen == sorted(chosen)
            assert grid[0] <= chosen[0] <= chosen[-1] <= grid[1]


def test_three_levels_do_not_cost_seven_shares() -> None:
    """The ranks of seven quantiles are nearer than those of seven selections at ε/7 each."""
    fractions = tuple(Fraction(i, 8) for i in range(1, 8))
    halves = Halves(fractions, Fraction(1), contribution(ADD_REMOVE))
    source, values = SystemNoise(Random(5).randbytes), np.arange(0, 100_000, 10)
    together, apart = [], []
    for _ in range(12):
        chosen = select_quantiles(values, (0, 10**5), halves, source)
        together += [
            point / 10 - float(q) * 10_000 for point, q in zip(chosen, fractions, strict=True)
        ]
        for q in fractions:
            alone = Exponential(max(q, 1 - q), Fraction(1, 7))
            point = select_value(values, (0, 10**5), q, alone, source)
            apart.append(point / 10 - float(q) * 10_000)
    assert 2 * math.hypot(*together) < math.hypot(*apart)
