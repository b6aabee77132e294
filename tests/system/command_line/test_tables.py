"""Tables and their names, policies, and bounds on the command line."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.command_line import Make, Run


def test_table_is_the_only_one(run: Run, people: Path) -> None:
    script = "SELECT COUNT(*) FROM table WHERE table.age > 30; DESCRIBE table; DESC TABLE"
    assert run(people, "-c", script).code == 0


def test_a_table_is_named_after_its_file(run: Run, make: Make) -> None:
    path = make("a,b\n1,x\n", name="odd name-1")
    ran = run(path, "--json", "-c", 'SHOW TABLES; SELECT COUNT(*) FROM "odd name-1"')
    assert ran.code == 0
    assert ran.answers[0]["rows"] == [["odd name-1", 2, "row"]]


def test_a_table_that_is_called_table(run: Run, make: Make) -> None:
    one, two = make("a\n1\n", name="table"), make("b\n1\n", name="other")
    ran = run(one, two, "-c", "SELECT COUNT(DISTINCT a) FROM table")
    assert ran.code == 0


def test_two_files(run: Run, people: Path) -> None:
    students = people.with_name("students.csv")
    script = (
        "SHOW TABLES; SELECT COUNT(*) FROM people; SELECT COUNT(*) FROM students; "
        "SELECT COUNT(*) - (SELECT COUNT(*) FROM students) FROM people; SHOW BUDGET"
    )
    ran = run(people, students, "--json", "-c", script)
    assert ran.code == 0
    assert ran.answers[0]["rows"] == [["people", 5, "row"], ["students", 3, "row"]]
    assert ran.answers[-1]["budget"]["queries_left"] == 7
    ran = run(people, students, "-c", "SELECT COUNT(*) FROM table")
    assert ran.code == 1
    assert "hint: tables are people, students" in ran.err


def test_two_files_of_one_name(run: Run, people: Path, make: Make) -> None:
    ran = run(people, make("a\n1\n", name="PEOPLE"), "-c", "SHOW TABLES")
    assert (ran.code, ran.out) == (2, "")


def test_two_files_that_do_not_agree_on_the_budget(run: Run, people: Path, make: Make) -> None:
    policy = "[budget]\nepsilon = 2\n[tables.t.columns]\na = { type = 'text' }\n"
    ran = run(people, make("a\n1\n", policy), "-c", "SHOW TABLES")
    assert (ran.code, ran.out) == (2, "")
    assert "budget" in ran.err


def test_a_policy_instead_of_a_file(run: Run, people: Path) -> None:
    ran = run(people.with_suffix(".toml"), "--json", "-c", "SHOW TABLES")
    assert ran.rows == [["people", 5, "row"]]


def test_without_a_policy(run: Run, make: Make) -> None:
    path = make("age,name\n30,x\n40,y\n,\n")
    script = (
        "DESCRIBE t; SELECT COUNT(*) FROM t; SELECT COUNT(age) FROM t WHERE age > 30; "
        "SELECT SUM(age) FROM t WHERE age BETWEEN 0 AND 100; SELECT AVG(CLAMP(age, 0, 100)) FROM t;"
        "SELECT COUNT(DISTINCT name) FROM t WHERE name LIKE 'x%'; SELECT SUM(age) FROM t"
    )
    ran = run(path, "--json", "-c", script)
    assert ran.code == 1
    assert [row[:2] for row in ran.answers[0]["rows"]] == [
        ["age", "text or number (guessed)"],
        ["name", "text or number (guessed)"],
    ]
    assert ran.answers[-1]["error"]["kind"] == "MissingBounds"
    for way in ("policy", "--bounds age=", "CLAMP(", "WHERE"):
        assert way in ran.answers[-1]["error"]["hint"]


def test_bounds_on_the_command_line(run: Run, make: Make) -> None:
    path = make("age,a=b\n30,1\n40,2\n")
    words = ("--bounds", "AGE=-1.5:100", "--bounds", "a=b=0:5", "--json")
    ran = run(path, *words, "-c", 'DESCRIBE t; SELECT SUM(age), SUM("a=b") FROM t')
    assert ran.code == 0
    rows = [row[:4] for row in ran.answers[0]["rows"]]
    assert rows == [["age", "number", -1.5, 100], ["a=b", "number", 0, 5]]
    assert [r["sensitivity"] for r in ran.answers[1]["releases"]] == [100, 5]


@pytest.mark.parametrize("bounds", ["age=0:1e30", "age=0.5:0.6", "age=-1e300:1e300"])
def test_bounds_no_policy_could_have(run: Run, people: Path, bounds: str) -> None:
    # The policy's own check: an integer has whole bounds, at most 2^53 from zero.
    ran = run(people, "--bounds", bounds, "-c", "SELECT SUM(age) FROM people")
    assert (ran.code, ran.out) == (2, "")


def test_bounds_are_changed_for_the_policy(run: Run, people: Path) -> None:
    ran = run(people, "--bounds", "age=0:120", "--json", "-c", "SELECT SUM(age) FROM people")
    assert ran.answers[0]["releases"][0]["sensitivity"] == 120
