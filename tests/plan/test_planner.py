"""A query and a policy into a plan: what it spends, its groups, and what everybody knows."""

from __future__ import annotations

from fractions import Fraction

import pytest

from dpdb.errors import TooLarge
from dpdb.plan.physical.release import CONFIDENCE, at_once
from dpdb.plan.planner import outline
from dpdb.plan.ranges.intervals import Interval
from dpdb.plan.ranges.statistics import Histogram
from dpdb.policy.budget import Neighbors
from dpdb.policy.catalog import Policy
from dpdb.privacy.accounting.accountants import BudgetShare
from tests.support.plans import PRIVATE, PUBLIC, ROWS, planned, query, small_policy

QUERIES = [
    "COUNT(*)",
    "COUNT(*), SUM(age), AVG(pay), VARIANCE(age), STDDEV_POP(pay)",
    "MEDIAN(age), MIN(pay), MODE(city), COUNT(DISTINCT note)",
    "zip, AVG(age), COUNT(*) FROM t GROUP BY zip, ok",
    "COUNT(*) FROM t WHERE age > (SELECT AVG(age) FROM t WHERE pay > (SELECT MAX(pay) FROM t))",
]
POLICIES = [PRIVATE, PUBLIC, small_policy(unit="id", rows_per_unit=3)]


@pytest.mark.parametrize("policy", POLICIES, ids=["add-remove", "replace", "units"])
@pytest.mark.parametrize("text", QUERIES)
def test_the_mechanisms_add_up_to_the_share(text: str, policy: Policy) -> None:
    share = BudgetShare(Fraction(1, 7))
    plan = planned(text, policy, share)
    expected = share.epsilon if any(plan.every_release) else 0
    assert plan.loss.epsilon == expected
    assert plan.loss.delta == 0


@pytest.mark.parametrize("text", QUERIES)
def test_squares_add_up_to_a_concentrated_share(text: str) -> None:
    """Up to the rounding of roots, which is down."""
    rho = planned(text, share=BudgetShare(Fraction(1, 7), concentrated=True)).loss.rho
    most = Fraction(1, 7) ** 2 / 2
    assert most * (1 - Fraction(1, 2**70)) < rho <= most


def test_delta_is_split_as_epsilon_is() -> None:
    share = BudgetShare(Fraction(1), Fraction(1, 10**6))
    options = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(mechanism = gaussian) "
    plan = planned(f"{options} SUM(pay), AVG(age)", share=share)
    assert [release.mechanism.loss.delta / share.delta for release in plan.releases] == [
        Fraction(1, 2),
        Fraction(13, 50),
        Fraction(12, 50),
    ]


def test_releases_are_told_apart_by_their_indices() -> None:
    plan = planned("AVG(age), COUNT(*) FILTER (WHERE ok), VARIANCE(pay)")
    assert [estimate.releases for estimate in plan.estimates] == [(0,), (1,), (2,)]
    names = ["avg", "count", "variance"]
    assert [release.aggregate for release in plan.releases] == names


def test_groups_are_the_product_of_the_keys_values_that_the_filter_admits() -> None:
    plan = planned("COUNT(*) FROM t WHERE zip <> 5 AND zip IN (3, 1) GROUP BY zip, city")
    assert plan.key_values == ((1, 3), ("Ely", "Rye"))
    assert (plan.cells, planned("COUNT(*)").cells) == (4, 1)


def test_too_many_groups_are_refused() -> None:
    plan = planned("COUNT(*) FROM t WHERE age < 100 GROUP BY year, age")
    assert plan.cells == 100_000
    with pytest.raises(TooLarge, match="makes 101000 groups, 100000 are allowed"):
        planned("COUNT(*) FROM t GROUP BY year, age")


def test_too_many_noisy_values_are_refused() -> None:
    """Here are 1000 groups."""
    sums = [f"SUM(pay) FILTER (WHERE pay > {i})" for i in range(101)]
    assert len(planned(f"{', '.join(sums[:100])} FROM t GROUP BY year").releases) == 100
    with pytest.raises(TooLarge, match="more than 100000 noisy values"):
        planned(f"{', '.join(sums)} FROM t GROUP BY year")


def test_segments_are_noisy_values() -> None:
    """100 spans of ages in each of 1000 groups, and one more."""
    counts = [f"COUNT(*) FILTER (WHERE age <= {i})" for i in range(101)]
    [release] = planned(f"{', '.join(counts[1:])} FROM t GROUP BY year").releases
    assert isinstance(release.statistic, Histogram)
    assert len(release.statistic.segments) == 100
    with pytest.raises(TooLarge, match="more than 100000 noisy values"):
        planned(f"{', '.join(counts)} FROM t GROUP BY year")


def test_the_number_of_rows_is_asked_for_only_where_it_is_public() -> None:
    # `planned` fails if it is asked for under add-remove.
    assert planned("COUNT(*), AVG(age)").estimates[0].rows is None
    plan = planned("COUNT(*), COUNT(pay), AVG(age)", PUBLIC)
    assert [estimate.rows for estimate in plan.estimates] == [ROWS, None, ROWS]
    assert [release.aggregate for release in plan.releases] == ["count", "avg"]


def test_what_no_row_can_pass_is_known_and_leaves_its_share_to_others() -> None:
    plan = planned("COUNT(*), SUM(pay) FILTER (WHERE age > 100)")
    count, total = plan.estimates
    assert (count.contradiction, total.releases) == (None, ())
    assert total.contradiction is not None
    assert total.contradiction.column is not None
    assert total.contradiction.column.name == "age"
    assert [release.mechanism.epsilon for release in plan.releases] == [1]


def test_a_subquerys_answer_bounds_what_it_is_compared_with() -> None:
    """A value between 0 and a greatest age is between 0 and the greatest that age can be."""
    plan = planned("SUM(loose) FROM t WHERE loose BETWEEN 0 AND (SELECT MAX(age) FROM t)")
    assert [float(release.mechanism.sensitivity * release.unit) for release in plan.releases] == [
        pytest.approx(100)
    ]


def test_candidates_are_the_groups_where_noise_decides_which_are_shown() -> None:
    assert planned("zip, COUNT(*) FROM t GROUP BY zip").competing_rows == 1
    assert planned("zip, COUNT(*) FROM t GROUP BY zip HAVING COUNT(*) > 3").competing_rows == 3


def test_an_error_is_kept_of_all_groups_that_noise_chooses_among() -> None:
    goal = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(error = 40) "
    text = goal + "zip, COUNT(*) FROM t GROUP BY zip HAVING COUNT(*) > 3"
    [count] = planned(text).releases
    assert count.mechanism.quantile(at_once(CONFIDENCE, 3)) == 40
    assert count.mechanism.quantile(at_once(CONFIDENCE, 4)) > 40


@pytest.mark.parametrize("neighbors", Neighbors)
def test_an_outline_is_the_plan_without_releases(neighbors: Neighbors) -> None:
    policy = small_policy(neighbors)
    text = "zip, AVG(loose) FROM t WHERE age > (SELECT SUM(loose) FROM t) GROUP BY zip LIMIT 2"
    plan = outline(query(text, policy), policy)
    assert (plan.key_values, plan.limit) == (((1, 2, 3),), 2)
    for each in (plan, *plan.subplans):
        assert each.releases == ()
        assert [estimate.interval for estimate in each.estimates] == [Interval()]
