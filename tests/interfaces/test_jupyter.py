"""The notebook: `%load_ext dpdb`, `%dpdb` and `%%dpdb`, in IPython's own shell."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output

import dpdb
from dpdb.interfaces.cli.main import main
from tests.support.served import served

PEOPLE = Path(__file__).parents[2] / "sample_data" / "people.csv"
CONNECT = f"%dpdb '{PEOPLE}' --epsilon 1 --queries 4"
COUNT = "SELECT COUNT(*) FROM people"


@dataclass(frozen=True)
class Ran:
    """What running a cell left behind."""

    error: BaseException | None
    out: str
    shown: list[str]
    """What was displayed, as HTML."""
    value: Any


class Cells:
    """A notebook without a browser."""

    def __init__(self, shell: InteractiveShell):
        self.shell = shell

    def __call__(self, *cells: str) -> Ran:
        for cell in cells:
            with capture_output() as captured:
                result = self.shell.run_cell(cell)
        shown = [output.data.get("text/html", "") for output in captured.outputs]
        return Ran(result.error_in_exec, captured.stdout, shown, result.result)


@pytest.fixture
def cells(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Cells]:
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path))
    shell = InteractiveShell.instance()
    shell.history_manager.enabled = False
    shell.run_line_magic("colors", "nocolor")
    shell.run_cell("%load_ext dpdb")
    yield Cells(shell)
    InteractiveShell.clear_instance()


def test_cell_answers_each_statement(cells: Cells) -> None:
    ran = cells(CONNECT, f"%%dpdb\n{COUNT};\n-- what is left?\nSHOW BUDGET;\n")
    assert ran.error is None
    assert [page.count("<table>") for page in ran.shown] == [1, 0]
    assert "left     3 of 4 queries" in ran.shown[1]
    assert "COUNT(*)" in ran.shown[0]
    assert "spent ε 0.25 · left: ε 0.75 of 1, 3 of 4 queries" in ran.shown[0]


def test_connecting_returns_the_session(cells: Cells) -> None:
    ran = cells(f"db = {CONNECT}", f"%%dpdb\n{COUNT}", "db")
    assert isinstance(ran.value, dpdb.Session)
    assert ran.value.balance.queries_left == 3
    assert "<Session on people: ε 0.75 of 1, 3 of 4 queries left>" in ran.out


def test_what_a_header_tells_is_said(cells: Cells, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("a;b\n1;2\n")
    told = "cells are separated by semicolons, by the look of the first line"
    assert told in cells(f"%dpdb {tmp_path}/t.csv").out
    assert told not in cells(f"%dpdb {tmp_path}/t.csv --separator ';'").out


def test_last_answer_is_kept(cells: Cells) -> None:
    ran = cells(CONNECT, f"%%dpdb people\nSHOW TABLES; {COUNT}", "people")
    assert isinstance(ran.value, dpdb.Answer)
    assert ran.value.columns == ("COUNT(*)",)
    assert cells("%%dpdb\n" + COUNT).shown[0].count("repeated: free") == 1


def test_error_is_shown_as_on_the_command_line(
    cells: Cells, capsys: pytest.CaptureFixture[str]
) -> None:
    statement = "SELECT AVG(incme)\nFROM people"
    ran = cells(CONNECT, f"%%dpdb kept\nSHOW TABLES; {statement}; {COUNT}")
    main([str(PEOPLE), "-c", statement])
    assert ran.out.strip() == capsys.readouterr().err.strip()
    assert isinstance(ran.error, dpdb.UnknownName)
    assert len(ran.shown) == 1, "what follows an error is not run"


def test_error_of_python_is_shown_without_a_traceback(cells: Cells) -> None:
    ran = cells(f"import dpdb\ndb = dpdb.connect({str(PEOPLE)!r})", "db.execute('SELECT age')")
    assert isinstance(ran.error, dpdb.DpdbError)
    assert ran.out.startswith("error: ")
    assert "Traceback" not in ran.out
    assert "  SELECT age\n" in ran.out


@pytest.mark.parametrize(
    ("cell", "shown"),
    [
        (f"%%dpdb\n{COUNT}", "there is no session yet"),
        (f"%%dpdb not-a-name\n{COUNT}", "not-a-name is not the name of a variable"),
        (f"%%dpdb lambda\n{COUNT}", "lambda is not the name of a variable"),
        ("%dpdb", "no data file or policy given"),
        ("%dpdb nobody.csv", "nobody.csv"),
        (f"%dpdb {COUNT}", f"hint: %%dpdb\\n{COUNT}"),
        (f"{CONNECT} --epsilon much", "argument --epsilon: a number is needed"),
        (f"{CONNECT} -c '{COUNT}'", "unrecognized arguments"),
        (f"{CONNECT} --seed 1", "a seed makes noise predictable"),
        ("%dpdb 'people.csv", "no closing quotation"),
        (f"%dpdb '{PEOPLE}' --composition zcdp", "needs delta"),
    ],
)
def test_what_is_wrong_is_said_in_a_line(cells: Cells, cell: str, shown: str) -> None:
    ran = cells(cell)
    assert isinstance(ran.error, dpdb.DpdbError)
    assert ran.out.startswith("error: ")
    assert shown in ran.out


def test_help_ends_nothing(cells: Cells) -> None:
    ran = cells("%dpdb --help")
    assert ran.error is None
    assert "usage: %dpdb [FILE.csv" in ran.out
    assert "--epsilon" in ran.out
    assert "--json" not in ran.out


def test_teaching_mode_answers_as_the_command_line_does(
    cells: Cells, capsys: pytest.CaptureFixture[str]
) -> None:
    ran = cells(f"{CONNECT} --teach --seed 3", f"%%dpdb kept\n{COUNT}", "print(kept)")
    main([str(PEOPLE), "--queries", "4", "--teach", "--seed", "3", "-c", COUNT])
    assert ran.out == capsys.readouterr().out
    assert "not private" in ran.out


def test_variables_are_values_of_a_cell(cells: Cells) -> None:
    where = f"{COUNT} WHERE zip IN {{zips}} AND name <> {{who}}"
    ran = cells(
        CONNECT,
        'zips, who = [31643, 80127], "it\'s {zips} -- "',
        f"%%dpdb first\n{where};\n",
        f"%%dpdb again\n{COUNT} WHERE zip IN (80127, 31643) AND name <> 'it''s {{zips}} -- '",
        "first.statement, again.repeat",
    )
    statement, repeat = ran.value
    assert statement == f"{COUNT} WHERE zip IN (31643, 80127) AND name <> 'it''s {{zips}} -- '"
    assert repeat


@pytest.mark.parametrize(
    ("text", "fragment"),
    [
        ("age > {nobody}", "no value is given for {nobody}"),
        ("age > {db}", "a value of type Session"),
        ("age > ?", "the statement takes 1 value"),
        ("age > {age + 1}", "is not supported"),
    ],
)
def test_what_is_no_value_is_refused_in_a_cell(cells: Cells, text: str, fragment: str) -> None:
    ran = cells(f"db = {CONNECT}", f"%%dpdb\n{COUNT} WHERE {text}")
    assert isinstance(ran.error, dpdb.StatementError)
    assert fragment in ran.error.message


def test_a_server_in_a_notebook(cells: Cells, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DPDB_TOKEN", "token")
    with served({"token": dpdb.connect(PEOPLE, epsilon=1, queries=4)}.get) as address:
        ran = cells("low = 30", f"%dpdb {address}", f"%%dpdb\n{COUNT} WHERE age > {{low}}")
        assert ran.error is None
        assert "3 of 4 queries" in ran.shown[0]
        assert isinstance(cells(f"%dpdb {address} --epsilon 3").error, dpdb.UsageError)
