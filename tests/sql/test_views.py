"""SELECTs within FROM and WITH: they mean what the same query means without them."""

from __future__ import annotations

from fractions import Fraction

import pytest

from dpdb.errors import TooLarge
from dpdb.plan.logical.query import Query
from dpdb.plan.planner import plan
from dpdb.policy.catalog import Policy
from dpdb.privacy.accounting.accountants import BudgetShare
from dpdb.session.session import Session
from dpdb.sql.selects.statements import Select, statement
from dpdb.sql.syntax.trees import MAX_EXPRESSIONS, MAX_SUBQUERIES, MAX_WILDCARDS
from tests.support.plans import PRIVATE, secret_rows

MEAN = "(SELECT AVG(age) FROM t)"
FLAT = {
    "SELECT AVG(y) FROM (SELECT age * 2 AS y, zip FROM t WHERE pay > 5) AS d WHERE zip = 2":
        "SELECT AVG(age * 2) FROM t WHERE pay > 5 AND zip = 2",
    "SELECT COUNT(*) FROM (SELECT * FROM (SELECT * FROM t WHERE age > 3) WHERE pay > 3 OR ok)":
        "SELECT COUNT(*) FROM t WHERE age > 3 AND (pay > 3 OR ok)",
    "SELECT x.b, SUM(a) FROM (SELECT t.age, zip, ok FROM t) AS x(a, b) WHERE x.ok GROUP BY 1":
        "SELECT zip, SUM(age) FROM t WHERE ok GROUP BY zip",
    "SELECT y, COUNT(*) FROM (SELECT FLOOR(age / 10) AS y FROM t) GROUP BY y HAVING y > 2":
        "SELECT FLOOR(age / 10), COUNT(*) FROM t GROUP BY 1 HAVING FLOOR(age / 10) > 2",
    "SELECT SUM(age) FROM (SELECT pay AS age, age AS pay FROM t)": "SELECT SUM(pay) FROM t",
    "SELECT COUNT(*) FROM (SELECT zip AS z FROM t ORDER BY 1, z DESC, age)":
        "SELECT COUNT(*) FROM t",
    "SELECT MODE(d.city) FROM (SELECT x.* FROM t AS x) AS d": "SELECT MODE(city) FROM t",
    "WITH old AS (SELECT * FROM t WHERE age > 60), rich AS (SELECT pay FROM old WHERE pay > 9)"
    " SELECT AVG(pay), COUNT(*) FROM rich AS r WHERE r.pay < 99":
        "SELECT AVG(pay), COUNT(*) FROM t WHERE age > 60 AND pay > 9 AND pay < 99",
    "WITH t AS (SELECT age + 1 AS age FROM t) SELECT MAX(age) FROM t": "SELECT MAX(age + 1) FROM t",
    f"WITH d AS (SELECT age, age > {MEAN} AS old FROM t WHERE pay > (SELECT AVG(pay) FROM t))"
    f" SELECT COUNT(*) FROM d WHERE age < 2 * {MEAN} GROUP BY old":
        f"SELECT COUNT(*) FROM t WHERE pay > (SELECT AVG(pay) FROM t)"
        f" AND age < 2 * {MEAN} GROUP BY age > {MEAN}",
    f"WITH d AS (SELECT {MEAN} AS m, age > (SELECT AVG(pay) FROM t) AS old FROM t"
    f" WHERE {MEAN} = (SELECT AVG(pay) FROM t)) SELECT COUNT(*) FROM d GROUP BY old":
        f"SELECT COUNT(*) FROM t WHERE (SELECT AVG(pay) FROM t) = {MEAN}"
        " GROUP BY age > (SELECT AVG(pay) FROM t)",
    f"WITH d AS (SELECT pay, {MEAN} AS unread FROM t) SELECT SUM(pay) FROM d":
        "SELECT SUM(pay) FROM t",
    f"WITH unread AS (SELECT {MEAN} AS m FROM t) SELECT SUM(pay) FROM t": "SELECT SUM(pay) FROM t",
    "WITH d AS (SELECT age AS a FROM t WHERE ok) SELECT COUNT(*) FROM d"
    " WHERE a > (SELECT AVG(a) FROM d WHERE a > 5)":
        "SELECT COUNT(*) FROM t WHERE ok AND age > (SELECT AVG(age) FROM t WHERE ok AND age > 5)",
    "SELECT COUNT(*) FROM t WHERE pay > (WITH d AS (SELECT age + 1 AS a FROM t)"
    " SELECT (SELECT MAX(a) FROM d) - MIN(a) FROM d)":
        "SELECT COUNT(*) FROM t WHERE pay > (SELECT (SELECT MAX(age + 1) FROM t) - MIN(age + 1)"
        " FROM t)",
}  # fmt: skip


def query(text: str, policy: Policy = PRIVATE) -> Query:
    found = statement(text, policy)
    assert isinstance(found, Select)
    return found.query


def identity(text: str) -> tuple[object, ...]:
    share = BudgetShare(Fraction(1))
    return plan(query(text), PRIVATE, share, secret_rows).identity


@pytest.mark.parametrize(("nested", "flat"), FLAT.items())
def test_it_is_the_plan_of_the_flat_query(nested: str, flat: str) -> None:
    assert identity(nested) == identity(flat)


