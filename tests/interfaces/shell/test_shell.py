"""Dot commands, confirmation and questions, without a terminal."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from threading import Thread

import pytest

from dpdb.answers.answer import Answer
from dpdb.errors import MissingBounds, printable
from dpdb.interfaces.cli.main import main
from dpdb.interfaces.console.commands import COMMANDS, run, run_typed
from dpdb.interfaces.console.scripts import statements
from dpdb.interfaces.console.settings import ShellSettings
from dpdb.interfaces.prompt import prompt
from dpdb.interfaces.prompt.shell import Shell
from dpdb.ledger.protocol import Balance
from dpdb.policy.budget import Budget, Neighbors
from dpdb.policy.reading.reader import policy_for
from dpdb.session.session import Session
from tests.support.noiseless import Noiseless

DATA = "city,age,income,born\nRome,20,100,2000-01-01\nRome,40,300,\nOslo,60,500,1999-12-31\n"
POLICY = """
[budget]
epsilon = 1
queries = 4
[tables.t.columns]
city = { type = "text", values = ["Oslo", "Rome", "Bern"] }
age = { type = "integer", bounds = [0, 100] }
income = { type = "number" }
born = { type = "date", bounds = [1990-01-01, 2009-12-31] }
"""
Make = Callable[..., Shell]


@pytest.fixture
def make(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Make:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.csv").write_text(DATA)
    (tmp_path / "t.toml").write_text(POLICY)

    def build(
        *replies: str, neighbors: Neighbors = Neighbors.ADD_REMOVE, inputs: Iterable[Path] = ()
    ) -> Shell:
        given: Iterator[str] = iter(replies)
        policy = replace(policy_for(tmp_path / "t.csv"), neighbors=neighbors)

        def open_session(progress: object) -> Session:
            return Session(policy, noise=Noiseless())

        return Shell(policy, ShellSettings(), lambda question, _: next(given), open_session,
                     inputs=inputs)  # fmt: skip

    return build


def left(shell: Shell) -> tuple[float, int]:
    return float(shell.balance.epsilon_left), shell.balance.queries_left


def test_balance_before_there_is_a_session(make: Make) -> None:
    budget = Budget(Fraction(1), Fraction(0), 4)
    assert make().balance == Balance(budget, Fraction(1), Fraction(0), 4)


def test_more_than_half_is_confirmed(make: Make, capsys: pytest.CaptureFixture[str]) -> None:
    half, more = (
        "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon = 0.5) COUNT(*) FROM t;",
        "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon = 0.3) COUNT(age) FROM t;",
    )
    shell = make("no", "y")
    run_typed(shell, half)  # exactly half is not more than half
    assert left(shell) == (0.5, 3)
    run_typed(shell, more)
    assert left(shell) == (0.5, 3)
    run_typed(shell, more)
    assert left(shell) == (0.2, 2)
    run_typed(shell, "SELECT COUNT(*), SUM(age) FROM t;")
    assert "not enough epsilon" in capsys.readouterr().err
    # A repeat is free, as is what follows from answers, and there is nothing to ask about.
    for free in (half, "SELECT COUNT(*), COUNT(age) FROM t;"):
        run_typed(shell, free)
        assert left(shell) == (0.2, 2)


def test_confirmation_can_be_switched_off(make: Make) -> None:
    shell = make()
    run_typed(shell, ".confirm off")
    run_typed(shell, "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon = 1) COUNT(*) FROM t;")
    assert left(shell) == (0, 3)


def test_interrupted_before_the_debit_nothing_is_spent(
    make: Make, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    shell = make()

    def interrupted() -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(shell.preload, "finish", interrupted)
    run_typed(shell, "SELECT COUNT(*) FROM t; SELECT COUNT(age) FROM t;")
    assert capsys.readouterr().err == "cancelled; nothing was spent\nnot run: the 1 after it\n"
    assert left(shell) == (1, 4)


def test_a_shell_needs_no_thread(
    make: Make, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(Thread, "start", fail)
    shell = make()
    shell.preload.begin()
    assert shell.preload.can_plan
    run_typed(shell, "SELECT COUNT(*) FROM t;")
    shell.preload.leave()
    said = capsys.readouterr()
    assert "3 ± 12" in said.out
    assert not said.err


def test_nothing_is_said_of_what_cannot_be_imported_beforehand(
    make: Make, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: str) -> None:
        raise ImportError("failed to map segment from shared object")

    monkeypatch.setattr("dpdb.interfaces.prompt.shell.import_module", fail)
    shell = make()
    shell.preload.finish()
    assert not shell.preload.can_plan
    run_typed(shell, "SHOW TABLES;")
    said = capsys.readouterr()
    assert " t       |" in said.out
    assert not said.err


def test_unknown_command(make: Make, capsys: pytest.CaptureFixture[str]) -> None:
    run_typed(make(), ".tabels")
    assert capsys.readouterr().err == "error: no command .tabels\nhint: did you mean .tables?\n"


def test_tables_and_schema(make: Make, capsys: pytest.CaptureFixture[str]) -> None:
    shell = make()
    run_typed(shell, ".mode csv\n.tables\n.schema")
    assert capsys.readouterr().out == (
        "table,columns,unit\nt,4,row\n"
        "column,type,lower,upper,values,nulls,names\n"
        'city,text,,,"Oslo, Rome, Bern",true,\n'
        "age,integer,0,100,,true,\n"
        "income,number,,,,true,\n"
        "born,date,1990-01-01,2009-12-31,,true,\n"
    )
    run_typed(shell, ".schema T")
    assert "city" in capsys.readouterr().out
    run_typed(shell, ".schema nothing")
    assert "no table nothing" in capsys.readouterr().err


def test_output_goes_to_a_file_and_back(make: Make, capsys: pytest.CaptureFixture[str]) -> None:
    shell = make()
    run_typed(shell, ".output a.txt\nSELECT COUNT(*) FROM t;\n.output\n.tables")
    assert Path("a.txt").read_text() == (
        "   COUNT(*)\n------------\n     3 ± 12\n±12 is 400 % of 3\nspent ε 0.25 · left: ε 0.75 of 1, 3 of 4 queries\n"
    )
    assert " t       |" in capsys.readouterr().out
    run_typed(shell, ".output /nowhere/at/all")
    assert "cannot write" in capsys.readouterr().err


def test_a_narrow_window_breaks_no_words(
    make: Make, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    shell = make()
    run_typed(
        shell,
        "SHOW ALL;\nSET interval = off;\nSELECT MEDIAN(age) AS m FROM t;\n"
        ".mode vertical\nSHOW ALL;",
    )
    said = capsys.readouterr().out
    assert max(map(len, said.split("\n"))) <= 40
    assert "meaning = 'free': a repeated query is\n          answered as before;" in said
    assert said.count("'free': a repeated query is\n") == 2
    assert (
        "m is chosen by rank, and has no\ninterval: how near it is depends on the\nrows\n" in said
    )
    run_typed(shell, ".mode table\n.once a.txt\nEXPLAIN SELECT MEDIAN(age) AS m FROM t;")
    assert "how near it is depends on the rows\n" in Path("a.txt").read_text()


def test_one_answer_goes_to_a_file(make: Make, capsys: pytest.CaptureFixture[str]) -> None:
    shell = make()
    run_typed(shell, ".mode csv\n.once a.txt\nSELECT nobody FROM t;")
    run_typed(shell, "SHOW TABLES;\nDESCRIBE t;\n.once")
    assert Path("a.txt").read_text() == "table,columns,unit\nt,4,row\n"
    said = capsys.readouterr()
    assert said.out.startswith("column,type,")
    assert said.err.endswith("error: .once needs the name of a file\n")


@pytest.mark.parametrize("command", [".output", ".once", "\\o"])
@pytest.mark.parametrize("name", ["t.csv", "t.toml", "other/../t.csv", "link", "more.toml"])
def test_what_is_asked_about_is_not_overwritten(
    make: Make, capsys: pytest.CaptureFixture[str], command: str, name: str
) -> None:
    shell = make(inputs=[Path("more.toml")])
    Path("other").mkdir()
    Path("more.toml").touch()
    Path("link").symlink_to("t.csv")
    run_typed(shell, f"{command} {name}\nSHOW TABLES;")
    said = capsys.readouterr()
    assert f"error: {name} is read by dpdb, and is not overwritten" in said.err
    assert not said.out
    assert (Path("t.csv").read_text(), Path("t.toml").read_text()) == (DATA, POLICY)


def test_nor_is_what_was_asked_for(
    make: Make, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A policy whose name was typed, and is not that of its data."""
    make()
    policy = f'[tables.t]\npath = "t.csv"\n{POLICY}'
    Path("more.toml").write_text(policy)
    replies = iter(["more.toml", "", ""])
    monkeypatch.setattr(prompt, "asker", lambda _: lambda *_: next(replies))
    monkeypatch.setattr(
        prompt, "converse", lambda shell, teach: run_typed(shell, ".once more.toml")
    )
    monkeypatch.setattr("sys.stdin.isatty", lambda: True)
    assert main([]) == 0
    assert "error: more.toml is read by dpdb, and is not overwritten" in capsys.readouterr().err
    assert Path("more.toml").read_text() == policy


