"""Attack 27: statements that are too large, and options that nobody means."""

from __future__ import annotations

import time
from dataclasses import replace
from fractions import Fraction

import pytest

from dpdb.errors import InvalidOption, StatementError, TooLarge
from dpdb.policy.budget import Budget
from dpdb.session.session import Session
from tests.support.known_attacks import ROWS, asking, people, with_delta


def _wide(number: int) -> str:
    return ", ".join(["COUNT(*)"] * number)


EXHAUSTING = {
    "parentheses": "SELECT COUNT(*) FROM t WHERE " + "(" * 50 + "age" + ")" * 50 + " > 3",
    "more parentheses": "SELECT " + "(" * 2400 + "1" + ")" * 2400 + " FROM t",
    "NOTs": "SELECT COUNT(*) FROM t WHERE " + "NOT " * 500 + "smoker",
    "minuses": "SELECT SUM(" + "- " * 3000 + "age) FROM t",
    "sums": "SELECT COUNT(*) FROM t WHERE " + " + ".join(["age"] * 2400) + " > 3",
    "comparisons": "SELECT COUNT(*) FROM t WHERE age " + "= age " * 2400,
    "IS": "SELECT COUNT(*) FROM t WHERE age" + " IS NOT NULL" * 1600,
    "casts": "SELECT COUNT(age" + "::int" * 2400 + ") FROM t",
    "CASEs": "SELECT COUNT(" + "CASE WHEN smoker THEN " * 50 + "1" + " END" * 50 + ") FROM t",
    "IN": f"SELECT COUNT(*) FROM t WHERE age IN ({', '.join(map(str, range(100_000)))})",
    "a pattern": f"SELECT COUNT(*) FROM t WHERE name LIKE '{'%a' * 5000}'",
    "a cross product": "SELECT COUNT(*) FROM t GROUP BY id, age, city, smoker",
    "columns": f"SELECT {_wide(900)} FROM t",
    "more columns": f"SELECT {_wide(3000)} FROM t",
    "unions": "SELECT COUNT(*) FROM t" + " UNION SELECT COUNT(*) FROM t" * 600,
    "joins": "SELECT COUNT(*) FROM t" + " JOIN t" * 2400,
    "names of types": "SELECT " + ", ".join(["DATE(" * 17 + "1" + ")" * 17] * 9) + " FROM t",
    "a column called end": "SELECT " + "DATE(end, " * 40 + "1" + ")" * 40 + " FROM t",
    "joins without ON": "SELECT COUNT(*) FROM t" + " JOIN t" * 40,
    "joins of what is called on": "SELECT COUNT(*) FROM t" + " JOIN t AS on" * 40,
    "subqueries": "SELECT COUNT(*) FROM t WHERE age > "
    + "(SELECT AVG(age) FROM t WHERE age > " * 30,
    "a long text": "SELECT COUNT(*) FROM t WHERE name = '" + "x" * 1_000_000 + "'",
    "a huge number": "SELECT COUNT(*) FROM t WHERE age < 1e999999999",
    "a tiny number": "SELECT COUNT(*) FROM t WHERE age < 1e-999999999",
    "digits": "SELECT COUNT(*) FROM t WHERE age < " + "9" * 50_000,
    "LIMIT": "SELECT COUNT(*) FROM t LIMIT 1e999999999",
    "brackets": "SELECT COUNT(*) FROM t WHERE age" + "[1]" * 1600 + " > 3",
    "comments": "SELECT COUNT(*) FROM t " + "/* " * 3000,
}


@pytest.mark.parametrize("name", EXHAUSTING)
def test_a27_large_statements_are_refused_at_once(tmp_path, name):
    """A statement that takes the stack, the memory or the afternoon."""
    session = Session(people(tmp_path))
    started = time.monotonic()
    with pytest.raises(StatementError) as refused:
        session.execute(EXHAUSTING[name])
    assert time.monotonic() - started < 5
    assert len(refused.value.message) < 200
    assert session._loaded_engine is None


FAR_FETCHED = {
    "items": ", ".join(["epsilon=1"] * 1_200),
    "more items": ", ".join(["epsilon=1"] * 9_000),
    "most items": ", ".join(["epsilon=1"] * 10_000),
    "names": ", ".join(f"option{i} = {i}" for i in range(1_200)),
    "a long name": "x" * 90_000 + " = 1",
    "brackets": "noise_index = " + "[" * 2_400 + "1" + "]" * 2_400,
    "brackets that stay open": "noise_index = " + "[" * 15,
    "an index": f"noise_index = [{', '.join(['1'] * 1000)}]",
    "a long index": f"noise_index = [{'1,' * 2_400}1]",
    "commas": "," * 4_900,
    "equals": "=" * 9_800,
    "minuses": "epsilon = " + "- " * 4_900 + "1",
    "digits": f"error = {'9' * 90_000}",
    "an exponent": "error = 1e999999999",
    "a large error": "error = 1e300",
    "a small error": "error = 1e-300",
    "a small relative error": "relative_error = 1e-999999999",
    "certainty": "error = 1, confidence = 0.9999999999999999999",
    "more than certainty": f"error = 1, confidence = 0.{'9' * 80_000}",
    "no confidence": "error = 1, confidence = 1e-4000",
    "weights": "noise_index = [1e12, 1e-12]",
    "delta": "mechanism = 'gaussian', delta = 1e-4000",
}


@pytest.mark.parametrize("name", FAR_FETCHED)
def test_a27_options_that_nobody_means_are_refused_at_once(tmp_path, name):
    session = Session(with_delta(people(tmp_path)))
    started = time.monotonic()
    for text in (asking(FAR_FETCHED[name], "COUNT(*), SUM(age) FROM t"),
                 asking(FAR_FETCHED[name]), f"SET {FAR_FETCHED[name]}"):  # fmt: skip
        with pytest.raises((StatementError, InvalidOption)) as refused:
            session.execute(text)
        assert 10 < len(refused.value.message) <= 301
    assert time.monotonic() - started < 5
    assert session._loaded_engine is None
    assert session.balance.epsilon_left == 100


LARGE = {
    "ORs": " OR ".join(f"age = {i} AND id = 3" for i in range(600)),
    "a list": f"age IN ({', '.join(map(str, range(1000)))})",
    "LIKE": f"name LIKE '{'%a' * 400}%b'",
    "LIKE with places": f"name LIKE '%{'_a' * 150}b%'",
}


@pytest.mark.parametrize("name", LARGE)
def test_a27_what_is_allowed_is_answered_in_time(tmp_path, name):
    """The dearest conditions within the limits, on cells made for them."""
    rows = [f"1,{'a' * 20_000}{i},1,1,Rome,true,2000-01-01" for i in range(20)]
    session = Session(people(tmp_path, [*ROWS, *rows]))
    started = time.monotonic()
    session.execute(f"SELECT COUNT(*) FROM t WHERE {LARGE[name]}")
    assert time.monotonic() - started < 5


def test_a27_epsilon_too_small_to_select_with_is_refused(tmp_path):
    """At the smallest share the weights of a selection are all alike, and their rate is zero."""
    policy = replace(people(tmp_path), budget=Budget(Fraction(1, 10**9), Fraction(0), 10**9))
    session = Session(policy)
    for function in ("MIN(age)", "MEDIAN(pay)", "MODE(city)", "COUNT(*)", "SUM(pay)"):
        with pytest.raises((TooLarge, InvalidOption)):
            session.execute(f"SELECT {function} FROM t")
    assert session.execute("SHOW BUDGET").balance.queries_left == 10**9
