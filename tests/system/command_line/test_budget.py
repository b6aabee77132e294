"""The budget at the command line: sums are exact, and a refusal says what is short."""

from __future__ import annotations

from pathlib import Path

from tests.support.command_line import COUNT, MEAN, Run


def test_ten_tenths_are_one(run: Run, people: Path) -> None:
    queries = [f"SELECT COUNT(*) FROM people WHERE age > {age}" for age in range(20, 31)]
    script = "; ".join(["SET epsilon = 0.1", *queries, "SHOW BUDGET"])
    words = ("--epsilon", 1, "--queries", 100, "--json", "--on-error", "continue", "-c", script)
    ran = run(people, *words)
    assert ran.code == 3
    _, *ten, eleventh, _ = ran.answers
    assert all("rows" in answer for answer in ten)
    assert len(ten) == 10
    assert ten[-1]["budget"]["epsilon_left"] == 0.0
    assert ten[-1]["budget"]["queries_left"] == 90
    assert eleventh["error"]["kind"] == "BudgetExceeded"


def test_thirds_are_one(run: Run, people: Path) -> None:
    queries = [f"SELECT AVG(age) FROM people WHERE age > {age}" for age in range(20, 23)]
    ran = run(people, "--epsilon", 1, "--queries", 3, "--json", "-c", "; ".join(queries))
    assert ran.code == 0
    assert ran.answers[-1]["budget"]["epsilon_left"] == 0.0
    assert ran.answers[-1]["budget"]["queries_left"] == 0


def test_a_refusal_says_requested_left_and_short(run: Run, people: Path) -> None:
    script = f"SET epsilon = 0.7; {COUNT}; {MEAN}; {COUNT}; SET epsilon = 0.3; {MEAN}"
    ran = run(people, "--epsilon", 1, "--on-error", "continue", "--json", "-c", script)
    assert ran.code == 3
    refused = ran.answers[2]["error"]
    assert "0.7 requested, 0.3 left, short by 0.4" in refused["message"]
    # The session goes on: repeats are free, and less can still be had.
    assert ran.answers[3]["repeat"] is True
    assert ran.answers[5]["budget"]["epsilon_left"] == 0.0


def test_a_refusal_by_the_limit_says_so(run: Run, people: Path) -> None:
    ran = run(people, "--queries", 1, "-c", f"{COUNT}; {MEAN}")
    assert ran.code == 3
    assert "the only query is used" in ran.err


def test_both_limits_hold_whatever_is_asked(run: Run, people: Path) -> None:
    script = "; ".join(
        f"SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon=0.001) {COUNT[7:]} WHERE age > {age}"
        for age in (20, 21, 22)
    )
    ran = run(people, "--queries", 2, "--json", "-c", script)
    assert ran.code == 3
    assert [answer.get("cost", {}).get("epsilon") for answer in ran.answers] == [0.001, 0.001, None]


def test_errors_cost_nothing(run: Run, people: Path) -> None:
    script = "SELECT nope FROM people; SELECT SUM(name) FROM people; SELECT; SHOW BUDGET"
    ran = run(people, "--json", "--on-error", "continue", "-c", script)
    assert ran.answers[-1]["budget"]["epsilon_left"] == 1
    assert ran.answers[-1]["budget"]["queries_left"] == 10


def test_what_the_command_line_says_goes_before_the_policy(run: Run, people: Path) -> None:
    words = ("--epsilon", "2.5", "--queries", 5, "--delta", "0.001", "--neighbors", "replace")
    ran = run(people, *words, "--json", "-c", COUNT)
    [answer] = ran.answers
    assert answer["budget"] == {
        "epsilon": 2.5, "epsilon_left": 2.5 - answer["cost"]["epsilon"], "delta": 0.001,
        "delta_left": 0.001, "queries": 5, "queries_left": 4,
    }  # fmt: skip
    assert answer["rows"] == [[10_000]]
