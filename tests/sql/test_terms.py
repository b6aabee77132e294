"""Options that say again what the policy says: kept where they ask for no more."""

from __future__ import annotations

import re
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

from dpdb.errors import InvalidOption
from dpdb.plan.planner import plan
from dpdb.policy.catalog import Policy
from dpdb.privacy.accounting.accountants import BudgetShare
from dpdb.privacy.mechanisms.laplace import Laplace
from dpdb.session.session import Session
from tests.support.exactly import raw, write
from tests.support.plans import known_rows, query, small_policy

ROWS = small_policy()
UNITS = small_policy(unit="id", rows_per_unit=3)


def options(
    text: str, rest: str = "COUNT(*) FROM t", *, clause: str = "DIFFERENTIAL_PRIVACY"
) -> str:
    return f"SELECT WITH {clause} OPTIONS({text}) {rest}"


@pytest.mark.parametrize(("text", "policy"), [
    ("max_groups_contributed = 1", ROWS), ("kappa = 1", ROWS), ("max_rows_contributed = 1", ROWS),
    ("group_selection_strategy = PUBLIC_GROUPS", ROWS),
    ("privacy_unit_column = id", UNITS), ("privacy_unit_column = t.id", UNITS), ("privacy_unit_column = `ID`", UNITS),
    ("max_rows_contributed = 3", UNITS), ("kappa = NULL", UNITS), ("max_groups_contributed = 3", UNITS),
])  # fmt: skip
@pytest.mark.parametrize("clause", ["DIFFERENTIAL_PRIVACY", "ANONYMIZATION"])
def test_what_the_policy_says_changes_nothing(text: str, policy: Policy, clause: str) -> None:
    rest = "zip, COUNT(*), AVG(pay) FROM t GROUP BY zip"
    written = options(f"epsilon = 0.5, {text}", rest, clause=clause)
    assert query(written, policy) == query(options("epsilon = 0.5", rest), policy)


@pytest.mark.parametrize(("text", "policy", "message", "hint"), [
    ("privacy_unit_column = id", ROWS, "the privacy unit of t is a row", ""),
    ("privacy_unit_column = t.zip", UNITS, "the privacy unit of t is the column id", ""),
    ("privacy_unit_column = id id", UNITS, "the privacy unit of t is the column id", ""),
    ("privacy_unit_column = zip", UNITS, "the privacy unit of t is the column id", ""),
    ("max_rows_contributed = 2", ROWS, "max_rows_contributed is 1 at most for t", "each row is a unit"),
    ("max_rows_contributed = 4", UNITS, "max_rows_contributed is 3 at most for t", "rows_per_unit is 3"),
    ("max_groups_contributed = 4", UNITS, "max_groups_contributed is 3 at most for t", "rows_per_unit is 3"),
    ("kappa = 2", ROWS, "kappa is 1 at most for t", "each row is a unit"),
    ("max_rows_contributed = NULL", UNITS, "max_rows_contributed is 3 at most", "rows_per_unit is 3"),
    ("max_rows_contributed = 0", UNITS, "a whole number, at least 1", ""),
    ("max_rows_contributed = 1.5", UNITS, "a whole number, at least 1", ""),
    ("max_groups_contributed = NULL", replace(UNITS, tables=(replace(UNITS.tables[0], groups_per_unit=2),)), "max_groups_contributed is 2 at most", "groups_per_unit is 2"),
    ("kappa = 3, kappa = 3", UNITS, "kappa is given twice", ""),
    ("group_selection_strategy = LAPLACE_THRESHOLD", ROWS, "PUBLIC_GROUPS", "also without rows"),
    ("min_privacy_units_per_group = 50", ROWS, "each is shown", r"HAVING COUNT\(\*\) >= 50"),
    ("min_privacy_units_per_group = 5", UNITS, "each is shown", r"HAVING COUNT\(DISTINCT id\) >= 5"),
])  # fmt: skip
def test_what_it_does_not_say_is_refused(
    text: str, policy: Policy, message: str, hint: str
) -> None:
    with pytest.raises(InvalidOption, match=message) as caught:
        query(options(text, "zip, COUNT(*) FROM t GROUP BY zip"), policy)
    assert caught.value.place is not None
    assert re.search(hint, caught.value.hint or "")


def test_without_groups_each_unit_is_in_one() -> None:
    assert query(options("max_groups_contributed = 1"), UNITS) == query("COUNT(*) FROM t", UNITS)


