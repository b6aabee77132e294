"""Files of statements: their size has a limit, and a wrong one's lines are not shown."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest

from dpdb.interfaces.cli.main import main
from dpdb.interfaces.console import scripts
from tests.support.command_line import PEOPLE, Make, Run

NOT_SQL = {
    "rows": "name,age\nAbel Woods,33\n",
    "rows with a quote": "name,age\nAbel O'Woods,33\n",
    "a header that begins like DESCRIBE": "desc,name\n1,Abel Woods\n",
    "a header that begins like SHOW": "Show date,name\n2020-01-01,Abel Woods\n",
    "a header that begins like SET": "set\nAbel Woods\n",
    "a header that begins like SELECT": "select, name\n1,Abel Woods\n",
    "a header that begins like WITH": "with, name\n1,Abel Woods\n",
    "a header that begins like a table of WITH": "with name as (\nAbel Woods\n",
    "a header that begins like EXPLAIN": "explain,name\n1,Abel Woods\n",
    "a header of words of SQL": "select group,price\n1,Abel Woods\n",
    "a header that reads on": "explain select a b\nAbel Woods\n",
    "names for the tables": "describe x, y\n1,Abel Woods\n",
    "a header that begins like a command": ".mode,name\n1,Abel Woods\n",
    "rows with statements": "Abel Woods; SELECT COUNT(*) FROM people;",
}


@pytest.mark.parametrize("text", NOT_SQL.values(), ids=NOT_SQL)
@pytest.mark.parametrize("form", ["table", "json", "csv"])
def test_lines_of_a_wrong_file_are_not_shown(run: Run, make: Make, text: str, form: str) -> None:
    path = make(text, name="wrong")
    for name in (path, "-"):
        ran = run(PEOPLE, "--format", form, "-f", name, stdin=text)
        assert ran.code == 1
        assert text.partition("\n")[0] not in ran.out + ran.err
        assert "Woods" not in ran.out + ran.err
        assert re.search(r"line [12] of (standard input|/.*wrong)", ran.err)
        if form == "json":
            assert json.loads(ran.out)["error"]["kind"] in ("Unsupported", "SyntaxFault")


def test_statements_over_several_lines(run: Run, people: Path, tmp_path: Path) -> None:
    path = tmp_path / "q.sql"
    path.write_text(
        "-- first\nset epsilon = 0.1;\nSHOW TABLES ;\nDesc people;\n"
        "EXPLAIN\nSELECT\n COUNT(*)\nFROM people;\nselect count(*)\n from people;"
        "\nwith t as (\n select *\nfrom people)\nselect count(*) from t"
    )
    ran = run(people, "--json", "-f", path)
    assert (ran.code, len(ran.out.splitlines())) == (0, 6)


@pytest.mark.parametrize("cell", ["desc Woods", "set x = 'Woods'", ".mode Woods", "\\d Woods",
                                  "select Woods from Rome"])  # fmt: skip
def test_cells_like_statements_are_not_shown(run: Run, make: Make, cell: str) -> None:
    path = make(f"a;b\n1;{cell}\n;{cell};2\n", name="wrong")
    ran = run(PEOPLE, "--json", "--on-error", "continue", "-f", path)
    assert "Woods" not in ran.out + ran.err


def test_wrong_sql_in_a_file_is_placed(run: Run, people: Path) -> None:
    wrong = "SHOW ALL;\nSELECT COUNT(*)\n  FROM people WHERE WHERE"
    [_, error] = (ran := run(people, "--json", stdin=wrong)).answers
    assert error["statement"] == ""
    assert "line 3 of standard input: this is no SQL" in ran.err
    ran = run(people, stdin="SELECT COUNT(*) FROM people WHERE agee > 3")
    assert "did you mean age?" in ran.err
    assert "FROM people WHERE agee" in ran.err
    ran = run(people, stdin="SELECT COUNT(*) FROM people; " * 12)
    assert ran.code == 0
    ran = run(people, "--queries", 1, stdin="a; SELECT COUNT(*) FROM people; SELECT SUM(age) FROM "
              "people")  # fmt: skip
    assert ran.code == 1


def test_errors_in_a_file_are_as_good_as_typed_ones(run: Run, people: Path) -> None:
    """Only the file's own text is missing where it is no SQL."""
    wrong = "SHOW ALL; SHOW ALL;\n SELECT COUNT(*) FORM people"
    [*_, error] = (ran := run(people, "--json", stdin=wrong)).answers
    assert "line 2 of standard input: this is no SQL at column 23" in ran.err
    assert "hint: did you mean FROM?" in ran.err
    assert "FORM" not in ran.out + ran.err
    assert (error["error"]["line"], error["error"]["column"]) == (2, 23)
    assert "did you mean SELECT?" in run(people, stdin="SELEC COUNT(*) FROM people").err
    hidden = "Woods, SELECT\n;SELECT age AS WOODS FROM people ORDER BY WOODY"
    assert "WOOD" not in run(people, "--on-error", "continue", stdin=hidden).err.upper()


@pytest.mark.parametrize(("stray", "hint"), [
    (".echo on", "a comment begins with --"),
    (".separator ,", ".mode csv separates by commas"),
    ("\\set x 1", "write the constants into the statement"),
    (".ehco", ".help lists the commands"),
])  # fmt: skip
def test_a_stray_command_hides_no_later_error(
    run: Run, people: Path, stray: str, hint: str
) -> None:
    text = f"{stray}\nSELECT COUNT(*) FROM people WHERE agee > 3;"
    ran = run(people, "--on-error", "continue", stdin=text)
    assert f"hint: {hint}" in ran.err
    assert "did you mean age?" in ran.err
    assert "WHERE agee > 3" in ran.err


