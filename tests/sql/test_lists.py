"""Aggregates that give a list: their elements are columns, and the same aggregates as alone."""

from __future__ import annotations

from fractions import Fraction

import pytest

from dpdb.errors import StatementError
from dpdb.plan.expressions.expressions import Compare, Literal
from dpdb.plan.physical.release import Release
from dpdb.policy.catalog import Kind, Policy
from dpdb.session.session import Session
from dpdb.sql.selects.statements import Select, statement
from tests.support.exactly import exactly

QUARTERS = "MIN(points), QUANTILE_CONT(points, 0.25), MEDIAN(points), QUANTILE_CONT(points, 0.75), MAX(points)"
ALIKE = [
    ("APPROX_QUANTILES(points, 4)", QUARTERS),
    ("APPROX_QUANTILES(points, 4 IGNORE NULLS)", QUARTERS),
    ("APPROX_QUANTILES(points, 1)", "MIN(points), MAX(points)"),
    ("APPROX_QUANTILES(points, 3)", "MIN(points), QUANTILE_CONT(points, 0.333333), "
     "QUANTILE_CONT(points, 0.666667), MAX(points)"),
    ("ANON_QUANTILES(loose, 2 CLAMPED BETWEEN 0 AND 9)",
     "MIN(CLAMP(loose, 0, 9)), MEDIAN(CLAMP(loose, 0, 9)), MAX(CLAMP(loose, 0, 9))"),
    ("QUANTILE_CONT(points, [0.5, 0.1])", "MEDIAN(points), QUANTILE_CONT(points, 0.1)"),
    ("QUANTILE_DISC(points, [0.1])", "QUANTILE_CONT(points, 0.1)"),
    ("APPROX_QUANTILE(points, [0.1, 1])", "QUANTILE_CONT(points, 0.1), QUANTILE_CONT(points, 1)"),
    ("APPROX_PERCENTILE(points, 0.1)", "QUANTILE_CONT(points, 0.1)"),
    ("PERCENTILE_DISC(0.1) WITHIN GROUP (ORDER BY points)", "QUANTILE_CONT(points, 0.1)"),
    ("PERCENTILE_CONT(ARRAY[0.1, 0.2]) WITHIN GROUP (ORDER BY points DESC) FILTER (WHERE member)",
     "QUANTILE_CONT(points, 0.9) FILTER (WHERE member), "
     "QUANTILE_CONT(points, 0.8) FILTER (WHERE member)"),
    ("HISTOGRAM(points, [10, 20.5]) FILTER (WHERE member)",
     "COUNT_IF(points <= 10) FILTER (WHERE member), "
     "COUNT_IF(points > 10 AND points <= 20.5) FILTER (WHERE member), "
     "COUNT_IF(points > 20.5) FILTER (WHERE member)"),
    ("HISTOGRAM(loose + 1, [-3])", "COUNT_IF(loose + 1 <= -3), COUNT_IF(loose + 1 > -3)"),
    ("APPROX_QUANTILES(points, 100)[OFFSET(50)]", "MEDIAN(points)"),
    ("APPROX_QUANTILES(points, 4)[1] + 1", "QUANTILE_CONT(points, 0.25) + 1"),
    ("APPROX_QUANTILES(points, 4)[ORDINAL(2)]", "QUANTILE_CONT(points, 0.25)"),
    ("APPROX_QUANTILES(points, 4)[SAFE_OFFSET(0)]", "MIN(points)"),
    ("(QUANTILE_CONT(points, [0.25, 0.5]))[2]", "MEDIAN(points)"),
    ("WIDTH_BUCKET(AVG(points), 0, 10, 5)", "CLAMP(FLOOR((AVG(points) - 0) * 5 / (10 - 0)) + 1, 0, 5 + 1)"),
]  # fmt: skip


def asked(text: str, policy: Policy) -> object:
    read = statement(f"SELECT {text} FROM visits", policy)
    assert isinstance(read, Select)
    outputs = [output.expression for output in read.query.outputs]
    return outputs, read.query.aggregates


@pytest.mark.parametrize(("listed", "alone"), ALIKE)
def test_elements_are_aggregates(policy: Policy, listed: str, alone: str) -> None:
    assert asked(listed, policy) == asked(alone, policy)


def labels(text: str, policy: Policy) -> list[str]:
    read = statement(f"SELECT {text} FROM visits", policy)
    assert isinstance(read, Select)
    return [output.label for output in read.query.outputs]


