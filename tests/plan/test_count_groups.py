"""Which counts are drawn together: that follows from the text, and makes no count noisier."""

from __future__ import annotations

from fractions import Fraction
from random import Random

import pytest

from dpdb.plan.physical.plan import Plan
from dpdb.plan.ranges.statistics import Count, Histogram
from dpdb.policy.budget import Composition, Neighbors
from dpdb.policy.catalog import Policy
from dpdb.privacy.accounting.accountants import BudgetShare
from dpdb.privacy.mechanisms.laplace import Laplace
from tests.support.exactly import counts_alone
from tests.support.plans import PRIVATE, PUBLIC, planned, small_policy

THRESHOLDS = [f"COUNT(*) FILTER (WHERE age < {age})" for age in (20, 40, 60, 80)]
UNRELATED = [f"COUNT(*) FILTER (WHERE note LIKE '%{i}%')" for i in range(7)]
CONCENTRATED = small_policy(composition=Composition.ZCDP)
UNITS = small_policy(unit="id", rows_per_unit=3)
REPLACED_UNITS = small_policy(Neighbors.REPLACE, unit="id", rows_per_unit=2)


def sizes(text: str, policy: Policy = PRIVATE) -> list[int]:
    """For each release of counts the number of segments, 0 without a histogram."""
    share = BudgetShare(Fraction(1), concentrated=policy is CONCENTRATED)
    return [
        len(release.statistic.segments) if isinstance(release.statistic, Histogram) else 0
        for release in planned(text, policy, share).releases
    ]


def variances(plan: Plan) -> list[Fraction]:
    """For each count the variance of its noise, but for a common factor."""
    return [
        plan.releases[estimate.releases[0]].mechanism.scale ** 2
        * (1 if estimate.segments is None else len(estimate.segments))
        for estimate in plan.estimates
    ]  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("text", "policy", "expected"),
    [
        (", ".join(THRESHOLDS), PRIVATE, [4]),
        (", ".join(THRESHOLDS), UNITS, [4]),
        (", ".join(THRESHOLDS[:1]), PRIVATE, [0]),
        ("COUNT(*) FILTER (WHERE ok), COUNT(*)", PRIVATE, [2]),
        ("COUNT(*) FILTER (WHERE ok), COUNT(*), SUM(age)", PRIVATE, [0, 0]),
        (f"zip, {', '.join(THRESHOLDS)} FROM t GROUP BY zip", PRIVATE, [4]),
        # 6 unrelated conditions have 63 segments, of which a count adds up 32: 32 for each, but
        # pairs have 3, of which it adds up 2, and a third of ε: 2·3².
        (", ".join(UNRELATED[:6]), PRIVATE, [3, 3, 3]),
        (", ".join(UNRELATED[:3]), PRIVATE, [7]),
        (", ".join(UNRELATED[:2]), PRIVATE, [3]),
        # The noise of each segment is twice that of a count alone: 2·4 is no less than 2²·2.
        ("COUNT(*) FILTER (WHERE ok), COUNT(*) FILTER (WHERE NOT ok)", PUBLIC, [0, 0]),
        (", ".join(f"COUNT(*) FILTER (WHERE zip = {i})" for i in (1, 2, 3)), PUBLIC, [3]),
        (", ".join(THRESHOLDS), PUBLIC, [4]),
        (", ".join(THRESHOLDS[:3]), PUBLIC, [0, 0, 0]),
        # In groups a count alone has that noise, too.
        (f"zip, {', '.join(THRESHOLDS)} FROM t GROUP BY zip", PUBLIC, [4]),
        # The noise of k counts alone grows with √k only.
        (", ".join(THRESHOLDS), CONCENTRATED, [4]),
        (", ".join(UNRELATED[:2]), CONCENTRATED, [0, 0]),
        # What is public needs no noise, and what the policy rules out is no segment.
        ("COUNT(*), COUNT(age), COUNT(*) FILTER (WHERE ok)", PUBLIC, [0]),
        ("COUNT(*) FILTER (WHERE age > 200), COUNT(*) FILTER (WHERE ok)", PRIVATE, [0]),
        # One and the same condition is drawn once.
        ("COUNT(*), COUNT(age), COUNT(1)", PRIVATE, [0]),
    ],
)
def test_counts_are_drawn_together_where_that_is_better(
    text: str, policy: Policy, expected: list[int]
) -> None:
    assert sizes(text, policy) == expected


