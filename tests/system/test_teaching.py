"""Teaching mode: the transcripts of Evans et al. to the digit, and how it is marked."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random

import pytest

from dpdb.answers.formats.render import FORMATS
from dpdb.errors import InvalidOption
from dpdb.interfaces.cli.main import main
from dpdb.policy.reading.reader import read_policy
from dpdb.privacy.noise.sources import seeded
from dpdb.privacy.noise.system import SystemNoise
from dpdb.session.session import Session

SAMPLES = Path(__file__).parents[2] / "sample_data"
PEOPLE = str(SAMPLES / "people.csv")


def replay(capsys: pytest.CaptureFixture[str], number: int, epsilon: int, k: int) -> list[dict]:
    """The answers of one of the paper's query sets, as JSON objects."""
    file = str(SAMPLES / f"evans_set{number}.sql")
    budget = ["--epsilon", str(epsilon), "--queries", str(k)]
    assert main([PEOPLE, "--teach", "--json", *budget, "-f", file]) == 0
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    return [line for line in lines if "SELECT" in line["statement"]]


def exact(answers: list[dict]) -> list[float]:
    return [answer["rows"][0][0] for answer in answers if "reveal" not in answer]


def revealed(answers: list[dict]) -> list[tuple[float, float]]:
    shown = [answer["reveal"][0] for answer in answers if "reveal" in answer]
    return [(entry["stat"], entry["b"]) for entry in shown]


def test_set_1(capsys: pytest.CaptureFixture[str]) -> None:
    answers = replay(capsys, 1, epsilon=5, k=2)
    assert exact(answers) == [10412, 10379]
    # k·Δf/ε with the oldest of the zip code 65: 2·65/5.
    assert revealed(answers) == [(10412, 26), (10379, 26)]


def test_set_2(capsys: pytest.CaptureFixture[str]) -> None:
    answers = replay(capsys, 2, epsilon=3, k=3)
    assert exact(answers) == [5246937, 304322, 65]
    # The paper prints 275988 and 28335, rounded from 275987.5 and 28334.5.
    assert revealed(answers) == [(5246937, 1332431), (275987.5, 28334.5), (63, 2)]


def test_set_3(capsys: pytest.CaptureFixture[str]) -> None:
    answers = replay(capsys, 3, epsilon=4, k=4)
    assert exact(answers) == [1, 0]
    assert revealed(answers) == [(1, 1), (1, 1), (0, 1), (0, 1)]


def test_stat_and_b_are_printed_as_in_the_paper(capsys: pytest.CaptureFixture[str]) -> None:
    file = str(SAMPLES / "evans_set2.sql")
    assert main([PEOPLE, "--teach", "--epsilon", "3", "--queries", "3", "-f", file]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line for line in lines if line.startswith("#")] == [
        "# stat=5246937 b=1332431",
        "# stat=275988 b=28335",
        "# stat=63 b=2",
    ]


def test_what_no_row_matches_counts_as_one_mean_row(capsys: pytest.CaptureFixture[str]) -> None:
    """Section II: for zero rows a fake one whose value is the column's mean."""
    script = "SET sensitivity = 'local'; SET reveal = on; SELECT SUM(age) FROM people WHERE age < 0"
    assert main([PEOPLE, "--teach", "--json", "-c", script]) == 0
    [shown] = json.loads(capsys.readouterr().out.splitlines()[-1])["reveal"]
    ages = [int(line.split(",")[1]) for line in Path(PEOPLE).read_text().splitlines()[1:]]
    mean = sum(ages) / len(ages)
    assert shown["stat"] == pytest.approx(mean)
    assert shown["b"] == pytest.approx(10 * mean)


@pytest.mark.parametrize("form", FORMATS)
def test_every_answer_says_that_it_is_not_private_and_what_is_revealed(
    capsys: pytest.CaptureFixture[str], form: str
) -> None:
    query = "SELECT COUNT(*) FROM people"
    script = f"{query}; SET reveal = on; SET sensitivity = 'local'; {query}"
    assert main([PEOPLE, "--teach", "--format", form, "-c", script]) == 0
    shown = capsys.readouterr().out
    as_json = form == "json"
    assert shown.count('"private": false' if as_json else "not private") == 2
    assert shown.count('"stat": 10000.0, "b": 10.0' if as_json else "# stat=10000 b=10") == 1


def test_an_answer_whose_noise_can_be_foretold_is_not_private() -> None:
    policy, query = read_policy(SAMPLES / "people.toml"), "SELECT COUNT(*) FROM people"
    for noise in (seeded(1), SystemNoise(Random(1).randbytes)):
        session = Session(policy, noise=noise)
        assert not session.execute(query).private
        assert not session.execute(f"EXPLAIN {query}").private
    assert Session(policy, noise=SystemNoise()).execute(query).private
    assert Session(policy).execute(query).private


