"""Each answer says what is clamped and capped before the noise: in JSON always, else once."""

from __future__ import annotations

from pathlib import Path

import pytest

import dpdb
from dpdb.answers.formats.footer import footer
from tests.support.command_line import PEOPLE, Run

ALONE = "intervals are of the noise alone, not of what clamping and caps change"
INCOME = "income: values are clamped to 0 … 1000000"
AGE = "age: values are clamped to 18 … 65"
VISITS = """
[tables.visits]
path = "visits.csv"
unit = "who"
rows_per_unit = 3
[tables.visits.columns]
who = { type = "integer" }
cost = { type = "integer", bounds = [0, 9] }
"""


def below(answer: dpdb.Answer) -> list[str]:
    return footer(answer).splitlines()


def test_a_note_is_shown_once_a_session_and_is_always_in_the_answer() -> None:
    session = dpdb.connect(PEOPLE)
    mean = "SELECT AVG(income) FROM people"
    first, both = session.execute(mean), session.execute("SELECT AVG(age), AVG(income) FROM people")
    assert first.bounding == (INCOME, ALONE)
    assert [line for line in (INCOME, ALONE) if line in below(first)] == [INCOME, ALONE]
    assert set(both.bounding) == {INCOME, AGE, ALONE}
    assert AGE in below(both)
    assert INCOME not in below(both)
    assert ALONE not in below(both)
    again = session.execute(mean)
    assert again.repeat
    assert again.bounding == first.bounding


def test_counts_of_rows_that_are_units_are_not_bounded() -> None:
    assert dpdb.connect(PEOPLE).execute("SELECT COUNT(*) FROM people").bounding == ()


def test_a_cap_that_never_leaves_a_row_out_is_not_told(tmp_path: Path) -> None:
    policy = VISITS.replace('unit = "who"', 'unit = "who"\nkey = "who"').replace(
        "per_unit = 3", "per_unit = 1"
    )
    (tmp_path / "visits.csv").write_text("who,cost\n1,5\n")
    (tmp_path / "visits.toml").write_text(policy)
    session = dpdb.connect(tmp_path / "visits.toml")
    assert session.execute("SELECT COUNT(*) FROM visits").bounding == ()


@pytest.mark.parametrize("rows", ["who,cost\n1,5\n", "who,cost\n" + "1,70\n" * 9])
def test_what_is_said_follows_from_the_policy(tmp_path: Path, rows: str) -> None:
    (tmp_path / "visits.csv").write_text(rows)
    (tmp_path / "visits.toml").write_text(VISITS)
    answer = dpdb.connect(tmp_path / "visits.toml").execute("SELECT SUM(cost) FROM visits")
    assert answer.bounding == (
        "at most 3 rows per who, chosen by a keyed hash",
        "cost: values are clamped to 0 … 9",
        ALONE,
    )


def test_json_has_it_in_every_object(run: Run, people: Path) -> None:
    mean = "SELECT AVG(income) FROM people"
    first, again = run(people, "--json", "-c", f"{mean}; {mean}").answers
    assert first["bounding"] == again["bounding"] == [INCOME, ALONE]