@pytest.mark.parametrize("command", [".output", ".once", ".read"])
@pytest.mark.parametrize("name", ["~nobody-at-all/x", "a\0b", "x" * 5_000, ".", "no/where"])
def test_names_that_are_no_files(
    make: Make, capsys: pytest.CaptureFixture[str], command: str, name: str
) -> None:
    run_typed(make(), f"{command} {name}")
    said = capsys.readouterr().err
    assert re.match(r"error: (cannot (read|write) |.* is not the name of a file)", said)


def test_help_on_a_command(make: Make, capsys: pytest.CaptureFixture[str]) -> None:
    run_typed(make(), ".help once\n.help .timer")
    assert capsys.readouterr().err == (
        ".once FILE\n  the next answer into a file\n"
        ".timer [VALUE]\n  show how long an answer took\n  off | on; now off\n"
    )
    for command in COMMANDS:
        run_typed(make(), f".help {command}")
        assert capsys.readouterr().err.startswith(f"{command} ".rstrip())


@pytest.mark.parametrize(("line", "hint"), [
    (".tabels", "did you mean .tables?"), ("\\foo", ".help lists them"),
])  # fmt: skip
def test_commands_that_are_not_there(
    make: Make, capsys: pytest.CaptureFixture[str], line: str, hint: str
) -> None:
    run_typed(make(), line)
    assert hint in capsys.readouterr().err


