"""The prompt, driven as people do: the program in a pseudo-terminal."""

from __future__ import annotations

import os
import re
import signal
import stat
import sys
from collections.abc import Iterator
from pathlib import Path

import pexpect
import pytest

from tests.support.terminal import PEOPLE, Terminal, hung_up

COUNT = "SELECT COUNT(*) FROM people"
COLOUR = re.compile(r"\x1b\[[\d;]*\b(?:3[0-8]|4[0-8]|9\d|10\d)[\d;]*m")


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Terminal]:
    """One program for the tests that need nothing special of it, as each takes a second to start."""
    home = tmp_path_factory.mktemp("home")
    editor = home / "editor"
    editor.write_text('#!/bin/sh\nprintf "SHOW TABLES;" > "$1"\n')
    editor.chmod(0o755)
    with Terminal(PEOPLE, home=home, columns=80, EDITOR=str(editor)) as terminal:
        terminal.wait_for_prompt()
        assert terminal.lines[2] == "dpdb>"
        yield terminal


@pytest.fixture
def terminal(shared: Terminal) -> Terminal:
    """The shared program at its first prompt on an empty screen, whatever was typed before."""
    shared.send("\x03\x0c")  # Ctrl-C, Ctrl-L
    shared.wait(lambda t: t.cursor_line == "dpdb>" and t.row == 0)
    shared.raw = ""
    return shared


def test_first_session_and_the_next(tmp_path: Path) -> None:
    umask = os.umask(0)
    try:
        terminal = Terminal(PEOPLE, "--queries", "2", home=tmp_path)
    finally:
        os.umask(umask)
    first_session(terminal)
    history_is_private_and_comes_back(tmp_path)


def first_session(terminal: Terminal) -> None:
    with terminal:
        terminal.wait_for_prompt()
        first, second, *_ = terminal.lines
        assert first.startswith("people(name text, age 18 to 65, income 0 to 1000000, zip 40 val")
        assert second.startswith("ε 1, k 2 for this session: ε/k = 0.5 a query")
        terminal.wait(lambda t: "ε 1 of 1 ██████████ 2 of 2 queries left" in t.toolbar)
        # Enter goes on until there is a semicolon, on an indented line.
        terminal.send("SELECT COUNT(*)\r")
        terminal.wait(lambda t: t.cursor_line.strip() == "...>")
        terminal.send("FROM people;\r")
        terminal.wait_for_prompt(2)
        assert re.search(
            r"\d+ ± 6\n±6 is 0.06 % of \d+\nspent ε 0.5 · left: ε 0.5 of 1, 1 of 2 queries",
            terminal.text,
        )
        # The rest of the budget is not spent without a question.
        terminal.send("SELECT AVG(age) FROM people;\r")
        terminal.wait("This takes ε 0.5 of the ε 0.5 left. Run it? [y/N]")
        terminal.send("y\r")
        terminal.wait_for_prompt(3)
        assert "0 of 2 queries" in terminal.text
        # What follows from an answer is free even now, and nothing else is.
        assert "repeated: free" in terminal.run("SELECT SUM(age) FROM people;")
        shown = terminal.run("SELECT SUM(income) FROM people;")
        assert "error: all 2 queries are used" in shown
        terminal.send("\x04")
        assert "2 of 2 queries asked, ε 1 of 1 spent." in terminal.end()
    assert terminal.process.exitstatus == 0


def history_is_private_and_comes_back(home: Path) -> None:
    history = home / ".local" / "state" / "dpdb" / "history"
    assert stat.S_IMODE(history.stat().st_mode) == 0o600
    history.chmod(0o644)
    modules = home / "modules"
    with Terminal(PEOPLE, home=home, how=f"modules:{modules}") as terminal:
        terminal.wait_for_prompt()
        assert stat.S_IMODE(history.stat().st_mode) == 0o600
        terminal.send("\x12SUM(inc")  # Ctrl-R
        terminal.wait(lambda t: any("dpdb> SELECT SUM(income)" in line for line in t.lines))
        terminal.send("\x07")  # Ctrl-G
        terminal.wait(lambda t: t.cursor_line == "dpdb>")
        terminal.send("\x04")
        terminal.end()
    nothing_heavy_was_imported(modules)


def nothing_heavy_was_imported(listed: Path) -> None:
    """Before the prompt: see `tests.support.stubbed`."""
    modules = set(listed.read_text().split())
    assert "prompt_toolkit" in modules
    assert modules.isdisjoint({"pandas", "numpy", "sqlglot", "dpdb.session.session"})


def test_leaving_while_modules_are_imported(tmp_path: Path) -> None:
    with Terminal(PEOPLE, home=tmp_path, how="late") as terminal:
        terminal.wait_for_prompt()
        terminal.send("\x04")
        assert terminal.end().rstrip().endswith("\n0 of 10 queries asked, ε 0 of 1 spent.")
    assert terminal.process.exitstatus == 0


