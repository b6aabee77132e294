"""The solutions of the tasks: every task has one, and their numbers come out.

All seeds are fixed, so that the tests are deterministic.
"""

from __future__ import annotations

import itertools
import math
import random
import re
import shlex
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median

import numpy as np
import pytest

import dpdb
from dpdb.errors import UsageError
from dpdb.interfaces.cli.main import main
from dpdb.interfaces.commands.lab.attacks import main as lab
from dpdb.interfaces.commands.lab.risk import main as risk
from dpdb.lab.attacks import (
    anonymity,
    census,
    chances,
    many_answers,
    noise,
    possible_worlds,
    presence,
    query_sets,
    repeats,
    sparse_vector,
    trackers,
)
from dpdb.lab.attacks.chances import NoiseDistribution, Threshold
from dpdb.lab.attacks.many_answers import estimates
from dpdb.lab.attacks.trackers import students
from dpdb.lab.catalogue import catalogue, find
from dpdb.lab.database import (
    AlteredDatabase,
    Database,
    Defence,
    Protected,
    Refused,
    number,
    unprotected,
)
from dpdb.lab.foils import DoubleLaplace
from dpdb.lab.scenario import Scenario
from dpdb.lab.trial import Wire, interval, run_trials
from dpdb.session.session import Session

PEOPLE = Path(__file__).parents[2] / "sample_data" / "people.csv"


def solutions(name: str) -> str:
    """All solutions of an attack's tasks."""
    return " ".join(task.solution for task in find(name).tasks)


def data(name: str, seed: int = 1) -> Scenario:
    return find(name).scenario(np.random.default_rng(seed))


def exact() -> Session:
    """The sample of the paper without privacy."""
    session = dpdb.connect(PEOPLE, teach=True)
    session.execute("SET dp = off")
    return session


def local() -> Session:
    """The sample of the paper with the paper's noise, revealed."""
    session = dpdb.connect(PEOPLE, teach=True)
    session.execute("SET sensitivity = 'local'")
    session.execute("SET reveal = on")
    return session


def cells(session: Database, *questions: str) -> list[float]:
    return [number(session.execute(question)) for question in questions]


@pytest.mark.parametrize("name", catalogue())
def test_every_task_has_a_solution(name: str) -> None:
    for task in find(name).tasks:
        assert task.question.strip()
        assert task.solution.endswith(".")
    assert find(name).tasks


def test_differencing(tmp_path: Path) -> None:
    whole, rest = cells(
        exact(),
        "SELECT SUM(age) FROM people WHERE zip == 31643",
        "SELECT SUM(age) FROM people WHERE zip == 31643 AND name != 'Abel Woods'",
    )
    assert whole - rest == query_sets.HIS_AGE
    # k·Δf/ε of the replay, and how often two such noises are that far apart.
    draws = np.random.default_rng(1).laplace(scale=2 * 65 / 5, size=(2, 200_000))
    apart = np.mean(abs(draws[0] - draws[1]) > query_sets.HIS_AGE)
    assert apart == pytest.approx(0.46, abs=0.005)
    assert "off by more than his whole age in 46%" in solutions("differencing")
    # All of ε for one sum.
    session = Protected(5, 1).open(data("differencing"), tmp_path, 1)
    asked = session.execute("EXPLAIN SELECT SUM(age) FROM people WHERE name = 'Abel Woods'")
    assert asked.releases[0].scale == 13
    assert "at ε = 5 13 instead of 26 and 18.8" in solutions("differencing")


def test_maximum() -> None:
    session = exact()
    assert cells(session, "SELECT MAX(net_worth) FROM people") == [5_246_937]
    above = "FROM people WHERE net_worth > 3900194"
    assert session.execute(f"SELECT MEAN(income), MEAN(age), COUNT(*) {above}").rows == (
        (275_987.5, 63, 2),
    )
    second = "SELECT MAX(net_worth) FROM people WHERE net_worth < 5246937"
    assert cells(session, second) == [5_246_937 - 1_332_431] == [3_914_506]
    question = "SELECT QUANTILE_CONT(net_worth, 0.9) FROM people"
    [true] = cells(session, question)
    assert round(true) == 395_455
    off = []
    for seed in range(60):
        noisy = dpdb.connect(PEOPLE, epsilon=1, queries=1, teach=True, seed=seed)
        off.append(abs(cells(noisy, question)[0] - true))
    assert 300 < median(off) < 600


