"""The plan of an answer whose bounds are found: whichever are, it draws the same at the same loss."""

from __future__ import annotations

from fractions import Fraction
from random import Random

import pytest

from dpdb.plan.logical.query import Options
from dpdb.plan.planner import plan, with_found_bounds
from dpdb.plan.ranges.statistics import Ranks
from dpdb.policy.budget import Neighbors
from dpdb.policy.catalog import Column, Kind
from dpdb.privacy.accounting.accountants import BudgetShare
from dpdb.privacy.noise.ends import _apart
from dpdb.sql.selects.binder import bind
from dpdb.sql.text.tokens import read_tokens
from tests.support.brute import ADD_REMOVE, REPLACE, world

COLUMNS = (
    Column("g", Kind.INTEGER, Fraction(0), Fraction(1), values=(0, 1)),
    Column("n", Kind.INTEGER),
    Column("x", Kind.NUMBER),
    Column("k", Kind.INTEGER, Fraction(-5), Fraction(10**6), nullable=False),
    Column("m", Kind.NUMBER, Fraction(0), Fraction(10**9), Fraction(1, 100)),
    Column("u", Kind.TEXT),
)
ASKED = (
    "AVG(n)", "SUM(n)", "SUM(x), COUNT(*)", "AVG(k)", "SUM(k)", "AVG(m), SUM(n), COUNT(x)",
    "AVG(n), AVG(x)", "AVG(n), AVG(k), AVG(m)",
    "SUM(n), SUM(x * x), AVG(k) FILTER (WHERE g = 1)", "AVG(n), VARIANCE(k), MEDIAN(m)",
    "SUM(n) FILTER (WHERE x > 0), SUM(n)", "SUM(k) / COUNT(*), MAX(n)",
)  # fmt: skip


@pytest.mark.parametrize("concentrated", [False, True])
@pytest.mark.parametrize("relation", [ADD_REMOVE, REPLACE])
@pytest.mark.parametrize(("unit", "rows"), [(None, 1), ("u", 3)])
def test_the_plan_is_the_same_whichever_bounds_are_found(
    unit: str | None, rows: int, relation: Neighbors, concentrated: bool
) -> None:
    here, random = world(COLUMNS, relation, unit, rows), Random(1)
    share = BudgetShare(Fraction(1, 3), Fraction(1, 10**6), concentrated)
    for asked in ASKED:
        for grouped in ("", " WHERE x < 10", " GROUP BY g"):
            sql = f"SELECT {asked} FROM t{grouped}"
            query = bind(read_tokens(sql), sql, here.policy, Options(bounds="find"))
            stands_in = plan(query, here.policy, share, lambda _: 9)
            assert stands_in.sought is not None
            statistics = [each.statistic for each in stands_in.subplans[0].releases]
            for _ in range(6):
                found = {}
                for argument, ranks in zip(stands_in.sought.arguments, statistics, strict=True):
                    assert isinstance(ranks, Ranks)
                    size = random.choice([1, 10, 10**4, 10**9, ranks.ends[1]])
                    least, most = ranks.ends
                    low = min(max(random.randint(-size, size), least), most - 1)
                    high = random.randint(low + 1, min(low + 2 * size, most))
                    low, high = _apart(low, high, ranks.ends)
                    found[argument] = low * ranks.grid.step, high * ranks.grid.step
                drawn = with_found_bounds(stands_in, found, here.policy, lambda _: 9)
                assert drawn.loss + stands_in.subplans[0].loss == stands_in.loss
                assert drawn.region == stands_in.region
                names = [each.aggregate for each in drawn.releases]
                assert names == [each.aggregate for each in stands_in.releases]
                assert [each.size for each in drawn.releases] == [
                    each.size for each in stands_in.releases
                ]
