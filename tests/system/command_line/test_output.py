"""What scripts may rely on: the objects of JSON, CSV, and what people see."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest

from tests.support.command_line import COUNT, MEAN, PEOPLE, Run

SELECT_KEYS = [
    "statement", "columns", "rows", "intervals", "releases", "cost", "budget", "private", "repeat",
]  # fmt: skip
RELEASE_KEYS = [
    "column",
    "aggregate",
    "mechanism",
    "sensitivity",
    "scale",
    "epsilon",
    "delta",
    "group",
]
BUDGET_KEYS = ["epsilon", "epsilon_left", "delta", "delta_left", "queries", "queries_left"]


# --- JSON


def test_the_object_of_a_query(run: Run, people: Path) -> None:
    ran = run(people, "--epsilon", 1, "--queries", 10, "--json", "-c",
              "SELECT zip, COUNT(*) FROM people GROUP BY zip")  # fmt: skip
    [answer] = ran.answers
    assert list(answer) == SELECT_KEYS
    assert answer["statement"] == "SELECT zip, COUNT(*) FROM people GROUP BY zip"
    assert answer["columns"] == ["zip", "COUNT(*)"]
    assert len(answer["rows"]) == len(answer["intervals"]) == 40
    for row, interval in zip(answer["rows"], answer["intervals"], strict=True):
        assert [type(cell) for cell in row] == [int, int]
        assert interval[0] is None
        low, high = interval[1]
        assert type(low) is type(high) is int
        assert low <= row[1] <= high
    [release] = answer["releases"]
    assert list(release) == RELEASE_KEYS
    assert release == {
        "column": "COUNT(*)", "aggregate": "count", "mechanism": "laplace", "sensitivity": 1.0,
        "scale": 10.0, "epsilon": 0.1, "delta": 0.0, "group": 1,
    }  # fmt: skip
    assert answer["cost"] == {"epsilon": 0.1, "delta": 0.0, "queries": 1}
    assert list(answer["cost"]) == ["epsilon", "delta", "queries"]
    assert list(answer["budget"]) == BUDGET_KEYS
    assert answer["budget"] == {
        "epsilon": 1.0, "epsilon_left": 0.9, "delta": 0.0, "delta_left": 0.0,
        "queries": 10, "queries_left": 9,
    }  # fmt: skip
    assert answer["private"] is True
    assert answer["repeat"] is False
    floats = [
        *(answer["cost"][key] for key in ("epsilon", "delta")),
        *(answer["budget"][key] for key in BUDGET_KEYS[:4]),
        *(release[key] for key in RELEASE_KEYS[3:7]),
    ]
    assert {type(value) for value in floats} == {float}


def test_every_line_is_one_object(run: Run, people: Path) -> None:
    ran = run(people, "--json", "-c", 'SELECT\nCOUNT(*) AS "a\nb"\nFROM people; SHOW BUDGET')
    assert len(ran.out.splitlines()) == 2
    assert ran.answers[0]["columns"] == ["a\nb"]
    assert ran.answers[0]["statement"] == 'SELECT\nCOUNT(*) AS "a\nb"\nFROM people'


def test_a_null_leaves_whole_numbers_whole(run: Run, people: Path) -> None:
    """It has no type of its own: here it once made decimals of all."""
    ran = run(people, "--json", "-c",
              "SELECT SUM(CASE WHEN age > 40 THEN age END), MAX(GREATEST(NULL, age)), "
              "MIN(CASE WHEN age > 40 THEN 0.5 END) FROM people")  # fmt: skip
    assert [type(cell) for cell in ran.rows[0]] == [int, int, float]


def test_types_of_cells(run: Run, people: Path) -> None:
    ran = run(people, "--json", "-c",
              "SELECT COUNT(*), AVG(age), COUNT(*) > 0, 'x', NULL, COUNT(*) / 0, TRUE, "
              "DATE '2000-02-29', MEDIAN(age), SUM(income) FROM people")  # fmt: skip
    [row] = ran.rows
    kinds = [type(cell) for cell in row]
    assert kinds == [int, float, bool, str, type(None), type(None), bool, str, int, float]
    assert row[7] == "2000-02-29"
    [intervals] = ran.answers[0]["intervals"]
    assert [interval is not None for interval in intervals] == [
        True, True, False, False, False, True, False, False, True, True,
    ] or intervals[5] is None  # fmt: skip


@pytest.mark.parametrize(
    ("item", "column"),
    [
        ("count(*)", "COUNT(*)"),
        ("sum( Income )/count( * )", "SUM(Income) / COUNT(*)"),
        ("100*avg(income)", "100 * AVG(income)"),
        ("count(*) filter(where age>30)", "COUNT(*) FILTER (WHERE age > 30)"),
        ("count(distinct name)", "COUNT(DISTINCT name)"),
        ("mean(age)", "MEAN(age)"),
        ("quantile_cont(age,0.5)", "QUANTILE_CONT(age, 0.5)"),
        ("sum(case when age>30 then 1 else 0 end)", "SUM(CASE WHEN age > 30 THEN 1 ELSE 0 END)"),
        ("-count(*)", "-COUNT(*)"),
        ("'it''s'", "'it''s'"),
        ("count(*) as N", "N"),
        ('count(*) as "a ""b"""', 'a "b"'),
        ("count(*) mEaN", "mEaN"),
    ],
)
def test_columns(run: Run, people: Path, item: str, column: str) -> None:
    ran = run(people, "--json", "-c", f"SELECT {item}, COUNT(*) FROM people")
    assert ran.answers[0]["columns"] == [column, "COUNT(*)"]


