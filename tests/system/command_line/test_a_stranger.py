"""The session of the manual's first page, word for word, with a file that it has never seen."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from dpdb import manual
from tests.support.command_line import Run

SECTION = manual.topic("spreadsheets")
COMMANDS = [line for block in re.findall(r"```sh\n(.*?)```", SECTION, re.DOTALL)
            for line in block.splitlines()]  # fmt: skip
[LINE] = re.findall(r"```toml\n(.*?)\n```", SECTION)
HEADER = "Kunden-Nr;Name;Straße;Größe;Umsatz;geboren;Newsletter"


def client(number: int) -> str:
    height = "NA" if number == 7 else "k.A." if number == 9 else str(150 + number % 50)
    spent = f"{1000 + number % 100},{number % 90 + 10}"
    told = "ja" if number % 2 else "nein"
    return f"{number:05d};Zoë {number};Hauptstraße {number};{height};{spent};19{50 + number % 50}-05-17;{told}"


@pytest.mark.parametrize("ending", ["\n", "\r\n"])
def test_a_policy_and_an_answer(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ending: str
) -> None:
    lines = [HEADER, *map(client, range(1000))]
    (tmp_path / "clients.csv").write_bytes((ending.join(lines) + ending).encode("latin-1"))
    monkeypatch.chdir(tmp_path)
    drafting, checking, asking = (shlex.split(command)[1:] for command in COMMANDS)

    drafted = run(*drafting)
    assert (drafted.code, drafted.out) == (0, "")
    assert "cells are separated by semicolons" in drafted.err
    assert "taken for cp1252" in drafted.err
    assert "Größe: 1 of the first 1000 cells are no integer, and will be NULL" in drafted.err
    policy = Path("clients.toml").read_text(encoding="utf-8")
    assert 'separator = ";"\nencoding = "cp1252"\ndecimal = ","\n' in policy
    assert 'null = ["NA"] }  # of the first 1,000 cells 1 are "NA"\n' in policy
    assert "# by their names perhaps: Kunden-Nr, Name\n" in policy
    [drafted_line] = re.findall("^Umsatz = .*$", policy, re.MULTILINE)
    assert drafted_line == 'Umsatz = { type = "number" }'
    Path("clients.toml").write_text(policy.replace(drafted_line, LINE), encoding="utf-8")

    checked = run(*checking)
    assert (checked.code, checked.err) == (0, "")
    assert (
        "Größe (integer): 2 of 1,000 cells NULL\n    1 NULL by the policy, as 'NA'\n    1 no integer: no format or null "
        "of the policy explains it, as 'k.A.'"
    ) in checked.out
    assert "Umsatz (number): 0 of 1,000 cells NULL\n" in checked.out

    asked = run(*asking, "--epsilon", 10_000, "--queries", 1, "--json")
    assert (asked.code, asked.err) == (0, "")
    spent = [1000 + n % 100 + (n % 90 + 10) / 100 for n in range(1000) if n % 50 >= 20 and n != 7]
    assert asked.rows == [[pytest.approx(sum(spent) / len(spent), abs=0.1)]]


def test_a_question_without_a_policy(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "clients.csv"
    path.write_bytes("\n".join([HEADER, *map(client, range(1000))]).encode("latin-1"))
    query = "SELECT COUNT(*) FROM clients WHERE Straße = 'Hauptstraße 5' OR Größe < 160"
    asked = run(path, "--epsilon", 10_000, "--queries", 1, "--json", "-c", query)
    assert asked.rows == [[198]]  # two of the 200 heights are not known
    assert asked.err.count("note: ") == 2


def test_dates_without_a_policy_are_not_taken_for_numbers_without_a_word(
    run: Run, tmp_path: Path
) -> None:
    path = tmp_path / "visits.csv"
    path.write_text("first day,pay\n2024-01-31,5\n", encoding="utf-8")
    explained = run(path, "-c", 'EXPLAIN SELECT MIN("first day") FROM visits').out
    meant = 'MIN(CAST("first day" AS DATE))'
    told = " ".join(explained.split())
    assert f'"first day" is read as a number; of dates ask for {meant}' in told
    bounded = "MIN(pay) FILTER (WHERE pay < 9)"
    of_nine = "WHERE pay BETWEEN 1 AND 9"
    for text, options, where in (
        (meant, (), ""), ("MIN(pay)", ("--bounds", "pay=0:9"), ""), (bounded, (), ""),
        ("MIN(pay)", (), of_nine),
    ):  # fmt: skip
        asked = run(path, *options, "-c", f"EXPLAIN SELECT {text} FROM visits {where}")
        assert asked.code == 0
        assert "is read as" not in asked.out