@pytest.mark.parametrize(
    "policy", [PRIVATE, PUBLIC, CONCENTRATED, UNITS, REPLACED_UNITS],
    ids=["add-remove", "replace", "zcdp", "units", "replaced units"],
)  # fmt: skip
@pytest.mark.parametrize("seed", range(12))
def test_no_count_is_noisier_than_alone(seed: int, policy: Policy) -> None:
    random = Random(seed)
    wanted = random.sample(
        [*THRESHOLDS, *UNRELATED, "COUNT(pay)", "COUNT_IF(ok)", "COUNT(*)", "SUM(zip = 2)",
         "COUNT(*) FILTER (WHERE zip = 1 AND age < 20)"],
        random.randint(2, 9),
    )  # fmt: skip
    text = f"{', '.join(wanted)} FROM t{random.choice(['', ' WHERE age > 10', ' GROUP BY zip'])}"
    share = BudgetShare(Fraction(1), Fraction(0), policy is CONCENTRATED)
    together = planned(text, policy, share)
    with counts_alone():
        alone = planned(text, policy, share)
    noisy = [bool(estimate.releases) for estimate in together.estimates]
    assert noisy == [bool(estimate.releases) for estimate in alone.estimates]
    if any(noisy) and all(noisy):
        pairs = zip(variances(together), variances(alone), strict=True)
        # The shares of zCDP are roots, which are rounded.
        assert all(new <= old * (1 + Fraction(1, 2**70)) for new, old in pairs)
        assert together.loss.epsilon <= alone.loss.epsilon or policy is CONCENTRATED


def test_goals_of_accuracy_are_met_one_by_one() -> None:
    text = ", ".join(THRESHOLDS)
    options = "WITH DIFFERENTIAL_PRIVACY OPTIONS(noise_index = [1, 2, 3, 4])"
    releases = planned(f"SELECT {options} {text} FROM t").releases
    assert all(isinstance(release.statistic, Count) for release in releases)
    assert len(releases) == 4


@pytest.mark.parametrize(
    ("written", "same"),
    [
        ("SUM(CASE WHEN age < 20 THEN 1 ELSE 0 END)", "COUNT(*) FILTER (WHERE age < 20)"),
        ("SUM(CASE WHEN age < 20 THEN 1 END)", "COUNT(*) FILTER (WHERE age < 20)"),
        ("SUM(age < 20)", "COUNT(*) FILTER (WHERE age < 20)"),
        ("COUNT_IF(age < 20)", "COUNT(*) FILTER (WHERE age < 20)"),
        ("COUNT(CASE WHEN age < 20 THEN zip END)", "COUNT(*) FILTER (WHERE age < 20)"),
        ("COUNT(CASE WHEN age < 20 THEN pay END)", "COUNT(pay) FILTER (WHERE age < 20)"),
        (
            "SUM(CASE WHEN age < 20 THEN 1 ELSE 0 END) FILTER (WHERE ok)",
            "COUNT(*) FILTER (WHERE ok AND age < 20)",
        ),
        ("COUNT(CASE WHEN age < 20 THEN 1 ELSE 0 END)", "COUNT(*)"),
    ],
)
def test_counts_are_the_same_however_they_are_written(written: str, same: str) -> None:
    """They are answered with the same draws, and so a repeat is free."""
    assert planned(written).identity == planned(same).identity


def test_other_cases_are_no_counts() -> None:
    for text in ("SUM(CASE WHEN ok THEN 2 ELSE 0 END)", "SUM(CASE WHEN ok THEN 1 ELSE 3 END)",
                 "SUM(CASE WHEN ok THEN age ELSE 0 END)", "SUM(age)"):  # fmt: skip
        [release] = planned(text).releases
        assert release.aggregate == "sum"


def test_the_budget_is_used_as_it_is_alone() -> None:
    [release, other] = planned(f"{', '.join(THRESHOLDS)}, MEDIAN(age)").releases
    assert isinstance(release.mechanism, Laplace)
    assert (release.mechanism.epsilon, release.mechanism.scale) == (Fraction(1, 2), 2)
    assert other.mechanism.loss.epsilon <= Fraction(1, 2)