def test_explain(run: Run, people: Path) -> None:
    script = f"EXPLAIN {MEAN}; {MEAN}; EXPLAIN {MEAN}; SHOW BUDGET"
    explained, answer, again, _ = run(people, "--json", "-c", script).answers
    assert list(explained) == [*SELECT_KEYS, "explain", "bounding"]
    assert explained["explain"] is True
    assert explained["bounding"][0] == "income: values are clamped to 0 … 1000000"
    assert answer["bounding"] == explained["bounding"]
    assert explained["rows"] == []
    assert explained["columns"] == answer["columns"]
    assert explained["releases"] == answer["releases"]
    assert explained["cost"] == answer["cost"]
    assert explained["budget"]["epsilon_left"] == 1
    assert again["cost"] == {"epsilon": 0.0, "delta": 0.0, "queries": 0}


def test_statements_that_are_no_query(run: Run, people: Path) -> None:
    script = "SHOW BUDGET; SHOW TABLES; DESCRIBE people; SET epsilon = 0.25; SET repeats = 'fresh'"
    answers = run(people, "--json", "-c", script).answers
    for answer in answers:
        assert list(answer)[:3] == ["statement", "columns", "rows"]
        assert list(answer["budget"]) == BUDGET_KEYS
        assert answer["rows"]
        assert {len(row) for row in answer["rows"]} == {len(answer["columns"])}
    assert answers[1]["rows"] == [["people", 5, "row"]]
    assert [row[0] for row in answers[2]["rows"]] == ["name", "age", "income", "zip", "net_worth"]


def test_the_object_of_an_error(run: Run, people: Path) -> None:
    ran = run(people, "--json", "-c", "SELECT COUNT(*)\nFROM people WHERE\nagee > 3")
    [failed] = ran.answers
    assert list(failed) == ["statement", "error"]
    assert list(failed["error"]) == ["kind", "message", "hint", "line", "column"]
    assert failed["error"] == {
        "kind": "UnknownName", "message": "no column agee", "hint": "did you mean age?",
        "line": 3, "column": 1,
    }  # fmt: skip
    assert ran.err.startswith("error: no column agee\n")