def test_fewer_groups_go_with_fewer_rows() -> None:
    for groups, kept in ((1, 1), (2, None), (3, None)):
        both = f"max_groups_contributed = {groups}, max_rows_contributed = 2"
        asked = query(options(both, "zip, COUNT(*) FROM t GROUP BY zip"), UNITS)
        assert (asked.table.rows_per_unit, asked.table.groups_per_unit) == (2, kept)


def test_a_unit_in_fewer_groups_changes_fewer_counts_of_units() -> None:
    for groups in (1, 2, 3):
        text = options(
            f"max_groups_contributed = {groups}", "COUNT(DISTINCT id) FROM t GROUP BY zip"
        )
        [release] = plan(query(text, UNITS), UNITS, BudgetShare(Fraction(1)), known_rows).releases
        assert isinstance(release.mechanism, Laplace)
        assert release.mechanism.sensitivity == groups


def test_keys_that_are_found_have_a_threshold(visits: Policy) -> None:
    """Ann has five different x, and so each unit could be in five groups."""
    visits = replace(visits, budget=replace(visits.budget, delta=Fraction(1, 10**5)))
    for groups in (1, 2, 5):
        text = f"max_groups_contributed = {groups}, group_selection_strategy = LAPLACE_THRESHOLD"
        answer = Session(visits).execute(
            "EXPLAIN " + options(text, "LOWER(who), COUNT(*) FROM t GROUP BY 1")
        )
        assert answer.releases[0].sensitivity == groups
    least = "min_privacy_units_per_group = 100"
    asked = query(options(least, "LOWER(who), COUNT(*) FROM t GROUP BY 1"), visits)
    assert asked.least_units == 100
    answer = Session(visits).execute(
        "EXPLAIN " + options(least, "LOWER(who), COUNT(*) FROM t GROUP BY 1")
    )
    shown = "shown are groups of about 102 or more different who"
    assert any(note.startswith(shown) for note in answer.notes)
    with pytest.raises(InvalidOption, match="LAPLACE_THRESHOLD for groups found"):
        query(
            options("group_selection_strategy = PUBLIC_GROUPS", "LOWER(who) FROM t GROUP BY 1"),
            visits,
        )


def test_fewer_rows_have_less_noise() -> None:
    for cap in (1, 2, 3):
        asked = query(options(f"max_rows_contributed = {cap}", "SUM(pay) FROM t"), UNITS)
        [release] = plan(asked, UNITS, BudgetShare(Fraction(1)), known_rows).releases
        assert isinstance(release.mechanism, Laplace)
        assert release.mechanism.sensitivity * release.unit == 1000 * cap


@pytest.fixture
def visits(tmp_path: Path) -> Policy:
    """100 rows of Ann and one of Bob; each counts with 5 at most."""
    policy = (
        "[budget]\nepsilon = 1000\n"
        '[tables.t]\nunit = "who"\nrows_per_unit = 5\n[tables.t.columns]\n'
        'who = { type = "text" }\nx = { type = "integer", bounds = [0, 99] }\n'
    )
    rows = [*(f"ann,{x}" for x in range(100)), "bob,7"]
    return write(tmp_path, "t", "\n".join(["who,x", *rows]), policy)


def test_fewer_rows_are_counted(visits: Policy) -> None:
    for cap in (1, 4, 5):
        assert raw(options(f"max_rows_contributed = {cap}"), visits) == [[cap + 1]]


def test_a_subquery_has_the_policy_s_cap(visits: Policy) -> None:
    """It counts 6 rows, so that Bob's 7 is less than 2 + 6."""
    rest = "COUNT(*) FROM t WHERE x < 2 + (SELECT COUNT(*) FROM t)"
    assert raw(options("max_rows_contributed = 2", rest), visits) == [[3]]


def test_explain_says_the_cap(visits: Policy) -> None:
    answer = Session(visits).execute("EXPLAIN " + options("max_rows_contributed = 2"))
    assert any("at most 2 rows per who" in note for note in answer.bounding)


@pytest.mark.parametrize(
    "rest", ["COUNT(DISTINCT who) FILTER (WHERE x > 50) FROM t", "COUNT(x), AVG(x) FROM t"]
)
def test_another_cap_is_another_question(visits: Policy, rest: str) -> None:
    """Its noise may be the same, as that of COUNT(DISTINCT unit) is, but other rows count."""
    session = Session(visits)
    for cap, repeat in ((1, False), (5, False), (1, True)):
        answer = session.execute(options(f"epsilon = 1, max_rows_contributed = {cap}", rest))
        assert answer.repeat is repeat