def test_membership() -> None:
    """One answer says 1 with this probability where that is the truth, and 0 where it is not."""
    half, quarter = (1 / (1 + math.exp(-epsilon)) for epsilon in (2, 1))
    agree, split = quarter**2, 2 * quarter * (1 - quarter)
    assert f"half of it is right in {half:.1%}" in solutions("membership")
    assert f"a quarter each are right in {agree + split / 2:.1%}" in solutions("membership")
    assert "within ± 30" in solutions("membership")
    assert "50.2%, 66.8% and 88.1%" in solutions("membership")


@pytest.mark.parametrize(
    ("name", "first", "again"),
    [
        ("averaging", "name = 'Abel Woods'", ["name == 'Abel Woods'", "'Abel Woods' = name"]),
        ("sticky-noise", "name = 'Abel Woods' AND age <= 66", ["age <= 66 AND name = 'Abel Woods'"]),
        ("general-tracker", "sex = 'M'", ["sex = 'M'"]),
    ],
)  # fmt: skip
def test_other_words_are_repeats(name: str, first: str, again: list[str], tmp_path: Path) -> None:
    scenario = data(name)
    session = Protected(1, 10).open(scenario, tmp_path, 1)
    count = f"SELECT COUNT(*) FROM {scenario.table} WHERE "
    answers = [session.execute(count + where) for where in (first, *again)]
    assert [answer.repeat for answer in answers] == [False] + [True] * len(again)


def test_averaging() -> None:
    """The mean of so many answers is off by less than a half, to one side, in 95 of 100."""
    chance = np.random.default_rng(1)
    for epsilon, told in ((0.1, "About 2,165"), (1, "at ε = 1 22")):
        needed = repeats._needed(epsilon)
        means = chance.laplace(scale=1 / epsilon, size=(4_000, needed)).mean(axis=1)
        assert np.mean(means < 0.5) == pytest.approx(0.95, abs=0.015)
        assert told in solutions("averaging")


def test_sticky_noise() -> None:
    draws = np.random.default_rng(1).laplace(size=(2, 200_000)).sum(axis=0)
    assert draws.std() == pytest.approx(2, abs=0.02)
    assert "a standard deviation of 2, twice" in solutions("sticky-noise")


def test_trackers() -> None:
    people = students(np.random.default_rng(1))
    men = sum(sex == "M" and subject == "physics" for _, sex, subject, _ in people)
    assert men == 19
    assert men > trackers.FEWEST
    assert "From 20 on: there are 19 men" in solutions("individual-tracker")
    law = sum(subject == "law" for _, _, subject, _ in people)
    assert law == 2 * trackers.LEAST == 40
    assert len(people) - law >= 2 * trackers.LEAST


def found(questions: int, noisy: Callable[[np.ndarray], np.ndarray], times: int = 10) -> float:
    """How many of 100 people are found out by counts of random halves, on average."""
    chance, right = np.random.default_rng(1), 0
    for _ in range(times):
        bits = chance.integers(2, size=many_answers.PEOPLE)
        subsets = chance.integers(2, size=(questions, many_answers.PEOPLE))
        guess = estimates(subsets, noisy((subsets @ bits).astype(float))) > 0.5
        right += int((guess == bits).sum())
    return right / times


def test_reconstruction() -> None:
    def same(counts: np.ndarray) -> np.ndarray:
        return counts

    def fives(counts: np.ndarray) -> np.ndarray:
        return np.round(counts / 5) * 5

    def laplace(scale: float) -> Callable[[np.ndarray], np.ndarray]:
        chance = np.random.default_rng(2)
        return lambda counts: counts + chance.laplace(scale=scale, size=len(counts))

    assert found(100, same) == 100
    assert found(80, same) > 95
    assert found(200, fives) == pytest.approx(96, abs=1)
    assert found(200, laplace(1)) == pytest.approx(96, abs=1)
    assert min(found(400, fives, 3), found(400, laplace(1), 3)) > 99
    # A hundred coins have a deviation of 5, and so the mean of 100 runs one of a half.
    assert found(40, same, 20) == pytest.approx(79, abs=1.5)
    assert found(40, laplace(8), 100) == pytest.approx(54, abs=1.5)
    assert found(400, laplace(80), 20) == pytest.approx(52, abs=3)


