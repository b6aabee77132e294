"""Contribution bounds mean what CLAMP means, and noise follows from them as from CLAMP."""

from __future__ import annotations

import pytest

from dpdb.errors import StatementError
from dpdb.plan.planner import plan
from dpdb.policy.catalog import Policy
from dpdb.privacy.accounting.accountants import BudgetShare
from dpdb.session.session import Session
from dpdb.sql.selects.statements import Select, statement
from tests.support.exactly import EPSILON, exactly
from tests.support.plans import known_rows, query, small_policy

CLAMPED = "CLAMP(loose, -1, 40)"
ALIKE = [
    ("SUM(loose, contribution_bounds_per_row => (-1, 40))", f"SUM({CLAMPED})"),
    ("SUM(loose, CONTRIBUTION_BOUNDS_PER_GROUP=>(-1,40))", f"SUM({CLAMPED})"),
    ("AVG(loose, contribution_bounds_per_group => (-1, 40))", f"AVG({CLAMPED})"),
    ("VAR_POP(loose, contribution_bounds_per_row => (-1, 40))", f"VAR_POP({CLAMPED})"),
    ("STDDEV_POP(loose, contribution_bounds_per_row => (-1, 40))", f"STDDEV_POP({CLAMPED})"),
    ("PERCENTILE_CONT(loose, 0.5, contribution_bounds_per_row => (-1, 40))",
     f"PERCENTILE_CONT({CLAMPED}, 0.5)"),
    ("MAX(loose, contribution_bounds_per_row => (-1, 40))", f"MAX({CLAMPED})"),
    ("ANON_SUM(loose CLAMPED BETWEEN -1 AND 40)", f"SUM({CLAMPED})"),
    ("ANON_AVG(loose clamped between -1 AND 40)", f"AVG({CLAMPED})"),
    ("ANON_VAR_POP(loose CLAMPED BETWEEN -1 AND 40)", f"VAR_POP({CLAMPED})"),
    ("ANON_STDDEV_POP(loose CLAMPED BETWEEN -1 AND 40)", f"STDDEV_POP({CLAMPED})"),
    ("ANON_PERCENTILE_CONT(loose, 0.25 CLAMPED BETWEEN -1 AND 40)",
     f"PERCENTILE_CONT({CLAMPED}, 0.25)"),
    ("SUM(loose, contribution_bounds_per_row => (-1, 40)) FILTER (WHERE member)",
     f"SUM({CLAMPED}) FILTER (WHERE member)"),
    ("ROUND(2 * SUM((loose + 1) * 2 CLAMPED BETWEEN 0 AND 5)) + COUNT(*)",
     "ROUND(2 * SUM(CLAMP((loose + 1) * 2, 0, 5))) + COUNT(*)"),
    ("SUM(CASE WHEN member THEN 3 END CLAMPED BETWEEN 0 AND 2)",
     "SUM(CLAMP(CASE WHEN member THEN 3 END, 0, 2))"),
    ("COUNT(*, contribution_bounds_per_group => (0, 1))", "COUNT(*)"),
    ("COUNT(loose, contribution_bounds_per_group => (0, 100))", "COUNT(loose)"),
    ("COUNT(DISTINCT points, contribution_bounds_per_group => (0, 1))", "COUNT(DISTINCT points)"),
    ("COUNTIF(member, contribution_bounds_per_group => (0, 1))", "COUNT_IF(member)"),
    ("ANON_COUNT(*), ANON_COUNT(loose CLAMPED BETWEEN 0 AND 7)", "COUNT(*), COUNT(loose)"),
]  # fmt: skip
REFUSED = [
    ("SUM(loose, contribution_bounds_per_row => (40, -1))", "above the upper"),
    ("SUM(loose, contribution_bounds_per_row => 40)", "two numbers"),
    ("SUM(loose, contribution_bounds_per_row => (0, 1, 2))", "two numbers"),
    ("SUM(loose, contribution_bounds_per_row => (0, points))", "two numbers"),
    ("SUM(loose, contribution_bounds_per_row => (NULL, 1))", "two numbers"),
    ("SUM(loose, contribution_bounds_per_row => (0, (SELECT AVG(points) FROM visits)))",
     "two numbers"),
    ("SUM(loose CLAMPED BETWEEN 0 AND 1 AND 2)", "a boolean is needed here"),
    ("SUM(loose, contribution_bounds_per_row => (0, 1), contribution_bounds_per_row => (0, 1))",
     "one pair"),
    ("SUM(loose CLAMPED BETWEEN 0 AND 1 CLAMPED BETWEEN 0 AND 1)", "not valid SQL"),
    ("SUM(loose, contribution_bounds_per_row => (0, 1), 3)", "are the last"),
    ("SUM(loose, bounds => (0, 1))", "no argument bounds"),
    ("MODE(points, contribution_bounds_per_row => (0, 1))", "MODE takes no named"),
    ("SUM(ABS(loose, contribution_bounds_per_row => (0, 1)))", "cannot be used here"),
    ("NOTHING(loose, contribution_bounds_per_row => (0, 1))", "NOTHING takes no named"),
    ("DATE_DIFF('day', born, born, a => 1)", "DATE_DIFF takes no named"),
    ("ABS(loose, contribution_bounds_per_row => (0, 1))", "ABS takes no named"),
    ("SUM(contribution_bounds_per_row => (0, 1))", "."),
    ("COUNT(*, contribution_bounds_per_group => (2, 5))", "this count is not clamped"),
    ("COUNT(*, contribution_bounds_per_row => (0, 0.5))", "this count is not clamped"),
]  # fmt: skip
UNITS = small_policy(unit="id", rows_per_unit=3)


