"""Timestamps at the command line: formats, `dpdb check`, --bounds, and a file without a policy."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.command_line import Make, Run

POLICY = """
[tables.t.columns]
at = { type = "timestamp", bounds = [2024-01-01T00:00:00, 2024-12-31T23:59:59] }
shift = { type = "timestamp", values = [2024-01-01T06:00:00, 2024-01-01T14:00:00] }
"""
ROWS = """\
at,shift
2024-03-01 08:30:00,2024-01-01 06:00:00
2024-03-01T10:30:00+01:00,2024-01-01T07:00+01:00
2031-01-01 00:00,2024-01-01 22:00:00
yesterday,
"""


@pytest.fixture
def policy(make: Make) -> Path:
    make(ROWS).with_suffix(".toml").write_text(POLICY, encoding="utf-8")
    return make(ROWS).with_suffix(".toml")


@pytest.mark.parametrize("form", ["table", "csv", "markdown", "vertical", "json"])
def test_every_format_writes_it_alike(run: Run, policy: Path, form: str) -> None:
    ran = run(policy, "--format", form, "-c", "SELECT shift, COUNT(*) FROM t GROUP BY shift")
    assert (ran.code, "2024-01-01 06:00:00" in ran.out) == (0, True)


def test_the_check_says_what_becomes_of_cells(run: Run, policy: Path) -> None:
    told = run("check", policy).out
    assert "at (timestamp): 1 of 4 cells NULL" in told
    assert "shift (timestamp): 2 of 4 cells NULL" in told
    assert "no timestamp" in told


def test_bounds_of_the_command_line_are_numbers(run: Run, policy: Path) -> None:
    ran = run(policy, "--bounds", "at=0:1", "-c", "SELECT AVG(at) FROM t")
    assert (ran.code, "takes none" in ran.err) == (2, True)


def test_a_column_that_nobody_declared_is_read_as_its_place_needs(run: Run, make: Make) -> None:
    query = (
        "SELECT COUNT(*) FILTER (WHERE at > TIMESTAMP '2024-03-01 09:00:00'),"
        " COUNT(*) FILTER (WHERE HOUR(shift) = 6) FROM t"
    )
    ran = run(make(ROWS), "--epsilon", "10000", "--queries", "1", "--json", "-c", query)
    assert json.loads(ran.out)["rows"] == [[2, 2]]


@pytest.mark.parametrize("kind", ["date", "timestamp"])
def test_years_that_nothing_bounds_are_not_listed(run: Run, make: Make, kind: str) -> None:
    """Not all years that the calendar has: the hint leads to those that are wanted."""
    path = make("at\n2024-03-01\n", f'[tables.t.columns]\nat = {{ type = "{kind}" }}\n')
    asked = "SELECT YEAR(at), COUNT(*) FROM t {}GROUP BY YEAR(at)"
    ran = run(path, "-c", asked.format(""))
    assert (ran.code, ran.out) == (1, "")
    assert (
        f"WHERE at BETWEEN {kind.upper()} '…' AND {kind.upper()} '…'; or start with --delta"
        in ran.err
    )
    bounded = asked.format("WHERE at BETWEEN '2023-01-01' AND '2024-12-31' ")
    ran = run(path, "--json", "-c", bounded)
    assert [year for year, _ in ran.rows] == [2023, 2024]


def test_years_of_an_undeclared_column_are_bounded_as_the_hint_says(run: Run, make: Make) -> None:
    """Compared with plain texts the column would be one of texts, which have no bounds."""
    path = make("at\n2024-03-01\n")
    asked = "SELECT YEAR(at), COUNT(*) FROM t {}GROUP BY YEAR(at)"
    ran = run(path, "-c", asked.format(""))
    assert (ran.code, ran.out) == (1, "")
    assert "give at bounds in the policy, or in the query, WHERE at BETWEEN DATE '…'" in ran.err
    bounded = "WHERE at BETWEEN DATE '2023-01-01' AND DATE '2024-12-31' "
    ran = run(path, "--json", "-c", asked.format(bounded))
    assert [year for year, _ in ran.rows] == [2023, 2024]
