"""Filters that no row can pass by the policy: answered exactly, for nothing, with the reason."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from dpdb.answers.formats.explain_tree import explain_screen
from dpdb.answers.formats.footer import footer
from dpdb.policy.reading.reader import policy_for, read_policy
from dpdb.session.session import Session

POLICY = """
[budget]
queries = 1000
[privacy]
neighbors = "{neighbors}"
[tables.t.columns]
sex = {{ type = "text", values = ["male", "female"] }}
fare = {{ type = "number", bounds = [0, 600], step = 0.01 }}
zip = {{ type = "integer", values = [10025, 31643, 80127], nullable = false }}
age = {{ type = "integer", bounds = [18, 65] }}
id = {{ type = "integer" }}
name = {{ type = "text" }}
born = {{ type = "date", bounds = [1990-01-01, 2000-12-31] }}
ok = {{ type = "boolean" }}
"""
HEADER = "sex,fare,zip,age,id,name,born,ok"
ROWS = ["male,800,31643,17,9007199254740993,Ann,1980-01-01,true",
        "Male,600.004,3164,65.5,9007199254740992,Bob,2000-12-31,no",
        "female,-3,80127,,,,,", ",,,,,,,", "male,1e300,10025,99,-1,male,2001-01-01,false"]  # fmt: skip
NEVER = {
    "sex = 'Male'": "sex (male, female); did you mean 'male'?",
    "sex IN ('fmale', 'x') AND age > 30": "sex (male, female); did you mean 'female'?",
    "zip = 3164": "zip (10025, 31643, 80127); did you mean 31643?",
    "fare > 700": "fare (0 to 600)",
    "fare < -1 OR age > 65": "fare (0 to 600)",
    "age < 30 AND NOT age < 40": "age (18 to 65)",
    "zip IS NULL": "zip (10025, 31643, 80127)",
    "born < DATE '1989-12-31'": "born (1990-01-01 to 2000-12-31)",
    "id = 2.5": "id",
    "ok AND NOT ok": "ok",
    "FALSE": "",
    "name = 'x' AND NULL": "",
}
MAYBE = ["sex <> 'Male'", "sex IS NULL", "fare >= 600", "fare > 599.999", "id = 9007199254740993",
         "id > 1e300", "name = 'nobody'", "age < 18.5", "sex = 'Male' OR name = 'x'", "NOT sex = 'Male'",
         "(sex = 'Male') IS NULL", "COALESCE(sex = 'Male', TRUE)"]  # fmt: skip


def _session(folder: Path, neighbors: str = "add-remove", *, teach: bool = False) -> Session:
    (folder / "t.csv").write_text("\n".join([HEADER, *ROWS]))
    (folder / "t.toml").write_text(POLICY.format(neighbors=neighbors))
    return Session(read_policy(folder / "t.toml"), teach=teach)


@pytest.mark.parametrize("neighbors", ["add-remove", "replace"])
@pytest.mark.parametrize(("condition", "reason"), NEVER.items())
def test_what_no_row_passes_is_known(
    tmp_path: Path, neighbors: str, condition: str, reason: str
) -> None:
    session = _session(tmp_path, neighbors)
    (tmp_path / "t.csv").unlink()  # nothing is read
    query = (
        "SELECT COUNT(*), COUNT(DISTINCT name), SUM(fare), AVG(age), VARIANCE(age), MIN(born), "
        f"MEDIAN(age), MODE(sex), COUNT(*) + 1 FROM t WHERE {condition}"
    )
    explained, answer = session.execute(f"EXPLAIN {query}"), session.execute(query)
    assert answer.rows == ((0, 0, None, None, None, None, None, None, 1),)
    assert answer.intervals == ((None,) * 9,)
    for each in (explained, answer):
        assert each.releases == ()
        assert (each.cost.epsilon, each.cost.delta, each.cost.queries) == (0, 0, 0)
        [note] = each.notes
        assert note == f"exact and free: no row can match the filter{reason and ' on '}{reason}"
        assert note in footer(each)
    assert session.balance.queries_left == 1000
    assert "nothing is drawn: no row can match the filter" in explain_screen(explained, ())
    assert "\nwould cost nothing · " in footer(explained)


@pytest.mark.parametrize("condition", MAYBE)
def test_what_a_row_might_pass_is_paid_for(tmp_path: Path, condition: str) -> None:
    answer = _session(tmp_path).execute(f"SELECT COUNT(*) FROM t WHERE {condition}")
    assert answer.cost.epsilon > 0
    assert answer.notes == ()


def test_undeclared_columns_can_be_anything(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("\n".join([HEADER, *ROWS]))
    session = Session(policy_for(tmp_path / "t.csv"))
    for condition in ("sex = 'Male'", "fare > 1e300", "age < 3 AND age > 4", "age IS NULL"):
        answer = session.execute(f"SELECT COUNT(*) FROM t WHERE {condition}")
        assert answer.cost.epsilon > 0


def test_groups_have_none(tmp_path: Path) -> None:
    query = (
        "SELECT zip, COUNT(*), SUM(age) FROM t WHERE fare > 700 GROUP BY zip HAVING COUNT(*) = 0"
    )
    answer = _session(tmp_path).execute(query)
    assert answer.rows == ((10025, 0, None), (31643, 0, None), (80127, 0, None))


@pytest.mark.parametrize("option", ["error = 5", "relative_error = 0.1", "epsilon = 0.5"])
def test_whatever_is_asked_of_the_noise(tmp_path: Path, option: str) -> None:
    session = _session(tmp_path)
    asked = f"SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS({option}) COUNT(*) FROM t WHERE zip = 3164"
    for answer in (session.execute(f"EXPLAIN {asked}"), session.execute(asked)):
        assert answer.cost.queries == 0
        assert len(answer.notes) == 1


def test_a_filter_of_one_aggregate(tmp_path: Path) -> None:
    """All of ε is for the other."""
    session = _session(tmp_path)
    answer = session.execute("SELECT COUNT(*), COUNT(*) FILTER (WHERE sex = 'Male') AS n FROM t")
    assert answer.rows[0][1] == 0
    [drawn] = answer.releases
    assert (drawn.column, drawn.epsilon, answer.cost.queries) == (
        "COUNT(*)",
        answer.cost.epsilon,
        1,
    )
    assert answer.notes[0].startswith("exact and free: no row can match the filter on sex")


def test_a_subquery_that_is_known_costs_nothing(tmp_path: Path) -> None:
    query = "SELECT COUNT(*) FROM t WHERE age > (SELECT COUNT(*) FROM t WHERE fare > 700)"
    answer = _session(tmp_path).execute(query)
    [drawn] = answer.releases
    assert drawn.epsilon == answer.cost.epsilon


ATOMS = ["sex = 'male'", "sex = 'Male'", "sex IN ('x', 'female')", "sex IS NULL", "fare > 600",
         "fare >= 600", "fare < 0", "fare <= 0", "zip = 3164", "zip <> 31643", "zip IS NULL",
         "age < 18", "age <= 18", "age > 64.5", "age IS NULL", "id > 9007199254740992", "ok",
         "born < DATE '1990-01-01'", "born >= DATE '2000-12-31'", "name = 'male'", "NULL"]  # fmt: skip


def _condition(chance: random.Random, depth: int) -> str:
    if not depth:
        return chance.choice(ATOMS)
    left, right = (_condition(chance, depth - 1) for _ in range(2))
    return chance.choice([f"({left} AND {right})", f"({left} OR {right})", f"(NOT {left})"])


def test_no_row_passes_what_is_said_to_be_impossible(tmp_path: Path) -> None:
    """200 random filters on rows that are not as declared; a fifth are impossible."""
    session, taught = _session(tmp_path), _session(tmp_path, teach=True)
    taught.execute("SET dp = off")
    chance, found = random.Random(5), 0
    for _ in range(200):
        query = f"SELECT COUNT(*) FROM t WHERE {_condition(chance, chance.randint(0, 3))}"
        if session.execute(f"EXPLAIN {query}").notes:
            found += 1
            assert taught.execute(query).rows == ((0,),), query
    assert found > 32
