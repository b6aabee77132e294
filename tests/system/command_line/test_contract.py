"""What scripts may rely on: exit codes, streams, JSON, CSV, the budget, and repeats."""

from __future__ import annotations

import csv
import io
import json
import os
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dpdb import __version__
from dpdb.interfaces.cli.main import main
from dpdb.session.session import Session

from .conftest import Run

Make = Callable[..., Path]

COUNT = "SELECT COUNT(*) FROM people"
MEAN = "SELECT AVG(income) FROM people WHERE age >= 40"
SELECT_KEYS = [
    "statement", "columns", "rows", "intervals", "releases", "cost", "budget", "private", "repeat",
]  # fmt: skip
RELEASE_KEYS = ["column", "aggregate", "mechanism", "sensitivity", "scale", "epsilon", "delta"]
BUDGET_KEYS = ["epsilon", "epsilon_left", "delta", "delta_left", "queries", "queries_left"]


def process(*words: object, stdin: str | bytes = b"", **options: Any) -> Any:
    """`dpdb` as a process of its own."""
    command = [sys.executable, "-m", "dpdb", *map(str, words)]
    given = stdin.encode() if isinstance(stdin, str) else stdin
    return subprocess.run(
        command, input=given, capture_output=True, timeout=60, check=False, **options
    )


# --- The example of the issue, as a process


def test_two_queries_from_a_pipe(people: Path) -> None:
    ran = process(people, "--epsilon", 1, "--queries", 4, "--json", stdin=f"{COUNT}; {MEAN};")
    assert ran.returncode == 0
    assert ran.stderr == b""
    first, second = map(json.loads, ran.stdout.splitlines())
    assert first["releases"][0]["scale"] == 4
    assert [release["aggregate"] for release in second["releases"]] == ["sum", "count"]


def test_a_query_over_the_limit_exits_with_3(people: Path) -> None:
    script = f"{COUNT}; {MEAN}; SELECT SUM(age) FROM people;"
    ran = process(people, "--epsilon", 1, "--queries", 2, "--json", stdin=script)
    assert ran.returncode == 3
    assert b"Traceback" not in ran.stderr
    *_, third = map(json.loads, ran.stdout.splitlines())
    assert list(third) == ["statement", "error"]
    assert third["error"]["kind"] == "BudgetExceeded"
    assert ran.stderr.decode().startswith("error: ")


def test_a_reader_that_leaves_early(people: Path) -> None:
    script = "SHOW BUDGET;" * 2_000
    command = [sys.executable, "-m", "dpdb", str(people)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as left:
        assert left.stdin is not None
        assert left.stdout is not None
        assert left.stderr is not None
        left.stdin.write(script.encode())
        left.stdin.close()
        assert left.stdout.readline().strip().startswith(b"budget")
        left.stdout.close()
        assert left.stderr.read() == b""
        left.wait(60)


def test_streams_that_are_closed(people: Path) -> None:
    dpdb = f"{sys.executable} -m dpdb {people}"

    def shell(command: str) -> Any:
        return subprocess.run(command, shell=True, capture_output=True, timeout=60, check=False)

    no_stdin = shell(f"{dpdb} <&-")
    assert b"Traceback" not in no_stdin.stderr
    no_stderr = shell(f"{dpdb} --csv -c 'SHOW TABLES' 2>&-")
    assert (no_stderr.returncode, no_stderr.stdout) == (0, b"table,columns\npeople,5\n")
    no_stdout = shell(f"{dpdb} -c 'SHOW TABLES' >&-")
    assert b"Traceback" not in no_stdout.stderr


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
def test_a_full_disk(people: Path) -> None:
    with open("/dev/full", "wb") as full:
        command = [sys.executable, "-m", "dpdb", str(people), "-c", "SHOW TABLES"]
        ran = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, timeout=60, check=False)
    assert ran.returncode not in (0, 120)
    assert b"Traceback" not in ran.stderr
    assert ran.stderr.startswith(b"error: ")


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "cp1252"])
def test_an_output_that_cannot_show_everything(people: Path, encoding: str) -> None:
    # A pipe on Windows is cp1252; ± and ε are in every table.
    environment = {**os.environ, "PYTHONIOENCODING": encoding}
    script = 'SELECT COUNT(*) AS "☃" FROM people; SELECT "☃ FROM people'
    ran = process(people, "-c", script, env=environment)
    assert b"Traceback" not in ran.stderr
    assert ran.returncode == 1
    assert b"spent" in ran.stdout


