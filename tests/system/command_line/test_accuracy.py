"""Accuracy that is asked for, on the command line: what scripts and people are told of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.command_line import Run

SELECT_KEYS = [
    "statement", "columns", "rows", "intervals", "releases", "cost", "budget", "private", "repeat",
]  # fmt: skip


def asking(options: str, select: str = "COUNT(*) FROM people") -> str:
    return f"SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS({options}) {select}"


def test_an_error_that_is_kept_is_noted(run: Run, people: Path) -> None:
    ran = run(people, "--json", "-c", f"{asking('error = 100')}; EXPLAIN {asking('error = 100')}")
    answer, explained = ran.answers
    assert list(answer) == [*SELECT_KEYS, "notes"]
    assert list(explained) == [*SELECT_KEYS, "explain", "notes"]
    assert answer["notes"] == explained["notes"]
    [note] = answer["notes"]
    assert (
        note
        == f"ε {answer['cost']['epsilon']} is the least that keeps the noise within ±100, 95 % sure"
    )
    [[cell]], [[(low, high)]] = answer["rows"], answer["intervals"]
    assert (low, high) == (cell - 100, cell + 100)
    assert answer["releases"][0]["epsilon"] == answer["cost"]["epsilon"]
    assert explained["cost"] == {"epsilon": 0.0, "delta": 0.0, "queries": 0}
    plain = run(people, "--json", "-c", "SELECT COUNT(*) FROM people").answers[0]
    assert list(plain) == SELECT_KEYS


@pytest.mark.parametrize("form", ["table", "vertical"])
def test_people_read_the_notes(run: Run, people: Path, form: str) -> None:
    script = f"{asking('error = 100')}; {asking('relative_error = 0.2', 'SUM(age) FROM people')}"
    lines = run(people, "--format", form, "-c", script).out.splitlines()
    kept = next(i for i, line in enumerate(lines) if line.endswith("±100, 95 % sure"))
    assert lines[kept + 1].startswith("spent ε 0.0298")
    bought = next(i for i, line in enumerate(lines) if "within 20 % of the answer" in line)
    assert lines[bought + 1].startswith("ex-post privacy: ")
    assert lines[bought + 2] == "age: values are clamped to 18 … 65"
    assert lines[bought + 3].startswith("intervals are of the noise alone")
    assert lines[bought + 4].startswith("spent ε 0.0")
    assert lines[bought + 4].endswith("8 of 10 queries")


@pytest.mark.parametrize("form", ["csv", "markdown"])
def test_tables_for_others_have_no_notes(run: Run, people: Path, form: str) -> None:
    ran = run(people, "--format", form, "-c", asking("relative_error = 0.2"))
    assert ran.code == 0
    assert "%" not in ran.out.replace("± 95 %", "")


def test_an_error_that_costs_too_much(run: Run, people: Path) -> None:
    """Exit code 3, with what is requested, what is left and by how much it is short."""
    script = f"SELECT COUNT(*) FROM people; {asking('error = 2, confidence = 0.99')}; SHOW BUDGET"
    ran = run(people, "--json", "--on-error", "continue", "-c", script)
    assert ran.code == 3
    _, refused, budget = ran.answers
    assert refused["error"]["kind"] == "BudgetExceeded"
    said = refused["error"]["message"].split()
    requested, left, short = (float(word) for word in said if word.replace(".", "").isdigit())
    assert said[:3] == ["not", "enough", "epsilon:"]
    assert left == 0.9
    assert short == pytest.approx(requested - left)
    # 2r³/(1 + r) = 1/100 at ε = -ln r: between these, of which the first count has 0.1.
    assert 1.59 < requested < 1.62
    assert [row[3] for row in budget["rows"][:3]] == [0.9, 0.0, 9]


def test_an_error_that_no_epsilon_keeps(run: Run, people: Path) -> None:
    ran = run(people, "-c", asking("error = 0.01", "SUM(income) FROM people"))
    assert (ran.code, ran.out) == (1, "")
    assert ran.err.startswith("error: no epsilon is large enough for an error this small\n")
    assert "hint: epsilon is at most 10000" in ran.err


def test_what_is_bought_when_the_budget_ends(run: Run, people: Path) -> None:
    """The last step that was paid for, for good; the session goes on with what is left."""
    query = asking("relative_error = 0.00001, epsilon = 3")
    ran = run(people, "--json", "-c", f"{query}; {query}; SELECT COUNT(name) FROM people")
    assert ran.code == 0
    first, again, other = ran.answers
    assert first["cost"] == {"epsilon": 0.75, "delta": 0.0, "queries": 1}
    assert first["notes"][0].startswith("ε 0.75 was not enough for noise within 0.001 % ")
    assert first["releases"][0]["scale"] == 1 / 0.75
    assert (again["repeat"], again["rows"]) == (True, first["rows"])
    assert other["cost"]["epsilon"] == 0.1


@pytest.mark.parametrize(
    ("statement", "what"),
    [
        (asking("mechanism = 'gaussian'"), "Gaussian noise"),
        (
            asking("sensitivity = 'smooth'", "MEDIAN(age) FROM people"),
            "noise of smooth sensitivity",
        ),
    ],
)
def test_what_needs_delta_says_how_to_have_it(
    run: Run, people: Path, statement: str, what: str
) -> None:
    ran = run(people, "-c", statement)
    assert ran.code == 1
    assert ran.err.startswith(f"error: {what} needs delta above 0\n")
    assert "hint: --delta 1e-6" in ran.err
    assert run(people, "--delta", "1e-6", "-c", statement).code == 0


def test_delta_is_spent_as_epsilon_is(run: Run, people: Path) -> None:
    script = (
        "SET mechanism = 'gaussian'; SELECT AVG(age) FROM people; SELECT SUM(income) FROM people"
    )
    ran = run(people, "--delta", "1e-6", "--queries", "2", "--json", "-c", script)
    _, mean, total = ran.answers
    assert mean["cost"] == {"epsilon": 0.5, "delta": 5e-7, "queries": 1}
    assert sum(drawn["delta"] for drawn in mean["releases"]) == pytest.approx(5e-7)
    assert [drawn["mechanism"] for drawn in mean["releases"]] == ["gaussian"] * 2
    assert total["budget"]["delta_left"] == 0
    line = run(people, "--delta", "1e-6", "--queries", "2", "-c", script).out.splitlines()[-1]
    assert line == "spent ε 0.5, δ 5e-07 · left: ε 0 of 1, 0 of 2 queries"


def test_smooth_noise_keeps_its_scale_to_itself(run: Run, people: Path) -> None:
    query = asking("sensitivity = 'smooth'", "MEDIAN(age), MAX(income) FROM people")
    ran = run(people, "--delta", "1e-6", "--json", "-c", f"{query}; EXPLAIN {query}")
    for answer in ran.answers:
        for drawn in answer["releases"]:
            assert (drawn["mechanism"], drawn["aggregate"]) == ("smooth laplace", "quantile")
            assert (drawn["sensitivity"], drawn["scale"]) == (None, None)
            assert (drawn["epsilon"], drawn["delta"]) == (0.05, 5e-8)
    assert ran.answers[0]["intervals"] == [[None, None]]
    assert "reveal" not in ran.answers[0]


def test_words_that_are_not_known(run: Run, people: Path) -> None:
    for statement, said in (
        ("SET mechanism = 'normal'", "error: mechanism: 'laplace' or 'gaussian'"),
        ("SET sensitivity = 'local'", "error: sensitivity can be set in teaching mode only"),
        (asking("sensitivity = 'local'"), "error: sensitivity is 'global' or 'smooth'"),
        (asking("errror = 5"), "error: no option errror"),
    ):
        ran = run(people, "-c", statement)
        assert ran.code == 1
        assert ran.err.startswith(said)
