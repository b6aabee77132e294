"""What is drawn for a plan, as it is reported: from the plan alone, in the analyst's units."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest

from dpdb.answers.record import ReleaseReport
from dpdb.answers.release_reports import own_reports, reports
from dpdb.privacy.accounting.accountants import BudgetShare
from tests.support.plans import PUBLIC, planned

TENTH = BudgetShare(Fraction(1, 10), Fraction(1, 10**6))


def options(text: str, rest: str) -> str:
    return f"SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS({text}) {rest}"


def test_sums_are_reported_in_the_columns_unit() -> None:
    """Pay is in cents up to 1000.00: Δ = 1000, b = Δ/ε, and P(|x| > b·ln 20) is 0.05."""
    [report] = reports(planned("SUM(pay)", share=TENTH))
    assert report == ReleaseReport(
        "SUM(pay)", "sum", "laplace", Fraction(1000), Fraction(10_000), Fraction(1, 10),
        margin=report.margin,
    )  # fmt: skip
    assert report.margin == pytest.approx(10_000 * 2.9957, rel=1e-3)


def test_an_average_over_a_public_count_is_reported_in_its_own_unit() -> None:
    [report] = reports(planned("AVG(age)", PUBLIC, TENTH))
    assert (report.sensitivity, report.scale) == (Fraction(100, 40), 25)


def test_gaussian_noise_is_reported_by_its_deviation() -> None:
    plan = planned(options("mechanism = gaussian", "SUM(pay)"), share=TENTH)
    [report] = reports(plan)
    assert (report.mechanism, report.sensitivity) == ("gaussian", 1000)
    assert (report.epsilon, report.delta) == (TENTH.epsilon, TENTH.delta)
    assert report.scale == plan.releases[0].mechanism.scale / 100
    assert report.margin == pytest.approx(1.96 * float(report.scale), rel=1e-3)


def test_a_selection_is_reported_by_its_score_and_has_no_margin() -> None:
    [report] = reports(planned("MEDIAN(pay)", share=TENTH))
    assert (report.aggregate, report.mechanism) == ("quantile", "exponential")
    assert (report.sensitivity, report.scale, report.margin) == (Fraction(1, 2), 10, None)
    assert report.epsilon == TENTH.epsilon


def test_of_smooth_sensitivity_nothing_is_told_that_the_rows_decide() -> None:
    [report] = reports(planned(options("sensitivity = smooth", "MEDIAN(pay)"), share=TENTH))
    assert (report.mechanism, report.epsilon, report.delta) == (
        "smooth laplace",
        TENTH.epsilon,
        TENTH.delta,
    )
    assert (report.sensitivity, report.scale, report.margin) == (None, None, None)


def test_releases_are_named_by_the_column_they_are_drawn_for() -> None:
    plan = planned(
        "zip, AVG(age) AS mean, MEDIAN(age) FROM t GROUP BY zip HAVING MODE(city) = 'Ely'"
    )
    named = [(report.column, report.aggregate, report.group) for report in reports(plan)]
    assert named == [
        ("mean", "sum_above_lower", 1),
        ("mean", "sum_below_upper", 1),
        ("MEDIAN(age)", "quantile", 2),
        ("mode", "mode", 3),
    ]


def test_subqueries_come_first_and_can_be_left_out() -> None:
    plan = planned("COUNT(*) FROM t WHERE age > (SELECT AVG(age) AS a FROM t)")
    found = [(report.column, report.group) for report in reports(plan)]
    assert found == [("a", 1), ("a", 1), ("COUNT(*)", 2)]
    assert own_reports(plan) == (replace(reports(plan)[2], group=1),)


def test_margins_hold_for_all_groups_that_noise_chooses_among() -> None:
    text = "zip, COUNT(*) FROM t GROUP BY zip"
    [alone], [chosen] = (reports(planned(text + rest)) for rest in ("", " HAVING COUNT(*) > 1"))
    assert (alone.competing_rows, chosen.competing_rows) == (1, 3)
    assert alone.margin is not None
    assert chosen.margin is not None
    assert alone.margin < chosen.margin
    # P(|x| > z) = 2r^(z+1) / (1+r), r = e^-1: 2.5 % at z = 3, and below 1.7 % first at 4.
    assert (alone.margin, chosen.margin) == (3, 4)