@pytest.mark.parametrize(("text", "expected"), [
    ("APPROX_QUANTILES(points, 2) AS q, COUNT(*)", ["q[0]", "q[1]", "q[2]", "COUNT(*)"]),
    ("quantile_cont(points, [.5])", ["QUANTILE_CONT(points, [.5])[0.5]"]),
    ("HISTOGRAM(points, [1, 5]) AS h", ["h[points <= 1]", "h[1 < points <= 5]", "h[points > 5]"]),
    ("APPROX_QUANTILES(points, 2)[OFFSET(1)]", ["APPROX_QUANTILES(points, 2)[OFFSET(1)]"]),
    ("APPROX_TOP_COUNT(plan, 2)", ["value", "count"]),
    ("HISTOGRAM(plan)", ["value", "count"]),
    ("APPROX_TOP_SUM(plan, points, 2) AS top", ["top.value", "top.sum"]),
])  # fmt: skip
def test_elements_are_named_after_their_list(
    policy: Policy, text: str, expected: list[str]
) -> None:
    assert labels(text, policy) == expected


def test_elements_can_be_named(policy: Policy) -> None:
    read = statement(
        "SELECT APPROX_QUANTILES(points, 2) AS q FROM visits GROUP BY plan"
        ' HAVING "q[1]" > 3 ORDER BY "Q[2]"',
        policy,
    )
    assert isinstance(read, Select)
    asked = read.query
    assert asked.having == Compare("<", Literal(3, Kind.INTEGER), asked.outputs[1].expression)
    assert [term.expression for term in asked.order] == [asked.outputs[2].expression]


def test_the_most_frequent_values_are_rows(policy: Policy) -> None:
    def query(text: str) -> object:
        read = statement(text, policy)
        assert isinstance(read, Select)
        return read.query

    for top, meant in {
        "APPROX_TOP_COUNT(plan, 2)": "COUNT(*) AS count FROM visits GROUP BY plan ORDER BY 2 DESC LIMIT 2",
        "HISTOGRAM(plan)": "COUNT(*) AS count FROM visits WHERE plan IS NOT NULL GROUP BY plan",
        "APPROX_TOP_K(plan)": "COUNT(*) AS count FROM visits GROUP BY plan ORDER BY 2 DESC LIMIT 1",
        "APPROX_TOP_SUM(plan, points, 3)": "SUM(points) AS sum FROM visits GROUP BY plan ORDER BY 2 DESC LIMIT 3",
    }.items():  # fmt: skip
        assert query(f"SELECT {top} FROM visits") == query(f"SELECT plan AS value, {meant}")


def test_bins_are_one_histogram(session: Session) -> None:
    """A row is in one of them, so that all have the whole ε."""
    answer = session.execute("EXPLAIN SELECT HISTOGRAM(points, [10, 20, 30]) AS h FROM visits")
    [report] = answer.releases
    assert (report.sensitivity, report.epsilon) == (1, Fraction(1, 10))


def test_quantiles_of_a_list_are_selected_together(session: Session) -> None:
    def drawn(text: str) -> list[Release]:
        plan = session.execute(f"EXPLAIN SELECT {text} FROM visits").plan
        assert plan is not None
        return list(plan.releases)

    listed = drawn("QUANTILE_CONT(points, [0.25, 0.5, 0.75])")
    assert listed[0].aggregate == "quantiles"
    assert listed == drawn(", ".join(f"QUANTILE_CONT(points, {q})" for q in (0.25, 0.5, 0.75)))


@pytest.mark.parametrize(("x", "bucket"), [
    ("-1", 0), ("0", 1), ("1.9", 1), ("2", 2), ("9.99", 5), ("10", 6), ("1e9", 6), ("NULL", None),
])  # fmt: skip
def test_a_bucket_has_its_lower_end(policy: Policy, x: str, bucket: int | None) -> None:
    """As in PostgreSQL: 0 is below all, and one past the last above."""
    where = f"WIDTH_BUCKET({x}, 0, 10, 5)"
    condition = f"{where} IS NULL" if bucket is None else f"{where} = {bucket}"
    [[every]] = exactly("SELECT COUNT(*) FROM visits", policy)
    assert exactly(f"SELECT COUNT(*) FROM visits WHERE {condition}", policy) == [[every]]


@pytest.mark.parametrize("text", [
    "QUANTILE_CONT(points, [0.5]) FROM visits WHERE points > MEDIAN(points)",
    "(SELECT APPROX_QUANTILES(points, 2) FROM visits) FROM visits",
    "COUNT(*) FROM visits WHERE points > (SELECT HISTOGRAM(points, [3]) FROM visits)",
])  # fmt: skip
def test_a_list_is_no_value(policy: Policy, text: str) -> None:
    with pytest.raises(StatementError):
        statement(f"SELECT {text}", policy)