# --- Exit codes and streams


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["-c", "SHOW BUDGET"], 0),
        (["-c", ""], 0),
        (["-c", " ;; -- nothing\n"], 0),
        (["-c", COUNT], 0),
        (["-c", "SELECT nope FROM people"], 1),
        (["-c", "SELECT"], 1),
        (["-c", "SET epsilon = 0"], 1),
        (["-c", "SELECT SUM(LENGTH(name)) FROM people"], 1),
        (["-c", "SET epsilon = 2; " + COUNT], 3),
        (["--queries", "1", "-c", f"{COUNT}; {MEAN}"], 3),
        (["-f", "no such file"], 2),
        (["-f", "/"], 2),
        (["no such file.csv", "-c", COUNT], 2),
        (["no such policy.toml", "-c", COUNT], 2),
        (["--nope", "-c", COUNT], 2),
        (["--eps", "1", "-c", COUNT], 2),
        (["-c"], 2),
        (["--format", "xml", "-c", COUNT], 2),
        (["--epsilon", "0", "-c", COUNT], 2),
        (["--epsilon", "-1", "-c", COUNT], 2),
        (["--epsilon=-1", "-c", COUNT], 2),
        (["--epsilon", "nan", "-c", COUNT], 2),
        (["--epsilon", "inf", "-c", COUNT], 2),
        (["--epsilon", "1e-320", "-c", COUNT], 2),
        (["--epsilon", "1_000", "-c", COUNT], 2),
        (["--epsilon", "1/2", "-c", COUNT], 2),
        (["--delta", "1", "-c", COUNT], 2),
        (["--delta", "-0.1", "-c", COUNT], 2),
        (["--queries", "0", "-c", COUNT], 2),
        (["--queries", "2.5", "-c", COUNT], 2),
        (["--queries", "٣", "-c", COUNT], 2),
        (["--queries", "9" * 5000, "-c", COUNT], 2),
        (["--neighbors", "both", "-c", COUNT], 2),
        (["--on-error", "ignore", "-c", COUNT], 2),
        (["--bounds", "age", "-c", COUNT], 2),
        (["--bounds", "age=1", "-c", COUNT], 2),
        (["--bounds", "age=2:1", "-c", COUNT], 2),
        (["--bounds", "age=nan:1", "-c", COUNT], 2),
        (["--bounds", "age=0:inf", "-c", COUNT], 2),
        (["--bounds", "age=1_0:20", "-c", COUNT], 2),
        (["--bounds", "agee=1:2", "-c", COUNT], 2),
        (["--bounds", "name=1:2", "-c", COUNT], 2),
        (["--bounds", "zip=1:2", "-c", COUNT], 2),
        (["--seed", "1", "-c", COUNT], 2),
    ],
    ids=lambda value: " ".join(value)[:60] if isinstance(value, list) else None,
)
def test_exit_codes(run: Run, people: Path, words: list[str], code: int) -> None:
    ran = run(people, *words)
    assert ran.code == code
    assert "Traceback" not in ran.err
    if code in (0, 2):
        assert bool(ran.err) == (code == 2)
    if code == 2:
        assert ran.out == ""
    if code:
        assert "error: " in ran.err


def test_bounds_that_no_double_reaches(run: Run, tmp_path: Path) -> None:
    (tmp_path / "p.csv").write_text("x\n1\n")
    ran = run(tmp_path / "p.csv", "--bounds", "x=0:1e400", "-c", "SELECT COUNT(x) FROM p")
    assert (ran.code, ran.out) == (2, "")
    assert "1e300" in ran.err


@pytest.mark.parametrize("path", [".", "..", "/", ""])
def test_a_folder_is_no_data_file(run: Run, path: str) -> None:
    ran = run(path, "-c", COUNT)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith("error: ")