def test_the_same_query_written_with_it_is_a_repeat(policy: Policy) -> None:
    session = Session(policy)
    answer = session.execute("SELECT AVG(age * 2) FROM people WHERE income > 5 AND zip = 31643")
    again = session.execute(
        "WITH t AS (SELECT age * 2 AS y, zip FROM people WHERE income > 5)"
        " SELECT AVG(y) FROM t WHERE zip = 31643"
    )
    assert (again.rows, again.repeat, again.cost.epsilon) == (answer.rows, True, 0)
    assert again.columns == ("AVG(y)",)


def test_labels_are_those_of_the_outermost_select() -> None:
    text = (
        "WITH a AS (SELECT age, (SELECT 1 + MAX(age) FROM t) AS m, /* 0 */ zip FROM t)"
        " SELECT /* 7 */ zip, sum(age), count( * ) FILTER (WHERE age > (SELECT MIN(age) FROM a))"
        " FROM (SELECT age, zip FROM a) GROUP BY zip"
    )
    assert [output.label for output in query(text).outputs] == [
        "zip",
        "SUM(age)",
        "COUNT(*) FILTER (WHERE age > (SELECT MIN(age) FROM a))",
    ]


def test_a_label_keeps_the_case_of_names_that_are_keywords_elsewhere() -> None:
    renamed = "WITH a AS (SELECT zip AS Date, age AS percent FROM t)"
    read = query(
        f"{renamed} SELECT Date, sum(percent), max(DATE '2020-01-01') FROM a GROUP BY Date"
    )
    labels = ["Date", "SUM(percent)", "MAX(DATE '2020-01-01')"]
    assert [output.label for output in read.outputs] == labels


def doubled(column: str, times: int = 20) -> str:
    """A chain of tables, each with a column that uses the one before it twice."""
    tables = [f"t{i + 1} AS (SELECT {column} AS x FROM t{i})" for i in range(times)]
    return ", ".join(["WITH t0 AS (SELECT age AS x FROM t)", *tables])


HOSTILE = {
    "columns": (doubled("x + x"), MAX_EXPRESSIONS),
    "conditions": (
        f"WITH u AS (SELECT age AS x FROM t WHERE {' OR '.join(f'age = {i}' for i in range(700))})"
        + "".join(f", t{i} AS (SELECT x FROM u)" for i in range(21)),
        MAX_EXPRESSIONS,
    ),
    "columns of *": (
        f"WITH t0 AS (SELECT {' + '.join(['age'] * 38)} AS y, {' * '.join(['age'] * 38)} AS x FROM t)"
        + "".join(f", t{i + 1} AS (SELECT *, x AS x{i}, y AS y{i} FROM t{i})" for i in range(20)),
        MAX_EXPRESSIONS,
    ),
    "expressions of subqueries": (
        "WITH u AS (SELECT age AS x FROM t WHERE age > (SELECT MAX(age) FROM t WHERE "
        + " OR ".join(f"age = {i}" for i in range(700))
        + "))"
        + "".join(f", t{i} AS (SELECT x FROM u)" for i in range(21)),
        MAX_EXPRESSIONS,
    ),
    "lists": (
        f"WITH u AS (SELECT age IN ({', '.join(map(str, range(999)))}) AS y FROM t)"
        f", t20 AS (SELECT 1 AS x, {', '.join(f'NOT y AS y{i}' for i in range(12))} FROM u)",
        MAX_EXPRESSIONS,
    ),
    "long texts": (
        f"WITH u AS (SELECT '{'a' * 90_000}' AS y, note FROM t)"
        f", t20 AS (SELECT 1 AS x, {', '.join(f'y = note AS y{i}' for i in range(12))} FROM u)",
        MAX_EXPRESSIONS,
    ),
    "patterns": (
        f"WITH u AS (SELECT note LIKE '%{'_' * 200}' AS y FROM t)"
        ", t20 AS (SELECT y AND NOT y AS x FROM u)",
        MAX_WILDCARDS,
    ),
    "subqueries": (
        "WITH t0 AS (SELECT age AS x FROM t)"
        + "".join(
            f", t{i + 1} AS (SELECT x FROM t{i}"
            f" WHERE x > (SELECT MAX(x) FROM t{i}) AND x < (SELECT MIN(x) FROM t{i}))"
            for i in range(12)
        )
        + ", t20 AS (SELECT x FROM t12)",
        MAX_SUBQUERIES,
    ),
}


@pytest.mark.parametrize(("tables", "limit"), HOSTILE.values(), ids=HOSTILE)
def test_what_is_used_again_is_counted_again(tables: str, limit: int) -> None:
    with pytest.raises(TooLarge, match=f"more than {limit}") as found:
        statement(f"{tables} SELECT COUNT(x) FROM t20", PRIVATE)
    assert found.value.place is not None


def test_a_chain_as_long_as_a_statement_may_be_is_read() -> None:
    chain = "".join(f", t{i + 1} AS (SELECT *, {i} AS c{i} FROM t{i})" for i in range(48))
    assert identity(f"WITH t0 AS (SELECT age FROM t){chain} SELECT SUM(age) FROM t48") == identity(
        "SELECT SUM(age) FROM t"
    )
    deep = "(SELECT age FROM " * 19 + "t" + ")" * 19
    assert identity(f"SELECT SUM(age) FROM {deep}") == identity("SELECT SUM(age) FROM t")


def test_expressions_put_together_are_not_deeper_than_one_that_is_written() -> None:
    with pytest.raises(TooLarge, match="nested deeper"):
        statement(f"{doubled('x + 1', 41)} SELECT SUM(x) FROM t41", PRIVATE)
