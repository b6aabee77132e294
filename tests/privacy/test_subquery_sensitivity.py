"""Sensitivities whatever a subquery answers, and sums of many large values."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from typing import Any

import pytest

from dpdb.plan.expressions.expressions import Slot
from dpdb.plan.ranges.statistics import Total
from dpdb.policy.budget import Neighbors
from dpdb.vectors.vector import constant
from tests.support.brute import ADD_REMOVE, REPLACE, multisets, neighbouring, world
from tests.support.domains import (
    BIG,
    DOMAINS,
    PLENTY,
    attained,
    expectations,
    integer,
    sensitivities,
)

pytestmark = pytest.mark.usefixtures("in_memory")


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
            for rows in multisets(len(domain.cells), 2)
        ]
        found = attained(planned, results, neighbouring(len(domain.cells), 2, relation))
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
    totals = [
        (i, j, part) for i, r in enumerate(planned.releases) for j, part in enumerate(r.parts)
    ]
    assert all(isinstance(part.statistic, Total) for _, _, part in totals)
    assert len(totals) >= 3
    for value, n in product((low, high), (0, 1023, 1365, 2047, 4095)):
        sums = []
        for values in ([value] * n, [value] * (n + 1)):
            exact = here.exact(planned, [("a", str(value)) for value in values])
            for i, j, part in totals:
                first, *others = (int(cell[j]) for cell in exact[i].reshape(len(exact[i]), -1))
                assert first == len(values) * _by_hand(part.statistic, value)
                assert not any(others)
            sums.append([exact[i][0].tolist() for i in range(len(planned.releases))])
        for release, before, after in zip(planned.releases, *sums, strict=True):
            pairs = zip(flat(before), flat(after), strict=True)
            assert sum(abs(b - a) for a, b in pairs) <= release.mechanism.sensitivity


def flat(cell: int | list[int]) -> list[int]:
    """The numbers of one cell: one, or those of a vector."""
    return cell if isinstance(cell, list) else [cell]


def _by_hand(statistic: Any, value: int) -> int:
    """What a row adds to the sum that `Total` defines; coarser steps are rounded to even halves."""
    step = round(Fraction(value) / statistic.grid.step)
    within = min(max(step, statistic.grid.lower), statistic.grid.upper)
    powers = enumerate(statistic.coefficients)
    return sum(c * (within - statistic.centre) ** power for power, c in powers)