def test_no_file_at_all(run: Run) -> None:
    for words in ((), ("-c", "SHOW BUDGET")):
        ran = run(*words)
        assert (ran.code, ran.out) == (2, "")
        assert ran.err.startswith("error: no CSV file or policy given")
        assert "hint: " in ran.err


def test_the_gravest_code_wins(run: Run, people: Path) -> None:
    script = f"SET epsilon = 2; {COUNT}; SELECT nope FROM people; SHOW TABLES"
    ran = run(people, "--on-error", "continue", "-c", script)
    assert ran.code == 3
    assert ran.err.count("error: ") == 2


def test_an_interrupt(run: Run, people: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Session, "execute", interrupted)
    ran = run(people, "-c", COUNT)
    assert (ran.code, ran.out) == (130, "")
    assert "Traceback" not in ran.err


def test_stop_at_the_first_error(run: Run, people: Path) -> None:
    ran = run(people, "--csv", "-c", "SHOW TABLES; SELECT nope FROM people; SHOW TABLES")
    assert ran.code == 1
    assert ran.out == "table,columns\npeople,5\n"
    assert ran.err.startswith("error: no column nope\n")


def test_go_on_after_an_error(run: Run, people: Path) -> None:
    script = "SHOW TABLES; SELECT nope FROM people; SHOW TABLES"
    ran = run(people, "--csv", "--on-error", "continue", "-c", script)
    assert ran.code == 1
    assert ran.out == "table,columns\npeople,5\n\ntable,columns\npeople,5\n"


def test_an_error_points_at_its_place(run: Run, people: Path) -> None:
    ran = run(people, "-c", "SELECT COUNT(*)\nFROM people\nWHERE agee > 3")
    assert ran.err == (
        "error: no column agee\n  WHERE agee > 3\n        ^\nhint: did you mean age?\n"
    )


def test_version_and_help(run: Run) -> None:
    ran = run("--version")
    assert (ran.code, ran.out, ran.err) == (0, f"dpdb {__version__}\n", "")
    ran = run("--help")
    assert (ran.code, ran.err) == (0, "")
    for word in ("-c", "-f", "--epsilon", "--delta", "--queries", "--neighbors", "--bounds",
                 "--format", "--json", "--csv", "--on-error", "--teach", "--seed",
                 "dpdb init", "exit codes"):  # fmt: skip
        assert word in ran.out
    assert "Neighbors." not in ran.out


def test_choices_are_named_as_they_are_written(run: Run, people: Path) -> None:
    assert "Neighbors." not in run(people, "--neighbors", "both", "-c", COUNT).err


# --- Where statements come from


def test_scripts_run_in_the_order_given(run: Run, people: Path, tmp_path: Path) -> None:
    (tmp_path / "a.sql").write_text("SHOW TABLES; DESCRIBE people", encoding="utf-8")
    (tmp_path / "b.sql").write_text("SHOW BUDGET;\n", encoding="utf-8")
    ran = run(
        people, "--json", "-c", "SET epsilon = 0.5", "-f", tmp_path / "a.sql",
        "-c", "SET repeats = fresh; SHOW TABLES", "-f", tmp_path / "b.sql",
    )  # fmt: skip
    assert ran.code == 0
    assert [answer["statement"] for answer in ran.answers] == [
        "SET epsilon = 0.5", "SHOW TABLES", "DESCRIBE people", "SET repeats = fresh",
        "SHOW TABLES", "SHOW BUDGET",
    ]  # fmt: skip


def test_dash_is_standard_input(run: Run, people: Path) -> None:
    ran = run(people, "--json", "-c", "SHOW TABLES", "-f", "-", stdin="SHOW BUDGET")
    assert [answer["statement"] for answer in ran.answers] == ["SHOW TABLES", "SHOW BUDGET"]


def test_standard_input_is_left_alone_if_there_are_scripts(run: Run, people: Path) -> None:
    ran = run(people, "--json", "-c", "SHOW TABLES", stdin="SHOW BUDGET")
    assert [answer["statement"] for answer in ran.answers] == ["SHOW TABLES"]


