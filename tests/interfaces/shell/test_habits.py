r"""What fingers type that know psql, sqlite3, DuckDB, litecli or MySQL works, or is answered.

Each line has a habit and a part of what is then on the screen: `\dt` lists the tables.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from dpdb.interfaces.console.commands import COMMANDS, run_typed
from dpdb.interfaces.console.habits import ANSWERS, LINES, MODES, NAMES, SETTLED
from dpdb.interfaces.console.settings import SETTINGS, ShellSettings
from dpdb.interfaces.prompt.shell import Shell
from dpdb.policy.reading.reader import policy_for
from dpdb.session.session import Session
from tests.support.noiseless import Noiseless

QUITS = "(it ends)"
HABITS = r"""
\?                  | .tables
\h                  | .tables
\h intervals        | ±
help                | .tables
help;               | .tables
?                   | .tables
\d                  | t
\d t                | age
\d+ t               | age
\dt                 | t
\dt+                | t
\dn                 | t
\l                  | t
\z                  | t
\df                 | .help functions
\di                 | .schema
\du                 | dpdb budget show
\conninfo           | SHOW BUDGET
\c other            | dpdb FILE.csv
\password           | --analyst
\i s.sql            | COUNT
\ir s.sql           | COUNT
\o out.txt          |
\w out.txt          |
\copy t to 'x.csv'  | .once
\x                  | mode: vertical
\x on               | mode: vertical
\x off              | mode: table
\x auto             | mode: table
\a                  | .mode csv
\t                  | .mode csv
\H                  | .mode markdown
\pset format csv    | mode: csv
\pset pager off     | pager: off
\pset border 2      | box
\timing             | timer: on
\timing on          | timer: on
\s                  | \s
\p                  | .history
\r                  | Ctrl-C
\g                  | ends with ;
\gx                 | \x
SELECT COUNT(*) FROM t \gx | ends with ;
SELECT COUNT(*) FROM t\G   | ends with ;
\! ls               | another terminal
\echo hi            | --
\set x 1            | constants
\watch 2            | free
\crosstabview       | FILTER
\encoding           | UTF-8
\q                  | (it ends)
quit                | (it ends)
quit;               | (it ends)
exit                | (it ends)
exit()              | (it ends)
:q                  | (it ends)
.exit               | (it ends)
.help               | .tables
.show               | mode
.tables             | t
.databases          | t
.schema t           | age
.fullschema         | age
.indexes            | .schema
.dump               | .schema
.mode box           | mode: box
.mode line          | mode: vertical
.mode column        | mode: table
.mode list          | mode: csv
.mode duckbox       | mode: box
.mode jsonlines     | mode: json
.mode html          | mode is table, csv
\T csv              | mode: csv
.headers on         | always have a header
.headers off        | .mode csv
.header on          | always have a header
.width 10 20        | .mode vertical
.maxrows 10         | LIMIT n
.nullvalue NULL     | NULL
.separator ;        | .mode csv
.import x.csv t     | dpdb FILE FILE
.open x.db          | dpdb FILE.csv
.read s.sql         | COUNT
source s.sql        | COUNT
.output out.txt     |
tee out.txt         |
.once out.txt       |
.excel              | needs the name
.timer on           | timer: on
.stats on           | SHOW BUDGET
.echo on            | --
.bail on            | first failure
.eqp on             | EXPLAIN
.explain on         | EXPLAIN
.print hi           | --
.shell ls           | another terminal
.system ls          | another terminal
.cd x               | started in
.save x.db          | .once
.load x             | dpdb FILE FILE
.parameter          | constants
.prompt x           | dpdb>
.highlight off      | .color off
pager less          | .pager on
nopager             | pager: off
clear               | Ctrl-L
history             | history
use other           | dpdb FILE.csv
"""
PAIRS = [
    (habit.strip(), shown.strip())
    for habit, _, shown in (line.rpartition("|") for line in HABITS.strip().splitlines())
]


@pytest.fixture
def shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Shell]:
    monkeypatch.chdir(tmp_path)
    Path("t.csv").write_text("age\n30\n")
    Path("s.sql").write_text("SELECT COUNT(*) FROM t;\n")
    policy = policy_for(Path("t.csv"))
    made = Shell(
        policy, ShellSettings(), lambda *_: "", lambda _: Session(policy, noise=Noiseless())
    )
    yield made
    made.redirect("")


def screen(shell: Shell, typed: str, capsys: pytest.CaptureFixture[str]) -> str:
    try:
        assert run_typed(shell, typed) == ""
    except EOFError:
        return QUITS
    return "".join(capsys.readouterr())


@pytest.mark.parametrize(("habit", "shown"), PAIRS)
def test_habit(habit: str, shown: str, shell: Shell, capsys: pytest.CaptureFixture[str]) -> None:
    assert shown in screen(shell, habit, capsys)


def test_there_are_81_at_least() -> None:
    assert len(PAIRS) >= 81


def test_tables_name_commands_that_there_are() -> None:
    targets = {line.split()[0] for line in (*LINES.values(), *NAMES.values())}
    hinted = {word for hint in ANSWERS.values() for word in re.findall(r"(?<!\S)\.[a-z]+", hint)}
    assert targets | hinted <= COMMANDS.keys()
    assert set(MODES.values()) <= set(SETTINGS["mode"].values)
    assert {line.split()[0] for line in SETTLED} <= ANSWERS.keys()


def test_words_without_a_dot_are_no_commands_in_a_file(
    shell: Shell, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("data.csv").write_text("source secret\n")
    assert "secret" not in screen(shell, ".read data.csv", capsys)