def commands_within_a_statement(terminal: Terminal) -> None:
    terminal.send("SHOW\r")
    terminal.wait(lambda t: t.cursor_line.strip() == "...>")
    terminal.send("\\timing\r")
    terminal.wait("timer: on")
    terminal.wait(lambda t: t.cursor_line.strip() == "...>")
    terminal.send("TABLES;\r")
    terminal.wait(" people  |         5")


def test_a_command_within_a_statement_is_obeyed(terminal: Terminal) -> None:
    commands_within_a_statement(terminal)


def test_completion_menu_and_toolbar_in_colour(terminal: Terminal) -> None:
    terminal.run(".timer off")  # so that what plans is there
    terminal.run("SHOW TABLES;")
    terminal.send("SELECT SU")
    terminal.wait("SUM(x)")
    assert COLOUR.search(terminal.raw)
    assert "the total; x needs bounds" in terminal.text
    terminal.send("M(age) FROM peo")
    terminal.wait("5 columns")
    terminal.send("ple WHERE zip = 316")
    terminal.wait("31643")
    assert "declared for zip" in terminal.text
    terminal.send("43")
    terminal.wait("costs ε 0.1, ± 1,947")
    assert re.search(r"ε \S+ of 1 █+.* of 10 queries left", terminal.toolbar)
    terminal.send("\x15SELECT SUM(name) FROM people")
    terminal.send("\x15SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon = 2) " + COUNT[7:])
    terminal.wait("refused: costs ε 2")
    assert re.search(r"\x1b\[[\d;]*41[\d;]*m refused", terminal.raw), "not in red"


def test_completions_are_below_what_is_typed(tmp_path: Path) -> None:
    typed = ["SELECT COUNT(*)", "FROM people", "WHERE age > 30", "AND "]
    with Terminal(PEOPLE, home=tmp_path, lines=12) as terminal:
        terminal.wait_for_prompt()
        terminal.send(".help\r")  # so that the next prompt is at the bottom of the window
        terminal.wait(lambda t: "changes developing" in t.text and t.cursor_line == "dpdb>")
        terminal.send("\r".join(typed))
        terminal.wait("18 to 65")
        [first, *others] = (line.rstrip() for line in typed)
        above = terminal.lines[terminal.row - 3 : terminal.row + 1]
        assert above == [f"dpdb> {first}", *(f" ...> {line}" for line in others)]


def test_ctrl_c_cancels_a_query_and_a_hangup_ends_it(tmp_path: Path) -> None:
    terminal = Terminal(PEOPLE, home=tmp_path, how="endless")
    terminal.wait_for_prompt()
    terminal.send("SELECT nonsense")
    terminal.wait("nonsense")
    terminal.send("\x03")
    terminal.wait_for_prompt(2)
    terminal.send(COUNT + ";\r")
    terminal.wait("at work")
    terminal.send("\x03")
    terminal.wait_for_prompt(3)
    assert "cancelled; the ε 0.1 it was debited stays spent" in terminal.text
    terminal.wait("ε 0.9 of 1")
    terminal.send(COUNT + ";\r")
    terminal.wait(lambda t: t.text.count("at work") == 2)
    assert os.WTERMSIG(terminal.hang_up()) == signal.SIGHUP


def test_a_terminal_that_is_gone_ends_it_even_where_hangups_are_ignored(tmp_path: Path) -> None:
    command = f"trap '' HUP; exec {sys.executable} -m dpdb {PEOPLE}"
    child = pexpect.spawn("/bin/sh", ["-c", command], timeout=60,
                          env={**os.environ, "HOME": str(tmp_path), "TERM": "xterm"})  # fmt: skip
    child.expect("dpdb>")
    assert os.WIFEXITED(hung_up(child))


def test_editor_and_suggestion(terminal: Terminal) -> None:
    terminal.send("SELECT\x18\x05")  # Ctrl-X Ctrl-E
    terminal.wait(" people  |         5")
    terminal.wait(lambda t: t.cursor_line == "dpdb>")
    terminal.send("SHO")
    terminal.wait(lambda t: t.cursor_line == "dpdb> SHOW TABLES;")
    terminal.send("\x05\r")
    terminal.wait(lambda t: t.text.count(" people  |         5") == 2)


GROUPS = (
    "SELECT zip, COUNT(*), AVG(age), SUM(age) AS total FROM people "
    "WHERE zip IN (31643, 80127) GROUP BY zip;"
)


def test_vi_keys_and_no_colour_in_a_narrow_window(tmp_path: Path) -> None:
    unlike = {"DPDB_EDITING": "vi", "NO_COLOR": "1"}
    with Terminal(PEOPLE, home=tmp_path, columns=40, **unlike) as terminal:
        terminal.wait_for_prompt()
        assert terminal.lines[2] == "dpdb>"
        terminal.send("show tables;\x1b0")
        terminal.send("i")  # before the first letter, not an i
        terminal.send("-- \r")
        terminal.wait_for_prompt(2)
        assert "-- show tables;" in terminal.text
        shown = terminal.run(GROUPS)
        assert not COLOUR.search(terminal.raw)
    assert "-------+-----" not in shown
    assert "     zip = 31643" in shown


