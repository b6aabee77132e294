"""What a statement may be made of: its size bounds the work of reading and planning it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from dpdb.errors import TooLarge
from dpdb.plan.ranges import ranges
from dpdb.policy.catalog import Policy
from dpdb.sql.selects import binder
from dpdb.sql.selects.statements import Select, statement
from dpdb.sql.syntax.trees import MAX_EXPRESSIONS, MAX_WILDCARDS
from dpdb.sql.text.tokens import MAX_CHAIN, MAX_SELECTS, MAX_TOKENS

WHERE = "SELECT COUNT(*) FROM people WHERE "


def refused(text: str, policy: Policy) -> TooLarge:
    with pytest.raises(TooLarge) as found:
        statement(text, policy)
    return found.value


CHAINS = {
    "sums": WHERE + "age + " * 2_000 + "1 > 3",
    "comparisons": WHERE + "age = " * 2_000 + "1",
    "IS NULL": WHERE + "age" + " IS NULL" * 2_000,
    "casts": WHERE + "age" + "::INT" * 2_000 + " > 3",
    "joins": "SELECT COUNT(*) FROM people" + " JOIN people" * 2_000,
    "unions": "SELECT COUNT(*) FROM people" + " UNION TABLE people" * 1_000,
    "in parentheses": WHERE + "(" + "age + " * 2_000 + "1) > 3",
    "columns called end": WHERE + "(" * 9 + ("age + " * 100 + "end + ") * 9 + "1" + ")" * 9,
    "columns called case": WHERE + ("age + " * 100 + "t.case + ") * 9 + "1 > 3",
    "such columns in a CASE": WHERE + "CASE " * 9 + ("age + " * 100 + "end + ") * 9 + "1",
    "after parentheses": WHERE + "(age) + " * 1_000 + "1 > 3",
}


@pytest.mark.parametrize("text", CHAINS.values(), ids=CHAINS)
def test_a_long_chain_is_refused_before_it_is_parsed(
    policy: Policy, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    def parsed(*_: Any) -> None:
        pytest.fail("it was parsed")

    monkeypatch.setattr(binder, "select_tree", parsed)
    error = refused(text, policy)
    assert str(MAX_CHAIN) in error.message
    assert error.place is not None


@pytest.mark.parametrize(
    "text",
    [
        WHERE + " AND ".join(f"age > {i}" for i in range(1_200)),
        WHERE + f"age IN ({', '.join(map(str, range(1_000)))})",
        WHERE + "CASE " + " ".join(f"WHEN age = {i} THEN {i}" for i in range(300)) + " END > 3",
        WHERE + " + ".join(["age * 2 * 3"] * 38) + " > 3",
        "SELECT " + ", ".join(f"SUM(age + {i})" for i in range(200)) + " FROM people",
        "SELECT "
        + ", ".join(f"COUNT(*) AS case{i}, COUNT(*) AS case" for i in range(30))
        + " FROM people",
    ],
)
def test_what_people_write_is_within_the_limits(policy: Policy, text: str) -> None:
    assert isinstance(statement(text, policy), Select)


def test_tokens_and_selects_are_counted(policy: Policy) -> None:
    error = refused(WHERE + " AND ".join(["age > 1"] * (MAX_TOKENS // 4)), policy)
    assert "tokens" in error.message
    within = "age > (SELECT MAX(age) FROM people)"
    error = refused(WHERE + " AND ".join([within] * MAX_SELECTS), policy)
    assert "SELECTs" in error.message


# Short texts, of which each use of a part within a part would make an expression of any size.
DOUBLING = {
    "BETWEEN": WHERE + "CASE WHEN " * 17 + "age" + " BETWEEN 1 AND 2 THEN 1 END" * 17 + " = 1",
    "CASE": WHERE
    + "CASE " * 15
    + "age"
    + " WHEN 1 THEN 1 WHEN 2 THEN 2 WHEN 3 THEN 3 END" * 15
    + " > 3",
    "subqueries": WHERE
    + "(SELECT MAX(CASE " * 6
    + "age"
    + f"{''.join(f' WHEN {i} THEN {i}' for i in range(6))} END) FROM people)" * 6
    + " > 3",
}


@pytest.mark.parametrize("text", DOUBLING.values(), ids=DOUBLING)
def test_an_expression_is_counted_as_often_as_it_is_used(policy: Policy, text: str) -> None:
    assert str(MAX_EXPRESSIONS) in refused(text, policy).message


def test_aliases_do_not_double_without_end(policy: Policy) -> None:
    doubled = ", ".join(f"a{i} + a{i} AS a{i + 1}" for i in range(30))
    refused(f"SELECT COUNT(*) AS a0, {doubled} FROM people", policy)
    longer = ", ".join(f"a{i} + 1 AS a{i + 1}" for i in range(100))
    assert (
        "nested deeper" in refused(f"SELECT COUNT(*) AS a0, {longer} FROM people", policy).message
    )


@pytest.mark.parametrize("inner", ["", "age + age + "])
def test_intervals_are_worked_out_once_a_level(
    policy: Policy, monkeypatch: pytest.MonkeyPatch, inner: str
) -> None:
    """They were, and what can be NULL was, twice and more for every level of GREATEST."""
    calls = 0
    interval: Callable[..., Any] = ranges.interval

    def counted(*arguments: Any) -> Any:
        nonlocal calls
        calls += 1
        assert calls < 5_000
        return interval(*arguments)

    ranges.nullable.cache_clear()
    monkeypatch.setattr(ranges, "interval", counted)
    found = statement(
        f"SELECT SUM({f'GREATEST({inner}' * 18}age{', age, zip)' * 18}) FROM people", policy
    )
    assert isinstance(found, Select)
    argument = found.query.aggregates[0].argument
    assert argument is not None
    assert ranges.interval(argument, {}).bounded
    ranges.nullable(argument)


@pytest.mark.parametrize("operator", ["+", "*", "/"])
def test_bounds_have_an_end_to_their_digits(policy: Policy, operator: str) -> None:
    factors = f" {operator} ".join(f"0.{'3' * 300}{i}" for i in range(35))
    found = statement(f"SELECT SUM({factors}) FROM people", policy)
    assert isinstance(found, Select)
    argument = found.query.aggregates[0].argument
    assert argument is not None
    bounds = ranges.interval(argument, {})
    for end in (bounds.lower, bounds.upper):
        assert end.as_integer_ratio()[1] <= 10**400
    assert bounds.lower <= bounds.upper


def test_patterns_that_take_long_on_long_texts_have_a_limit_in_all(policy: Policy) -> None:
    """LIKE '%a_…': one cell of thousands of characters would take longer than a tick."""
    long = f"name LIKE '%{'_' * (MAX_WILDCARDS // 2 - 10)}y'"
    assert str(MAX_WILDCARDS) in refused(WHERE + " OR ".join([long] * 3), policy).message
    statement(WHERE + " OR ".join([long] * 2), policy)
    # A pattern with one of the two wildcards takes one pass over the text.
    plain = f"name LIKE '%{'a' * MAX_WILDCARDS}%'"
    statement(WHERE + " OR ".join([plain] * 3), policy)
