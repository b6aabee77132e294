"""Planned sensitivities against brute force (Dwork, McSherry, Nissim, Smith 2006, Definition 2).

For each query: all tables of up to three rows over cells that matter (both bounds, cells outside
them, cells that cannot be read, missing ones, undeclared keys), all their neighbours, and what the
engine hands to the mechanisms. The largest change must not exceed what was planned with, and the
table of queries says how large it is: `5` means planned 5 and attained, `35>25` planned up to 35
though no more than 25 is possible. So neither a sensitivity that is too small can pass nor a test
that sees no change. Numbers are in steps of the grid, worked out by hand from the declarations.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import combinations, permutations, product
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import numpy as np
import pytest

from dpdb.engines.memory.contribution_bounds import Units
from dpdb.plan.expressions import Slot
from dpdb.plan.plan import Plan
from dpdb.plan.statistics import Count, Ranks, Tally, Total
from dpdb.policy.budget import Neighbors
from dpdb.policy.catalog import Column, Kind, Table
from dpdb.policy.numbers import days_of
from dpdb.privacy import sensitivity
from dpdb.privacy.sensitivity import Contribution
from dpdb.vectors.columns import Codes, Numbers
from dpdb.vectors.vector import constant
from tests.support.brute import (
    ADD_REMOVE,
    REPLACE,
    Row,
    World,
    as_pairs,
    denominator,
    farthest,
    multisets,
    neighbouring,
    profile,
    read_cells,
    score,
    tables_in_memory,
    world,
)
from tests.support.exactly import nothing_settled

PLENTY = Fraction(10**4)  # of epsilon, so that no bounds are too large for it
BIG = 2**53
ANYTHING_FITS = 32  # more kinds of rows than this, and tables have two rows at most


@pytest.fixture(autouse=True, scope="module")
def _in_memory() -> Iterator[None]:
    with tables_in_memory():
        yield


def day(text: str) -> Fraction:
    return Fraction(days_of(datetime.date.fromisoformat(text)))


def integer(name: str, lower: int, upper: int, *, nullable: bool = True) -> Column:
    return Column(name, Kind.INTEGER, Fraction(lower), Fraction(upper), nullable=nullable)


class Domain(NamedTuple):
    column: Column
    cells: tuple[str, ...]
    few: tuple[str, ...]
    """The cells used where a query reads several columns."""


STEP = Fraction(1, 2)
DOMAINS = {
    domain.column.name: domain
    for domain in (
        Domain(
            integer("x", -2, 5),
            ("-2", "0", "1", "3", "5", "99", "-99", "", "abc"),
            ("-2", "1", "5", "-99", ""),
        ),
        Domain(
            integer("k", 3, 7, nullable=False),
            ("3", "4", "5", "6", "7", "1", "1e9", ""),
            ("3", "5", "99", ""),
        ),
        Domain(
            Column("m", Kind.NUMBER, Fraction(-3, 2), Fraction(1, 2), STEP),
            ("-1.5", "-0.3", "0.5", "8", "-8", "nan"),
            ("-1.5", "0.2", "8", ""),
        ),
        Domain(
            Column("w", Kind.NUMBER),
            ("-1e9", "-4", "2", "7.5", "1e300", "inf", ""),
            ("-1e9", "1e300", ""),
        ),
        Domain(Column("g", Kind.TEXT, values=("a", "b")), ("a", "b", "z", ""), ("a", "b", "z", "")),
        Domain(Column("s", Kind.TEXT), ("4", "17", "q", ""), ("4", "q", "")),
        Domain(integer("h", 0, 1), ("0", "1", "7", ""), ("0", "1", "")),
        Domain(Column("b", Kind.BOOLEAN), ("true", "false", "x"), ("true", "false", "")),
        Domain(
            Column("d", Kind.DATE, day("2020-01-01"), day("2020-01-11")),
            ("2020-01-01", "2020-01-06", "2020-01-11", "2021-01-01", "2020-02-30", ""),
            ("2020-01-01", "2020-01-11", ""),
        ),
        Domain(
            Column("v", Kind.INTEGER, Fraction(2), Fraction(9), values=(2, 9)),
            ("2", "9", "5", ""),
            ("2", "9", "5"),
        ),
        Domain(
            integer("big", BIG - 2, BIG),
            (str(BIG - 2), str(BIG - 1), str(BIG), str(BIG + 2), "0", ""),
            (str(BIG - 2), str(BIG), ""),
        ),
        Domain(integer("f", 0, 1000, nullable=False), ("0", "1", "1000", ""), ("0", "1", "1000")),
    )
}


class Case(NamedTuple):
    sql: str
    add_remove: str
    replace: str


CASES = [
    Case("SELECT COUNT(*) FROM t", "1", "public"),
    Case("SELECT COUNT(x) FROM t", "1", "1"),
    Case("SELECT COUNT(k) FROM t", "1", "public"),
    Case("SELECT COUNT(COALESCE(x, 0)) FROM t", "1", "public"),
    Case("SELECT COUNT(NULLIF(k, 7)) FROM t", "1", "1"),
    Case("SELECT COUNT(1 / (k - 4)) FROM t", "1", "1"),
    Case("SELECT COUNT(*) FROM t WHERE x > 0", "1", "1"),
    Case("SELECT COUNT(*) FROM t WHERE NOT (x BETWEEN 0 AND 1)", "1", "1"),
    Case("SELECT COUNT(*) FILTER (WHERE x > 0) FROM t", "1", "1"),
    Case("SELECT COUNT(k) FILTER (WHERE k = 7) FROM t", "1", "1"),
    Case("SELECT COUNT(*) FROM t WHERE g LIKE 'a%' OR g IS NULL", "1", "1"),
    # No row can be left out: that is not looked for, and sound.
    Case("SELECT COUNT(*) FROM t WHERE 1 = 1", "1", "1>0"),
    Case("SELECT COUNT(*) FROM t WHERE COALESCE(1, v) = 1", "1", "1>0"),
    Case("SELECT COUNT(DISTINCT x) FROM t", "1", "1"),
    Case("SELECT COUNT(DISTINCT k) FROM t", "1", "1"),
    Case("SELECT COUNT(DISTINCT s) FROM t", "1", "1"),
    Case("SELECT COUNT(DISTINCT x) FROM t WHERE x <> 1", "1", "1"),
    Case("SELECT SUM(x) FROM t", "5", "7"),
    Case("SELECT SUM(k) FROM t", "7", "4"),
    Case("SELECT SUM(m) FROM t", "3", "4"),
    Case("SELECT SUM(k) FROM t WHERE k >= 4", "7", "7"),
    Case("SELECT SUM(x) FILTER (WHERE x < 0) FROM t", "2", "2"),
    Case("SELECT SUM(-x) FROM t", "5", "7"),
    Case("SELECT SUM(k - 5) FROM t", "2", "4"),
    Case("SELECT SUM(x * 2 - 10) FROM t", "14", "14"),
    Case("SELECT SUM(x * x) FROM t", "25", "35>25"),  # bounds [-10, 25]: x is not known to be x
    Case("SELECT SUM(x / 2) FROM t", "2.5e9", "3.5e9"),
    Case("SELECT SUM(x % 3) FROM t", "3>2", "5>4"),  # |a % b| is below |b|, bounded by it
    Case("SELECT SUM(ABS(x)) FROM t", "5", "5"),
    Case("SELECT SUM(FLOOR(m)) FROM t", "2", "2"),
    Case("SELECT SUM(ROUND(m)) FROM t", "2", "3"),
    Case("SELECT SUM(LEAST(x, 3)) FROM t", "5>3", "7>5"),  # x may be NULL, 3 is not
    Case("SELECT SUM(GREATEST(x, 3)) FROM t", "5", "7>2"),
    Case("SELECT SUM(NULLIF(x, 5)) FROM t", "5>3", "7>5"),
    Case("SELECT SUM(CLAMP(1 / x, -1, 1)) FROM t", "1e9", "2e9>1.5e9"),  # 1/-2 and 1/1
    Case("SELECT SUM(CLAMP(w, -4, 2)) FROM t", "4e9", "6e9"),
    Case("SELECT SUM(w) FROM t WHERE w BETWEEN 2 AND 7.5", "7.5e9", "7.5e9"),
    Case("SELECT SUM(CASE WHEN x > 0 THEN 1 ELSE -3 END) FROM t", "3", "4"),
    Case("SELECT SUM(CASE WHEN k > 3 THEN 2 ELSE -3 END) FROM t", "3", "5"),
    Case("SELECT SUM(CASE WHEN x = 5 THEN k * 1000 ELSE 0 END) FROM t", "7000", "7000"),
    Case("SELECT SUM(COALESCE(x, 3)) FROM t", "5", "7"),
    Case("SELECT SUM(COALESCE(CLAMP(x, 1, 5), 1)) FROM t", "5", "4"),
    Case("SELECT SUM(CLAMP(CAST(s AS INTEGER), 0, 9)) FROM t", "9", "9"),
    Case("SELECT SUM(d - DATE '2020-01-06') FROM t", "5", "10"),
    Case("SELECT SUM(big) FROM t", f"{BIG}", f"{BIG}"),
    Case("SELECT SUM(1) FROM t", "1", "0"),
    Case("SELECT SUM(-3) FROM t WHERE x > 0", "3", "3"),
    # The product overflows to NULL for f = 1000 alone; then 0, which is not in [5, 10], is added.
    Case("SELECT SUM(CLAMP(f * 1e150 * 1e150 * 1e6, 5, 10)) FROM t", "1e9", "1e9"),
    Case("SELECT SUM(CLAMP(ROUND(f * 1e297, 9), 5, 10)) FROM t", "1e9", "1e9"),
    Case("SELECT AVG(x) FROM t", "4 1", "7 1"),  # the centre is 1
    Case("SELECT AVG(k) FROM t", "2 1", "4"),
    Case("SELECT AVG(m) FROM t", "2 1", "4 1"),
    Case("SELECT AVG(x) FROM t WHERE x >= 0", "3 1", "5 1"),  # [0, 5], the centre is 2
    Case("SELECT AVG(k) FILTER (WHERE k > 3) FROM t", "2 1", "3 1"),
    Case("SELECT AVG(d) FROM t", "5 1", "10 1"),
    Case("SELECT AVG(big) FROM t", "1 1", "2 1"),
    # Centred values in [-3, 4], squares less half of 16; in steps of 1/2 [-2, 2], less 2.
    Case("SELECT VAR_POP(x) FROM t", "8 4 1", "16 7 1"),
    Case("SELECT VARIANCE(m) FROM t", "2 2 1", "4 4 1"),
    Case("SELECT STDDEV(k) FROM t", "2 2 1", "4 4"),
    Case("SELECT STDDEV_POP(x) FROM t WHERE x > 0", "2 2 1", "4 4 1"),  # [1, 5], the centre is 3
    Case("SELECT MIN(x) FROM t", "1", "1"),
    Case("SELECT MAX(k) FROM t", "1", "1"),
    Case("SELECT MEDIAN(x) FROM t", "1/2", "1"),
    Case("SELECT MEDIAN(x) FROM t WHERE x > 0", "1/2", "1"),
    Case("SELECT QUANTILE_CONT(k, 0.25) FROM t", "3/4", "1"),
    Case("SELECT PERCENTILE_CONT(0.1) WITHIN GROUP (ORDER BY d DESC) FROM t", "9/10", "1"),
    Case("SELECT MODE(v) FROM t", "1", "1"),
    Case("SELECT MODE(g) FROM t", "1", "1"),
    Case("SELECT MODE(h) FROM t", "1", "1"),
    Case("SELECT MODE(b) FILTER (WHERE b) FROM t", "1", "1"),
    Case("SELECT SUM(x), COUNT(*), AVG(x) FROM t", "5 1 4 1", "7 7 1"),
    # A row leaves or enters one cell; replaced, it can leave one and enter another.
    Case("SELECT g, COUNT(*) FROM t GROUP BY g", "1", "2"),
    Case("SELECT g, COUNT(*) FROM t WHERE g = 'a' GROUP BY g", "1", "1"),
    Case("SELECT x, COUNT(*) FROM t GROUP BY x", "1", "2"),
    Case("SELECT d, COUNT(*) FROM t WHERE d < '2020-01-07' GROUP BY d", "1", "2"),
    Case("SELECT g, h, COUNT(*) FROM t GROUP BY g, h", "1", "2"),
    Case("SELECT g, SUM(x) FROM t GROUP BY g", "5", "10"),
    Case("SELECT g, SUM(x) FROM t WHERE g = 'b' GROUP BY g", "5", "7"),
    Case("SELECT h, SUM(x) FROM t GROUP BY h", "5", "10"),
    Case("SELECT h, SUM(x) FROM t WHERE x < 0 GROUP BY h", "2", "4"),
    Case("SELECT v, SUM(k) FROM t GROUP BY v", "7", "14"),
    Case("SELECT b, SUM(m) FROM t GROUP BY b", "3", "6"),
    Case("SELECT k, SUM(k) FROM t GROUP BY k", "7", "14>13"),  # 7 in one cell, 6 in another
    Case("SELECT g, h, SUM(x) FROM t GROUP BY g, h", "5", "10"),
    Case("SELECT g, SUM(x) FILTER (WHERE b) FROM t GROUP BY g", "5", "10"),
    Case("SELECT g, COUNT(DISTINCT x) FROM t GROUP BY g", "1", "2"),
    Case("SELECT g, AVG(x) FROM t GROUP BY g", "4 1", "8 2"),
    Case("SELECT g, AVG(big) FROM t GROUP BY g", "1 1", "2 2"),
    Case("SELECT g, VAR_SAMP(x) FROM t GROUP BY g", "8 4 1", "16 8 2"),
    Case("SELECT g, MEDIAN(x) FROM t GROUP BY g", "1/2", "1"),
    Case("SELECT g, MAX(x) FROM t GROUP BY g", "1", "2"),
    Case("SELECT g, MODE(b) FROM t GROUP BY g", "1", "2"),
]


def read_row_kinds(sql: str) -> tuple[list[Column], list[Row]]:
    """The columns that a query reads, and all rows there can be."""
    names = [name for name in DOMAINS if re.search(rf"\b{name}\b", sql)] or ["x"]
    domains = [DOMAINS[name] for name in names]
    cells = [domain.cells if len(domains) == 1 else domain.few for domain in domains]
    return [domain.column for domain in domains], list(product(*cells))


def expectations(text: str) -> tuple[list[Fraction], list[Fraction]]:
    """What is planned with, and what is attained, for each release."""
    parts = [] if text == "public" else text.split(" ")
    ends = [part.split(">") for part in parts]
    return [Fraction(part[0]) for part in ends], [Fraction(part[-1]) for part in ends]


def attained(planned: Plan, results: Sequence[Sequence[Any]], pairs: Any) -> list[Fraction]:
    """The largest change of each release between the two results of any pair."""
    changes = []
    for position, release in enumerate(planned.releases):
        profiles = np.array([profile(release, result[position]) for result in results])
        changes.append(Fraction(farthest(profiles, pairs), denominator(release)))
    return changes


def sensitivities(planned: Plan) -> list[Fraction]:
    return [Fraction(release.mechanism.sensitivity) for release in planned.releases]


@pytest.mark.parametrize("case", CASES, ids=[case.sql[7:] for case in CASES])
@pytest.mark.parametrize("relation", [ADD_REMOVE, REPLACE])
def test_planned_is_the_largest_change(case: Case, relation: Neighbors) -> None:
    columns, kinds = read_row_kinds(case.sql)
    most = 3 if len(kinds) <= ANYTHING_FITS else 2
    here = world(columns, relation)
    planned = here.plan(case.sql, PLENTY)
    results = [
        here.exact(planned, [kinds[i] for i in rows]) for rows in multisets(len(kinds), most)
    ]
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
    for rows in Random(case.sql).sample(tables, min(20, len(tables))):
        orders = [
            [profile(r, cells).tolist() for r, cells in zip(planned.releases, exact, strict=True)]
            for exact in (here.exact(planned, [kinds[i] for i in p]) for p in permutations(rows))
        ]
        assert all(order == orders[0] for order in orders)


def test_every_statistic_function_and_shape_is_in_the_corpus() -> None:
    plans = [world(read_row_kinds(case.sql)[0]).plan(case.sql, PLENTY) for case in CASES]
    statistics = {type(release.statistic).__name__ for p in plans for release in p.releases}
    assert statistics == {"Count", "Total", "Distinct", "Ranks", "Tally"}
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
    for rows in multisets(len(kinds), 2):
        meant = [tuple(MEANT[n][c] for n, c in zip(names, kinds[i], strict=True)) for i in rows]
        [found] = here.exact(planned, [kinds[i] for i in rows])
        expected = [by_hand([row[0] for row in meant if row[1:] == cell]) for cell in cells]
        assert [value.tolist() for value in found] == expected


# ------------------------------------------------------------------------- what the plan may ask


def test_under_add_remove_the_number_of_rows_is_not_asked() -> None:
    for case in CASES:
        here = world(read_row_kinds(case.sql)[0])
        here.source.rows = None  # type: ignore[assignment] # nor is the table looked at
        planned = here.plan(case.sql, PLENTY, rows=None)  # type: ignore[arg-type]
        assert all(estimate.rows is None for estimate in planned.estimates)


def counted_rows(sql: str) -> Iterator[tuple[int, int]]:
    """For all tables their rows and how many of them a query's COUNT or AVG counts."""
    columns, kinds = read_row_kinds(sql)
    here = world(columns, ADD_REMOVE)
    planned = here.plan(sql, PLENTY)
    at = next(i for i, r in enumerate(planned.releases) if isinstance(r.statistic, Count))
    for rows in multisets(len(kinds), 3):
        [number] = here.exact(planned, [kinds[i] for i in rows])[at]
        yield len(rows), int(number)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT COUNT(*) FROM t",
        "SELECT COUNT(k) FROM t",
        "SELECT COUNT(COALESCE(x, 0)) FROM t",
        "SELECT AVG(k) FROM t",
        "SELECT AVG(COALESCE(x, 0)) FROM t",
        "SELECT STDDEV(k) FROM t",
    ],
)
def test_counts_taken_for_public_under_replace_are_n(sql: str) -> None:
    columns, _ = read_row_kinds(sql)
    for n in (0, 1, 3):
        [estimate] = world(columns, REPLACE).plan(sql, PLENTY, rows=n).estimates
        assert estimate.rows == n
    assert {number for _, number in counted_rows(sql)} == {0, 1, 2, 3}
    assert all(number == rows for rows, number in counted_rows(sql))


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT COUNT(x) FROM t",
        "SELECT COUNT(*) FROM t WHERE x > 0",
        "SELECT COUNT(*) FILTER (WHERE k > 4) FROM t",
        "SELECT AVG(x) FROM t",
        "SELECT AVG(k) FROM t WHERE k > 4",
        "SELECT COUNT(1 / (k - 4)) FROM t",
        "SELECT COUNT(f * 1e150 * 1e150 * 1e6) FROM t",
    ],
)
def test_counts_that_rows_can_change_are_not_taken_for_public(sql: str) -> None:
    columns, _ = read_row_kinds(sql)
    [estimate] = world(columns, REPLACE).plan(sql, PLENTY).estimates
    assert any(number < rows for rows, number in counted_rows(sql))
    assert estimate.rows is None
    assert estimate.releases