def test_teaching_mode_is_in_the_prompt_without_colour(tmp_path: Path) -> None:
    options = ["--teach", "--seed", "1", "--no-color"]
    with Terminal(PEOPLE, *options, home=tmp_path) as terminal:
        terminal.wait(lambda t: t.cursor_line == "dpdb (teaching)>")
        terminal.send(f"{COUNT};\r")
        terminal.wait("· not private")
        assert not COLOUR.search(terminal.raw)


def test_pasted_statements_run_in_turn(terminal: Terminal) -> None:
    pasted = f"SHOW TABLES;\n.mode csv\n{COUNT};\nSELECT name FROM people;\n{COUNT};"
    terminal.send(f"\x1b[200~{pasted}\x1b[201~")
    # Enter is sent once the paste is there: a loaded machine may read both in pieces.
    terminal.wait(lambda t: t.cursor_line.endswith(f"{COUNT};"))
    terminal.send("\r")
    terminal.wait("not run: the 1 after it")
    assert " people  |         5" in terminal.text
    assert re.search(r"mode: csv\nCOUNT\(\*\)\n\d+\nerror: ", terminal.text)
    terminal.run(".mode table")


def test_dumb_terminal(tmp_path: Path) -> None:
    with Terminal(PEOPLE, home=tmp_path, TERM="dumb") as terminal:
        terminal.wait_for_prompt()
        terminal.send("SELECT COUNT(*)\rFROM people;\r")
        terminal.wait("spent ε 0.1")
        terminal.wait_for_prompt(2)
        commands_within_a_statement(terminal)
        terminal.wait_for_prompt(3)
        terminal.send("SELECT\r")
        terminal.wait(lambda t: t.cursor_line.strip() == "...>")
        terminal.send("quit\r")
        assert "1 of 10 queries asked" in terminal.end()
        assert "\x1b" not in terminal.raw


def test_a_usual_window(terminal: Terminal) -> None:
    shown = terminal.run(GROUPS)
    assert "-------+-----" in shown
    assert "     zip = 31643" not in shown


def test_a_batch_at_a_terminal_fits_it(tmp_path: Path) -> None:
    explain = "EXPLAIN SELECT MODE(zip) AS m FROM people"
    with Terminal(PEOPLE, explain, home=tmp_path, columns=60) as terminal:
        shown = terminal.end()
    note = "m is chosen by frequency, and has no interval: how near it is depends on the rows"
    assert note not in shown
    assert note in " ".join(shown.split())
    assert "└─ mode by the exponential mechanism\n" in shown


def test_wide_characters(tmp_path: Path) -> None:
    (tmp_path / "städte.csv").write_text("都市,n\n京,1\n")
    (tmp_path / "städte.toml").write_text(
        '[tables."städte".columns]\n"都市" = { type = "text", values = ["京都市", "x"] }\n'
    )
    with Terminal(str(tmp_path / "städte.csv"), home=tmp_path) as terminal:
        terminal.wait_for_prompt()
        assert "städte(都 市  2 values)" in terminal.lines[0].replace("都市", "都 市 ")
        terminal.send("SELECT 都市, COUNT(*) FROM städte GROUP BY 都市;\r")
        terminal.wait("spent ε 0.1")
        rules = [line for line in terminal.lines if line.startswith("---")]
        assert rules == ["--------+------------"]


def test_without_a_file_it_asks(tmp_path: Path) -> None:
    with Terminal(home=tmp_path) as terminal:
        terminal.wait("database csv:")
        terminal.send("sample_data/stu")
        terminal.wait("students.csv")
        terminal.send("\t")
        terminal.wait("sample_data/students.csv")
        terminal.send("\x15nowhere.csv\r")
        terminal.wait("error: cannot read nowhere.csv")
        terminal.send("sample_data/students.csv\r")
        terminal.wait("epsilon [1]:")
        terminal.send("much\r")
        terminal.wait("error: a number is needed")
        terminal.send("5\r")
        terminal.wait("query limit [10]:")
        terminal.send("2\r")
        terminal.wait_for_prompt()
        assert "ε 5, k 2 for this session: ε/k = 2.5 a query" in terminal.text


def test_answers_go_where_stdout_goes(tmp_path: Path) -> None:
    answers = tmp_path / "answers.txt"
    shell = f"exec {sys.executable} -m dpdb {PEOPLE} --format csv > {answers}"
    child = pexpect.spawn("/bin/sh", ["-c", shell], encoding="utf-8", timeout=60,
                          env={**os.environ, "HOME": str(tmp_path)})  # fmt: skip
    child.expect("dpdb>")
    child.send(".tables\r")
    child.expect("dpdb>")
    child.send("\x04")
    child.expect(pexpect.EOF)
    assert "table,columns,unit\npeople,5,row" in answers.read_text()
