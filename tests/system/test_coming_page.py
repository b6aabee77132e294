"""The page for people who know other systems: each side of each row is run, and both agree.

The numbers of pandas and DuckDB are within the ± of dpdb's, which are worked out without noise.
"""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import pytest

import dpdb
from dpdb import manual
from dpdb.answers.answer import Answer
from dpdb.interfaces.cli.main import main
from tests.support.noiseless import Noiseless
from tests.support.pages import code, table
from tests.support.shell_lines import ROOT

PAGE = manual.page("coming")
PANDAS, DUCKDB, PSQL = (
    [(code(row[0])[0], code(row[1])[0]) for row in table(PAGE, system, "dpdb", "note")]
    for system in ("pandas", "DuckDB", "psql")
)
ELSE = ("MODE", "MAX", "HAVING", "BOOL_OR", "SAMPLE", "/ 0", "DESCRIBE", "SUMMARIZE", "head()")
"""Habits whose line in dpdb has no ±, or answers another question."""


@pytest.fixture(autouse=True)
def without_noise(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    monkeypatch.setattr("dpdb.session.query_answers.source", lambda _: Noiseless())


@pytest.fixture
def people() -> pd.DataFrame:
    return pd.read_csv("sample_data/people.csv")


def answered(line: str) -> Answer:
    return dpdb.connect("sample_data/people.csv", queries=2).execute(line)


def check(habit: str, line: str, expected: list[Any]) -> None:
    """Assert that the interval of each noisy value of dpdb holds the number of the other system."""
    answer = answered(line)
    assert answer.rows or answer.notes
    if not any(name in habit + line for name in ELSE):
        found = [each for row in answer.intervals for each in row if each is not None]
        assert len(found) == len(expected) > 0
        for (low, high), value in zip(found, expected, strict=True):
            assert low is not None
            assert high is not None
            assert float(low) <= float(value) <= float(high)


def test_there_are_forty_rows() -> None:
    assert [len(PANDAS), len(DUCKDB), len(PSQL)] == [16, 12, 12]


@pytest.mark.parametrize(("habit", "line"), PANDAS)
def test_a_method_of_pandas(habit: str, line: str, people: pd.DataFrame) -> None:
    value = eval(habit, {"df": people})
    check(habit, line, value.tolist() if isinstance(value, pd.Series) else [value])


@pytest.mark.parametrize(("habit", "line"), DUCKDB)
def test_a_query_of_duckdb(habit: str, line: str, tmp_path: Path) -> None:
    con = duckdb.connect()
    con.execute("CREATE TABLE people AS SELECT * FROM 'sample_data/people.csv'")
    rows = con.execute(habit.replace("n.csv", str(tmp_path / "n.csv"))).fetchall()
    if line.startswith("."):
        file = tmp_path / "statements"
        written = tmp_path / "out.csv"
        file.write_text(f"{line.replace('n.csv', str(written))}\nSELECT COUNT(*) FROM people;\n")
        assert main(["sample_data/people.csv", "-f", str(file)]) == 0
        assert "COUNT(*)" in written.read_text()
    else:
        last = [row[-1] for row in sorted(rows)]
        check(habit, line, last[0] if isinstance(last[0], list) else last)


@pytest.mark.parametrize(("_", "line"), PSQL)
def test_a_command_for_psql(
    _: str, line: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if line.startswith("dpdb "):
        assert main(shlex.split(line)[1:]) == 0
    elif line.startswith("\\"):
        file = tmp_path / "statements"
        file.write_text(re.sub(r"out\.txt", str(tmp_path / "out.txt"), line) + "\n")
        assert main(["sample_data/people.csv", "-f", str(file)]) == 0
    else:
        assert answered(line).columns
    assert "error" not in capsys.readouterr().err
