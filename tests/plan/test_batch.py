"""Queries that are drawn together as one query."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import pytest

from dpdb.plan.batch import can_be_joined, joined
from dpdb.plan.physical.plan import Plan
from dpdb.plan.planner import plan
from dpdb.plan.ranges.statistics import Histogram
from dpdb.policy.catalog import Policy
from dpdb.privacy.accounting.accountants import BudgetShare
from dpdb.privacy.mechanisms.kinds import NoiseKind
from dpdb.privacy.mechanisms.laplace import Laplace
from tests.support.plans import PRIVATE, known_rows, query, small_policy

SHARE = BudgetShare(Fraction(1, 10), Fraction(1, 100))
UNITS = small_policy(unit="id", rows_per_unit=2)


def sizes(*texts: str, policy: Policy = PRIVATE) -> list[int]:
    """How many queries each of those that are drawn has in it."""
    return [len(each.members) for each in joined([(query(text, policy), SHARE) for text in texts])]


def joint_plan(*texts: str) -> Plan:
    [together] = joined([(query(text), SHARE) for text in texts])
    return plan(together.query, PRIVATE, together.joint_share, known_rows)


def rmse(planned: Plan) -> float:
    """The root of the mean variance of all counts: discrete Laplace has 2r / (1 - r)²."""
    variances = []
    for estimate in planned.estimates:
        mechanism = planned.releases[estimate.releases[0]].mechanism
        assert isinstance(mechanism, Laplace)
        r = math.exp(-1 / mechanism.scale)
        terms = 1 if estimate.segments is None else len(estimate.segments)
        variances.append(terms * 2 * r / (1 - r) ** 2)
    return math.sqrt(sum(variances) / len(variances))


def test_ten_overlapping_ranges_are_drawn_at_once() -> None:
    """Alone their noise has an rmse of 14.1; the target is 3.9."""
    ranges = [f"COUNT(*) FROM t WHERE age BETWEEN {low} AND {low + 19}" for low in range(0, 50, 5)]
    planned = joint_plan(*ranges)
    [release] = planned.releases
    assert isinstance(release.statistic, Histogram)
    assert planned.loss.epsilon == 1
    assert rmse(planned) <= 3.9
    alone = [plan(query(text), PRIVATE, SHARE, known_rows) for text in ranges]
    assert [rmse(each) for each in alone] == pytest.approx([14.1] * 10, abs=0.05)


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (["COUNT(*)", "COUNT(*) FROM t WHERE ok", "SUM(age) FILTER (WHERE ok)"], [3]),
        (["COUNT(*)", "COUNT(*) AS n", "SELECT count(*) FROM t"], [1]),
        (["zip, COUNT(*) FROM t GROUP BY zip", "zip, SUM(age) FROM t GROUP BY zip"], [2]),
        (["COUNT(*)", "COUNT(*) FROM t GROUP BY zip", "COUNT(*) FROM t WHERE ok GROUP BY zip",
          "COUNT(*) FROM t WHERE ok"], [2, 2]),
        # Which groups there are can depend on WHERE.
        (["COUNT(*) FROM t GROUP BY zip", "COUNT(*) FROM t WHERE zip > 1 GROUP BY zip"], [1, 1]),
    ],
)  # fmt: skip
def test_queries_of_the_same_groups_are_joined(texts: list[str], expected: list[int]) -> None:
    assert sizes(*texts) == expected


def test_where_decides_which_rows_of_a_unit_count() -> None:
    texts = ["COUNT(*) FROM t WHERE ok", "SUM(age) FROM t WHERE ok", "COUNT(*) FROM t WHERE NOT ok"]
    assert sizes(*texts, policy=UNITS) == [2, 1]


def test_other_shares_and_other_noise_are_not_joined() -> None:
    first, second = query("COUNT(*)"), query("SUM(age)")
    gaussian = replace(second, options=replace(second.options, mechanism=NoiseKind.GAUSSIAN))
    assert len(joined([(first, SHARE), (second, SHARE)])) == 1
    assert len(joined([(first, SHARE), (second, replace(SHARE, epsilon=Fraction(1)))])) == 2
    assert len(joined([(first, SHARE), (gaussian, SHARE)])) == 2


def test_what_is_spent_adds_up() -> None:
    [pair] = joined([(query("COUNT(*)"), SHARE), (query("SUM(age)"), SHARE)])
    assert pair.joint_share == BudgetShare(Fraction(1, 5), Fraction(1, 50))
    concentrated = replace(SHARE, concentrated=True)
    [pair] = joined([(query("COUNT(*)"), concentrated), (query("SUM(age)"), concentrated)])
    twice = 2 * SHARE.epsilon**2
    assert twice * (1 - Fraction(1, 2**70)) <= pair.joint_share.epsilon**2 <= twice


def test_queries_with_a_price_of_their_own_are_not_joined() -> None:
    options = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(error = 10) COUNT(*) FROM t"
    nested = "COUNT(*) FROM t WHERE age > (SELECT AVG(age) FROM t)"
    for text in (options, nested, "COUNT(*) FROM t WHERE age > 200"):
        assert not can_be_joined(query(text))
    assert can_be_joined(query("COUNT(*)"))


def test_a_part_has_its_own_releases_alone() -> None:
    asked = [query("SUM(age)"), query("COUNT(*) FROM t WHERE ok"), query("AVG(pay), SUM(age)")]
    [together] = joined([(each, SHARE) for each in asked])
    whole = plan(together.query, PRIVATE, together.joint_share, known_rows)
    for member in together.members:
        own, used = together.part(whole, member, PRIVATE, known_rows)
        assert own.releases == tuple(whole.releases[index] for index in used)
        assert [each.aggregate for each in own.estimates] == list(member.aggregates)
        assert {i for each in own.estimates for i in each.releases} == set(range(len(used)))
        assert own.where == member.where


def test_queries_that_count_other_rows_of_a_unit_are_drawn_apart() -> None:
    one = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(max_rows_contributed = 1) COUNT(*) FROM t"
    assert sizes(one, "SUM(age)", policy=UNITS) == [1, 1]
    assert sizes(one, one.replace("COUNT(*)", "SUM(age)"), policy=UNITS) == [2]
