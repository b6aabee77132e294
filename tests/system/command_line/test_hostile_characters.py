"""Characters that terminals, spreadsheets or Markdown would act on, wherever they can be written."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

from dpdb.answers.formats.json_lines import error_as_json
from dpdb.answers.formats.render import FORMATS
from dpdb.errors import DpdbError, error_text
from dpdb.policy.budget import Budget
from dpdb.policy.reading.reader import policy_for
from dpdb.session.session import Session
from tests.support.command_line import PEOPLE, Make, Run
from tests.support.hostile import WHERE, check, unsafe

ESCAPES = "\x1b]0;owned\x07\x1b[31m\x9b2J\x9d0;owned\x9c\u202e\u2066\u200f\x7f\x00\x08\u2028"


@pytest.mark.parametrize("character", [*sorted(unsafe(ESCAPES)), "\ufeff", "\xad", "\U000e0041"])
@pytest.mark.parametrize(
    "text",
    [
        "{}",
        "SELECT {} FROM people",
        "SELECT 1{} FROM people",
        "SELECT {}(age) FROM people",
        'SELECT COUNT(*) AS "{}" FROM people',
        "SELECT COUNT(*) FROM {}",
        'SELECT COUNT(*) FROM "{}"',
        "SELECT COUNT(*) FROM people\n{}\nWHERE nope",
        WHERE + "{} > 3",
        WHERE + "name = '{}'",
        WHERE + '"{}" = name',
        WHERE + "CAST('{}' AS DATE) > '2000-01-01'",
        WHERE + "age > 3 -- {}",
        "/* {} */ SHOW BUDGET x",
        "SET {} = 3",
        "SET repeats = '{}'",
        "DESCRIBE {}",
    ],
)
def test_characters_in_statements(session: Session, character: str, text: str) -> None:
    """In every format, so against the session: the command line prints what these return."""
    statement = text.format(f"a{character}b")
    try:
        answer = session.execute(statement)
    except DpdbError as error:
        shown = [error_as_json(statement, error), error_text(statement, error)]
    else:
        shown = [FORMATS["json"](answer), *(render(answer) for render in FORMATS.values())]
    assert [unsafe(text) for text in shown] == [set()] * len(shown)
    assert json.loads(shown[0])["statement"] == statement


@pytest.fixture(scope="module")
def session() -> Session:
    policy = policy_for(PEOPLE)
    return Session(replace(policy, budget=Budget(Fraction(100), Fraction(0), 10_000)))


@pytest.mark.parametrize("form", FORMATS)
def test_escapes_in_headers(run: Run, make: Make, form: str) -> None:
    name = ESCAPES.replace("\0", "").replace('"', "")
    path = make(f'"{name}",b\n1,2\n')
    script = (
        f'DESCRIBE t; SELECT COUNT("{name}") FROM t; SELECT COUNT(*) AS "{name}" FROM t; '
        f'SELECT nope FROM t; SELECT SUM("{name}") FROM t; '
        f'EXPLAIN SELECT COUNT("{name}") FROM t; SELECT "{name}" FROM t'
    )
    ran = run(path, "--format", form, "--on-error", "continue", "-c", script)
    check(ran, 1)
    if form == "json":
        assert ran.answers[0]["rows"][0][0] == name
        assert ran.answers[2]["columns"] == [name]


@pytest.mark.parametrize("form", FORMATS)
def test_escapes_in_policies(run: Run, make: Make, form: str) -> None:
    name = json.dumps("v" + ESCAPES.replace("\x7f", ""))
    policy = (
        f'[tables.{name}]\npath = "t.csv"\n[tables.{name}.columns]\n'
        f'b = {{ type = "text", values = [{name}, "x"] }}\n'
    )
    path = make("b\nx\n", policy)
    script = (
        "SHOW TABLES; DESCRIBE table; SELECT b, COUNT(*) FROM table GROUP BY b; SELECT b FROM q"
    )
    ran = run(path, "--format", form, "-c", script)
    check(ran, 1)


def test_escapes_in_file_names_and_options(run: Run, people: Path) -> None:
    name = ESCAPES.replace("\0", "").replace("\u2028", "")
    for words in (
        (f"{name}.csv", "-c", "SHOW TABLES"),
        (f"{name}.toml", "-c", "SHOW TABLES"),
        (people, "-f", f"{name}.sql"),
        (people, "--bounds", f"{name}=0:1"),
        ("init", f"{name}.csv"),
    ):
        check(run(*words), 2)


@pytest.mark.parametrize("name", ["a\0b.csv", "a\0b.toml"])
def test_a_nul_in_a_path(run: Run, people: Path, name: str) -> None:
    check(run(name, "-c", "SHOW TABLES"), 2)
    check(run(people, "-f", name), 2)


@pytest.mark.parametrize("text", ["\U000e0001x", "\U0001fffe1", "\U0010fffd", "\U0001f600"])
def test_json_gives_back_every_character(run: Run, people: Path, text: str) -> None:
    statement = f'SELECT COUNT(*) AS "{text}" FROM people'
    ran = run(people, "--json", "-c", statement)
    check(ran, 0)
    assert ran.answers[0]["statement"] == statement
    assert ran.answers[0]["columns"] == [text]


FORMULAS = ["=1+1", "+1", "-1", "@SUM(A1)", "=cmd|' /C calc'!A0", "\t=1", "\r=1", "-x", "＝1"]


def test_spreadsheet_formulas(run: Run, make: Make) -> None:
    listed = ", ".join(json.dumps(formula) for formula in FORMULAS)
    policy = f'[tables.t.columns]\nb = {{ type = "text", values = [{listed}] }}\n'
    path = make("b\n" + "".join(f'"{formula}"\n' for formula in FORMULAS), policy)
    aliases = ", ".join(f'b AS "{formula}"' for formula in FORMULAS)
    ran = run(path, "--csv", "-c", f"SELECT {aliases}, COUNT(*) FROM t GROUP BY b; DESCRIBE t")
    check(ran, 0)
    for line in ran.out.splitlines():
        for cell in line.replace('"', "").split(",")[:-1]:
            assert not cell.startswith(("=", "+", "-", "@", "\t", "\r"))


def test_negative_numbers_are_no_formulas(run: Run, people: Path) -> None:
    ran = run(people, "--csv", "-c", "SELECT -1000000 * COUNT(*) AS n FROM people")
    assert ran.out.splitlines()[1].startswith("-")


def test_markdown_tables_stay_tables(run: Run, make: Make) -> None:
    policy = "[tables.t.columns]\nb = { type = 'text', values = ['x|y', 'a\\|b', 'z'] }\n"
    path = make("b\nz\n", policy)
    script = 'SELECT b AS "h|\\|h", COUNT(*) FROM t GROUP BY b'
    lines = run(path, "--format", "markdown", "-c", script).out.splitlines()
    assert len(lines) == 5
    for line in lines:
        bare = line.replace("\\\\", "").replace("\\|", "")
        assert bare.count("|") == 3


def test_lines_and_tabs_in_a_key_are_written_as_programs_write_them(run: Run, make: Make) -> None:
    path = make(
        'kind\n"round\nmat"\n',
        '[tables.t.columns]\nkind = { type = "text", values = ["round\\nmat", "a\\tb\\rc"] }\n',
    )
    shown = run(path, "-c", "SELECT kind, COUNT(*) FROM t GROUP BY kind").out
    assert "round\\nmat" in shown
    assert "a\\tb\\rc" in shown
