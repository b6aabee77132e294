"""Counts that are public under `replace`, and that no other may be taken for one."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import product

import pytest

from dpdb.plan.ranges.statistics import Total
from tests.support.brute import ADD_REMOVE, REPLACE, multisets, world
from tests.support.domains import CASES, DOMAINS, PLENTY, read_row_kinds

pytestmark = pytest.mark.usefixtures("in_memory")


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
    number = planned.estimates[0].moments.count
    assert number is not None
    for rows in multisets(len(kinds), 3):
        exact = here.exact(planned, [kinds[i] for i in rows])
        read = sum(weight * int(exact[i].ravel()[part]) for (i, part), weight in number.weights)
        assert read.denominator == 1
        yield len(rows), int(read)


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
