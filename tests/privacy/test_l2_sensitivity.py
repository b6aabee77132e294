"""How far a unit moves a vector of sums, as Gaussian noise counts it: against brute force.

The tables, rows and neighbours are those of `test_sensitivity`; what is planned with for Gaussian
noise is the square of an ℓ2 distance, worked out by hand from the declarations, and `50>41` says
that 50 is planned with though no more than 41 is possible.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations, product
from typing import Any

import numpy as np
import pytest

from dpdb.plan.logical.query import Options
from dpdb.plan.physical.plan import Plan
from dpdb.plan.planner import plan
from dpdb.plan.ranges.statistics import Histogram, Joint
from dpdb.policy.budget import Neighbors
from dpdb.privacy import sensitivity
from dpdb.privacy.accounting.accountants import BudgetShare
from dpdb.privacy.mechanisms.gaussian import Gaussian
from dpdb.privacy.mechanisms.kinds import NoiseKind
from dpdb.privacy.mechanisms.laplace import Laplace
from dpdb.privacy.sensitivity import Contribution
from dpdb.sql.selects.binder import bind
from dpdb.sql.text.tokens import read_tokens
from tests.support.brute import (
    ADD_REMOVE,
    REPLACE,
    Pairs,
    World,
    as_pairs,
    multisets,
    neighbouring,
    world,
)
from tests.support.domains import (
    ANYTHING_FITS,
    CAP,
    CASES,
    PLENTY,
    any_number,
    bystanders,
    one_is_absent,
    read_row_kinds,
    same_number,
    unit_world,
)

GAUSSIAN = Options(mechanism=NoiseKind.GAUSSIAN)


pytestmark = pytest.mark.usefixtures("in_memory")


def planned_for(here: World, sql: str, options: Options = GAUSSIAN) -> Plan:
    share = BudgetShare(PLENTY, Fraction(1, 10**6))
    return plan(
        bind(read_tokens(sql), sql, here.policy, options), here.policy, share, lambda table: 3
    )


def squares(planned: Plan) -> list[int]:
    """What is planned with; what no row can change has no noise, and says that it is Laplace's."""
    found = []
    for release in planned.releases:
        mechanism = release.mechanism
        assert isinstance(mechanism, Gaussian) or (mechanism.sensitivity, mechanism.scale) == (0, 0)
        found.append(mechanism.squared if isinstance(mechanism, Gaussian) else 0)
    return found


def attained(results: Sequence[Sequence[Any]], pairs: Pairs) -> list[int]:
    """For each release the largest Σ (a - b)² over its cells, between the results of any pair."""
    left, right = pairs
    worst = []
    for position in range(len(results[0])):
        cells = np.array([result[position].tolist() for result in results], dtype=np.int64)
        worst.append(int(((cells[left] - cells[right]) ** 2).sum(axis=1).max()))
    return worst


def expected(text: str) -> tuple[list[int], list[int]]:
    """What is planned with, and what is attained."""
    ends = [part.split(">") for part in text.split(" ")]
    return [int(end[0]) for end in ends], [int(end[-1]) for end in ends]


GROUPED = {
    "SELECT g, COUNT(*) FROM t GROUP BY g": ("1", "2"),
    "SELECT g, COUNT(*) FROM t WHERE g = 'a' GROUP BY g": ("1", "1"),
    "SELECT x, COUNT(*) FROM t GROUP BY x": ("1", "2"),
    "SELECT g, h, COUNT(*) FROM t GROUP BY g, h": ("1", "2"),
    # 5 leaves one cell and enters another; within one no more than 7² could change.
    "SELECT g, SUM(x) FROM t GROUP BY g": ("25", "50"),
    "SELECT g, SUM(x) FROM t WHERE g = 'a' GROUP BY g": ("25", "49"),
    "SELECT h, SUM(x) FROM t WHERE x < 0 GROUP BY h": ("4", "8"),
    "SELECT v, SUM(k) FROM t GROUP BY v": ("49", "98"),
    "SELECT b, SUM(m) FROM t GROUP BY b": ("9", "18"),
    "SELECT k, SUM(k) FROM t GROUP BY k": ("49", "98>85"),
    "SELECT g, h, SUM(x) FROM t GROUP BY g, h": ("25", "50"),
    "SELECT g, SUM(x) FILTER (WHERE b) FROM t GROUP BY g": ("25", "50"),
    "SELECT g, COUNT(DISTINCT x) FROM t GROUP BY g": ("1", "2"),
    # Centred, values are in [-3, 4]: from one end to the other, within a cell, is farthest.
    "SELECT g, AVG(x) FROM t GROUP BY g": ("16 1", "49 2"),
    "SELECT g, AVG(big) FROM t GROUP BY g": ("1 1", "4 2"),
    "SELECT g, VAR_SAMP(x) FROM t GROUP BY g": ("64 16 1", "256 49 2"),
}


@pytest.mark.parametrize("relation", [ADD_REMOVE, REPLACE])
@pytest.mark.parametrize("sql", GROUPED, ids=[sql[7:] for sql in GROUPED])
def test_planned_is_the_largest_change(sql: str, relation: Neighbors) -> None:
    columns, kinds = read_row_kinds(sql)
    most = 3 if len(kinds) <= ANYTHING_FITS else 2
    here = world(columns, relation)
    planned = planned_for(here, sql)
    tables = [[kinds[i] for i in rows] for rows in multisets(len(kinds), most)]
    results = here.all_exact(planned, tables)
    allowed, reached = expected(GROUPED[sql][relation is REPLACE])
    assert squares(planned) == allowed
    assert attained(results, neighbouring(len(kinds), most, relation)) == reached


