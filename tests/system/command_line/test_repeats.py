"""What was released once is free again, however it is asked; fresh noise is paid for."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.command_line import COUNT, Run

FIRST = "SELECT COUNT(*) FROM people WHERE age >= 40 AND zip = 31643"
GROUPED = "SELECT zip, COUNT(*) FROM people GROUP BY zip"


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (FIRST, FIRST),
        (FIRST, "select count( * )\nfrom PEOPLE -- hm\nwhere AGE>=40 and ZIP=31643"),
        (FIRST, "SELECT COUNT(*) FROM people WHERE zip = 31643 AND age >= 40"),
        (FIRST, "SELECT COUNT(*) FROM people WHERE 40 <= age AND 31643 = zip"),
        (FIRST, "SELECT COUNT(*) FROM people WHERE ((zip = 31643)) AND (age >= 40)"),
        (FIRST, "SELECT COUNT(*) FROM people WHERE zip = 31643 AND age >= 40 AND zip = 31643"),
        (FIRST, "SELECT COUNT(*) AS n FROM people AS p WHERE p.age >= 40 AND p.zip = 31643"),
        (FIRST, "SELECT COUNT(*) n FROM table t WHERE t.age >= 40 AND t.zip = 31643"),
        (FIRST, "SELECT 2 * COUNT(*) FROM people WHERE age >= 40 AND zip = 31643 LIMIT 1"),
        (FIRST, f"{FIRST} HAVING COUNT(*) > 0 ORDER BY COUNT(*) LIMIT 5 OFFSET 0"),
        (FIRST, "SELECT COUNT(*), COUNT(*) + 1 FROM people WHERE age >= 40 AND zip = 31643"),
        (
            "SELECT COUNT(*) FROM people WHERE age BETWEEN 30 AND 40",
            "SELECT COUNT(*) FROM people WHERE age <= 40 AND age >= 30",
        ),
        (
            "SELECT COUNT(*) FROM people WHERE zip IN (31643, 80127)",
            "SELECT COUNT(*) FROM people WHERE zip IN (80127, 31643, 80127)",
        ),
        (
            "SELECT COUNT(*) FROM people WHERE age > 60 OR age < 20",
            "SELECT COUNT(*) FROM people WHERE 20 > age OR 60 < age",
        ),
        (
            "SELECT COUNT(*) FROM people WHERE name = 'Abel Woods'",
            'SELECT COUNT(*) FROM people WHERE "Abel Woods" = "name"',
        ),
        (GROUPED, f"{GROUPED} ORDER BY COUNT(*) DESC LIMIT 3"),
        (GROUPED, "SELECT COUNT(*) AS n, zip AS area FROM people GROUP BY area HAVING n > 250"),
        (GROUPED, "SELECT COUNT(*), zip FROM people GROUP BY 2"),
        ("SELECT MEAN(age) FROM people", "SELECT AVG(age) FROM people"),
        ("SELECT SD(age) FROM people", "SELECT STDDEV_SAMP(age) FROM people"),
        ("SELECT MEDIAN(age) FROM people", "SELECT QUANTILE_CONT(age, 0.50) FROM people"),
        (
            "SELECT PERCENTILE_CONT(0.25) WITHIN GROUP (ORDER BY age) FROM people",
            "SELECT PERCENTILE_CONT(0.75) WITHIN GROUP (ORDER BY age DESC) FROM people",
        ),
        (
            "SELECT COUNT(*) FROM people WHERE age > (SELECT AVG(age) FROM people)",
            "SELECT COUNT(*) FROM people p WHERE (SELECT AVG(q.age) m FROM people q) < p.age",
        ),
        (FIRST, f"SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon=0.1) {FIRST[7:]}"),
    ],
)
def test_repeats_are_free(run: Run, people: Path, first: str, second: str) -> None:
    ran = run(people, "--json", "-c", f"{first}; {second}")
    assert ran.code == 0
    answer, again = ran.answers
    assert answer["repeat"] is False
    assert again["repeat"] is True
    assert again["cost"] == {"epsilon": 0.0, "delta": 0.0, "queries": 0}
    assert again["budget"] == answer["budget"]
    if first == second:
        assert (again["rows"], again["intervals"]) == (answer["rows"], answer["intervals"])


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (FIRST, COUNT),
        (
            "SELECT COUNT(*) FROM people WHERE age > 40",
            "SELECT COUNT(*) FROM people WHERE age >= 40",
        ),
        (
            "SELECT COUNT(*) FROM people WHERE age > 40",
            "SELECT COUNT(*) FROM people WHERE 40 > age",
        ),
        ("SELECT SUM(age) FROM people", "SELECT SUM(zip) FROM people"),
        ("SELECT MIN(age) FROM people", "SELECT MAX(age) FROM people"),
        (COUNT, f"SET epsilon = 0.2; {COUNT}"),
        (COUNT, GROUPED),
        (
            "SELECT COUNT(*) FROM people WHERE name = 'a'",
            "SELECT COUNT(*) FROM people WHERE name = 'A'",
        ),
        (
            "SELECT COUNT(*) FROM people WHERE CAST(age AS TEXT) = '20'",
            "SELECT COUNT(*) FROM people WHERE age = 20",
        ),
    ],
)
def test_other_questions_are_paid_for(run: Run, people: Path, first: str, second: str) -> None:
    ran = run(people, "--json", "-c", f"{first}; {second}")
    assert ran.code == 0
    assert ran.answers[-1]["repeat"] is False
    assert ran.answers[-1]["budget"]["queries_left"] == 8


def test_repeats_are_shown_as_such(run: Run, people: Path) -> None:
    ran = run(people, "-c", f"{COUNT}; {COUNT}")
    assert "repeated: free · left: ε 0.9 of 1, 9 of 10 queries" in ran.out


def test_fresh_noise_is_paid_for(run: Run, people: Path) -> None:
    asked = "SELECT SUM(income) FROM people"
    script = f"{asked}; SET repeats = 'fresh'; {asked}; {asked}; SET repeats = free; {asked}"
    first, _, second, third, _, last = run(people, "--json", "-c", script).answers
    assert [answer["repeat"] for answer in (first, second, third, last)] == [
        False, False, False, True,
    ]  # fmt: skip
    assert third["budget"]["queries_left"] == 7
    assert third["budget"]["epsilon_left"] == pytest.approx(0.7)
    assert last["rows"] == third["rows"]
    assert len({str(answer["rows"]) for answer in (first, second, third)}) == 3


def test_refused_repeats_are_not_remembered(run: Run, people: Path) -> None:
    script = f"SET epsilon = 2; {COUNT}; {COUNT}"
    ran = run(people, "--json", "--on-error", "continue", "-c", script)
    assert ["error" in answer for answer in ran.answers] == [False, True, True]