def aggregates(text: str, policy: Policy) -> object:
    read = statement(f"SELECT {text} FROM visits", policy)
    assert isinstance(read, Select)
    outputs = [output.expression for output in read.query.outputs]
    return outputs, read.query.aggregates


@pytest.mark.parametrize(("theirs", "ours"), ALIKE)
def test_bounds_are_a_clamp(policy: Policy, theirs: str, ours: str) -> None:
    assert aggregates(theirs, policy) == aggregates(ours, policy)


@pytest.mark.parametrize(("text", "message"), REFUSED)
def test_other_arguments_are_refused(policy: Policy, text: str, message: str) -> None:
    with pytest.raises(StatementError, match=message):
        statement(f"SELECT {text} FROM visits", policy)


def test_an_outlier_counts_as_the_bound(policy: Policy) -> None:
    text = "SELECT SUM({}) FROM visits WHERE points = 20"
    assert exactly(text.format("loose CLAMPED BETWEEN 0 AND 9"), policy) == [[9]]
    assert exactly(text.format("CLAMP(loose, 0, 9)"), policy) == [[9]]
    assert exactly(text.format("loose CLAMPED BETWEEN 0 AND 1e9"), policy) == [[987654321]]


def test_explain_shows_the_noise_of_a_clamp(session: Session) -> None:
    theirs = session.execute("EXPLAIN SELECT SUM(loose CLAMPED BETWEEN 0 AND 40) AS s FROM visits")
    ours = session.execute("EXPLAIN SELECT SUM(CLAMP(loose, 0, 40)) AS s FROM visits")
    assert theirs.releases == ours.releases
    assert [float(drawn.sensitivity) for drawn in theirs.releases] == [40.0]


def test_a_column_may_be_called_clamped(policy: Policy) -> None:
    with pytest.raises(StatementError, match="no column clamped"):
        statement("SELECT COUNT_IF(clamped BETWEEN 0 AND 1) FROM visits", policy)


def test_a_label_is_as_written(policy: Policy) -> None:
    read = statement("SELECT sum(loose, contribution_bounds_per_row => (0, 1)) FROM visits", policy)
    assert isinstance(read, Select)
    [output] = read.query.outputs
    assert output.label == "SUM(loose, contribution_bounds_per_row => (0, 1))"


@pytest.mark.parametrize(("text", "sensitivity"), [
    ("SUM(pay, contribution_bounds_per_group => (0, 5))", 5),
    ("ANON_SUM(pay CLAMPED BETWEEN -7 AND 5)", 5),  # pay is 0 at least, and so is its sum
    ("ANON_SUM(wealth CLAMPED BETWEEN -7 AND 5)", 7),
    ("SUM(pay, contribution_bounds_per_group => (0, 1e9))", 3000),  # of three rows up to 1000
    ("ANON_COUNT(pay CLAMPED BETWEEN 0 AND 2)", 2),
    ("COUNT(*, contribution_bounds_per_group => (0, 1))", 1),
    ("SUM(loose, contribution_bounds_per_group => (0, 5))", 5),
    ("zip, SUM(pay, contribution_bounds_per_group => (0, 5)) FROM t GROUP BY zip", 15),
    ("zip, SUM(pay, contribution_bounds_per_group => (0, 5)) FROM t WHERE zip < 3 GROUP BY zip",
     10),
])  # fmt: skip
def test_what_the_rows_of_a_unit_come_to_is_clamped(text: str, sensitivity: int) -> None:
    """The number of its rows does not count, but that of its groups."""
    asked = query(text, UNITS)
    [release] = plan(asked, UNITS, BudgetShare(EPSILON), known_rows).releases
    assert release.mechanism.sensitivity * release.unit == sensitivity  # type: ignore[union-attr]
    one = f"SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(max_rows_contributed = 1) {text}"
    assert not query(one, UNITS).has_single_values


def test_only_counts_sums_and_means_are_clamped_by_unit() -> None:
    with pytest.raises(StatementError, match="up to 3 rows, and their MAX") as caught:
        query("MAX(pay, contribution_bounds_per_group => (0, 5))", UNITS)
    assert "contribution_bounds_per_row => (low, high)" in str(caught.value.hint)
    with pytest.raises(StatementError, match="a number is needed here"):
        query("AVG(born, contribution_bounds_per_group => (0, 5))", UNITS)


def test_what_units_come_to_has_their_cells_as_groups() -> None:
    """Of two groups at most each is clamped by itself."""
    text = (
        "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(max_groups_contributed = 2) zip, "
        "SUM(pay, contribution_bounds_per_group => (0, 5)) FROM t GROUP BY zip"
    )
    [release] = plan(query(text, UNITS), UNITS, BudgetShare(EPSILON), known_rows).releases
    assert release.mechanism.sensitivity * release.unit == 10  # type: ignore[union-attr]


def test_each_row_of_a_unit_can_be_clamped() -> None:
    asked = query("SUM(pay, contribution_bounds_per_row => (0, 5))", UNITS)
    [release] = plan(asked, UNITS, BudgetShare(EPSILON), known_rows).releases
    assert release.mechanism.sensitivity * release.unit == 3 * 5  # type: ignore[union-attr]


def test_a_count_holds_all_rows_of_a_unit() -> None:
    assert query("COUNT(*, contribution_bounds_per_group => (0, 3))", UNITS).aggregates
    assert query("COUNT(*, contribution_bounds_per_row => (0, 1))", UNITS).aggregates
    with pytest.raises(StatementError, match="up to 3") as caught:
        query("COUNT(DISTINCT pay, contribution_bounds_per_group => (0, 2))", UNITS)
    assert "(0, 3); OPTIONS(max_rows_contributed = 2) makes it 2" in str(caught.value.hint)
