"""Other systems' spellings mean what dpdb's own spelling of the same query means."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from dpdb.errors import StatementError
from dpdb.policy.budget import LastingBudget
from dpdb.policy.catalog import Policy
from dpdb.policy.reading.reader import read_policy
from dpdb.sql.selects.statements import Select, statement
from tests.support.tables import HERE

ALIKE = [
    ("SELECT COUNT_IF(points > 40) FROM visits", "SELECT COUNT(*) FILTER (WHERE points > 40) FROM visits"),
    ("SELECT COUNTIF(points > 40) FROM visits", "SELECT COUNT(*) FILTER (WHERE points > 40) FROM visits"),
    ("SELECT VAR(points) FROM visits", "SELECT VAR_SAMP(points) FROM visits"),
    ("SELECT STD(points) FROM visits", "SELECT STDDEV_SAMP(points) FROM visits"),
    ("SELECT STDEV(points) FROM visits", "SELECT STDDEV_SAMP(points) FROM visits"),
    ("SELECT COUNT(`points`) FROM `visits`", "SELECT COUNT(points) FROM visits"),
    ("SELECT COUNT(*) FROM main.visits", "SELECT COUNT(*) FROM visits"),
    ("SELECT COUNT(*) FROM public.visits", "SELECT COUNT(*) FROM visits"),
    ("SELECT TOP 3 COUNT(*) FROM visits", "SELECT COUNT(*) FROM visits LIMIT 3"),
    ("SELECT COUNT(*) FROM visits FETCH FIRST 3 ROWS ONLY", "SELECT COUNT(*) FROM visits LIMIT 3"),
    ("SELECT COUNT(*) FROM visits FETCH FIRST", "SELECT COUNT(*) FROM visits LIMIT 1"),
    ("SELECT COUNT(*) FROM visits OFFSET 2 ROWS FETCH NEXT ROW ONLY",
     "SELECT COUNT(*) FROM visits LIMIT 1 OFFSET 2"),
    ("SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1) TOP 3 COUNT(*) FROM visits",
     "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1) COUNT(*) FROM visits LIMIT 3"),
    ("SELECT COUNT(*) FROM visits WHERE (points > 40) = 1",
     "SELECT COUNT(*) FROM visits WHERE (points > 40) = TRUE"),
    ("SELECT COUNT(*) FROM visits WHERE (points > 40) <> 0",
     "SELECT COUNT(*) FROM visits WHERE (points > 40) <> FALSE"),
    ("SELECT SUM(points > 40) FROM visits", "SELECT SUM(CAST(points > 40 AS INTEGER)) FROM visits"),
    ("SELECT AVG(points > 40) FROM visits", "SELECT AVG(CAST(points > 40 AS INTEGER)) FROM visits"),
    ("SELECT COUNT(CAST(note AS VARCHAR(3))) FROM visits",
     "SELECT COUNT(SUBSTR(note, 1, 3)) FROM visits"),
    ("SELECT COUNT(CAST(points AS DECIMAL(9, 1))) FROM visits",
     "SELECT COUNT(ROUND(CAST(points AS DOUBLE), 1)) FROM visits"),
    ("SELECT SUM(IFF(points > 40, 1, 0)) FROM visits",
     "SELECT SUM(CASE WHEN points > 40 THEN 1 ELSE 0 END) FROM visits"),
    ("SELECT SUM(NVL(points, 1)), SUM(IFNULL(points, 2)), SUM(ZEROIFNULL(points)) FROM visits",
     "SELECT SUM(COALESCE(points, 1)), SUM(COALESCE(points, 2)), SUM(COALESCE(points, 0)) FROM visits"),
    ("SELECT COUNT(NULLIFZERO(points)) FROM visits", "SELECT COUNT(NULLIF(points, 0)) FROM visits"),
    ("SELECT SUM(NVL2(note, points, 7)) FROM visits",
     "SELECT SUM(CASE WHEN NOT note IS NULL THEN points ELSE 7 END) FROM visits"),
    ("SELECT SUM(DECODE(plan, 'gold', 5, NULL, 6, points)) FROM visits",
     "SELECT SUM(CASE WHEN plan = 'gold' THEN 5 WHEN plan IS NULL THEN 6 ELSE points END) FROM visits"),
    ("SELECT SUM(DECODE(grade, floor, 5)) FROM visits",
     "SELECT SUM(CASE WHEN grade IS NOT DISTINCT FROM floor THEN 5 END) FROM visits"),
    ("SELECT COUNT(*) FROM visits WHERE EQUAL_NULL(grade, floor)",
     "SELECT COUNT(*) FROM visits WHERE grade IS NOT DISTINCT FROM floor"),
    ("SELECT DIV0(SUM(points), COUNT(*)) FROM visits",
     "SELECT IF(COUNT(*) = 0, 0, SUM(points) / COUNT(*)) FROM visits"),
    ("SELECT SUM(DIV0NULL(points, grade)) FROM visits",
     "SELECT SUM(IF(grade = 0 OR grade IS NULL, 0, points / grade)) FROM visits"),
    ("SELECT SKEW(points) FROM visits", "SELECT SKEWNESS(points) FROM visits"),
    ("FROM visits AS v SELECT plan, COUNT(*) WHERE v.points > 4 GROUP BY plan ORDER BY 2 LIMIT 1",
     "SELECT plan, COUNT(*) FROM visits AS v WHERE v.points > 4 GROUP BY plan ORDER BY 2 LIMIT 1"),
    ("SELECT SUM(a) FROM (FROM visits SELECT points AS a) AS t",
     "SELECT SUM(a) FROM (SELECT points AS a FROM visits) AS t"),
    ("SELECT plan, COUNT(*), FROM visits GROUP BY plan,",
     "SELECT plan, COUNT(*) FROM visits GROUP BY plan"),
    ("SELECT COUNT(*) FROM (visits) AS v WHERE v.points > 4",
     "SELECT COUNT(*) FROM visits AS v WHERE v.points > 4"),
    ("SELECT SUM(points // 10) FROM visits", "SELECT SUM(TRUNC(points / 10)) FROM visits"),
    ("SELECT SUM(points DIV 10) FROM visits", "SELECT SUM(TRUNC(points / 10)) FROM visits"),
    ("SELECT /*+ INDEX(v /* x */) */ COUNT(*) FROM visits /*+ NOLOCK */ WHERE note = '/*+'",
     "SELECT COUNT(*) FROM visits WHERE note = '/*+'"),
    ("SELECT SUM(SAFE.SQRT(points)), SUM(SAFE_ADD(points, 1)), SUM(SAFE_NEGATE(points)) FROM visits",
     "SELECT SUM(SQRT(points)), SUM(points + 1), SUM(-points) FROM visits"),
    ("SELECT SUM(points, 0, 10), AVG(points * GREATEST(grade, 1), 0, 90) FROM visits",
     "SELECT SUM(CLAMP(points, 0, 10)), AVG(CLAMP(points * GREATEST(grade, 1), 0, 90)) FROM visits"),
    ("PIVOT visits ON plan IN ('gold', 'free') USING SUM(points), COUNT(*) AS n GROUP BY grade ORDER BY 2",
     "SELECT grade, SUM(points) FILTER (WHERE plan = 'gold'), COUNT(*) FILTER (WHERE plan = 'gold'),"
     " SUM(points) FILTER (WHERE plan = 'free'), COUNT(*) FILTER (WHERE plan = 'free')"
     " FROM visits GROUP BY grade ORDER BY 2"),
    ("PIVOT visits ON plan USING AVG(points) GROUP BY member LIMIT 3",
     "SELECT member, AVG(points) FILTER (WHERE plan = 'basic'), AVG(points) FILTER (WHERE plan = 'gold'),"
     " AVG(points) FILTER (WHERE plan = 'none at all') FROM visits GROUP BY member LIMIT 3"),
    ("SELECT varPop(points), covarSamp(points, grade), COVAR(points, grade) FROM visits",
     "SELECT VAR_POP(points), COVAR_SAMP(points, grade), COVAR_POP(points, grade) FROM visits"),
    ("SELECT COUNT(*) FROM visits WHERE points = 30.0 OR points IN (7.0, 8)",
     "SELECT COUNT(*) FROM visits WHERE points = 30 OR points IN (7, 8)"),
    ("SELECT COUNT(*) FROM visits WHERE born < CURRENT_DATE - 1 AND born > TODAY()",
     "SELECT COUNT(*) FROM visits WHERE born < DATE '2024-02-29' - 1 AND born > DATE '2024-02-29'"),
    ("SELECT SUM(n) FROM (SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon = 0.5) COUNT(*) AS n"
     " FROM visits GROUP BY plan) AS t",
     "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon = 0.5) SUM(n)"
     " FROM (SELECT COUNT(*) AS n FROM visits GROUP BY plan) AS t"),
    ("SELECT UPPER(plan), 1, COUNT(*) + 1, member FROM visits GROUP BY ALL",
     "SELECT UPPER(plan), 1, COUNT(*) + 1, member FROM visits GROUP BY UPPER(plan), member"),
    ("SELECT MIN(DISTINCT points), MAX(DISTINCT score) FROM visits",
     "SELECT MIN(points), MAX(score) FROM visits"),
    ("SELECT COUNT(*), 1 FROM visits GROUP BY ALL", "SELECT COUNT(*), 1 FROM visits"),
    ("SELECT COUNT(*) FROM visits WHERE points = ANY(ARRAY[7, 8]) OR plan = SOME (['gold'])",
     "SELECT COUNT(*) FROM visits WHERE points IN (7, 8) OR plan IN ('gold')"),
    ("SELECT COUNT(*) FROM visits WHERE ratio BETWEEN 0.06 - 0.01 AND 0.06 + 0.01",
     "SELECT COUNT(*) FROM visits WHERE ratio BETWEEN 0.05 AND 0.07"),
    ("SELECT COUNT(*) FROM visits WHERE ratio < -0.1 * 3 + 1",
     "SELECT COUNT(*) FROM visits WHERE ratio < 0.7"),
    ("SELECT COUNT(*) FROM visits WHERE born < DATE '2000-01-01' + INTERVAL '1' YEAR (2)",
     "SELECT COUNT(*) FROM visits WHERE born < DATE '2000-01-01' + INTERVAL 1 YEAR"),
]  # fmt: skip
REFUSED = [
    ("SELECT COUNT(*) FROM other.visits", "no schema other"),
    ("SELECT COUNT(`nobody`) FROM visits", "no column nobody"),
    ("SELECT COUNT(CAST(points AS INTEGER(3))) FROM visits", "this type is not supported"),
    ("SELECT COUNT(CAST(points AS DECIMAL(1, 2, 3))) FROM visits", "not valid SQL|not supported"),
    ("SELECT COUNT(*) FROM visits WHERE (points > 40) = 2", "do not mix"),
]


@pytest.fixture(scope="module")
def policy() -> Policy:
    return read_policy(HERE / "visits.toml")


def meaning(text: str, policy: Policy) -> object:
    """The query without the labels of its columns."""
    read = statement(text, policy, today=19_782)  # 2024-02-29
    assert isinstance(read, Select)
    query = read.query
    outputs = [output.expression for output in query.outputs]
    return (outputs, query.aggregates, query.where, query.keys, query.limit, query.table,
            query.options, query.subqueries)  # fmt: skip


@pytest.mark.parametrize(("theirs", "ours"), ALIKE)
def test_a_spelling_means_the_same(policy: Policy, theirs: str, ours: str) -> None:
    assert meaning(theirs, policy) == meaning(ours, policy)


@pytest.mark.parametrize(("text", "message"), REFUSED)
def test_what_is_near_a_spelling_is_refused(policy: Policy, text: str, message: str) -> None:
    with pytest.raises(StatementError, match=message):
        statement(text, policy)


@pytest.mark.parametrize(("every", "each"), [
    ("ORDER BY ALL", "ORDER BY 1, 2"),
    ("ORDER BY ALL DESC NULLS FIRST", "ORDER BY 1 DESC NULLS FIRST, 2 DESC NULLS FIRST"),
])  # fmt: skip
def test_order_by_all_is_by_each_column(policy: Policy, every: str, each: str) -> None:
    asked = "SELECT plan, COUNT(*) FROM visits GROUP BY plan"
    whole, written = (statement(f"{asked} {order}", policy) for order in (every, each))
    assert isinstance(whole, Select)
    assert isinstance(written, Select)
    assert len(whole.query.order) == 2
    assert whole.query.order == written.query.order


def test_order_by_all_is_by_an_alias_of_that_name(policy: Policy) -> None:
    text = "SELECT plan, COUNT(*) AS all FROM visits GROUP BY plan ORDER BY all"
    read = statement(text, policy)
    assert isinstance(read, Select)
    [ordering] = read.query.order
    assert ordering.expression == read.query.outputs[1].expression


def test_top_is_a_name_where_no_number_follows() -> None:
    from dpdb.sql.text.dialect import parse, tokenize  # noqa: PLC0415

    text = "SELECT top, COUNT(*) FROM t GROUP BY top"
    [tree] = parse(tokenize(text), text)
    assert tree is not None
    assert tree.args.get("limit") is None


def test_another_name_of_a_function_is_shown_as_written(policy: Policy) -> None:
    select = statement("SELECT Mean(points), AVG(points) AS mean FROM visits ORDER BY mean", policy)
    assert isinstance(select, Select)
    assert [output.label for output in select.query.outputs] == ["MEAN(points)", "mean"]
    assert len(select.query.aggregates) == 1


def test_sqlglots_parser_is_used_as_it_is() -> None:
    from sqlglot.parser import Parser  # noqa: PLC0415

    from dpdb.sql.text.dialect import Dpdb  # noqa: PLC0415

    # Where sqlglot is compiled, a subclass of it would refuse every statement.
    assert Dpdb.parser_class is Parser


def test_the_name_of_a_budget_is_a_schema(policy: Policy) -> None:
    named = replace(policy, lasting=LastingBudget("survey", Path("nowhere")))
    assert meaning("SELECT COUNT(*) FROM survey.visits", named) == meaning(
        "SELECT COUNT(*) FROM visits", named
    )


@pytest.mark.parametrize("prefix", ["", "  ", "SELECT COUNT(*) FROM visits UNION ALL "])
@pytest.mark.parametrize(
    "text",
    ["SELECT COUNT(*) FROM (FROM visits) AS t", "FROM visits SELECT COUNT(*) WHERE grade > 1"],
)
def test_columns_of_from_first_are_called_as_they_are_written(
    policy: Policy, prefix: str, text: str
) -> None:
    read = statement(prefix + text, policy)
    assert isinstance(read, Select)
    assert [output.label for output in read.query.outputs] == ["COUNT(*)"]


def test_a_semicolon_in_backticks_ends_no_statement() -> None:
    from dpdb.sql.text.splitting import split  # noqa: PLC0415

    assert len(list(split("SELECT COUNT(`a;b`) FROM t; SELECT 1"))) == 2
