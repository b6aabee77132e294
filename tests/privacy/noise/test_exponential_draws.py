"""Selections as they are drawn: what decides them, how they fit the definition, and the least charges."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import accumulate, combinations, pairwise, product
from operator import mul
from random import Random

import numpy as np
import numpy.typing as npt
import pytest

from dpdb.errors import DpdbError
from dpdb.policy.budget import Neighbors
from dpdb.policy.catalog import Column, Kind
from dpdb.privacy import sensitivity
from dpdb.privacy.mechanisms.selections.exponential import FARTHEST, SLACK, Exponential
from dpdb.privacy.noise import exponential as selection
from dpdb.privacy.noise.exponential import select_index, select_value
from dpdb.privacy.noise.system import SystemNoise
from dpdb.privacy.sensitivity import Contribution
from tests.support.brute import ADD_REMOVE, REPLACE, multisets, neighbouring, world
from tests.support.fits import fit, survival
from tests.support.selections import (
    by_definition,
    close,
    distribution,
    exponential,
    integers,
    largest_ratio,
    listed_pieces,
    mechanism,
)

ALPHA = 1e-6


# ------------------------------------------------------------------------- the draw itself


class Scripted:
    """A source of uniform integers that gives what it is told, and notes the bounds."""

    def __init__(self, replies: Iterable[int]) -> None:
        self.replies = list(replies)
        self.bounds: list[int] = []

    def below(self, bound: int) -> int:
        self.bounds.append(bound)
        reply = self.replies.pop(0)
        assert 0 <= reply < bound
        return reply

    def laplace(self, scale: Fraction, size: int) -> npt.NDArray[np.int64]:
        raise AssertionError("no noise is added to a selection")


def test_a_uniform_integer_below_the_total_decides() -> None:
    """Each piece is chosen by as many integers as its weight times its length, evenly within."""
    fraction, grid = Fraction(1, 4), (-2, 9)
    for values in ([], [0], [9], [-2, -2], [1, 2, 3], [4, 4, 4, 8]):
        chosen_by = mechanism(fraction, ADD_REMOVE, Fraction(2))
        starts, lengths, each = listed_pieces(integers(values), grid, fraction, chosen_by)
        sizes = [weight * length for weight, length in zip(each, lengths, strict=True)]
        ends = list(accumulate(sizes))
        for start, length, size, end in zip(starts, lengths, sizes, ends, strict=True):
            for drawn in {end - size, end - 1} if size else set():
                for offset in range(length):
                    noise = Scripted([drawn, offset])
                    chosen = select_value(integers(values), grid, fraction, chosen_by, noise)
                    assert chosen == start + offset
                    assert noise.bounds == [ends[-1], length]


def test_a_large_table_is_decided_in_the_same_way() -> None:
    """Of thousands of pieces, in gaps of all lengths, many weigh nearly the same."""
    random, fraction, grid = Random(8), Fraction(1, 2), (-(2**53), 2**53)
    values = [random.randrange(-(2**bits), 2**bits) for bits in range(1, 53) for _ in range(60)]
    for epsilon in (Fraction(1, 1000), Fraction(1, 10), Fraction(5)):
        chosen_by = mechanism(fraction, ADD_REMOVE, epsilon)
        starts, lengths, each = listed_pieces(integers(values), grid, fraction, chosen_by)
        ends = list(accumulate(map(mul, each, lengths)))
        inside = [place for place, length in enumerate(lengths) if length]
        for piece in {*random.choices(inside, k=60), inside[0], inside[-1]}:
            for drawn in (ends[piece] - each[piece] * lengths[piece], ends[piece] - 1):
                noise = Scripted([drawn, lengths[piece] - 1])
                chosen = select_value(integers(values), grid, fraction, chosen_by, noise)
                assert chosen == starts[piece] + lengths[piece] - 1
                assert noise.bounds == [ends[-1], lengths[piece]]


def index_distribution(counts: Sequence[int], chosen_by: Exponential) -> list[Fraction]:
    """The exact probability of each index, read off what is selected by the integers drawn."""
    noise = Scripted([0])
    select_index(counts, chosen_by, noise)
    [total] = noise.bounds

    def selected(drawn: int) -> int:
        return select_index(counts, chosen_by, Scripted([drawn]))

    # Where one index ends and the next begins is guessed, and then seen in what is selected.
    distances = np.array([float(max(counts) - count) for count in counts])
    ends = [0, *accumulate(selection.weights(distances, chosen_by.rate))]
    for index, (first, beyond) in enumerate(pairwise(ends)):
        if first < beyond:
            assert selected(first) == index == selected(beyond - 1)
    assert ends[-1] == total
    return [Fraction(after - before, total) for before, after in pairwise(ends)]


def mode_mechanism(relation: Neighbors, epsilon: Fraction) -> Exponential:
    """The mechanism that the planner chooses for the mode of one cell."""
    contribution = Contribution(relation, optional=True)
    one_sided = sensitivity.is_one_sided_tally(1, 1, contribution)
    return Exponential(sensitivity.tally(1, 1, contribution), epsilon, one_sided)


@pytest.mark.parametrize("relation", [ADD_REMOVE, REPLACE])
@pytest.mark.parametrize("epsilon", [Fraction(1, 1000), Fraction(1), Fraction(8)], ids=str)
def test_the_commonest_value_of_neighbours(relation: Neighbors, epsilon: Fraction) -> None:
    """All tables of up to three rows of three values, or none of them; and large counts."""
    chosen_by = mode_mechanism(relation, epsilon)
    tables = [[rows.count(value) for value in range(3)] for rows in multisets(4, 3)]
    distributions = [index_distribution(counts, chosen_by) for counts in tables]
    ratio = largest_ratio(distributions, neighbouring(4, 3, relation))
    assert ratio <= exponential(epsilon)
    part = Fraction(3, 5) if relation is ADD_REMOVE else Fraction(1, 2)
    assert ratio > exponential(epsilon * part)
    if relation is ADD_REMOVE and epsilon == 8:
        assert ratio > exponential(epsilon * Fraction(19, 20))
    for counts, found in zip(tables, distributions, strict=True):
        exact = [exponential(count * chosen_by.rate) for count in counts]
        close(found, [weight / sum(exact) for weight in exact])


@pytest.mark.parametrize("relation", [ADD_REMOVE, REPLACE])
@pytest.mark.parametrize("bounds", [(0, 5), (2, 5), (-2, 5), (-5, -1)], ids=str)
@pytest.mark.parametrize("epsilon", [Fraction(1, 10), Fraction(8)], ids=str)
def test_the_value_of_most_weight_of_neighbours(
    relation: Neighbors, bounds: tuple[int, int], epsilon: Fraction
) -> None:
    """All tables of up to two rows, each of one of three values with any weight, or of none."""
    contribution = Contribution(relation, optional=True)
    one_sided = sensitivity.is_one_sided_tally(*bounds, contribution)
    chosen_by = Exponential(sensitivity.tally(*bounds, contribution), epsilon, one_sided)
    kinds = [(0, 0), *product(range(3), sorted({*bounds, sum(bounds) // 2}))]
    tables = []
    for rows in multisets(len(kinds), 2):
        held = [kinds[kind] for kind in rows]
        tables.append([sum(weight for at, weight in held if at == value) for value in range(3)])
    distributions = [index_distribution(scores, chosen_by) for scores in tables]
    ratio = largest_ratio(distributions, neighbouring(len(kinds), 2, relation))
    assert exponential(epsilon * Fraction(1, 2)) < ratio <= exponential(epsilon)
    for scores, found in zip(tables, distributions, strict=True):
        exact = [exponential(score * chosen_by.rate) for score in scores]
        close(found, [weight / sum(exact) for weight in exact])


def test_sums_of_weights_beyond_64_bits_are_told_apart() -> None:
    """Their differences decide, and not how large they are."""
    chosen_by = Exponential(Fraction(2**53), Fraction(1), one_sided=True)
    for distances in ([2**53, 0, 3 * 2**52], [2**85, 0, 1]):
        exponents = [min(distance * chosen_by.rate, Fraction(FARTHEST)) for distance in distances]
        exact = [exponential(-each) for each in exponents]
        found = index_distribution([2**84 - distance for distance in distances], chosen_by)
        close(found, [weight / sum(exact) for weight in exact])


def test_clamping_the_count_of_rare_values_costs_nothing() -> None:
    """Where one of two counts moves across the distance at which weights stop to fall."""
    epsilon = Fraction(8)
    for relation in (ADD_REMOVE, REPLACE):
        chosen_by = mode_mechanism(relation, epsilon)
        reach = math.ceil(FARTHEST / chosen_by.rate)
        for gap in range(reach - 2, reach + 3):
            x, clamped = [100, 100 - gap, 0], index_distribution([100, 100 - gap, 0], chosen_by)
            changes = [(a, b) for a in range(-1, 3) for b in range(-1, 3) if a != b]
            if relation is ADD_REMOVE:
                changes = [(a, b) for a, b in changes if -1 in (a, b)]
            for source, target in changes:
                y = [c - (i == source) + (i == target) for i, c in enumerate(x)]
                if min(y) >= 0:
                    pair = [clamped, index_distribution(y, chosen_by)]
                    ratio = largest_ratio(pair, neighbouring(1, 1, ADD_REMOVE))
                    assert ratio <= exponential(epsilon)


# ------------------------------------------------------------------------- goodness of fit


def noise(seed: int) -> SystemNoise:
    return SystemNoise(Random(seed).randbytes)


FITTED = [
    (Fraction(1, 2), Fraction(1), [3, 4, 4, 7, 20, 20, 21, 30]),
    (Fraction(0), Fraction(1, 2), [10, 11, 12, 12, 30]),
    (Fraction(1), Fraction(3), [0, 0, 0, 31]),
    (Fraction(1, 4), Fraction(1), []),
]


@pytest.mark.parametrize(("fraction", "epsilon", "values"), FITTED)
def test_selected_values_fit_the_definition(
    fraction: Fraction, epsilon: Fraction, values: list[int]
) -> None:
    grid, size = (0, 31), 6000
    chosen_by = mechanism(fraction, ADD_REMOVE, epsilon)
    source = noise(3)
    table = integers(values)
    draws = [select_value(table, grid, fraction, chosen_by, source) for _ in range(size)]
    exact = dict(enumerate(map(float, by_definition(values, grid, fraction, chosen_by))))
    assert fit(draws, exact) > ALPHA
    if values:
        sharper = replace(chosen_by, sensitivity=chosen_by.sensitivity / 2)
        wrong = dict(enumerate(map(float, by_definition(values, grid, fraction, sharper))))
        assert fit(draws, wrong) < ALPHA


def test_selected_indices_fit_the_definition() -> None:
    counts, chosen_by = [5, 9, 8, 0, 9], Exponential(Fraction(1), Fraction(1))
    source = noise(4)
    draws = [select_index(counts, chosen_by, source) for _ in range(6000)]
    exact = [float(exponential(count * chosen_by.rate)) for count in counts]
    assert fit(draws, {i: weight / sum(exact) for i, weight in enumerate(exact)}) > ALPHA
    sharper = [weight**2 for weight in exact]
    assert fit(draws, {i: w / sum(sharper) for i, w in enumerate(sharper)}) < ALPHA


def test_the_fit_has_a_known_false_alarm_rate() -> None:
    """P(χ² > 20) for 8 degrees of freedom, from the table; and a fair die passes."""
    assert math.isclose(survival(20.0, 8), 0.010336, rel_tol=1e-4)
    assert math.isclose(survival(0.0, 8), 1.0)
    random = Random(9)
    die = dict.fromkeys(range(6), 1 / 6)
    assert fit([random.randrange(6) for _ in range(6000)], die) > ALPHA
    loaded = [min(5, random.randrange(7)) for _ in range(6000)]
    assert fit(loaded, die) < ALPHA


# ------------------------------------------------------------------------- the smallest charges


@pytest.mark.parametrize("part", [Fraction(1, 2), 1, 2, 10**6], ids=str)
@pytest.mark.parametrize("sql", ["SELECT MEDIAN(x) FROM t", "SELECT MODE(x) FROM t"])
def test_a_charge_about_the_slack_is_refused_or_kept_to(sql: str, part: Fraction) -> None:
    """1,000 aggregates share ε = 1e-9, or k is 10^9: then the share is about the slack."""
    here = world([Column("x", Kind.INTEGER, Fraction(0), Fraction(3))])
    try:
        [release] = here.plan(sql, SLACK * part).releases
    except DpdbError:
        assert part <= 1
        return
    chosen_by = release.mechanism
    assert isinstance(chosen_by, Exponential)
    assert chosen_by.loss.epsilon <= chosen_by.epsilon == SLACK * part
    tables = [index_distribution(counts, chosen_by) for counts in ([0, 0, 1], [0, 1, 1])]
    if "MEDIAN" in sql:
        tables = [
            distribution(integers(values), (0, 3), Fraction(1, 2), chosen_by)
            for values in ([3], [2, 3])
        ]
    ratio = largest_ratio(tables, neighbouring(1, 1, ADD_REMOVE))
    assert ratio <= exponential(chosen_by.epsilon)


def test_nothing_else_decides() -> None:
    """The tests above know all of the module: what they do not call is not there."""
    public = {name for name in vars(selection) if not name.startswith("_") and name.islower()}
    functions = {
        n for n in public if getattr(vars(selection)[n], "__module__", "") == selection.__name__
    }
    assert functions == {
        "weights",
        "binary_weights",
        "select_value",
        "select_index",
        "pieces",
        "ranked_pieces",
        "choose",
        "choose_piece",
        *("select_width", "width_weights"),  # of the bracket, which tests of its own know
        *("select_largest", "select_limit"),  # of peeling and of limits, likewise
    }


def test_all_pairs_are_neighbours() -> None:
    """The enumeration itself: sizes differ by one, or one row differs, and none is missing."""
    for relation, size in ((ADD_REMOVE, 1), (REPLACE, 0)):
        tables = multisets(3, 3)
        found = {
            frozenset((tables[i], tables[j]))
            for i, j in zip(*(side.tolist() for side in neighbouring(3, 3, relation)), strict=True)
        }
        expected = set()
        for x, y in combinations(tables, 2):
            common = sum((Counter(x) & Counter(y)).values())
            moved = (len(x) - common, len(y) - common)
            if (sum(moved) == 1) if size else (moved == (1, 1)):
                expected.add(frozenset((x, y)))
        assert found == expected