def test_many_means() -> None:
    """The strength of the attack is the shift that she makes over the deviation of chance."""

    def strength(patients: int, variants: int) -> float:
        return (variants / 4 / patients) / (math.sqrt(variants) / 4 / math.sqrt(patients))

    needed = 7_515
    here = strength(many_answers.OTHERS + 1, many_answers.VARIANTS)
    assert strength(501, needed) == pytest.approx(here)
    assert f"{needed:,}, as many for each patient" in solutions("many-means")
    assert "0.6% for one share, 6% for ten and 90% for 150" in solutions("many-means")
    assert "for 10 patients 30% already" in solutions("many-means")


def test_noise_scale() -> None:
    """The mean distance from the median of thirty draws estimates b, and how well."""
    draws = np.random.default_rng(1).laplace(scale=150, size=(20_000, 30))
    middle = np.median(draws, axis=1, keepdims=True)
    estimated = abs(draws - middle).mean(axis=1)
    assert estimated.std() / 150 == pytest.approx(0.18, abs=0.005)
    assert "18% of b" in solutions("noise-scale")
    session = local()
    scales = {
        name: session.execute(f"SELECT {name}(net_worth) FROM people").revealed[0].scale
        for name in ("SUM", "MIN", "MAX")
    }
    lowest, next_lowest = cells(
        exact(),
        "SELECT MIN(net_worth) FROM people",
        "SELECT MIN(net_worth) FROM people WHERE net_worth > -179029",
    )
    assert scales == {
        "SUM": 52_469_370, "MIN": 10 * (next_lowest - lowest), "MAX": 10 * 1_332_431,
    }  # fmt: skip
    assert f"b = {52_469_370:,}" in solutions("noise-scale")
    assert noise.STAFF < noise.BOSS


def test_many_rows() -> None:
    """Of the visits that patients have, how many there are, and how many 1 row each leaves."""
    visits = [len(data("many-rows", seed).rows) for seed in range(60)]
    assert np.mean(visits) - presence.VISITS / 2 == pytest.approx(420, abs=10)
    assert "about 40 of 420 visits" in solutions("many-rows")


def test_floating_point(tmp_path: Path) -> None:
    chance, telling = random.Random(1), 0
    for _ in range(2_000):
        u, scale = chance.uniform(-1, 1), 4.0
        value = chance.randrange(2) + math.copysign(scale * math.log(abs(u)), u)
        zero, one = (noise.possible(value, truth, scale) for truth in (0, 1))
        telling += zero != one
    assert telling / 2_000 == pytest.approx(noise.TELLING, abs=0.02)
    assert "81% of all answers" in solutions("floating-point")

    class Rounded(DoubleLaplace):
        """The foil with three digits after the point."""

        def open(self, scenario: Scenario, directory: Path, seed: int) -> Database:
            inner = super().open(scenario, directory, seed)
            assert isinstance(inner, AlteredDatabase)
            return AlteredDatabase(inner, lambda value: round(value, 3), inner.releases)

    attack, foil = find("floating-point"), Rounded(1, noise.QUESTIONS)
    defences: Sequence[Defence] = (foil,)
    [rate] = run_trials(attack, defences, 60, 1).rates
    assert rate.ceiling is not None
    assert rate.low < rate.ceiling < 0.98


def test_linkage(tmp_path: Path) -> None:
    alone = {
        label: anonymity.VOTERS - sum(anonymity.shared(known))
        for label, known in anonymity.KNOWN.items()
    }
    assert alone["area, sex, date of birth"] == anonymity.VOTERS == 200
    assert alone["area, sex, year of birth"] == 122
    assert alone["area, sex, decade of birth"] == 1
    assert "year 122 of them, with the decade 1." in solutions("linkage")
    assert Counter(voter.sex for voter in anonymity.VOTER_LIST).keys() == {"F", "M"}
    session = Wire(Protected(1, find("linkage").queries).open(data("linkage"), tmp_path, 1))
    session.execute("SELECT COUNT(*) FROM cases WHERE area = 2138")
    with pytest.raises(Refused):
        session.execute("SELECT COUNT(*) FROM cases WHERE area = 2139")


def test_homogeneity() -> None:
    def ceiling(people: int, epsilon: float) -> float:
        return math.exp(epsilon * people) / (math.exp(epsilon * people) + 3)

    assert find("homogeneity").ceiling(0.1) == pytest.approx(ceiling(3, 0.1))
    told = f"to {ceiling(10, 0.1):.0%} instead of {ceiling(3, 0.1):.0%}, at ε = 1 to 99.99%"
    assert told in solutions("homogeneity")
    assert f"{ceiling(10, 1):.2%}" == "99.99%"