@pytest.mark.parametrize("setting", ["dp = off", "sensitivity = 'local'", "reveal = on"])
def test_teaching_cannot_be_entered_later(setting: str) -> None:
    session = Session(read_policy(SAMPLES / "people.toml"))
    with pytest.raises(InvalidOption, match="teaching mode only"):
        session.execute(f"SET {setting}")


def test_a_seed_repeats_the_noise(capsys: pytest.CaptureFixture[str]) -> None:
    def run(seed: str) -> str:
        main([PEOPLE, "--teach", "--seed", seed, "--csv", "-c", "SELECT SUM(age) FROM people"])
        return capsys.readouterr().out

    assert run("4") == run("4") != run("5")


def test_a_seed_needs_teaching_mode(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([PEOPLE, "--seed", "4", "-c", "SELECT COUNT(*) FROM people"]) == 2
    assert "--teach" in capsys.readouterr().err


def test_the_papers_noise_takes_the_budget_and_no_noise_does_not() -> None:
    session = Session(read_policy(SAMPLES / "people.toml"), teach=True)
    session.execute("SET dp = off")
    assert session.execute("SELECT COUNT(*) FROM people").balance.queries_left == 10
    session.execute("SET dp = on")
    session.execute("SET sensitivity = 'local'")
    left = session.execute("SELECT COUNT(*), AVG(age) FROM people").balance
    assert (left.queries_left, left.epsilon_left * 10) == (9, 9)


def test_subqueries_and_groups_are_exact_without_privacy() -> None:
    session = Session(read_policy(SAMPLES / "people.toml"), teach=True)
    session.execute("SET dp = off")
    query = "SELECT MEAN(age) FROM people WHERE net_worth + 1 > (SELECT MAX(net_worth) FROM people)"
    assert session.execute(query).rows == ((65.0,),)
    grouped = "SELECT zip, COUNT(*), SUM(age) FROM people WHERE zip = 31643 GROUP BY zip"
    assert session.execute(grouped).rows == ((31643, 251, 10412),)


@pytest.mark.parametrize(
    ("number", "epsilon", "k", "scales"),
    [
        # k·Δ/ε with Δ from the bounds of people.toml: ages reach 65.
        (1, 5, 2, [26, 26]),
        # The maximum comes first, and a walk has no one scale.
        (2, 3, 3, [None, None, None]),
        (3, 4, 4, [1, 1, 1, 1]),
    ],
)
def test_the_same_sets_under_real_privacy(
    capsys: pytest.CaptureFixture[str],
    number: int,
    epsilon: int,
    k: int,
    scales: list[float | None],
) -> None:
    file = str(SAMPLES / f"evans_set{number}_private.sql")
    budget = ["--epsilon", str(epsilon), "--queries", str(k)]
    assert main([PEOPLE, "--json", *budget, "-f", file]) == 0
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    answers = [line for line in lines if "SELECT" in line["statement"]]
    assert all(answer["private"] for answer in answers)
    assert [answer["releases"][0]["scale"] for answer in answers] == scales
    assert sum(answer["cost"]["epsilon"] for answer in answers) <= epsilon


@pytest.mark.parametrize("option", ["error = 5", "noise_index = [1]", "mechanism = 'gaussian'"])
def test_local_sensitivity_has_no_other_options(option: str) -> None:
    session = Session(read_policy(SAMPLES / "people.toml"), teach=True)
    session.execute("SET sensitivity = 'local'")
    asked = f"SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS({option}) COUNT(*) FROM people"
    with pytest.raises(InvalidOption, match="no options but epsilon"):
        session.execute(asked)
    assert session.balance.queries_left == 10
    session.execute("SET dp = off")
    assert session.execute(asked).rows == ((10_000,),)


@pytest.mark.parametrize("setting", ["dp = off", "sensitivity = 'local'"])
@pytest.mark.parametrize(
    ("aggregate", "exact"),
    [
        ("AVG(CASE WHEN FALSE THEN age END)", None),
        ("MAX(age + LENGTH('no'))", 67),
        ("MIN(age - NULLIF(5, 6))", 13),
    ],
)
def test_constants_beside_a_column_are_constants(
    setting: str, aggregate: str, exact: float | None
) -> None:
    session = Session(read_policy(SAMPLES / "people.toml"), teach=True)
    session.execute(f"SET {setting}")
    [[answer]] = session.execute(f"SELECT {aggregate} FROM people").rows
    assert isinstance(answer, int | float | None)
    assert setting != "dp = off" or answer == exact