def test_a_script_that_is_not_text(run: Run, people: Path, tmp_path: Path) -> None:
    (tmp_path / "a.sql").write_bytes(b"SHOW TABLES; \xff\xfe")
    ran = run(people, "-f", tmp_path / "a.sql")
    assert (ran.code, ran.out) == (2, "")
    assert "not UTF-8" in ran.err


def test_a_script_with_a_byte_order_mark(run: Run, people: Path, tmp_path: Path) -> None:
    # Notepad puts one in front.
    (tmp_path / "a.sql").write_bytes(b"\xef\xbb\xbfSHOW TABLES;")
    assert run(people, "-f", tmp_path / "a.sql").code == 0


def test_standard_input_that_is_not_text(people: Path) -> None:
    ran = process(people, stdin=b"SHOW TABLES; \xff\xfe", env={**os.environ, "PYTHONUTF8": "1"})
    assert ran.returncode in (1, 2)
    assert b"Traceback" not in ran.stderr


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
        "scale": 10.0, "epsilon": 0.1, "delta": 0.0,
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
        *(release[key] for key in RELEASE_KEYS[3:]),
    ]
    assert {type(value) for value in floats} == {float}


def test_every_line_is_one_object(run: Run, people: Path) -> None:
    ran = run(people, "--json", "-c", 'SELECT\nCOUNT(*) AS "a\nb"\nFROM people; SHOW BUDGET')
    assert len(ran.out.splitlines()) == 2
    assert ran.answers[0]["columns"] == ["a\nb"]
    assert ran.answers[0]["statement"] == 'SELECT\nCOUNT(*) AS "a\nb"\nFROM people'


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
        True, True, False, False, False, True, False, False, False, True,
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
    assert list(explained) == [*SELECT_KEYS, "explain", "notes"]
    assert explained["explain"] is True
    assert explained["notes"] == ["income: values are clamped to 0 … 1000000"]
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
    assert answers[1]["rows"] == [["people", 5]]
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
        ("count", "laplace"),
        ("count_distinct", "laplace"),
        ("sum", "laplace"),
        ("sum", "laplace"), ("count", "laplace"),
        ("sum_of_squares", "laplace"), ("sum", "laplace"), ("count", "laplace"),
        ("quantile", "exponential"),
        ("quantile", "exponential"),
        ("mode", "exponential"),
        ("count", "laplace"),
    ])  # fmt: skip
    assert sum(r["epsilon"] for r in answer["releases"]) == pytest.approx(answer["cost"]["epsilon"])
    for release in answer["releases"]:
        doubled = 2 if release["mechanism"] == "exponential" else 1
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
    assert ran.out == "table,columns\npeople,5\n\ntable,columns\npeople,5\n"


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


# --- The budget


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


def test_a_refusal_by_the_limit_says_the_same(run: Run, people: Path) -> None:
    ran = run(people, "--queries", 1, "-c", f"{COUNT}; {MEAN}")
    assert ran.code == 3
    assert "1 requested, 0 left" in ran.err


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


# --- Repeats

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
        (COUNT, f"SET epsilon = 0.05; {COUNT}"),
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
    script = f"{COUNT}; SET repeats = 'fresh'; {COUNT}; {COUNT}; SET repeats = free; {COUNT}"
    first, _, second, third, _, last = run(people, "--json", "-c", script).answers
    assert [answer["repeat"] for answer in (first, second, third, last)] == [
        False, False, False, True,
    ]  # fmt: skip
    assert third["budget"]["queries_left"] == 7
    assert third["budget"]["epsilon_left"] == pytest.approx(0.7)
    assert last["rows"] == third["rows"]
    assert len({str(answer["rows"]) for answer in (first, second, third)}) > 1


def test_refused_repeats_are_not_remembered(run: Run, people: Path) -> None:
    script = f"SET epsilon = 2; {COUNT}; {COUNT}"
    ran = run(people, "--json", "--on-error", "continue", "-c", script)
    assert ["error" in answer for answer in ran.answers] == [False, True, True]


# --- Tables and their names


def test_table_is_the_only_one(run: Run, people: Path) -> None:
    script = "SELECT COUNT(*) FROM table WHERE table.age > 30; DESCRIBE table; DESC TABLE"
    assert run(people, "-c", script).code == 0


