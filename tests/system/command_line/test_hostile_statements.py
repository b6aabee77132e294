"""Statements made to break things: megabytes, depths, extremes."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.command_line import Make, Run
from tests.support.hostile import WHERE, check

LONG = {
    "spaces": WHERE + " " * 1_000_000 + "age > 3",
    "string": WHERE + f"name = '{'a' * 1_000_000}'",
    "comment": WHERE + f"/* {'a' * 1_000_000} */ age > 3",
    "name": WHERE + f"{'a' * 1_000_000} > 3",
    "quotes": WHERE + "'" * 1_000_001,
    "unclosed": WHERE + "name = '" + "a" * 1_000_000,
    "semicolons": ";" * 200_000,
    "opened comments": "/*" * 500_000,
    "dashes": "--\n" * 300_000,
    "not SQL": "\\" * 1_000_000,
}


@pytest.mark.parametrize("text", LONG.values(), ids=LONG)
def test_a_megabyte(run: Run, people: Path, text: str) -> None:
    check(run(people, stdin=text))


DEEP = {
    "parentheses": WHERE + "(" * 10_000 + "age > 3" + ")" * 10_000,
    "open parentheses": WHERE + "(" * 10_000,
    "close parentheses": WHERE + ")" * 10_000,
    "NOT": WHERE + "NOT " * 10_000 + "TRUE",
    "minus": WHERE + "- " * 10_000 + "age > 3",
    "plus": WHERE + "+" * 10_000 + "age > 3",
    "tilde": WHERE + "~" * 10_000 + "age > 3",
    "CASE": WHERE + "CASE WHEN " * 5_000 + "TRUE" + " THEN TRUE END" * 5_000,
    "brackets": WHERE + "age" + "[1]" * 5_000,
    "open brackets": WHERE + "[" * 10_000,
    "braces": WHERE + "{" * 10_000,
    "casts": WHERE + "age" + "::INT" * 5_000 + " > 3",
    "dots": WHERE + "a" + ".a" * 10_000,
    "functions": WHERE + "ABS(" * 5_000 + "age" + ")" * 5_000 + " > 3",
    "subqueries": WHERE + "age > (SELECT MAX(age) FROM people WHERE " * 900 + "TRUE" + ")" * 900,
    "joins": "SELECT COUNT(*) FROM people" + " JOIN people" * 5_000,
    "tables": "SELECT COUNT(*) FROM people" + ", people" * 5_000,
    "unions": "SELECT COUNT(*) FROM people" + " UNION SELECT COUNT(*) FROM people" * 2_000,
    "sums": WHERE + "age" + " + 1" * 9_000 + " > 3",
    "comparisons": WHERE + "age = " * 6_000 + "1",
    "BETWEEN": WHERE + "age BETWEEN " * 5_000 + "1",
    "LIKE": WHERE + "name LIKE " * 5_000 + "'x'",
    "IN": WHERE + "age IN (" * 5_000 + "1",
    "IS NULL": WHERE + "age" + " IS NULL" * 5_000,
    "COLLATE": WHERE + "name" + " COLLATE x" * 5_000 + " = 'a'",
    "INTERVAL": WHERE + "INTERVAL " * 10_000 + "'1'",
    "DATE": WHERE + "DATE " * 10_000 + "'1'",
    "lambdas": WHERE + "x -> " * 5_000 + "1",
    "concatenations": WHERE + "name || " * 5_000 + "'a' = 'b'",
}  # fmt: skip


@pytest.mark.parametrize("text", DEEP.values(), ids=DEEP)
def test_ten_thousand_deep(run: Run, people: Path, text: str) -> None:
    check(run(people, "-c", text), 1)


MANY = {
    "IN list of 100,000": WHERE + f"age IN ({', '.join(map(str, range(100_000)))})",
    "IN list over the limit": WHERE + f"age IN ({', '.join(map(str, range(1_001)))})",
    "columns": f"SELECT {', '.join(['COUNT(*)'] * 201)} FROM people",
    "aggregates": "SELECT LEAST("
    + ", ".join(f"COUNT(*) FILTER (WHERE age > {i})" for i in range(1_000))
    + ") FROM people",
    "noisy values": f"SELECT {', '.join(['MEDIAN(income) FILTER (WHERE age > {})'] * 60)}".format(
        *range(60)
    )
    + " FROM people GROUP BY age, zip",
    "pattern": WHERE + f"name LIKE '{'%a' * 501}'",
    "number": WHERE + "age > " + "1" * 90_000,
    "decimals": WHERE + "age > 0." + "1" * 90_000,
    "groups": "SELECT COUNT(*) FROM people GROUP BY " + "1" * 5_000,
    "order": "SELECT COUNT(*) FROM people ORDER BY " + "1" * 5_000,
    "limit": "SELECT COUNT(*) FROM people LIMIT " + "1" * 5_000,
    # Written in a few characters, larger than any memory:
    "exponent": WHERE + "age > 1e999999999",
    "small exponent": WHERE + "age > 1e-999999999",
    "exponent of a setting": "SET epsilon = 1e999999999",
    "small exponent of a setting": "SET epsilon = 1e-999999999",
    "exponent of an option":
        "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon=1e999999999) COUNT(*) FROM people",
    "exponent of a limit": "SELECT COUNT(*) FROM people LIMIT 1e999999999",
    "exponent of a quantile": "SELECT QUANTILE_CONT(age, 1e-999999999) FROM people",
}  # fmt: skip


@pytest.mark.parametrize("text", MANY.values(), ids=MANY)
def test_over_a_limit(run: Run, people: Path, text: str) -> None:
    ran = run(people, "-c", text)
    check(ran, 1)
    # An error is a few lines, however long the statement.
    assert len(ran.err) < 1_000


@pytest.mark.parametrize(
    "text",
    [
        "SELECT COUNT(*) FROM {}",
        "SELECT {}(age) FROM people",
        "SELECT {} {} FROM people",
        WHERE + "{} > 3",
        WHERE + "{}(age) > 3",
        WHERE + "CAST('{}' AS DATE) > '2000-01-01'",
        "SET {} = 3",
        "SET repeats = '{}'",
        "DESCRIBE {}",
        "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS({} = 3) COUNT(*) FROM people",
    ],
)
def test_long_names_are_cut_short(run: Run, people: Path, text: str) -> None:
    ran = run(people, "-c", text.replace("{}", "a" * 40_000))
    check(ran, 1)
    assert len(ran.err) < 1_000


def test_many_columns_are_not_all_named(run: Run, make: Make) -> None:
    path = make(",".join(f"column{i}" for i in range(5_000)) + "\n")
    ran = run(path, "-c", "SELECT COUNT(*) FROM t WHERE x = 1")
    check(ran, 1)
    assert len(ran.err) < 1_000


@pytest.mark.parametrize("option", ["--epsilon", "--delta", "--bounds"])
@pytest.mark.parametrize("exponent", ["1e999999999", "1e-999999999"])
def test_exponents_on_the_command_line(run: Run, people: Path, option: str, exponent: str) -> None:
    value = f"age=0:{exponent}" if option == "--bounds" else exponent
    ran = run(people, option, value, "-c", "SHOW BUDGET")
    check(ran, 2)


def test_up_to_the_limits(run: Run, people: Path) -> None:
    ages = ", ".join(f"{age}" for age in range(1_000))
    statements = [
        WHERE + "(" * 19 + "age > 3" + ")" * 19,
        WHERE + "NOT " * 18 + "age > 3",
        WHERE + f"age IN ({ages})",
        WHERE + " AND ".join(f"age <> {age}" for age in range(1_200)),
        WHERE + "name LIKE '%a%a%a%a%a%a%a%a'",
        WHERE + "age > " + "(SELECT AVG(age) FROM people WHERE age > " * 9 + "1" + ")" * 9,
        f"SELECT {', '.join(f'COUNT(*) FILTER (WHERE age > {i})' for i in range(200))} FROM people",
        "SELECT age, zip, COUNT(*), MEDIAN(age) FROM people GROUP BY age, zip",
        WHERE + "age > " + "1" * 300,
        WHERE + "age > 0." + "1" * 390,
        WHERE + f"name = '{'a' * 90_000}'",
        f'SELECT COUNT(*) AS "{"a" * 40_000}" FROM people',
    ]
    ran = run(people, "--queries", 100, "--csv", "-c", ";".join(statements))
    check(ran, 0)


@pytest.mark.parametrize(
    "text",
    [
        "SELECT VARIANCE(CLAMP(income * 1e200, 0, 1e250)) FROM people",
        "SELECT STDDEV(CLAMP(income * 1e200, 0, 1e299)) FROM people",
        "EXPLAIN SELECT VARIANCE(CLAMP(income * 1e200, 0, 1e250)) FROM people",
        "SELECT SUM(CLAMP(income * 1e200, -1e299, 1e299)) FROM people",
        "SELECT AVG(CLAMP(income * 1e200, 0, 1e299)) FROM people",
        "SELECT MEDIAN(CLAMP(income * 1e200, 0, 1e299)) FROM people",
        "SELECT SUM(CLAMP(income, 0, 1e-300)), VARIANCE(CLAMP(income, 0, 1e-300)) FROM people",
        "SELECT AVG(CLAMP(income, 7, 7)), VARIANCE(CLAMP(income, 7, 7)) FROM people",
        "SELECT SUM(CLAMP(income, 7, 3)), MEDIAN(CLAMP(income, 7, 3)) FROM people",
        "SELECT SUM(income * income * income * income * income) FROM people",
        "SELECT ROUND(1e300 * AVG(age)), ROUND(1e300 * AVG(age), 9) FROM people",
        "SELECT CAST(1e300 * AVG(age) AS INTEGER), CAST(1e15 * AVG(age) AS DATE) FROM people",
        "SELECT DATE '9999-12-31' + COUNT(*), DATE '0001-01-01' - COUNT(*) FROM people",
        "SELECT SUM(income) * SUM(income) * 1e290 * 1e290 FROM people",
        "SELECT COUNT(*) FROM people WHERE 1e300 * 1e300 > age OR age / 0 > 1 OR age % 0 > 1",
        "SELECT AVG(age) FROM people WHERE age > 60 AND age < 20",
        "SELECT MEDIAN(age), MAX(age), STDDEV(age), MODE(zip) FROM people WHERE FALSE",
    ],
)
@pytest.mark.parametrize("form", ["json", "table"])
def test_extreme_numbers(run: Run, people: Path, text: str, form: str) -> None:
    ran = run(people, "--epsilon", 10_000, "--format", form, "-c", text)
    check(ran)
    if ran.code == 0 and form == "json":
        assert "Infinity" not in ran.out
        assert "NaN" not in ran.out