def test_a_statement_is_edited_and_typed_again(
    make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    editor = tmp_path / "editor"
    editor.write_text('#!/bin/sh\nsed -i s/age/income/ "$1"\n')
    editor.chmod(0o700)
    monkeypatch.setenv("VISUAL", str(editor))
    shell = make()
    run_typed(shell, "SELECT COUNT(age)\nFROM t;")
    assert run_typed(shell, "\\e") == "SELECT COUNT(income)\nFROM t;"
    assert run_typed(shell, "SELECT SUM(age)\n\\e") == "SELECT SUM(income)"
    assert left(shell)[1] == 3, "what is edited is not run until Enter"
    monkeypatch.setenv("VISUAL", "false")
    run_typed(shell, ".edit")
    assert capsys.readouterr().err.endswith(
        "error: false failed\nhint: EDITOR=nano dpdb FILE.csv\n"
    )


def test_long_answers_go_through_the_pager(
    make: Make, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    paged: list[str] = []
    monkeypatch.setattr("dpdb.interfaces.prompt.shell.paged", paged.append)
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setenv("LINES", "6")
    shell = make()
    run_typed(
        shell, ".pager on\nSELECT COUNT(*) FROM t;\nSELECT city, COUNT(*) FROM t GROUP BY city;"
    )
    assert [text.count("\n") for text in paged] == [7]
    assert capsys.readouterr().out.startswith("   COUNT(*)")


def test_a_file_that_reads_itself(make: Make, capsys: pytest.CaptureFixture[str]) -> None:
    Path("q.sql").write_text("SHOW TABLES;\n.read r.sql")
    Path("r.sql").write_text(".read ./q.sql")
    run_typed(make(), ".read q.sql")
    said = capsys.readouterr()
    assert said.out.count(" t ") == 1
    assert said.err == "error: ./q.sql reads itself\n"


def test_read_shows_nothing_of_what_is_no_sql(
    make: Make, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("rows.csv").write_text("select group,price\n1,Abel Woods\n")
    run_typed(make(), ".read rows.csv")
    said = capsys.readouterr()
    assert "price" not in said.err + said.out
    assert "line 2 of rows.csv: this is no SQL" in said.err


@pytest.mark.parametrize("other", [
    "PRAGMA foo", "CREATE TABLE v (a INTEGER)", "CREATE OR REPLACE VIEW v AS SELECT 1",
    "PIVOT t ON x", "DROP TABLE v",
])  # fmt: skip
def test_read_tells_sql_of_others_from_what_is_none(
    make: Make, capsys: pytest.CaptureFixture[str], other: str
) -> None:
    Path("q.sql").write_text(f"{other};\nSELECT COUNT(q) FROM t;")
    shell = make()
    for entry in statements("q.sql", COMMANDS):
        run(shell, entry)
    said = capsys.readouterr().err
    assert "line 1 of q.sql is something else" in said
    assert "error: no column q\n" in said
    assert "hint: columns are " in said


def test_rows_that_begin_like_sql_of_others_are_shown_no_more(
    make: Make, capsys: pytest.CaptureFixture[str]
) -> None:
    shell = make()
    for header in ("pragma,price", "create table\nAbel", "drop table v\nAbel", "pivot point"):
        Path("rows.csv").write_text(f"{header}\nWoods;\nSELECT Woods FROM t")
        for entry in statements("rows.csv", COMMANDS):
            run(shell, entry)
    said = capsys.readouterr()
    assert "Woods" not in said.err + said.out


def test_read_stops_where_a_statement_fails(make: Make, capsys: pytest.CaptureFixture[str]) -> None:
    Path("q.sql").write_text(
        "SHOW TABLES; SELECT nobody FROM t; SELECT COUNT(*) FROM t; SHOW BUDGET"
    )
    shell = make()
    run_typed(shell, ".read q.sql")
    assert capsys.readouterr().err.endswith("not run: the 2 after it\n")
    assert left(shell) == (1, 4)
    run_typed(shell, ".read missing.sql")
    assert "cannot read missing.sql" in capsys.readouterr().err


def test_history_and_quit(make: Make, capsys: pytest.CaptureFixture[str]) -> None:
    shell = make()
    run_typed(shell, "SHOW\nTABLES;")
    capsys.readouterr()
    run_typed(shell, ".history")
    assert capsys.readouterr().err == "SHOW\nTABLES;\n.history\n"
    with pytest.raises(EOFError):
        run_typed(shell, ".quit")


def test_the_words_of_psql_turn_settings_on_and_off(
    make: Make, capsys: pytest.CaptureFixture[str]
) -> None:
    shell = make()
    for line in ("\\timing", "\\timing", "\\timing on", "\\timing on", ".timer"):
        run_typed(shell, line)
    said = capsys.readouterr().err.splitlines()
    assert said == [f"timer: {value}" for value in ("on", "off", "on", "on", "on")]
    for line in ("\\x", "\\x", "\\x on", "\\x on", "\\x off", ".mode csv", "\\x"):
        run_typed(shell, line)
    said = capsys.readouterr().err.splitlines()
    modes = ("vertical", "table", "vertical", "vertical", "table", "csv", "vertical")
    assert said == [f"mode: {value}" for value in modes]
    run_typed(shell, ".editing toggle")
    assert "not toggle" in capsys.readouterr().err


def test_modes_and_timer(make: Make, capsys: pytest.CaptureFixture[str]) -> None:
    shell = make()
    run_typed(shell, ".mode jsn")
    assert "hint: did you mean json?" in capsys.readouterr().err
    run_typed(
        shell, ".timer on\n.mode json\nSELECT COUNT(*) FROM t;\nEXPLAIN SELECT COUNT(*) FROM t;"
    )
    said = capsys.readouterr()
    answer, explained = said.out.splitlines()
    assert '"rows": [[3]]' in answer
    assert re.fullmatch(r"timer: on\nmode: json\n0\.\d\d s\n0\.\d\d s\n", said.err)
    assert '"explain": true' in explained


@pytest.mark.parametrize(
    "topic", ["", "ε", "sensitivity", "k", "intervals", "keys", "repeats", "settings"]
)
def test_every_help_fits_a_screen(
    make: Make, capsys: pytest.CaptureFixture[str], topic: str
) -> None:
    run_typed(make(), f".help {topic}")
    lines = capsys.readouterr().err.splitlines()
    assert 4 < len(lines) <= 24
    assert max(map(len, lines)) <= 80
    if not topic:
        assert all(any(line.startswith(f"  {name}") for line in lines) for name in COMMANDS)


@pytest.mark.parametrize("topic", ["", "settings", "epsilon"])
def test_help_is_folded_in_a_narrow_window(
    make: Make, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, topic: str
) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    run_typed(make(), f".help {topic}")
    assert max(map(len, capsys.readouterr().err.splitlines())) <= 60


def test_no_help_on_it(make: Make, capsys: pytest.CaptureFixture[str]) -> None:
    run_typed(make(), ".help epsilom")
    assert "did you mean epsilon?" in capsys.readouterr().err


def test_ask_builds_a_query(make: Make, capsys: pytest.CaptureFixture[str]) -> None:
    shell = make("wage", "age", "AVG", "city = 'Roma", "city = 'Rome'", "")
    run_typed(shell, ".ask")
    said = capsys.readouterr()
    assert "SELECT MEAN(age) FROM t WHERE city = 'Rome';" in said.err
    assert "no field wage" in said.err
    assert "error: a string, name or comment is not closed" in said.err
    assert left(shell) == (0.75, 3)


def test_quit_leaves_within_questions(make: Make, capsys: pytest.CaptureFixture[str]) -> None:
    for word in (".quit", "\\q", ".exit"):
        with pytest.raises(EOFError):
            run_typed(make("age", word), ".ask")
    assert "no function" not in capsys.readouterr().err


def test_ask_asks_for_bounds_where_there_are_none(
    make: Make, capsys: pytest.CaptureFixture[str]
) -> None:
    shell = make("income", "sum", "0", "lots", "-1", "1000", "", "n")
    run_typed(shell, ".ask")
    said = capsys.readouterr()
    assert said.err.endswith("\nSELECT SUM(CLAMP(income, 0, 1000)) FROM t;\n")
    assert "a number is needed" in said.err
    assert "the largest is not below 0" in said.err
    assert left(shell) == (1, 4)


def test_dates_are_not_summed(make: Make, capsys: pytest.CaptureFixture[str]) -> None:
    run_typed(make("born", "sum", "mean", "", ""), ".ask")
    said = capsys.readouterr()
    assert "there are count, mean, min, max, median" in said.err
    assert "SELECT MEAN(born) FROM t;" in said.err
    assert re.search(r"1999-12-31 ± \d+ days", said.out)


def test_text_can_only_be_counted(make: Make, capsys: pytest.CaptureFixture[str]) -> None:
    run_typed(make("city", "sum", "count", "True", "n"), ".ask")
    said = capsys.readouterr()
    assert "no function sum" in said.err
    assert said.err.endswith("\nSELECT COUNT(city) FROM t;\n")


def test_chart_needs_an_answer_by_group(make: Make, capsys: pytest.CaptureFixture[str]) -> None:
    shell = make()
    run_typed(shell, ".chart")
    assert "there is no answer to draw" in capsys.readouterr().err
    run_typed(shell, "SELECT COUNT(*) FROM t;\n.chart")
    assert "a chart needs one column of GROUP BY" in capsys.readouterr().err


def test_what_files_say_cannot_move_the_cursor(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("\x1b[2Jname,b\n1,2\n")
    from dpdb.interfaces.prompt.status import greeting  # noqa: PLC0415

    shown = greeting(policy_for(tmp_path / "x.csv"), 100)
    assert "\x1b" not in shown
    assert printable("\x1b[2Jname") in shown


@pytest.mark.parametrize("neighbors", list(Neighbors))
def test_price_of_what_is_typed_reads_no_rows(make: Make, neighbors: Neighbors) -> None:
    """Under `replace` a mean's noise hangs on n; nothing is loaded to show it."""
    shell = make(neighbors=neighbors)
    shell.preload.finish()
    Path("t.csv").rename("hidden")
    quote = shell.quote("SELECT AVG(age) FROM t WHERE city = 'Rome'")
    assert isinstance(quote, Answer)
    assert float(quote.cost.epsilon) == 0.25
    assert bool(quote.releases) == (neighbors is Neighbors.ADD_REMOVE)
    assert isinstance(shell.quote("SELECT AVG(income) FROM t"), MissingBounds)
    Path("hidden").rename("t.csv")
    run_typed(shell, "SELECT COUNT(age) FROM t;")
    later = shell.quote("SELECT AVG(age) FROM t")
    assert isinstance(later, Answer)
    assert later.releases


def test_nothing_is_priced_while_that_would_keep_one_waiting(make: Make) -> None:
    assert make().quote("SELECT COUNT(*) FROM t") is None


def test_a_full_disk(make: Make, capsys: pytest.CaptureFixture[str]) -> None:
    shell = make()
    run_typed(shell, ".output /dev/full\nSHOW TABLES;\nSHOW TABLES;")
    said = capsys.readouterr()
    assert "answers are shown here again" in said.err
    assert " t       |" in said.out


@pytest.mark.parametrize(
    ("failure", "said"),
    [(OSError(24, "a cell"), "this machine lacks"), (MemoryError("a cell"), "this machine lacks"),
     (ValueError("a cell"), "dpdb failed")],
)  # fmt: skip
def test_a_command_that_fails_ends_no_shell(
    make: Make,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    failure: Exception,
    said: str,
) -> None:
    def fail(*_: object) -> None:
        raise failure

    monkeypatch.setattr("dpdb.interfaces.console.commands.help_on", fail)
    run_typed(make(), ".help\nSHOW TABLES;")
    told = capsys.readouterr().err
    assert told.startswith(f"error: {said}")
    assert told.endswith("not run: the 1 after it\n")
    assert "a cell" not in told


def test_words_from_other_shells(make: Make, capsys: pytest.CaptureFixture[str]) -> None:
    shell = make()
    run_typed(shell, "help;")
    assert ".quit" in capsys.readouterr().err
    for word in ("exit", "quit;", ".exit"):
        with pytest.raises(EOFError):
            run_typed(shell, word)