def test_the_mean_of_n_rows_moves_by_the_width_over_n() -> None:
    """Δ = (U - L)/n, in the analyst's units, for the true mean and not only for its sum."""
    domain = DOMAINS["k"]
    clamped = {"3": 3, "4": 4, "5": 5, "7": 7, "6": 6, "1": 3, "1e9": 7, "": 3}
    for n in (1, 2, 3):
        here = world([domain.column], REPLACE)
        planned = here.plan("SELECT AVG(k) FROM t", rows=n)
        [release] = planned.releases
        assert release.aggregate == "avg"
        assert isinstance(release.statistic, Total)
        width = Fraction(7 - 3, n)
        assert release.mechanism.sensitivity * release.unit == width
        assert release.mechanism.scale * release.unit == width / release.mechanism.epsilon
        means = {}
        for rows in product(domain.cells, repeat=n):
            [[total]] = here.exact(planned, [(cell,) for cell in rows])
            means[rows] = int(total) * release.unit + release.statistic.centre
            assert means[rows] == Fraction(sum(clamped[cell] for cell in rows), n)
        changes = {
            abs(means[rows] - means[(*rows[:at], cell, *rows[at + 1 :])])
            for rows in means
            for at in range(n)
            for cell in domain.cells
        }
        assert max(changes) == width