@pytest.mark.parametrize("relation", [ADD_REMOVE, REPLACE])
def test_of_one_cell_it_is_the_square_of_the_largest_change(relation: Neighbors) -> None:
    """That of Laplace noise, which `test_sensitivity` holds against brute force."""
    compared = 0
    for case in CASES:
        here = world(read_row_kinds(case.sql)[0], relation)
        plain, other = planned_for(here, case.sql, Options()), planned_for(here, case.sql)
        several = any(
            isinstance(release.statistic, Joint | Histogram)
            for release in (*plain.releases, *other.releases)
        )
        laplace = all(isinstance(release.mechanism, Laplace) for release in plain.releases)
        if several or not laplace or "GROUP BY" in case.sql:
            continue
        changes = [release.mechanism.sensitivity for release in plain.releases]
        assert squares(other) == [change**2 for change in changes], case.sql
        compared += len(changes)
    assert compared > 40


UNITS = [
    # When a unit comes or goes; and when its rows are replaced by as many, or by any number.
    ("SELECT COUNT(*) FROM t", "4", "4>0", "4>1"),
    ("SELECT COUNT(*) FROM t WHERE x > 0", "4", "4", "4"),
    ("SELECT SUM(x) FROM t", "100", "196", "196"),
    ("SELECT COUNT(DISTINCT x) FROM t", "4", "4", "4"),
    ("SELECT COUNT(DISTINCT u) FROM t WHERE x > 0", "1", "1", "1"),
    ("SELECT g, COUNT(DISTINCT u) FROM t GROUP BY g", "2", "2", "2"),
    # A unit is 1 in each cell that it leaves and enters.
    ("SELECT g, b, COUNT(DISTINCT u) FROM t GROUP BY g, b", "2", "4", "4"),
    # Two rows leave one cell and enter another: 2² + 2² = 8.
    ("SELECT g, COUNT(*) FROM t GROUP BY g", "4", "8", "8"),
    ("SELECT g, b, COUNT(*) FROM t GROUP BY g, b", "4", "8", "8"),
    ("SELECT g, SUM(k) FROM t GROUP BY g", "196", "392", "392"),
    ("SELECT g, SUM(x) FROM t GROUP BY g", "100", "200", "200"),
    ("SELECT g, SUM(x) FROM t WHERE g = 'a' GROUP BY g", "100", "196", "196"),
    ("SELECT g, AVG(k) FROM t GROUP BY g", "16 4", "64 8", "64 8"),
    ("SELECT g, COUNT(DISTINCT k) FROM t GROUP BY g", "4", "8", "8"),
    # What a unit comes to in each cell is clamped: 5² in each of two cells, not (2·5)².
    (
        "SELECT g, b, SUM(k, contribution_bounds_per_group => (0, 5)) FROM t GROUP BY g, b",
        "50",
        "100",
        "100",
    ),
    (
        "SELECT g, SUM(x, contribution_bounds_per_group => (-1, 3)) FROM t GROUP BY g",
        "18",
        "32",
        "32",
    ),
]


@pytest.mark.parametrize("relation", ["add-remove", "replace", "replace, any number"])
@pytest.mark.parametrize("case", UNITS, ids=[case[0][7:] for case in UNITS])
def test_a_unit_of_several_rows(case: tuple[str, ...], relation: str) -> None:
    at = ["add-remove", "replace", "replace, any number"].index(relation)
    here, kinds = unit_world(case[0], REPLACE if at else ADD_REMOVE)
    planned = planned_for(here, case[0])
    related = (one_is_absent, same_number, any_number)[at]
    sets = multisets(len(kinds), CAP + 1)
    pairs = as_pairs(
        (i, j) for i, j in combinations(range(len(sets)), 2) if related(sets[i], sets[j])
    )
    worst = [0] * len(planned.releases)
    for others in bystanders(kinds)[::2]:
        tables = [[*others, *((*kinds[i], "1") for i in rows)] for rows in sets]
        results = here.all_exact(planned, tables)
        worst = [max(pair) for pair in zip(worst, attained(results, pairs), strict=True)]
    allowed, reached = expected(case[1 + at])
    assert squares(planned) == allowed
    assert worst == reached


def vectors(contribution: Contribution, lower: int, upper: int) -> list[tuple[int, ...]]:
    """Where the rows of one unit can put their values, by definition; each in a cell or none."""
    cells = range(contribution.group_count)
    placed = [(cell, y) for cell in cells for y in range(lower, upper + 1)]
    one = [tuple(y if cell == at else 0 for cell in cells) for at, y in placed]
    one.append((0,) * contribution.group_count)
    rows = product(one, repeat=contribution.rows_per_unit)
    return list({tuple(map(sum, zip(*each, strict=True))) for each in rows})


@pytest.mark.parametrize("relation", [ADD_REMOVE, REPLACE])
@pytest.mark.parametrize(("cells", "rows"), [(1, 1), (2, 1), (3, 1), (1, 2), (2, 2), (3, 2)])
def test_the_formula_is_the_largest_change(relation: Neighbors, cells: int, rows: int) -> None:
    contribution = Contribution(relation, True, cells, rows)
    for lower, upper in combinations(range(-3, 4), 2):
        here = np.array(vectors(contribution, lower, upper))
        there = here if relation is REPLACE else np.zeros_like(here[:1])
        changes = ((here[:, None] - there[None]) ** 2).sum(axis=2)
        assert sensitivity.total_squared(lower, upper, contribution) == changes.max(), (
            lower,
            upper,
        )
