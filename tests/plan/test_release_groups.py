"""Which aggregates share releases, and how much better that makes them."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from math import sqrt
from unittest import mock

import pytest

from dpdb.plan.physical.plan import Plan
from dpdb.plan.planner import plan
from dpdb.plan.releases.shared_moments import covariance
from dpdb.policy.budget import Composition
from dpdb.privacy.accounting.accountants import BudgetShare
from dpdb.privacy.mechanisms.laplace import Laplace
from tests.support.plans import PRIVATE, PUBLIC, planned, query, secret_rows, small_policy

ZCDP = small_policy(composition=Composition.ZCDP)
CONCENTRATED = BudgetShare(Fraction(1), concentrated=True)


def drawn(found: Plan) -> list[tuple[str, Fraction]]:
    """The releases and their ε."""
    return [(release.aggregate, release.mechanism.loss.epsilon) for release in found.releases]


def error(found: Plan, index: int) -> float:
    """The standard deviation of a COUNT or SUM, in steps of its grid."""
    reading = found.estimates[index].combination
    assert reading is not None
    return sqrt(covariance(reading, reading, found.releases))


ONE, HALF = Fraction(1), Fraction(1, 2)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("COUNT(*)", [("count", ONE)]),
        ("SUM(age)", [("sum", ONE)]),
        ("COUNT(*), SUM(age), AVG(age)", [("avg", ONE)]),
        ("AVG(age), STDDEV(age), VAR_POP(age), COUNT(age)", [("variance", ONE)]),
        ("COUNT(*), COUNT(pay)", [("count", ONE)]),
        ("COUNT(*), SUM(pay)", [("avg", ONE)]),
        ("COUNT(*), SUM(year)", [("avg", ONE)]),
        # Not 0 ≤ x: from vectors these two sums would have more noise.
        ("SUM(year), SUM(year + 1)", [("sum", HALF), ("sum", HALF)]),
        ("AVG(age), AVG(pay), COUNT(*)", [("avg", HALF), ("avg", HALF)]),
        ("AVG(age), MEDIAN(age), COUNT(*)", [("avg", HALF), ("quantile", HALF)]),
        ("AVG(age), AVG(age) FILTER (WHERE ok)", [("avg", HALF), ("avg", HALF)]),
        # Values to be squared are on a coarser grid: sums beside them stay exact.
        ("SUM(wealth), VARIANCE(wealth)", [("sum", HALF), ("variance", HALF)]),
        ("COUNT(wealth), VARIANCE(wealth)", [("variance", ONE)]),
        ("COUNT(*) FILTER (WHERE ok), COUNT(*)", [("count", ONE)]),
    ],
)
def test_what_is_drawn(text: str, expected: list[tuple[str, Fraction]]) -> None:
    assert drawn(planned(text)) == expected


def test_nothing_is_drawn_twice_where_the_number_of_rows_is_public() -> None:
    assert drawn(planned("COUNT(*), SUM(age), AVG(age)", PUBLIC)) == [("avg", ONE)]
    # A row that becomes NULL would move a number of NULLs beside the others.
    found = planned("COUNT(*), AVG(pay) FROM t WHERE ok", PUBLIC)
    assert drawn(found) == [("count", HALF), ("avg", HALF)]
    assert drawn(planned("COUNT(*), AVG(age) FROM t WHERE ok", PUBLIC)) == [("avg", ONE)]


def test_what_fixes_its_noise_shares_nothing() -> None:
    text = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(noise_index = [1, 50]) COUNT(*), SUM(age)"
    found = planned(text)
    assert [release.aggregate for release in found.releases] == ["count", "sum"]
    assert [estimate.releases for estimate in found.estimates] == [(0,), (1,)]


def test_under_zcdp_a_count_is_shared_though_no_vector_is_drawn() -> None:
    found = planned("COUNT(*), SUM(age), AVG(age)", ZCDP, CONCENTRATED)
    assert [release.aggregate for release in found.releases] == ["sum", "count"]
    assert found.loss.rho <= HALF
    assert found.loss.rho > HALF * (1 - Fraction(1, 2**60))


def test_one_pair_tells_the_count_and_the_sum_as_its_formulas_say() -> None:
    """N = (A + B)/w and S = (U·A + L·B)/w, for noise of scale w/ε, w = U - L = 999 years."""
    found = planned("COUNT(year), SUM(year), AVG(year)")
    assert error(found, 0) == pytest.approx(sqrt(2) * sqrt(2))
    assert error(found, 1) == pytest.approx(sqrt(2) * sqrt(2000**2 + 1001**2))


def test_pairs_over_one_filter_tell_the_number_of_rows_together() -> None:
    """Two pairs at ε/2 count with √8 each together; a sum is corrected by the other's number.

    With L = 0 the best reading is ¾A - ¼B + ¼(A' + B')·w/w', of variance 1.5·(2w/ε)².
    """
    text = "COUNT(*), SUM(age), AVG(age), SUM(zip), AVG(zip)"
    with mock.patch("dpdb.plan.releases.release_groups._in_boxes", lambda groups, *_: groups):
        found = planned(text)
    assert drawn(found) == [("avg", HALF), ("avg", HALF)]
    assert error(found, 0) == pytest.approx(sqrt(8))
    assert error(found, 1) == pytest.approx(sqrt(1.5) * 200)
    assert {index for place in (0, 1, 3) for index in found.estimates[place].releases} == {0, 1}
    # An average stays with its own pair, so that one test tells of its interval.
    assert found.estimates[2].releases == (0,)


@pytest.mark.parametrize(
    "text", ["COUNT(*), SUM(age)", "COUNT(*), SUM(pay)", "SUM(age), SUM(pay), COUNT(*)",
             "SUM(wealth), COUNT(*)", "SUM(year), COUNT(year), SUM(age)"]
)  # fmt: skip
@pytest.mark.parametrize("policy", [PRIVATE, PUBLIC], ids=["add-remove", "replace"])
def test_sharing_is_never_worse_than_a_share_for_each(text: str, policy: object) -> None:
    """In the mean over the aggregates, against noise of its own for each at an even share."""
    for rest in (" FROM t WHERE ok", " FROM t GROUP BY zip"):
        found = planned(text + rest, policy)  # type: ignore[arg-type]
        parts = text.split(", ")
        apart = [planned(part + rest, policy) for part in parts]  # type: ignore[arg-type]
        ratios = [
            error(found, index) / (len(parts) * error(alone, 0))
            for index, alone in enumerate(apart)
        ]
        assert sum(ratios) <= len(ratios) * (1 + 1e-9)


def test_a_remembered_group_serves_what_follows_from_it() -> None:
    first = planned("AVG(age), COUNT(*)")
    [(at, group)] = first.groups
    assert at == 0

    def again(text: str, epsilon: Fraction = ONE) -> Plan:
        return plan(query(text), PRIVATE, BudgetShare(epsilon), secret_rows, (group,))

    for text in ("COUNT(*)", "SUM(age)", "AVG(age) / 2, COUNT(age)", "AVG(age)"):
        follows = again(text)
        assert (follows.fresh, follows.remembered, follows.loss.epsilon) == ((), (group,), 0)
        assert follows.follows
    for text in ("VARIANCE(age)", "AVG(pay)", "COUNT(*) FILTER (WHERE ok)", "MEDIAN(age)"):
        assert again(text).remembered == ()
    # What is asked for with more ε is not answered with less.
    assert again("AVG(age)", 2 * ONE).remembered == ()
    assert again("AVG(age)", HALF).follows
    # The rest of a statement has the whole share.
    mixed = again("AVG(age), MEDIAN(age), SUM(pay)")
    assert mixed.remembered == (group,)
    assert [release.mechanism.loss.epsilon for release in mixed.fresh] == [HALF, HALF]
    assert [estimate.releases for estimate in mixed.estimates] == [(0,), (1,), (2,)]


def test_noise_of_another_kind_is_not_taken_for_what_was_asked() -> None:
    first = planned("AVG(age)")
    [(_, group)] = first.groups
    release = group.releases[0]
    assert isinstance(release.mechanism, Laplace)

    text = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(mechanism = gaussian) AVG(age)"
    share = replace(BudgetShare(ONE), delta=Fraction(1, 10**6))
    assert plan(query(text), PRIVATE, share, secret_rows, (group,)).remembered == ()
