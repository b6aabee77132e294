"""The plan of an answer whose cap is found: whichever is, it draws the same at the same loss."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from random import Random

import pytest

from dpdb.plan.logical.query import Options
from dpdb.plan.planner import plan, with_found_bounds
from dpdb.plan.ranges.statistics import Ranks
from dpdb.policy.budget import Neighbors
from dpdb.privacy.accounting.accountants import BudgetShare
from dpdb.privacy.mechanisms.kinds import NoiseKind
from dpdb.sql.selects.binder import bind
from dpdb.sql.text.tokens import read_tokens
from tests.plan.test_found_bounds import COLUMNS
from tests.support.brute import ADD_REMOVE, REPLACE, world

ASKED = (
    "COUNT(*)", "COUNT(n)", "SUM(n)", "SUM(x)", "SUM(k)", "SUM(m) FILTER (WHERE g = 1)", "AVG(k)",
    "COUNT(*), SUM(k)", "SUM(k), AVG(m), COUNT(n)", "AVG(k), AVG(m)", "SUM(k) / COUNT(*)",
    "COUNT(*) FILTER (WHERE x > 0), AVG(k) FILTER (WHERE x > 0)", "COUNT(*), COUNT(n), COUNT(x)",
    "MEDIAN(k)", "MEDIAN(k), AVG(m)", "STDDEV(k)", "QUANTILE(m, 0.9), COUNT(*)", "VAR_POP(k), SUM(k)",
    "QUANTILE(k, 0.25), MEDIAN(k), QUANTILE(k, 0.75)",
)  # fmt: skip


@pytest.mark.parametrize("mechanism", [None, NoiseKind.STAIRCASE])
@pytest.mark.parametrize("concentrated", [False, True])
@pytest.mark.parametrize("relation", [ADD_REMOVE, REPLACE])
def test_the_plan_is_the_same_whichever_cap_is_found(
    relation: Neighbors, concentrated: bool, mechanism: NoiseKind | None
) -> None:
    random, sought = Random(1), 0
    share = BudgetShare(Fraction(1, 3), Fraction(1, 10**6), concentrated)
    for groups in (None, 1):
        here = world(COLUMNS, relation, "u", 20)
        (table,) = here.policy.tables
        policy = replace(here.policy, tables=(replace(table, groups_per_unit=groups),))
        for asked in ASKED:
            for rest in ("", " WHERE x < 10", " GROUP BY g", " GROUP BY u || 'x'"):
                sql = f"SELECT {asked} FROM t{rest}"
                options = Options(rows_per_unit="find", mechanism=mechanism)
                query = bind(read_tokens(sql), sql, policy, options)
                if asked in ("SUM(n)", "SUM(x)") and "GROUP" in rest and not groups:
                    continue  # rows have a cap here, and so need bounds
                stands_in = plan(query, policy, share, lambda _: 9)
                if stands_in.sought is None:  # found keys have the policy's cap
                    assert "||" in rest
                    continue
                (search,), (argument,) = stands_in.subplans, stands_in.sought.arguments
                ranks = search.releases[0].statistic
                assert isinstance(ranks, Ranks)
                (least, most), sought = ranks.ends, sought + 1
                for high in {1, 2, most // 3 + 2, most, random.randint(2, most)}:
                    low = random.choice([max(least, -high), least, max(least, -1)])
                    ends = low * ranks.grid.step, min(high, most) * ranks.grid.step
                    drawn = with_found_bounds(stands_in, {argument: ends}, policy, lambda _: 9)
                    assert drawn.loss + search.loss == stands_in.loss
                    assert drawn.region.everything
                    told = [(each.aggregate, each.size) for each in drawn.releases]
                    assert told == [(each.aggregate, each.size) for each in stands_in.releases]
    assert sought > 70