# ------------------------------------------------------------------------- subqueries and sizes


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("SELECT COUNT(*) FROM t WHERE x > (SELECT AVG(x) FROM t)", ("1", "1")),
        ("SELECT SUM(x) FROM t WHERE x <= (SELECT MAX(x) FROM t)", ("5", "7")),
        # The answer of the subquery is within [-2, 5], so the difference is within [-7, 7].
        # For 3/2, which it cannot be, differences of ±3.5 are rounded to ±4.
        ("SELECT SUM(x - (SELECT MEDIAN(x) FROM t)) FROM t", ("7", "14>8")),
    ],
)
@pytest.mark.parametrize("relation", [ADD_REMOVE, REPLACE])
def test_whatever_a_subquery_answers(
    sql: str, expected: tuple[str, str], relation: Neighbors
) -> None:
    """The outer query's sensitivity is sound for each value its inner one might be answered."""
    domain = DOMAINS["x"]
    here = world([domain.column], relation)
    planned = here.plan(sql, PLENTY)
    [subplan] = planned.subplans
    slot = Slot("subquery", 0, subplan.outputs[0].expression.kind)
    worst = [Fraction(0)]
    for answer in (-(10**9), -2, 0, Fraction(3, 2), 4, 5, 10**9, None):
        slots = {slot: constant(answer, slot.kind)}
        results = [
            here.exact(planned, [(domain.cells[i],) for i in rows], slots)
            for rows in multisets(len(domain.cells), 3)
        ]
        found = attained(planned, results, neighbouring(len(domain.cells), 3, relation))
        worst = [max(pair) for pair in zip(worst, found, strict=True)]
    allowed, reached = expectations(expected[relation is REPLACE])
    assert worst == reached
    for change, planned_with, most in zip(worst, sensitivities(planned), allowed, strict=True):
        assert change <= planned_with <= most


