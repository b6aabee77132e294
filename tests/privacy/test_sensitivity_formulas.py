"""The formulas of sensitivities alone, against all changes that one row can make."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import combinations, combinations_with_replacement, product

import numpy as np
import pytest

from dpdb.plan.ranges.statistics import Ranks, Tally
from dpdb.policy.budget import Neighbors
from dpdb.privacy import sensitivity
from dpdb.privacy.mechanisms.selections.exponential import Exponential
from dpdb.privacy.sensitivity import Contribution
from tests.support.brute import ADD_REMOVE, REPLACE, multisets, score, world
from tests.support.domains import CASES, PLENTY, read_row_kinds

pytestmark = pytest.mark.usefixtures("in_memory")


def changes(contribution: Contribution, lower: int, upper: int) -> Iterator[int]:
    """All ℓ1 changes of Σ y over two cells, or one, when one row is changed, by definition."""
    cells = range(contribution.group_count)
    counted = [(cell, y) for cell in cells for y in range(lower, upper + 1)]
    nowhere = [(0, 0)] if contribution.optional or contribution.neighbors is ADD_REMOVE else []
    vectors = [[y if cell == at else 0 for cell in cells] for at, y in [*counted, *nowhere]]
    others = vectors if contribution.neighbors is REPLACE else [[0] * contribution.group_count]
    for left, right in product(vectors, others):
        yield sum(abs(a - b) for a, b in zip(left, right, strict=True))


@pytest.mark.parametrize("optional", [False, True])
@pytest.mark.parametrize("relation", [ADD_REMOVE, REPLACE])
def test_the_formula_of_totals_is_the_largest_change(relation: Neighbors, optional: bool) -> None:
    for cells in (1, 2, 3) if optional else (1,):
        for lower, upper in combinations(range(-4, 5), 2):
            contribution = Contribution(relation, optional, cells)
            expected = max(changes(contribution, lower, upper))
            assert sensitivity.total(lower, upper, contribution) == expected
            several = Contribution(relation, optional, cells, rows_per_unit=3)
            assert sensitivity.total(lower, upper, several) >= 3 * expected


@pytest.mark.parametrize("relation", [ADD_REMOVE, REPLACE])
@pytest.mark.parametrize(
    ("cells", "rows"), [(1, 1), (1, 3), (2, 1), (3, 1), (3, 2), (4, 2), (5, 3)]
)
def test_the_formula_of_units_is_the_largest_change(
    relation: Neighbors, cells: int, rows: int
) -> None:
    """A unit is in any cells, no more than it has rows; another may stand in its place."""
    there = [set(some) for n in range(rows + 1) for some in combinations(range(cells), n)]
    other = there if relation is REPLACE else [set()]
    # Where two numbers differ it is by 1, so that ℓ1 is the square of ℓ2.
    largest = max(len(left ^ right) for left, right in product(there, other))
    assert sensitivity.units(Contribution(relation, True, cells, rows)) == largest


@pytest.mark.parametrize("relation", [ADD_REMOVE, REPLACE])
@pytest.mark.parametrize(
    ("cells", "rows", "groups"), [(1, 3, None), (2, 2, None), (3, 2, None), (3, 3, 1), (4, 2, 9)]
)
def test_the_formula_of_what_units_come_to_is_the_largest_change(
    relation: Neighbors, cells: int, rows: int, groups: int | None
) -> None:
    """A unit has one value in each of a few cells, and 0 in the others."""
    contribution = Contribution(relation, True, cells, rows, groups, one_per_group=True)
    most = min(cells, rows, cells if groups is None else groups)
    for lower, upper in combinations((-3, -1, 0, 2), 2):
        ends = {lower, upper, 0}
        here = [v for v in product(ends, repeat=cells) if sum(map(bool, v)) <= most]
        there = here if relation is REPLACE else [(0,) * cells]
        pairs = [[abs(a - b) for a, b in zip(*pair, strict=True)] for pair in product(here, there)]
        assert sensitivity.total(lower, upper, contribution) == max(map(sum, pairs))
        squared = max(sum(change**2 for change in each) for each in pairs)
        assert sensitivity.total_squared(lower, upper, contribution) == squared


@pytest.mark.parametrize("percent", [0, 1, 25, 50, 90, 100])
def test_the_formula_of_ranks_is_the_largest_change(percent: int) -> None:
    """All tables of up to four values out of three, a fifth value entering or replaced."""
    fraction = Fraction(percent, 100)
    entered, replaced = Fraction(0), Fraction(0)
    for values in multisets(3, 4):
        for candidate in range(-1, 4):
            now = score(values, candidate, fraction)
            after = [score((*values, new), candidate, fraction) for new in range(3)]
            entered = max(entered, *(abs(now - then) for then in after))
            replaced = max(replaced, max(after) - min(after))
    assert sensitivity.rank(fraction, Contribution(ADD_REMOVE, True)) == entered
    assert sensitivity.rank(fraction, Contribution(REPLACE, True)) == replaced
    assert sensitivity.rank(fraction, Contribution(REPLACE, True, group_count=2)) >= 2 * entered


@pytest.mark.parametrize("relation", [ADD_REMOVE, REPLACE])
@pytest.mark.parametrize("cells", [1, 2])
@pytest.mark.parametrize("rows", [1, 2])
def test_the_formula_of_tallies_is_the_largest_change(
    relation: Neighbors, cells: int, rows: int
) -> None:
    """All rows of a unit, each of any weight at one of three values in a cell, or of none."""
    contribution = Contribution(relation, True, cells, rows)
    for lower, upper in combinations_with_replacement((-3, -1, 0, 1, 3), 2):
        entries = [*product(range(cells), range(3), range(lower, upper + 1)), (0, 0, 0)]
        units = np.array(list({_scores(each, cells) for each in product(entries, repeat=rows)}))
        score = span = 0
        for one in units if relation is REPLACE else np.zeros((1, cells, 3), dtype=int):
            changes = one - units  # by unit, cell and value
            score = max(score, int(abs(changes).max(axis=2).sum(axis=1).max()))
            span = max(span, int(np.ptp(changes, axis=2).sum(axis=1).max()))
        planned = sensitivity.tally(lower, upper, contribution)
        one_sided = sensitivity.is_one_sided_tally(lower, upper, contribution)
        chosen_by = Exponential(planned, Fraction(1), one_sided)
        if lower or upper:
            assert chosen_by.span == span
            assert score <= planned
            assert score == planned or (one_sided and planned == span)
        else:
            assert span == 0 < planned


def _scores(entries: Sequence[tuple[int, int, int]], cells: int) -> tuple[tuple[int, ...], ...]:
    """For each cell the sum of the weights at each of three values."""
    sums = [[0] * 3 for _ in range(cells)]
    for cell, value, weight in entries:
        sums[cell][value] += weight
    return tuple(map(tuple, sums))


def test_ranks_and_tallies_have_the_exponential_mechanism() -> None:
    for case in CASES:
        for release in world(read_row_kinds(case.sql)[0]).plan(case.sql, PLENTY).releases:
            selected = isinstance(release.statistic, Ranks | Tally)
            assert release.mechanism.name == ("exponential" if selected else "laplace")
