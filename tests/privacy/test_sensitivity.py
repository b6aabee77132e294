"""Planned sensitivities against brute force (Dwork, McSherry, Nissim, Smith 2006, Definition 2).

For each query: all tables of up to three rows over cells that matter (both bounds, cells outside
them, cells that cannot be read, missing ones, undeclared keys), all their neighbors, and what the
engine hands to the mechanisms. The largest change must not exceed what was planned with, and the
table of queries says how large it is: `5` means planned 5 and attained, `35>25` planned up to 35
though no more than 25 is possible. So neither a sensitivity that is too small can pass nor a test
that sees no change. Numbers are in steps of the grid, worked out by hand from the declarations.
"""

from __future__ import annotations

from itertools import permutations, product
from random import Random
from typing import Any

import pytest

from dpdb.policy.budget import Neighbors
from tests.support.brute import ADD_REMOVE, REPLACE, multisets, neighbouring, profile, world
from tests.support.domains import (
    ANYTHING_FITS,
    CASES,
    DOMAINS,
    PLENTY,
    Case,
    attained,
    expectations,
    read_row_kinds,
    sensitivities,
)
from tests.support.exactly import nothing_settled

pytestmark = pytest.mark.usefixtures("in_memory")


@pytest.mark.parametrize("relation", [ADD_REMOVE, REPLACE])
@pytest.mark.parametrize("case", CASES, ids=[case.sql[7:] for case in CASES])
def test_planned_is_the_largest_change(case: Case, relation: Neighbors) -> None:
    columns, kinds = read_row_kinds(case.sql)
    most = 3 if len(kinds) <= ANYTHING_FITS else 2
    here = world(columns, relation)
    planned = here.plan(case.sql, PLENTY)
    tables = [[kinds[i] for i in rows] for rows in multisets(len(kinds), most)]
    results = here.all_exact(planned, tables)
    found = attained(planned, results, neighbouring(len(kinds), most, relation))
    expected, reached = expectations(case.add_remove if relation is ADD_REMOVE else case.replace)
    assert found == reached
    for change, allowed, most_allowed in zip(found, sensitivities(planned), expected, strict=True):
        # Where not all of what is planned with can happen, bounds may yet become closer.
        assert change <= allowed <= most_allowed


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT COUNT(*) FROM t WHERE g = NULL",
        "SELECT SUM(x) FROM t WHERE x > 5",
        "SELECT AVG(x) FROM t WHERE k < 3 OR k IS NULL",
        "SELECT MEDIAN(x) FILTER (WHERE h NOT IN (0, 1)) FROM t",
        "SELECT g, COUNT(DISTINCT x) FROM t WHERE g = 'z' GROUP BY g",
    ],
)
@pytest.mark.parametrize("relation", [ADD_REMOVE, REPLACE])
def test_no_row_changes_what_the_policy_settles(sql: str, relation: Neighbors) -> None:
    """Nothing is released of it, and no noise would have had anything to hide."""
    columns, kinds = read_row_kinds(sql)
    here = world(columns, relation)
    assert here.plan(sql, PLENTY).settled
    with nothing_settled():
        planned = here.plan(sql, PLENTY)
    results = [here.exact(planned, [kinds[i] for i in rows]) for rows in multisets(len(kinds), 2)]
    found = attained(planned, results, neighbouring(len(kinds), 2, relation))
    assert found == [0] * len(planned.releases) != []


@pytest.mark.parametrize("case", CASES, ids=[case.sql[7:] for case in CASES])
def test_the_order_of_rows_changes_nothing(case: Case) -> None:
    columns, kinds = read_row_kinds(case.sql)
    here = world(columns)
    planned = here.plan(case.sql, PLENTY)
    tables = multisets(len(kinds), 3, least=3)
    for rows in Random(case.sql).sample(tables, min(3, len(tables))):
        orders = [
            [profile(r, cells).tolist() for r, cells in zip(planned.releases, exact, strict=True)]
            for exact in (here.exact(planned, [kinds[i] for i in p]) for p in permutations(rows))
        ]
        assert all(order == orders[0] for order in orders)


def test_every_statistic_function_and_shape_is_in_the_corpus() -> None:
    plans = [world(read_row_kinds(case.sql)[0]).plan(case.sql, PLENTY) for case in CASES]
    statistics = {type(release.statistic).__name__ for p in plans for release in p.releases}
    found = {"Count", "Histogram", "Total", "Joint", "Distinct", "Ranks", "Tally"}
    assert statistics == found
    functions = {estimate.aggregate.function for p in plans for estimate in p.estimates}
    assert len(functions) >= 11
    assert {len(p.keys) for p in plans} == {0, 1, 2}
    assert sum(">" not in case.add_remove for case in CASES) >= 60
    assert sum(">" not in case.replace for case in CASES) >= 60


# ------------------------------------------------------------------------- what it is measured on


MEANT: dict[str, dict[str, Any]] = {
    "x": {"-2": -2, "1": 1, "5": 5, "-99": -2, "": None},
    "k": {"3": 3, "5": 5, "99": 7, "": 3},
    "b": {"true": True, "false": False, "": None},
    "g": {"a": "a", "b": "b", "z": None, "": None},
    "h": {"0": 0, "1": 1, "": None},
}
GROUPS = {"g": ["a", "b"], "h": [0, 1]}
BY_HAND: list[tuple[str, str, Any]] = [
    ("COUNT(*)", "x", len),
    ("COUNT(x)", "x", lambda cell: len(known(cell))),
    ("COUNT(DISTINCT x)", "x", lambda cell: len(set(known(cell)))),
    ("SUM(x)", "x", lambda cell: sum(known(cell))),
    ("SUM(k)", "k", lambda cell: sum(known(cell))),
    ("MEDIAN(x)", "x", lambda cell: sorted(known(cell))),
    ("MODE(b)", "b", lambda cell: [known(cell).count(value) for value in (False, True)]),
]


def known(values: list[Any]) -> list[Any]:
    return [value for value in values if value is not None]


@pytest.mark.parametrize("keys", [[], ["g"], ["h"], ["g", "h"]], ids=str)
@pytest.mark.parametrize("aggregate", BY_HAND, ids=[entry[0] for entry in BY_HAND])
def test_the_engine_counts_what_it_should(aggregate: tuple[str, str, Any], keys: list[str]) -> None:
    """Every row is in its own cell or in none: changes of the right size are not yet that."""
    sql, argument, by_hand = aggregate
    names = [argument, *keys]
    here = world([DOMAINS[name].column for name in names])
    grouped = f" GROUP BY {', '.join(keys)}" if keys else ""
    planned = here.plan(f"SELECT {sql} FROM t{grouped}", PLENTY)
    cells = list(product(*(GROUPS[key] for key in keys)))
    kinds = list(product(*(MEANT[name] for name in names)))
    tables = multisets(len(kinds), 2)
    for rows in tables[:: 1 + len(tables) // 150]:
        meant = [tuple(MEANT[n][c] for n, c in zip(names, kinds[i], strict=True)) for i in rows]
        [found] = here.exact(planned, [kinds[i] for i in rows])
        expected = [by_hand([row[0] for row in meant if row[1:] == cell]) for cell in cells]
        assert [value.tolist() for value in found] == expected