def test_what_is_typed_is_shown(run: Run, people: Path) -> None:
    assert "DELETE" in run(people, "-c", "DELETE FROM people").err


def test_a_file_has_a_limit(
    run: Run, people: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scripts, "LONGEST_FILE", 100)
    path = tmp_path / "long.sql"
    path.write_text("SHOW BUDGET;" + " " * 88)
    assert run(people, "-f", path).code == 0
    path.write_text("SHOW BUDGET;" + " " * 89)
    for ran in (run(people, "-f", path), run(people, stdin=path.read_text())):
        assert ran.code == 2
        assert "more than 100 characters" in ran.err
        assert not ran.out


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="there is no /dev/zero here")
def test_what_has_no_end_is_refused(
    people: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with Path("/dev/zero").open(encoding="utf-8") as zeros:
        monkeypatch.setattr(sys, "stdin", zeros)
        for file in ("-", "/dev/zero"):
            assert main([str(people), "-f", file]) == 2
            assert "characters of statements" in capsys.readouterr().err


def test_dot_commands_in_a_batch(run: Run, people: Path, tmp_path: Path) -> None:
    answers = tmp_path / "a.txt"
    script = (
        ".mode csv\n.tables\n-- a note\n.once " + str(answers) + "\nSHOW TABLES;\n"
        "SHOW TABLES; \\dt\n.quit\nSELECT 1;"
    )
    for ran in (run(people, stdin=script.replace("\\dt", "\n\\dt")),
                run(people, "-c", script.replace("\\dt", "\n.tables"))):  # fmt: skip
        shown = "table,columns,unit\npeople,5,row\n"
        assert (ran.code, ran.out, ran.err) == (0, f"{shown}\n{shown}\n{shown}", "")
        assert answers.read_text() == shown


@pytest.mark.parametrize(("line", "code", "said"), [
    (".ask", 2, "error: .ask is for the prompt"),
    (".history", 2, "error: .history is for the prompt"),
    (".mode tabel", 2, "did you mean table?"),
    (".haeders on", 1, "understood: line 1 of standard input"),
    ("-- a note\n\n/* and\nanother */ ;\n\n\\haeders", 1, "line 6 of standard input"),
])  # fmt: skip
def test_commands_that_do_not_work_in_a_batch(
    run: Run, people: Path, line: str, code: int, said: str
) -> None:
    ran = run(people, stdin=f"{line}\nSHOW TABLES;")
    assert (ran.code, ran.out) == (code, "")
    assert said in ran.err
    assert "people" in run(people, "--on-error", "continue", stdin=f"{line}\nSHOW TABLES;").out


def test_what_a_comment_that_never_ends_hides_is_missed(run: Run, people: Path) -> None:
    script = "SHOW TABLES; /* the next one\nSHOW BUDGET;"
    ran = run(people, "--csv", "-c", script)
    assert (ran.code, ran.out) == (1, "table,columns,unit\npeople,5,row\n")
    assert "comment is not closed" in ran.err
    assert run(people, stdin=script).code == 1


def test_a_command_after_a_forgotten_semicolon(run: Run, people: Path) -> None:
    hint = "hint: before a command, a statement has to end with ;"
    for after in ("", "\nSHOW TABLES;", ";"):
        for statement in ("SELECT COUNT(*) FROM people", "SHOW TABLES"):
            ran = run(people, "-c", f"{statement}\n.mode csv{after}")
            assert (ran.code, ran.out) == (1, "")
            assert hint in ran.err
    assert hint in run(people, stdin="SELECT COUNT(*) FROM people\n.mode csv\nSHOW TABLES;").err
    assert hint not in run(people, "-c", "SELECT COUNT(*) FROM x\n.5 * 2").err


@pytest.mark.parametrize("statement", ["SHOW TABLES", ".tables", "\\dt", "  show tables;"])
def test_a_statement_after_the_files(run: Run, people: Path, statement: str) -> None:
    ran = run(people, "--csv", statement)
    assert (ran.code, ran.out) == (0, "table,columns,unit\npeople,5,row\n")
    assert run(people, "SHOW", statement).code == 2


def test_a_statement_without_a_file(run: Run) -> None:
    ran = run("SELECT COUNT(*) FROM people")
    assert (ran.code, ran.out) == (2, "")
    assert "no data file or policy given" in ran.err


def test_a_file_may_be_called_like_a_statement(
    run: Run, make: Make, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    make("a\n1\n", name="one")
    make("a\n1\n", name="set b")
    assert run("one.csv", "set b.csv", "--csv", "-c", "SHOW TABLES").out == (
        "table,columns,unit\none,1,row\nset b,1,row\n"
    )


def test_answers_into_a_file(run: Run, make: Make, tmp_path: Path) -> None:
    path, answers = (
        make("a\n1\n", policy='[tables.t.columns]\na = { type = "text" }\n'),
        tmp_path / "a.txt",
    )
    assert run(path, "--csv", "-o", answers, "SHOW TABLES").out == ""
    assert answers.read_text() == "table,columns,unit\nt,1,row\n"
    script = tmp_path / "q.sql"
    script.write_text("SHOW TABLES;")
    for name in (path, path.with_suffix(".toml"), script):
        before = name.read_text()
        ran = run(path, "--output", name, "-f", script)
        assert (ran.code, ran.out) == (2, "")
        assert "is not overwritten" in ran.err
        assert name.read_text() == before