def best_guess(days: Sequence[int], scale: float) -> float:
    """How often the likeliest world is the true one, by summing its density over answers."""
    answers = np.linspace(-100, 100, 200_001)
    worlds = [(sum(days) - missing) / 3 for missing in days]
    densities = [np.exp(-abs(answers - mean) / scale) / 2 / scale for mean in worlds]
    return float(np.max(densities, axis=0).sum() * (answers[1] - answers[0]) / 4)


def test_possible_worlds() -> None:
    text, scale = solutions("possible-worlds"), 17 / 6 / 2
    assert f"falls from {best_guess((1, 2, 3, 10), scale) * 100:.1f} %" in text
    assert f"to {best_guess((1, 2, 3, 4), scale) * 100:.1f} %" in text
    assert "= 32.8%" in text
    assert "it is 33.3%, a third" in text
    days = [absent for _, absent in possible_worlds.STUDENTS]
    medians = [median(day for day in days if day != missing) for missing in days]
    assert medians == [3, 3, 2, 2]


def test_the_risk_of_the_possible_worlds(capsys: pytest.CaptureFixture[str]) -> None:
    words = [str(PEOPLE.with_name("students.csv")), "--max-risk", "1/3"]
    assert risk([*words, "--query", "SELECT AVG(absence_days) FROM students"]) == 0
    printed = capsys.readouterr().out
    assert "ε <= 0.382939" in printed
    assert "ε <= 0.43172" in printed
    assert "0.3829 by the bound, and 0.4317 exactly" in solutions("possible-worlds")


def answer(name: str, place: int) -> float:
    """The number that a task asks for."""
    number = find(name).tasks[place].answer
    assert number is not None
    return number


def test_randomised_response() -> None:
    """Every answer of three people, with its chance: the estimate has no bias, and its variance."""
    bits, p = (1, 0, 1), math.e / (1 + math.e)
    mean = square = 0.0
    for reports in itertools.product((0, 1), repeat=3):
        weight = math.prod(p if r == b else 1 - p for r, b in zip(reports, bits, strict=True))
        estimate = possible_worlds.estimated(sum(reports), 3, 1)
        mean, square = mean + weight * estimate, square + weight * estimate**2
    assert mean == pytest.approx(2)
    assert math.sqrt(square - mean**2) == pytest.approx(possible_worlds.off_by_reports(3, 1))
    # The trusted owner's noise, by its distribution; n/2 times the variance, at every ε.
    for epsilon in (0.1, 1.0, 5.0):
        noise = NoiseDistribution.of([1 / epsilon])
        variance = 2 * sum(x * x * noise.at(x) for x in range(1, int(60 / epsilon)))
        assert math.sqrt(variance) == pytest.approx(possible_worlds.off_by_owner(epsilon))
        assert possible_worlds.off_by_reports(200, epsilon) ** 2 == pytest.approx(100 * variance)
    assert answer("randomised-response", 0) == pytest.approx(math.log(0.75 / 0.25))
    assert answer("randomised-response", 1) == pytest.approx((90 - 200 * (1 - p)) / (2 * p - 1))
    assert "about 78, with a standard deviation of 13.6." in solutions("randomised-response")
    assert answer("randomised-response", 2) == 500_000


@pytest.mark.parametrize("algorithm", [1, 2, 4, 5, 6])
def test_sparse_vector_by_its_law(algorithm: int) -> None:
    """One pair by sums over the noise; twenty by 1,000 runs, three events at α = 2e-6 each."""
    noise = chances.sparse_vector(algorithm, 1)
    level = NoiseDistribution.of([noise.threshold])
    own = NoiseDistribution.of([noise.answers]) if noise.answers else None

    def least(x: int) -> float:
        return own.at_least(x) if own else float(x <= 0)

    *_, law = noise.laws(1, 1)
    reach = range(-int(40 * noise.threshold), int(40 * noise.threshold))
    first = sum(level.at(x) * least(x) for x in reach)
    assert law[1, 0] + law.get((1, 1), 0) == pytest.approx(first)
    if not noise.renewed:
        both = sum(level.at(x) * least(x) * least(x + 1) for x in reach)
        assert law[1, 1] == pytest.approx(both)
    *_, law = noise.laws(0, sparse_vector.PAIRS)
    assert sum(law.values()) == pytest.approx(1)
    rng, runs, told = np.random.default_rng(1), 1_000, Counter[tuple[int, int]]()
    for _ in range(runs):
        run, counts = Threshold(noise, rng), [0, 0]
        for place in range(2 * sparse_vector.PAIRS):
            if not run.ended:
                counts[place % 2] += run.ask(place % 2)
        told[counts[0], counts[1]] += 1
    events: tuple[Callable[[int, int], bool], ...] = (
        lambda his, other: his > other,
        lambda his, other: his < other,
        lambda his, other: his + other >= chances.MOST,
    )
    for event in events:
        low, high = interval(sum(told[key] for key in told if event(*key)), runs, 1 - 2e-6)
        assert low <= sum(chance for key, chance in law.items() if event(*key)) + 1e-9
        assert high >= sum(chance for key, chance in law.items() if event(*key)) - 1e-9


