"""The loss of staircase noise on several numbers, against brute force over neighbours.

Tables, rows and neighbours are those of `test_l2_sensitivity`. A number that changes by d loses
as many ε of one number as there are steps between values d apart, at most.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import cache
from itertools import combinations
from typing import Any

import pytest

from dpdb.plan.logical.query import Options
from dpdb.plan.physical.plan import Plan
from dpdb.policy.budget import Neighbors
from dpdb.privacy.mechanisms.kinds import NoiseKind
from dpdb.privacy.mechanisms.staircase import Staircase
from tests.privacy.test_l2_sensitivity import GROUPED, UNITS, planned_for
from tests.support.brute import ADD_REMOVE, REPLACE, Pairs, as_pairs, multisets, neighbouring, world
from tests.support.domains import (
    ANYTHING_FITS,
    CAP,
    any_number,
    bystanders,
    one_is_absent,
    read_row_kinds,
    same_number,
    unit_world,
)

STAIRCASE = Options(mechanism=NoiseKind.STAIRCASE)
pytestmark = pytest.mark.usefixtures("in_memory")


@cache
def steps(noise: Staircase, apart: int) -> int:
    """The most steps between two values that are so far apart, by looking at all of a few periods."""
    wide, first = noise.sensitivity, noise.first

    def step(x: int) -> int:
        return (abs(x) + wide - first) // wide

    reach = 2 * wide + apart
    return max(abs(step(x) - step(x + apart)) for x in range(-reach, reach + 1))


def lost(planned: Plan, results: Sequence[Sequence[Any]], pairs: Pairs) -> Fraction:
    """The largest part of its ε that a release with staircase noise loses between any pair."""
    worst = Fraction(0)
    for position, release in enumerate(planned.releases):
        noise = release.mechanism
        if not isinstance(noise, Staircase):
            continue
        cells = [result[position].ravel().tolist() for result in results]
        for one, other in zip(*(side.tolist() for side in pairs), strict=True):
            changes = (abs(a - b) for a, b in zip(cells[one], cells[other], strict=True) if a != b)
            worst = max(worst, Fraction(sum(steps(noise, d) for d in changes), noise.numbers))
    return worst


LINEAR = [sql for sql in GROUPED if "AVG" not in sql and "VAR" not in sql]


@pytest.mark.parametrize("relation", [ADD_REMOVE, REPLACE])
@pytest.mark.parametrize("sql", LINEAR, ids=[sql[7:] for sql in LINEAR])
def test_a_row_loses_all_of_it_at_most(sql: str, relation: Neighbors) -> None:
    columns, kinds = read_row_kinds(sql)
    most = 3 if len(kinds) <= ANYTHING_FITS else 2
    here = world(columns, relation)
    planned = planned_for(here, sql, STAIRCASE)
    tables = [[kinds[i] for i in rows] for rows in multisets(len(kinds), most)]
    results = here.all_exact(planned, tables)
    assert lost(planned, results, neighbouring(len(kinds), most, relation)) == 1


COUNTED = [case[0] for case in UNITS if "AVG" not in case[0]]


@pytest.mark.parametrize("relation", ["add-remove", "replace", "replace, any number"])
@pytest.mark.parametrize("sql", COUNTED, ids=[sql[7:] for sql in COUNTED])
def test_a_unit_of_several_rows_loses_all_of_it_at_most(sql: str, relation: str) -> None:
    at = ["add-remove", "replace", "replace, any number"].index(relation)
    here, kinds = unit_world(sql, REPLACE if at else ADD_REMOVE)
    planned = planned_for(here, sql, STAIRCASE)
    related = (one_is_absent, same_number, any_number)[at]
    sets = multisets(len(kinds), CAP + 1)
    pairs = as_pairs(
        (i, j) for i, j in combinations(range(len(sets)), 2) if related(sets[i], sets[j])
    )
    worst = Fraction(0)
    for others in bystanders(kinds)[::2]:
        tables = [[*others, *((*kinds[i], "1") for i in rows)] for rows in sets]
        worst = max(worst, lost(planned, here.all_exact(planned, tables), pairs))
    assert worst <= 1
    assert worst == 1 or sql == "SELECT COUNT(*) FROM t" or "contribution_bounds" in sql