def test_a_table_is_named_after_its_file(run: Run, make: Make) -> None:
    path = make("a,b\n1,x\n", name="odd name-1")
    ran = run(path, "--json", "-c", 'SHOW TABLES; SELECT COUNT(*) FROM "odd name-1"')
    assert ran.code == 0
    assert ran.answers[0]["rows"] == [["odd name-1", 2]]


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
    assert ran.answers[0]["rows"] == [["people", 5], ["students", 3]]
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
    assert ran.rows == [["people", 5]]


# --- Bounds, and no policy at all


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


# --- dpdb init


def test_a_draft_is_a_policy(run: Run, make: Make, tmp_path: Path) -> None:
    path = make(
        "id,born,member,pay,plan,odd name\n"
        "1,1990-01-31,true,1.5,basic,x\n2,,no,20,gold,\n3,1985-05-05,FALSE,1e3,gold,y\n"
    )
    draft = run("init", path)
    assert (draft.code, draft.err) == (0, "")
    document = tomllib.loads(draft.out)
    columns = document["tables"]["t"]["columns"]
    assert {name: column["type"] for name, column in columns.items()} == {
        "id": "integer", "born": "date", "member": "text", "pay": "number", "plan": "text",
        "odd name": "text",
    }  # fmt: skip
    # No bound is guessed from the rows.
    assert not any("bounds" in column or "values" in column for column in columns.values())
    for secret in ("1990", "1985", "basic", "gold"):
        assert secret not in draft.out
    policy = tmp_path / "t.toml"
    policy.write_text(draft.out, encoding="utf-8")
    ran = run(path, "-c", "SELECT COUNT(*), COUNT(DISTINCT plan) FROM t; DESCRIBE t")
    assert ran.code == 0
    completed = (
        draft.out.replace('"number" }', '"number", bounds = [0, 9] }')
        .replace('plan = { type = "text" }', 'plan = { type = "text", values = ["gold"] }')
        .replace('"date" }', '"date", bounds = [1900-01-01, 2030-12-31] }')
    )
    policy.write_text(completed, encoding="utf-8")
    ran = run(path, "-c", "SELECT plan, SUM(pay), MIN(born) FROM t GROUP BY plan")
    assert ran.code == 0


@pytest.mark.parametrize(
    "name",
    ["a b", "a.b", "a#b", 'a"b', "a'b", "a\\b", "[a]", "a=b", "é", "日本", "\u202ea", "a\x7fb",
     "a\nb", "1", "-", "\U0001f600", "\\\U0001f600", "\U0001fffe", "tables"],
)  # fmt: skip
def test_a_draft_for_any_header(run: Run, make: Make, tmp_path: Path, name: str) -> None:
    buffer = io.StringIO()
    csv.writer(buffer).writerows([[name, "other"], ["1", "2"]])
    path = make(buffer.getvalue())
    draft = run("init", path)
    assert draft.code == 0
    columns = tomllib.loads(draft.out)["tables"]["t"]["columns"]
    assert list(columns) == [name, "other"]
    (tmp_path / "t.toml").write_text(draft.out, encoding="utf-8")
    assert run(path, "-c", "DESCRIBE t; SELECT COUNT(*) FROM t").code == 0


@pytest.mark.parametrize("name", ["a b", "a.b", "x'y", "\U0001f600", "q\\\U0001f600"])
def test_a_draft_for_any_file_name(run: Run, make: Make, name: str) -> None:
    path = make("a\n1\n", name=name)
    document = tomllib.loads(run("init", path).out)
    assert list(document["tables"]) == [name]
    assert document["tables"][name]["path"] == path.name


@pytest.mark.parametrize("words", [["init"], ["init", "no such file.csv"], ["init", "/"],
                                   ["init", "a", "b"]])  # fmt: skip
def test_a_draft_of_nothing(run: Run, words: list[str]) -> None:
    ran = run(*words)
    assert (ran.code, ran.out) == (2, "")
    assert "Traceback" not in ran.err


def test_main_returns_a_code(people: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(people), "-c", "SHOW TABLES"]) == 0
    assert main([str(people), "-c", "SELECT"]) == 1
    assert "people" in capsys.readouterr().out