def test_sparse_vector() -> None:
    """The right ones keep their ε in the numbers of yes, and the wrong ones do not [LSL17]."""
    most = {each: max(loss for _, loss in sparse_vector.losses(each)) for each in (1, 2, 4, 5, 6)}
    assert max(most[1], most[2]) <= 1
    assert answer("sparse-vector", 1) == (1 + 6 * chances.MOST) / 4
    assert 1 < most[4] <= answer("sparse-vector", 1)
    assert most[5] == math.inf
    assert most[6] > sparse_vector.PAIRS / 2  # the paper: at least m/2 for m pairs


def test_census(tmp_path: Path) -> None:
    """The groups are what SQL says, and the rate is that of all tables there are."""
    session = unprotected(data("census"), tmp_path)
    for where, members in census.GROUPS.items():
        names = ", ".join(f"'{census.BLOCK[place][0]}'" for place in members)
        rest = f" AND {where}" if where else ""
        [whole, named] = cells(
            session,
            f"SELECT COUNT(*) FROM block WHERE illnesses >= 0{rest}",
            f"SELECT COUNT(*) FROM block WHERE name IN ({names}){rest}",
        )
        assert whole == named == len(members) >= census.LEAST
    numbers = np.concatenate([census.published("sum"), census.published("median")]).T
    _, classes = np.unique(numbers, axis=0, return_inverse=True)
    fitting = np.bincount(classes)
    assert fitting.max() <= 4  # one table or few
    # The best guess has the commonest number of each person among the tables that fit.
    found = sum(
        int(np.bincount(fit[:, place]).max())
        for fit in (census.tables()[classes == each] for each in range(len(fitting)))
        for place in range(len(census.BLOCK))
    )
    attack = find("census")
    hits = attack.simulate(attack.off, (), np.random.default_rng(1), 300)
    assert hits is not None
    low, high = interval(hits, 300 * len(census.BLOCK), 1 - 2e-6)
    assert low <= found / census.tables().size <= high
    assert answer("census", 1) == 4**7


def test_the_block_of_the_paper_has_one_solution() -> None:
    """Every table of ages below 116 whose medians and sums are those printed."""

    def fits(ages: Sequence[int], middle: float, total: int) -> bool:
        return sum(ages) == total and median(ages) == middle

    found = []
    for low, high in ((low, 74 - low) for low in range(37)):
        for one in range(25):
            women, man, white, men = (low, 36, high), 194 - 110, 134 - 110, (one, 48 - one)
            everybody = (*women, man, white, *men)
            parts = (
                (women, 36, 110), ((*women, white), 30, 134), ((*men, man), 30, 132),
                ((*women, man), 51, 194), ((white, *men), 24, 72), (everybody, 30, 266),
            )  # fmt: skip
            if all(fits(*part) for part in parts) and any(
                fits(each, 51, 216) for each in itertools.combinations(everybody, 4)
            ):
                found.append(sorted(everybody))
    assert found == [[8, 18, 24, 30, 36, 66, 84]]
    assert answer("census", 0) == 84


def test_commands_of_tasks_work_in_an_empty_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After `dpdb lab --samples`, which spares files that are there."""
    monkeypatch.chdir(tmp_path)
    assert main(["lab", "--samples"]) == 0
    with pytest.raises(UsageError, match="there is a file"):
        lab(["--samples"])
    questions = [task.question for attack in catalogue().values() for task in attack.tasks]
    assert not [each for each in questions if "dpdb/lab" in each]
    commands = re.findall(
        r"dpdb ((?:risk )?sample_data/.*?)(?=\. How|, then|$)", "\n".join(questions), re.MULTILINE
    )
    assert len(commands) == "\n".join(questions).count("sample_data/") - 2  # of -f
    for command in commands:
        words = shlex.split(command)
        silent = {"-c", "-f", "risk"} & set(words)
        assert main(words if silent else [*words, "-c", "SHOW TABLES"]) == 0