def test_aggregates_have_the_names_of_the_contract(run: Run, people: Path) -> None:
    script = (
        "SELECT COUNT(*), COUNT(DISTINCT name), SUM(age), AVG(age), VARIANCE(age), MEDIAN(age), "
        "MIN(age), MODE(zip), SUM(age) - (SELECT COUNT(*) FROM people WHERE age > 30) FROM people"
    )
    [answer] = run(people, "--epsilon", 100, "--json", "-c", script).answers
    found = [(r["aggregate"], r["mechanism"]) for r in answer["releases"]]
    assert sorted(found) == sorted([
        ("count_distinct", "laplace"),
        ("squares_above", "laplace"), ("squares_below", "laplace"),
        ("squares_between", "laplace"), ("null_count", "laplace"),
        ("quantile", "exponential"), ("interval", "exponential"),
        ("quantile", "exponential"),
        ("mode", "exponential"),
        ("count", "laplace"),
    ])  # fmt: skip
    each = {r["group"]: r["epsilon"] for r in answer["releases"]}
    assert sum(each.values()) == pytest.approx(answer["cost"]["epsilon"])
    for release in answer["releases"]:
        # MIN and MODE are selected by scores that a row moves in one direction only.
        doubled = 2 if release["column"] == "MEDIAN(age)" else 1
        expected = doubled * release["sensitivity"] / release["epsilon"]
        assert release["scale"] == pytest.approx(expected)
    assert answer["cost"]["queries"] == 1


def test_an_average_where_the_number_of_rows_is_public(run: Run) -> None:
    ce = Path(__file__).parents[3] / "sample_data" / "ce.csv"
    [answer] = run(ce, "--json", "-c", "SELECT COUNT(*), AVG(Income) FROM ce").answers
    [release] = answer["releases"]
    assert (release["column"], release["aggregate"]) == ("AVG(Income)", "avg")
    assert answer["rows"][0][0] == 994
    assert answer["intervals"][0][0] is None


# --- CSV and the other formats


def test_csv(run: Run, people: Path) -> None:
    script = "SELECT zip, COUNT(*) AS n, 'a,\"b\"' AS x, NULL AS z FROM people GROUP BY zip LIMIT 2"
    ran = run(people, "--csv", "-c", script)
    header, *rows = csv.reader(io.StringIO(ran.out))
    assert header == ["zip", "n", "x", "z"]
    assert [row[0] for row in rows] == ["10025", "11215"]
    assert all(row[1].lstrip("-").isdigit() for row in rows)
    assert [row[2:] for row in rows] == [['a,"b"', ""]] * 2


def test_several_csv_answers_are_apart(run: Run, people: Path) -> None:
    ran = run(people, "--csv", "-c", "SHOW TABLES; SHOW TABLES")
    assert ran.out == "table,columns,unit\npeople,5,row\n\ntable,columns,unit\npeople,5,row\n"


def test_an_answer_of_no_rows(run: Run, people: Path) -> None:
    script = "SELECT zip, COUNT(*) FROM people GROUP BY zip LIMIT 0"
    assert run(people, "--csv", "-c", script).out == "zip,COUNT(*)\n"
    assert run(people, "--json", "-c", script).rows == []
    for form in ("table", "markdown", "vertical"):
        assert run(people, "--format", form, "-c", script).code == 0


@pytest.mark.parametrize("form", ["table", "markdown", "vertical"])
def test_people_see_the_margin_and_the_price(run: Run, people: Path, form: str) -> None:
    ran = run(people, "--format", form, "-c", COUNT)
    assert "COUNT(*)" in ran.out
    assert "± 30" in ran.out
    if form != "markdown":
        assert "spent ε 0.1 · left: ε 0.9 of 1, 9 of 10 queries" in ran.out
    assert "\x1b" not in ran.out


@pytest.mark.parametrize(
    ("options", "epsilons"), [(["--csv"], ["0.1"]), (["--csv", "--intervals"], ["0.08", "0.02"])]
)
def test_a_csv_file_without_intervals_pays_for_none(
    run: Run, options: list[str], epsilons: list[str]
) -> None:
    """The fifth of ε that would be for the interval of a quantile is for its value."""
    ran = run(PEOPLE, *options, "-c", "EXPLAIN SELECT MEDIAN(income) FROM people")
    releases = csv.DictReader(io.StringIO(ran.out))
    assert [release["epsilon"] for release in releases] == epsilons
