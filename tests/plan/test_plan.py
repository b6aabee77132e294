"""A plan's price, its rows, its columns, and which plans draw the same things."""

from __future__ import annotations

from fractions import Fraction

import pytest

from dpdb.plan.physical.plan import Plan
from dpdb.plan.physical.release import at_once
from dpdb.plan.ranges.intervals import Interval
from dpdb.privacy.accounting.accountants import BudgetShare
from dpdb.privacy.accounting.loss import Loss
from tests.support.plans import PUBLIC, planned, small_policy

OWNED = small_policy(unit="id", rows_per_unit=2)
NESTED = "COUNT(*) FROM t WHERE age > (SELECT AVG(pay) FROM t WHERE zip = 1)"


def test_intervals_that_hold_at_once_are_held_to_more() -> None:
    """Šidák: n independent intervals all hold with the n-th power of what each is held to."""
    assert at_once(0.95, 1) == 0.95
    for number in (2, 20, 1000):
        assert at_once(0.95, number) ** number == pytest.approx(0.95)


def test_the_loss_is_that_of_every_release_subqueries_too() -> None:
    plan = planned(NESTED, share=BudgetShare(Fraction(1, 2)))
    assert [release.aggregate for release in plan.every_release] == ["avg", "count"]
    assert plan.loss == sum((r.mechanism.loss for r in plan.every_release), Loss())
    assert plan.loss.epsilon == Fraction(1, 2)
    assert plan.aggregates == 2


@pytest.mark.parametrize(
    ("text", "settled"),
    [
        ("COUNT(*)", False),
        ("COUNT(*) FROM t WHERE age > 200", True),
        ("COUNT(*), SUM(age) FILTER (WHERE age > 200)", False),
        ("COUNT(*) FROM t WHERE age > 200 AND pay > (SELECT AVG(pay) FROM t)", False),
    ],
)
def test_a_plan_is_settled_where_no_row_has_a_part(text: str, settled: bool) -> None:
    assert planned(text).settled is settled
    assert planned("COUNT(*)", PUBLIC).settled is False


def test_filters_that_exclude_each_other_have_regions_that_do() -> None:
    young, old = (planned(f"COUNT(*) FROM t WHERE age {side} 50").region for side in ("<", ">="))
    assert young.excludes(old)
    assert not young.excludes(planned("COUNT(*)").region)


def test_a_filter_that_all_aggregates_share_limits_the_rows() -> None:
    old = planned("COUNT(*) FROM t WHERE age >= 50").region
    young = "FILTER (WHERE age < 50)"
    assert planned(f"COUNT(*) {young}, SUM(pay) {young}").region.excludes(old)
    assert not planned(f"COUNT(*) {young}, SUM(pay)").region.excludes(old)


@pytest.mark.parametrize("text", ["COUNT(*) FROM t WHERE zip = 1", NESTED])
def test_rows_of_one_unit_and_rows_of_subqueries_can_be_anywhere(text: str) -> None:
    policy = OWNED if "SELECT" not in text else small_policy()
    assert planned(text, policy).region.everything


def test_plans_that_draw_the_same_things_are_one() -> None:
    text = "zip, COUNT(*) AS n FROM t WHERE age > 3 AND ok GROUP BY zip"
    first = planned(text).identity
    for same in (
        text.replace("AS n", "AS m"),
        text.replace("age > 3 AND ok", "ok AND 3 < age"),
        f"{text} HAVING COUNT(*) > 3 ORDER BY zip LIMIT 1",
        text.replace("zip, COUNT(*)", "COUNT(*) * 2"),
    ):
        assert planned(same).identity == first, same


@pytest.mark.parametrize(
    "other",
    [
        "zip, COUNT(*) AS n FROM t WHERE age > 4 AND ok GROUP BY zip",
        "zip, SUM(age) AS n FROM t WHERE age > 3 AND ok GROUP BY zip",
        "ok, COUNT(*) AS n FROM t WHERE age > 3 AND ok GROUP BY ok",
        "COUNT(*) FROM t WHERE age > 3 AND ok",
    ],
)
def test_plans_that_draw_others_are_not(other: str) -> None:
    text = "zip, COUNT(*) AS n FROM t WHERE age > 3 AND ok GROUP BY zip"
    assert planned(other).identity != planned(text).identity
    assert planned(text, share=BudgetShare(Fraction(1, 2))).identity != planned(text).identity


def test_what_a_subquery_gives_back_is_part_of_what_is_drawn() -> None:
    texts = [NESTED, NESTED.replace("AVG(pay)", "AVG(pay) + 1"), NESTED.replace("zip = 1", "ok")]
    assert len({_key(planned(text)) for text in texts}) == 3


def _key(plan: Plan) -> str:
    return repr(plan.identity)


def test_the_columns_that_are_read() -> None:
    plan = planned("zip, SUM(pay), COUNT(*) FILTER (WHERE ok) FROM t WHERE age > 3 GROUP BY zip")
    assert plan.column_names == {"zip", "pay", "ok", "age"}
    assert planned(NESTED).column_names == {"age"}
    assert planned(NESTED).subplans[0].column_names == {"pay", "zip"}
    assert planned("COUNT(*)").column_names == set()


def test_where_an_output_must_lie_and_what_it_is_made_of() -> None:
    plan = planned("COUNT(*) FILTER (WHERE ok), AVG(age) / 2 + 1, "
                   "COUNT(*) FILTER (WHERE ok) - AVG(age), 3")  # fmt: skip
    assert plan.interval_of(plan.outputs[1]) == Interval(Fraction(1), Fraction(51))
    assert plan.interval_of(plan.outputs[0]) == Interval()
    assert [plan.released_for(output) for output in plan.outputs] == [{0}, {1}, {0, 1}, set()]