LIMITS = [(BIG - 2, BIG), (-BIG, BIG), (BIG // 2, BIG), (2**52, 2**52 + 10), (-1, 1)]


@pytest.mark.parametrize("bounds", LIMITS, ids=str)
@pytest.mark.parametrize("grouped", [False, True])
def test_sums_of_many_large_values_are_exact(bounds: tuple[int, int], grouped: bool) -> None:
    """Nothing wraps around or rounds: the 4,096th row changes sums no more than the first."""
    low, high = bounds
    here = world([DOMAINS["g"].column, integer("x", low, high)])
    suffix = " GROUP BY g" if grouped else ""
    planned = here.plan(f"SELECT SUM(x), AVG(x), VAR_POP(x) FROM t{suffix}", PLENTY)
    totals = [i for i, r in enumerate(planned.releases) if isinstance(r.statistic, Total)]
    assert len(totals) == 4
    for value, n in product((low, high), (0, 1023, 1365, 2047, 4095)):
        sums = []
        for values in ([value] * n, [value] * (n + 1)):
            exact = here.exact(planned, [("a", str(value)) for value in values])
            for i in totals:
                first, *others = (int(total) for total in exact[i])
                assert first == _by_hand(planned.releases[i].statistic, values)
                assert not any(others)
            sums.append([int(exact[i][0]) for i in totals])
        for i, before, after in zip(totals, *sums, strict=True):
            assert abs(after - before) <= planned.releases[i].mechanism.sensitivity


def _by_hand(statistic: Any, values: Sequence[int]) -> int:
    """The sum as `Total` defines it; coarser steps than 1 are rounded to, halves to even."""
    steps = [round(Fraction(value) / statistic.grid.step) for value in values]
    return sum(
        (min(max(step, statistic.grid.lower), statistic.grid.upper) - statistic.centre)
        ** statistic.power
        - statistic.offset
        for step in steps
    )


# ------------------------------------------------------------------------- units of several rows

CAP = 2
UNIT = Column("u", Kind.TEXT)
UNIT_DOMAINS = {
    "x": ("-2", "1", "5", ""),
    "k": ("3", "5", "7"),
    "g": ("a", "b", "z"),
    "b": ("true", "false"),
}
UNIT_CASES = [
    # The changes that are possible: when the unit comes or goes, when its rows are replaced by as
    # many others, and by any number of others.
    ("SELECT COUNT(*) FROM t", "2", "0", "1"),
    ("SELECT COUNT(x) FROM t", "2", "2", "2"),
    ("SELECT COUNT(*) FROM t WHERE x > 0", "2", "2", "2"),
    ("SELECT COUNT(DISTINCT x) FROM t", "2", "2", "2"),
    # A unit counts once, and in groups once in each: 2 rows leave two cells and enter two others.
    ("SELECT COUNT(DISTINCT u) FROM t", "1", "0", "0"),
    ("SELECT COUNT(DISTINCT u) FROM t WHERE x > 0", "1", "1", "1"),
    ("SELECT COUNT(DISTINCT u) FILTER (WHERE b) FROM t", "1", "1", "1"),
    ("SELECT g, COUNT(DISTINCT u) FROM t GROUP BY g", "2", "2", "2"),
    ("SELECT g, COUNT(DISTINCT u) FROM t WHERE g = 'a' GROUP BY g", "1", "1", "1"),
    ("SELECT g, b, COUNT(DISTINCT u) FROM t GROUP BY g, b", "2", "4", "4"),
    ("SELECT SUM(x) FROM t", "10", "14", "14"),
    ("SELECT SUM(k) FROM t", "14", "8", "11"),
    ("SELECT AVG(x) FROM t", "8 2", "14 2", "14 2"),
    ("SELECT AVG(k) FROM t", "4 2", "8 0", "8 1"),
    ("SELECT VAR_POP(k) FROM t", "4 4 2", "8 8 0", "8 8 1"),
    ("SELECT MEDIAN(x) FROM t", "1", "2", "2"),
    ("SELECT MIN(k) FROM t", "2", "2", "2"),
    ("SELECT MODE(g) FROM t", "2", "2", "2"),
    ("SELECT g, COUNT(*) FROM t GROUP BY g", "2", "4", "4"),
    ("SELECT g, SUM(k) FROM t GROUP BY g", "14", "28", "28"),
    ("SELECT g, AVG(k) FROM t GROUP BY g", "4 2", "8 4", "8 4"),
    ("SELECT g, COUNT(DISTINCT k) FROM t GROUP BY g", "2", "4", "4"),
    ("SELECT g, MEDIAN(k) FROM t GROUP BY g", "1", "2", "2"),
    ("SELECT g, MODE(b) FROM t GROUP BY g", "2", "4", "4"),
    ("SELECT g, b, COUNT(*) FROM t GROUP BY g, b", "2", "4", "4"),
]


def unit_world(sql: str, relation: Neighbors) -> tuple[World, list[Row]]:
    names = [name for name in UNIT_DOMAINS if re.search(rf"\b{name}\b", sql)] or ["g"]
    columns = [DOMAINS[name].column for name in names]
    kinds = list(product(*(UNIT_DOMAINS[name] for name in names)))
    return world([*columns, UNIT], relation, unit="u", rows_per_unit=CAP), kinds


def bystanders(kinds: Sequence[Row]) -> list[list[Row]]:
    """Rows of units other than the one that changes: some capped, one of them without a name."""
    first, last, middle = kinds[0], kinds[-1], kinds[len(kinds) // 2]
    return [
        [],
        [(*last, "2")],
        [(*middle, "2"), (*middle, "3")],
        [(*first, "0"), (*first, "0"), (*last, "0"), (*middle, "3")],
        [(*middle, ""), (*last, ""), (*first, ""), (*first, "2")],
    ]


def same_number(left: Sequence[int], right: Sequence[int]) -> bool:
    return len(left) == len(right)


def any_number(left: Sequence[int], right: Sequence[int]) -> bool:
    return bool(left) and bool(right)


def one_is_absent(left: Sequence[int], right: Sequence[int]) -> bool:
    return not left or not right


@pytest.mark.parametrize("relation", ["add-remove", "replace", "replace, any number"])
@pytest.mark.parametrize("case", UNIT_CASES, ids=[case[0][7:] for case in UNIT_CASES])
def test_a_unit_of_several_rows(case: tuple[str, ...], relation: str) -> None:
    """A unit comes and goes with all its rows, up to one more than are kept."""
    neighbors = ADD_REMOVE if relation == "add-remove" else REPLACE
    here, kinds = unit_world(case[0], neighbors)
    planned = here.plan(case[0], PLENTY)
    at = ["add-remove", "replace", "replace, any number"].index(relation)
    related = (one_is_absent, same_number, any_number)[at]
    sets = multisets(len(kinds), CAP + 1)
    pairs = as_pairs(
        (i, j) for i, j in combinations(range(len(sets)), 2) if related(sets[i], sets[j])
    )
    worst = [Fraction(0)] * len(planned.releases)
    for others in bystanders(kinds):
        results = [
            here.exact(planned, [*others, *((*kinds[i], "1") for i in rows)]) for rows in sets
        ]
        found = attained(planned, results, pairs)
        worst = [max(pair) for pair in zip(worst, found, strict=True)]
    assert worst == expectations(case[1 + at])[0]
    assert all(c <= allowed for c, allowed in zip(worst, sensitivities(planned), strict=True))
    if neighbors is ADD_REMOVE:
        assert worst == sensitivities(planned)


def test_uncapped_rows_would_break_the_plan() -> None:
    """Three rows do change the count by three: it is the cap that keeps the tests above green."""
    here, kinds = unit_world("SELECT COUNT(*) FROM t", ADD_REMOVE)
    planned = here.plan("SELECT COUNT(*) FROM t", PLENTY)
    assert sensitivities(planned) == [CAP]
    rows = [(*kinds[0], "1")] * (CAP + 1)
    assert here.exact(planned, rows)[0].tolist() == [CAP]
    uncapped = world(here.table.columns)
    planned = uncapped.plan("SELECT COUNT(*) FROM t", PLENTY)
    assert uncapped.exact(planned, rows)[0].tolist() == [CAP + 1]


# ------------------------------------------------------------------------- capping itself

OWNERS = [
    Column("u", Kind.TEXT),
    Column("u", Kind.INTEGER),
    Column("u", Kind.NUMBER),
    Column("u", Kind.DATE),
    Column("u", Kind.INTEGER, Fraction(0), Fraction(50)),
    Column("u", Kind.TEXT, values=("1", "2", "3")),
]
NAMES = {Kind.DATE: ("1999-12-31", "2000-01-01", "2000-01-02")}
CAPPED = (DOMAINS["x"], DOMAINS["m"], DOMAINS["s"], DOMAINS["b"], DOMAINS["w"])


def decoded(column: Numbers | Codes) -> list[Any]:
    """What the cells of a column mean, whatever numbers stand for them."""
    if isinstance(column, Codes):
        return [(*column.values, None)[code] for code in column.codes.tolist()]
    null = column.null if column.null is not None else np.zeros(len(column.units), dtype=bool)
    values = zip(column.units.tolist(), null.tolist(), strict=True)
    return [None if missing else value for value, missing in values]


def kept_rows(columns: Sequence[Column], rows: Sequence[Row], cap: int) -> list[tuple[Any, ...]]:
    """The rows that are kept, decoded, in an order of their own."""
    held = {c.name: read_cells(c, tuple(r[i] for r in rows)) for i, c in enumerate(columns)}
    units = Units.of(Table("t", Path(), tuple(columns), "u", cap), held)
    assert units is not None
    kept = units.capped(None, cap, sample_key="")
    decoded_rows = list(zip(*(decoded(held[column.name]) for column in columns), strict=True))
    return sorted((decoded_rows[at] for at in np.flatnonzero(kept)), key=repr)


@pytest.mark.parametrize("owner", OWNERS, ids=lambda column: f"{column.kind}-{column.bounds}")
@pytest.mark.parametrize("cap", [1, 2, 3])
def test_capping_keeps_each_units_rows_whatever_the_others_are(owner: Column, cap: int) -> None:
    """One unit's rows are drawn anew; of all others the same rows stay, wherever they stand.

    Any kind of column is tried here; a policy takes those in which units stay apart.
    """
    columns = [owner, *(domain.column for domain in CAPPED)]
    mine, *theirs = NAMES.get(owner.kind, ("1", "2", "3"))
    random = Random(f"{owner.kind}{owner.bounds}{cap}")

    def draw(name: str) -> Row:
        return (name, *(random.choice(domain.cells) for domain in CAPPED))

    [own_value] = decoded(read_cells(owner, (mine,)))
    dropped = kept_with = 0
    for _ in range(60):
        others = [draw(random.choice([*theirs, ""])) for _ in range(random.randrange(12))]
        alone = kept_rows(columns, others, cap)
        for name in {row[0] for row in others}:
            rows = [row for row in others if row[0] == name]
            separately = kept_rows(columns, rows, cap)
            # Rows that name no unit could be anybody's, and are left out.
            assert len(separately) == (min(cap, len(rows)) if name else 0)
            assert separately == [row for row in alone if separately and row[0] == separately[0][0]]
        dropped += len(others) - len(alone)
        for number in (0, 1, cap, cap + 1, 6):
            own = [draw(mine) for _ in range(number)]
            everybody = [*others, *own]
            random.shuffle(everybody)
            kept = kept_rows(columns, everybody, cap)
            assert [row for row in kept if row[0] != own_value] == alone
            assert [row for row in kept if row[0] == own_value] == kept_rows(columns, own, cap)
            kept_with += len(kept) - len(alone)
    assert dropped > 0
    assert kept_with == 60 * (0 + 1 + cap + cap + cap)


def test_capping_nothing_keeps_nothing() -> None:
    assert kept_rows([UNIT, DOMAINS["x"].column], [], 2) == []


# ------------------------------------------------------------------------- the formulas alone


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


def test_ranks_and_tallies_have_the_exponential_mechanism() -> None:
    for case in CASES:
        for release in world(read_row_kinds(case.sql)[0]).plan(case.sql, PLENTY).releases:
            selected = isinstance(release.statistic, Ranks | Tally)
            assert release.mechanism.name == ("exponential" if selected else "laplace")
