"""What is said beside an answer of its error: whole sentences, from the plan alone."""

from __future__ import annotations

from fractions import Fraction

import pytest

from dpdb.answers.accuracy_notes import (
    error_notes,
    interval_notes,
    only_noise_notes,
    planned_error_notes,
    relative_error_notes,
)
from dpdb.answers.record import CellAccuracy, CellColumn, Detail
from dpdb.plan.logical.query import Options
from dpdb.privacy.accounting.accountants import BudgetShare
from tests.support.plans import planned

SHARE = BudgetShare(Fraction(1, 4), Fraction(1, 10**6))
CHOSEN = "is chosen by {}, and has no interval: how near it is depends on the rows"
KNOWN = "exact and free: no row can match the filter on {}"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("COUNT(*), AVG(age)", []),
        ("MEDIAN(age) AS m, MODE(city)", ["m " + CHOSEN.format("rank"),
                                          "MODE(city) " + CHOSEN.format("frequency")]),
        ("MODE(city, age) AS m", ["m " + CHOSEN.format("weight")]),
        ("COUNT(*) FROM t WHERE age > (SELECT MAX(age) AS top FROM t)", []),
        ("COUNT(*) + (SELECT MAX(age) AS top FROM t) FROM t", ["top " + CHOSEN.format("rank")]),
        ("zip, COUNT(*) FROM t GROUP BY zip HAVING COUNT(*) > 1",
         ["± holds for all 3 groups at once, as noise decides which are shown"]),
        ("zip FROM t GROUP BY zip HAVING COUNT(*) > 1", []),
        ("COUNT(*) FROM t WHERE age > 200", [KNOWN.format("age (0 to 100)")]),
        ("COUNT(*), SUM(age) FROM t WHERE age > 200", [KNOWN.format("age (0 to 100)")]),
        ("COUNT(*) FROM t WHERE city = 'Eli'",
         [KNOWN.format("city (Ely, Rye)") + "; did you mean 'Ely'?"]),
        ("COUNT(*) FROM t WHERE FALSE", [KNOWN.replace(" on {}", "")]),
        ("COUNT(*) FROM t WHERE pay > (SELECT COUNT(*) FROM t WHERE zip = 9)",
         [KNOWN.format("zip (1, 2, 3)")]),
    ],
)  # fmt: skip
def test_what_intervals_hold_for_and_what_has_none(text: str, expected: list[str]) -> None:
    assert list(interval_notes(planned(text, share=SHARE))) == expected


def test_of_smooth_sensitivity_the_noise_is_secret() -> None:
    text = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(sensitivity = smooth) MEDIAN(age)"
    [note] = interval_notes(planned(text, share=SHARE))
    assert note.startswith("MEDIAN(age) has noise of a size that is secret, and has no interval")


@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        ([], ()),
        ([(False, False)], ()),
        ([(False, True)], ("b is only noise: ± is as wide as its bounds allow",)),
        (
            [(True, False), (False, False), (True, False)],
            ("a is only noise in 2 of 3 rows: ± is as wide as its bounds allow",),
        ),
    ],
)
def test_which_columns_are_only_noise(
    flags: list[tuple[bool, bool]], expected: tuple[str, ...]
) -> None:
    cells = (1,) * len(flags)
    each = [CellAccuracy((cells, cells), tuple(row[i] for row in flags)) for i in range(2)]
    columns = [CellColumn(cells, Detail.of(accuracy)) for accuracy in each]
    assert only_noise_notes(["a", "b"], columns) == expected


def test_what_an_error_costs() -> None:
    plan, error = planned("COUNT(*)", share=SHARE), Options(error=Fraction(5))
    note = "ε 0.25 is the least that keeps the noise within ±5, 95 % sure"
    assert error_notes(error, plan) == planned_error_notes(error, plan) == (note,)
    surer = Options(error=Fraction(5), confidence=Fraction(99, 100))
    assert error_notes(surer, plan) == (note.replace("95", "99"),)
    assert error_notes(Options(), plan) == planned_error_notes(Options(), plan) == ()


def test_what_a_relative_error_may_cost_and_what_it_did() -> None:
    plan, relative = planned("COUNT(*)", share=SHARE), Options(relative_error=Fraction(1, 10))
    assert error_notes(relative, plan) == ()
    assert planned_error_notes(relative, plan) == (
        "at most: ε is spent in steps, until the noise is within 10 % of the answer, 95 % sure",
    )
    price = "ex-post privacy: what was spent follows from the noisy answers alone"
    assert relative_error_notes(relative, plan, reached=True) == (
        "at ε 0.25 the noise is within 10 % of the answer, 95 % sure",
        price,
    )
    assert relative_error_notes(relative, plan, reached=False) == (
        "ε 0.25 was not enough for noise within 10 % of the answer, 95 % sure",
        price,
    )


@pytest.mark.parametrize(
    "options", [Options(error=Fraction(5)), Options(relative_error=Fraction(1))]
)
def test_what_is_known_for_nothing_keeps_any_error(options: Options) -> None:
    plan = planned("COUNT(*) FROM t WHERE age > 200")
    assert error_notes(options, plan) == planned_error_notes(options, plan) == ()


@pytest.mark.parametrize(
    ("where", "named"),
    [
        ("note >= '1995-01-01'", True), ("'1970-01-01' = note", True), ("note IN ('x', '2020-01-01 10:00')", True),
        ("note BETWEEN '1995-01-01' AND '1996-01-01'", True), ("note = '9/30/1990'", False),
        ("note LIKE '1995-01-01'", False), ("city = '1995-01-01'", False), ("age = 3", False),
    ],
)  # fmt: skip
def test_a_text_that_is_compared_with_a_date(where: str, named: bool) -> None:
    """Whether a condition filters all rows or those of one aggregate."""
    for text in (f"COUNT(*) FROM t WHERE {where}", f"COUNT(*) FILTER (WHERE {where}) FROM t"):
        notes = "".join(interval_notes(planned(text, share=SHARE)))
        assert ("note is text, and compared with a date letter by letter" in notes) == named
        assert ("write PARSE_DATE('%m/%d/%Y', note)," in notes) == named


def test_a_text_that_is_parsed_is_compared_as_a_date() -> None:
    """As the note tells to write."""
    text = "COUNT(*) FROM t WHERE PARSE_DATE('%m/%d/%Y', note) >= '1995-01-01'"
    assert not any(
        "letter by letter" in note for note in interval_notes(planned(text, share=SHARE))
    )
