"""`dpdb risk` from the words after it to what it prints and writes."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dpdb.interfaces.cli.main import main
from dpdb.lab.studies.adversary import Adversary, observe
from dpdb.lab.studies.risk import NOTICE
from dpdb.lab.studies.worlds import worlds
from dpdb.plan.logical.query import Function

STUDENTS = Path(__file__).parents[3] / "sample_data" / "students.csv"
ABSENCE = "SELECT AVG(absence_days) FROM students"
YEAR = "SELECT AVG(school_year) FROM students"
MEDIAN = "SELECT MEDIAN(absence_days) FROM students"


def printed(capsys: pytest.CaptureFixture[str], *words: str, file: Path = STUDENTS) -> str:
    assert main(["risk", str(file), *words]) == 0
    caught = capsys.readouterr()
    assert caught.err == ""
    return caught.out


def found(
    capsys: pytest.CaptureFixture[str], *words: str, file: Path = STUDENTS
) -> list[dict[str, Any]]:
    return [json.loads(line) for line in printed(capsys, "--json", *words, file=file).splitlines()]


def refused(capsys: pytest.CaptureFixture[str], *words: str, file: Path = STUDENTS) -> str:
    assert main(["risk", str(file), *words]) != 0
    caught = capsys.readouterr()
    assert caught.out == ""
    return caught.err


def test_the_page(capsys: pytest.CaptureFixture[str]) -> None:
    page = printed(capsys, "--query", ABSENCE, "--max-risk", "1/3")
    assert page.startswith("For the data owner's eyes, not to be published")
    assert "Δf   2.8333333 " in page
    assert "Δv   3 " in page
    assert "bound (equation 7)       ε <= 0.382939, noise scale 7.39892\n" in page
    # The risk without 10 is 1/(1 + e^(-14x) + e^(-16x) + e^(-18x)), x = ε/17.
    epsilon = float(page.split("binary search  ε <= ")[1].split(",")[0])
    steps = (epsilon, epsilon + 1e-5)
    risks = [1 / (1 + sum(math.exp(-k * e / 17) for k in (14, 16, 18))) for e in steps]
    assert risks[0] <= 1 / 3 < risks[1]
    [first] = [line for line in page.splitlines() if line.split()[:3] == ["10", "1", "2"]]
    assert first.split() == ["10", "1", "2", "0.5", "0.3333"]


def test_a_limit_as_a_decimal_and_as_a_fraction(capsys: pytest.CaptureFixture[str]) -> None:
    [third] = found(capsys, "--query", ABSENCE, "--max-risk", "1/3")
    [decimal] = found(capsys, "--query", ABSENCE, "--max-risk", "0.3333")
    assert third["epsilon_bound"] == pytest.approx(17 / 18 * math.log(1.5))
    assert decimal["epsilon_bound"] == pytest.approx(17 / 18 * math.log(3 * 0.3333 / 0.6667))


def test_several_queries(capsys: pytest.CaptureFixture[str]) -> None:
    words = [word for query in (ABSENCE, YEAR, MEDIAN) for word in ("--query", query)]
    results = found(capsys, *words, "--max-risk", "1/3")
    assert [result["query"] for result in results] == [ABSENCE, YEAR, MEDIAN]
    assert [round(result["epsilon_bound"], 4) for result in results] == [0.3829, 0.3379, 1.6219]
    assert round(results[2]["epsilon_exact"], 4) == 2.7726
    for result in results:
        assert result["notice"] == NOTICE
        assert result["private"] is False
        assert result["risk"] <= 1 / 3 <= result["risk"] * (1 + 1e-8)
        assert result["scale"] == result["sensitivity"] / result["epsilon_exact"]


def test_table_4(capsys: pytest.CaptureFixture[str]) -> None:
    [result] = found(capsys, "--query", MEDIAN, "--epsilon", "1")
    sensitivities = {row["missing"]: row["sensitivity"] for row in result["most_at_risk"]}
    assert sensitivities == {10: 0.5, 3: 4, 2: 3.5, 1: 3.5}


def test_beliefs_after_a_response(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--epsilon", "2", "--response", "2.2013"]
    [absence] = found(capsys, "--query", ABSENCE, *words)
    best = absence["most_at_risk"][0]
    assert best["missing"] == 10
    assert best["belief"] == pytest.approx(0.6180, abs=5e-5)
    assert best["confidence"] == best["belief"] - 0.25
    page = printed(capsys, "--query", ABSENCE, *words)
    assert "best guess: without 10, believed 0.6180, which is 0.3680 above the prior" in page
    [year] = found(capsys, "--query", YEAR, *words)
    beliefs = {row["missing"]: row["belief"] for row in year["most_at_risk"]}
    assert beliefs[4] == pytest.approx(0.3390, abs=5e-5)


def test_without_noise_there_is_no_density(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    words = ["--query", "SELECT VAR_POP(x) FROM same", "--epsilon", "1", "--response", "0"]
    file = tmp_path / "same.csv"
    file.write_text("x\n5\n5\n5\n")
    [result] = found(capsys, *words, file=file)
    assert "density" not in result["most_at_risk"][0]
    assert "P(κ" not in printed(capsys, *words, file=file)


def test_the_ratio_of_section_4_1(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--query", ABSENCE, "--epsilon", "2", "--response", "3.1677", "--missing", "10"]
    [result] = found(capsys, *words)
    assert result["scale"] == pytest.approx(17 / 12)
    assert result["ratio"] == pytest.approx(3.2933, abs=5e-5)
    page = printed(capsys, *words)
    assert "3.2933 times as likely from X as from the world without 10" in page


def test_simulated_answers_have_the_noise_they_should(capsys: pytest.CaptureFixture[str]) -> None:
    absences = Adversary(worlds(Function.AVG, np.array([1.0, 2.0, 3.0, 10.0])))
    drawn = [
        observe(absences, 2.0, missing=None, response=None, seed=seed).response
        for seed in range(600)
    ]
    # Binomial limits, beyond which lie 1e-6: Laplace noise is further than two scales away
    # with chance e^-2 (Gaussian noise of that scale with 0.046), and above 0 with a half.
    distances = np.array(drawn) - 2
    assert 42 < (np.abs(distances) > 2 * 17 / 12).sum() < 126
    assert 239 < (distances > 0).sum() < 361
    words = ["--query", ABSENCE, "--epsilon", "2", "--simulate"]
    [again] = found(capsys, *words, "--seed", "7")
    assert again["drawn"] is True
    assert again["missing"] == 10
    assert again["response"] == drawn[7]
    [other] = found(capsys, *words, "--seed", "7", "--missing", "1")
    assert other["response"] - 5 == pytest.approx(drawn[7] - 2)


def test_where_limits_the_universe(capsys: pytest.CaptureFixture[str]) -> None:
    [some] = found(capsys, "--query", f"{ABSENCE} WHERE absence_days < 10", "--epsilon", "1")
    assert some["worlds"] == 3
    assert some["whole"] == 2
    # Worlds {2, 3}, {1, 3} and {1, 2}: means 2.5, 2, 1.5; one row is half a day from its mean.
    assert some["sensitivity"] == pytest.approx(1)
    assert some["widest"] == pytest.approx(1)


def test_a_file_without_a_policy(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    file = tmp_path / "class.csv"
    file.write_text("days\n1\n2\n\n3\n10\n")
    [result] = found(
        capsys, "--query", "SELECT AVG(days) FROM class", "--max-risk", "1/3", file=file
    )
    assert result["worlds"] == 4
    assert round(result["epsilon_bound"], 4) == 0.3829


def test_limits_that_no_epsilon_keeps_or_any_does(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--query", ABSENCE, "--max-risk"]
    assert "no ε does that" in printed(capsys, *words, "0.2")
    assert "only ε = 0 does that" in printed(capsys, *words, "0.25")
    page = printed(capsys, "--query", MEDIAN, "--max-risk", "0.5")
    assert "exact, by binary search  no limit: no belief rises above" in page
    assert "ε <= Δf/Δv · ln((n - 1)·R/(1 - R))" in page
    assert "took each for as likely" in page
    assert "Caution: above ε = 2" in page
    assert "not what its value is" in page
    [none] = found(capsys, *words, "0.2")
    assert none["epsilon_exact"] is None
    assert none["any_epsilon"] is False
    [zero] = found(capsys, *words, "0.25")
    assert zero["epsilon_exact"] == 0
    [any_] = found(capsys, "--query", "SELECT COUNT(*) FROM students", "--max-risk", "0.3")
    assert any_["any_epsilon"] is True


def test_many_worlds_are_not_all_shown(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    file = tmp_path / "many.csv"
    file.write_text("x\n" + "\n".join(str(x) for x in range(40)) + "\n")
    words = ["--query", "SELECT AVG(x) FROM many", "--epsilon", "1"]
    page = printed(capsys, *words, file=file)
    assert "… and 35 other missing values" in page
    [result] = found(capsys, *words, file=file)
    assert len(result["most_at_risk"]) == 5
    # The ends are the farthest from the others.
    assert {row["missing"] for row in result["most_at_risk"][:2]} == {0, 39}


@pytest.mark.parametrize("number", ["1", "2", "3"])
def test_figures(capsys: pytest.CaptureFixture[str], number: str, tmp_path: Path) -> None:
    words = ["--query", ABSENCE, "--max-risk", "1/3", "--figure", number]
    page = printed(capsys, *words)
    drawings = page.split("(for the data owner only)\n")[1:]
    assert len(drawings) == (2 if number == "3" else 1)
    label = {"1": "without 10", "2": f"exact, {ABSENCE}", "3": "without 3 or 10"}[number]
    assert label in drawings[-1]
    printed(capsys, *words, "--plot", str(tmp_path / "figure.svg"))
    files = sorted(tmp_path.iterdir())
    names = ["figure-a.svg", "figure-b.svg"] if number == "3" else ["figure.svg"]
    assert [file.name for file in files] == names
    assert all("(for the data owner only)" in file.read_text(encoding="utf-8") for file in files)


@pytest.mark.parametrize(
    ("query", "message"),
    [
        (f"{ABSENCE} GROUP BY name", "queries with GROUP BY"),
        ("SELECT AVG(absence_day) FROM students", "no column absence_day\n"),
        ("SELECT AVG(absence_days), COUNT(*) FROM students", "more or less than one aggregate"),
        ("SELECT AVG(absence_days) + 1 FROM students", "more or less than one aggregate"),
        (f"{ABSENCE} HAVING COUNT(*) > 1", "HAVING"),
        (f"{ABSENCE} LIMIT 1", "LIMIT"),
        (f"{ABSENCE} WHERE school_year < (SELECT MAX(school_year) FROM students)", "a subquery"),
        ("SELECT MODE(name) FROM students", "MODE are not worked out"),
        ("SELECT COUNT(DISTINCT name) FROM students", "COUNT_DISTINCT are not worked out"),
        (f"{ABSENCE} WHERE absence_days = 10", "fewer than 3 rows"),
        (f"{ABSENCE} WHERE absence_days > 10", "fewer than 3 rows"),
        ("SHOW TABLES", "the risk is that of a SELECT"),
        (f"EXPLAIN {ABSENCE}", "the risk is that of a SELECT"),
        (" ; ", "--query is empty"),
    ],
)
def test_queries_that_are_refused(
    capsys: pytest.CaptureFixture[str], query: str, message: str
) -> None:
    assert message in refused(capsys, "--query", query, "--max-risk", "1/3")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "--max-risk 1/3, or --epsilon 1"),
        (["--epsilon", "1", "--response", "2", "--simulate"], "--simulate would draw"),
        (["--epsilon", "1", "--missing", "10"], "--missing goes with"),
        (["--epsilon", "1", "--simulate", "--missing", "11"], "no row counted has the value 11"),
        (["--epsilon", "1", "--seed", "1"], "--seed goes with --simulate"),
        (["--epsilon", "1", "--plot", "x.svg"], "which figure?"),
        (["--epsilon", "1", "--json", "--figure", "1"], "no room for a figure"),
        (["--max-risk", "0.2", "--response", "2"], "no epsilon follows from --max-risk here"),
    ],
)
def test_options_that_make_no_sense(
    capsys: pytest.CaptureFixture[str], words: list[str], message: str
) -> None:
    assert message in refused(capsys, "--query", ABSENCE, *words)


@pytest.mark.parametrize("most", ["0", "1", "1.5", "-0.1", "3/2", "1/0", "x", "nan"])
def test_a_limit_out_of_range(capsys: pytest.CaptureFixture[str], most: str) -> None:
    with pytest.raises(SystemExit) as left:
        main(["risk", str(STUDENTS), "--query", ABSENCE, f"--max-risk={most}"])
    assert left.value.code == 2
    assert "a probability between 0 and 1 is needed" in capsys.readouterr().err


def test_no_file_and_one_row(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    words = ["--query", "SELECT AVG(x) FROM one", "--epsilon", "1"]
    assert "there is no file" in refused(capsys, *words, file=tmp_path / "one.csv")
    (tmp_path / "one.csv").write_text("x\n5\n")
    assert "fewer than 3 rows" in refused(capsys, *words, file=tmp_path / "one.csv")


def test_people_of_several_rows_are_refused(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "visits.csv").write_text("who,x\na,1\na,2\nb,3\nc,4\n")
    columns = '[tables.visits.columns]\nwho = { type = "text" }\nx = { type = "integer" }\n'
    unit = '[tables.visits]\nunit = "who"\nrows_per_unit = 2\n'
    (tmp_path / "visits.toml").write_text(unit + columns)
    words = ["--query", "SELECT AVG(x) FROM visits", "--epsilon", "1"]
    assert "units of several rows" in refused(capsys, *words, file=tmp_path / "visits.csv")
