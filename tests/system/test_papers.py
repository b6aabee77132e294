"""The papers, number by number, as dpdb gives them.

A row says where a number is printed, what it is, how dpdb comes to it, and to how many digits
it is printed. Where a paper slips, the row has what it should have printed and names the slip.
"""

from __future__ import annotations

import contextlib
import io
import json
from collections.abc import Callable
from fractions import Fraction
from functools import cache, reduce
from operator import getitem
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from dpdb.answers.formats.explain_tree import explain_screen
from dpdb.interfaces.cli.main import main
from dpdb.policy.reading.reader import read_policy
from dpdb.privacy.mechanisms.selections.exponential import Exponential
from dpdb.privacy.noise.exponential import weights
from dpdb.session.session import Session

ROOT = Path(__file__).parents[2]
PEOPLE, STUDENTS, CE = (f"sample_data/{name}.csv" for name in ("people", "students", "ce"))


class Row(NamedTuple):
    """One number of a paper."""

    where: str
    what: str
    found: Callable[[], float]
    printed: float
    digits: int


@cache
def told(*words: str) -> list[dict]:
    """The JSON objects that `dpdb` prints."""
    page = io.StringIO()
    with contextlib.redirect_stdout(page), contextlib.chdir(ROOT):
        assert main([*words, "--json"]) == 0
    return [json.loads(line) for line in page.getvalue().splitlines()]


def utility(words: str, *path: str | int) -> float:
    """A number that `dpdb utility` tells."""
    return reduce(getitem, path, told("utility", *words.split())[0])  # type: ignore[arg-type]


def risk(query: str, words: str, *path: str | float) -> float:
    """A number that `dpdb risk` tells; a world is found by the value that is missing."""
    [found] = told("risk", STUDENTS, "--query", query, *words.split())
    worlds = {row["missing"]: row for row in found.get("most_at_risk", [])}
    return reduce(getitem, path, found | worlds)  # type: ignore[arg-type]


def answer(words: str, statements: str, *path: str | int) -> Any:
    """What the last of some statements gives."""
    return reduce(getitem, path, told(*words.split(), "-c", statements)[-1])  # type: ignore[arg-type]


def scale(words: str, query: str, release: int = 0) -> float:
    """The scale of a query's noise."""
    return answer(words, f"EXPLAIN {query}", "releases", release, "scale")


def change(words: str, query: str, release: int = 0) -> float:
    """A query's sensitivity."""
    return answer(words, f"EXPLAIN {query}", "releases", release, "sensitivity")


def spent(words: str, statements: str, theorem: str) -> float:
    """What a session has spent by a theorem, as SHOW BUDGET says."""
    rows = answer(words, f"{statements}; SHOW BUDGET", "rows")
    return {row[0]: row[2] for row in rows}[f"epsilon by {theorem}"]


# Shoaran, Thomo, Weber, "Differential Privacy in Practice".

TWO = "--epsilon 0.01 --sensitivity 1,1 --answer 3000,30000"
INDEXED = f"{TWO} --noise-index 1,10"
SMALL = f"{PEOPLE} --epsilon 0.01 --queries 1"
COUNTS = "SELECT COUNT(*), COUNT(DISTINCT age) FROM people"
DIFF = COUNTS.replace("SELECT", "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(noise_index = [1, 10])")

SHOARAN = [
    Row("section 3", "noise that half of all is above",
        lambda: utility("--epsilon 0.01 --probability 0.5", "queries", 0, "noise"), 69, 0),
    Row("section 3", "noise that 30 % is above",
        lambda: utility("--epsilon 0.01 --probability 0.3", "queries", 0, "noise"), 120, 0),
    Row("example 1", "λ", lambda: utility("--epsilon 0.01", "queries", 0, "scale"), 100, 9),
    Row("example 1", "z", lambda: utility("--epsilon 0.01", "queries", 0, "noise"), 230, 0),
    Row("example 1", "MTA, of the rounded z",
        lambda: utility("--epsilon 0.01", "queries", 0, "minimum_true_answer"), 2300, -2),
    Row("example 1", "λ in a session",
        lambda: scale(SMALL, "SELECT COUNT(*) FROM people"), 100, 9),
    Row("section 4", "λ at ε = 0.1", lambda: utility("--epsilon 0.1", "queries", 0, "scale"), 10, 9),
    Row("example 2", "λ", lambda: utility(TWO, "queries", 0, "scale"), 200, 9),
    Row("example 2", "λ in a session, q1", lambda: scale(SMALL, COUNTS, 0), 200, 9),
    Row("example 2", "λ in a session, q2", lambda: scale(SMALL, COUNTS, 1), 200, 9),
    Row("example 2", "z", lambda: utility(TWO, "queries", 0, "noise"), 460, -1),
    Row("example 2", "MTA",
        lambda: utility(TWO, "queries", 0, "minimum_true_answer"), 4600, -2),
    Row("example 2", "RE of q1",
        lambda: utility(TWO, "queries", 0, "answers", 0, "relative_error"), 0.15, 2),
    Row("example 2", "RE of q2",
        lambda: utility(TWO, "queries", 1, "answers", 0, "relative_error"), 0.015, 3),
    Row("example 2", "q1 is within 10 %",
        lambda: utility(TWO, "queries", 0, "answers", 0, "satisfied"), False, 0),
    Row("example 2", "q2 is within 10 %",
        lambda: utility(TWO, "queries", 1, "answers", 0, "satisfied"), True, 0),
    Row("example 3", "MTA of q1",
        lambda: utility(INDEXED, "queries", 0, "minimum_true_answer"), 2533, 0),
    Row("example 3", "MTA of q2",
        lambda: utility(INDEXED, "queries", 1, "minimum_true_answer"), 25328, 0),
    Row("example 3", "q1 is within 10 %",
        lambda: utility(INDEXED, "queries", 0, "answers", 0, "satisfied"), True, 0),
    Row("example 3", "q2 is within 10 %",
        lambda: utility(INDEXED, "queries", 1, "answers", 0, "satisfied"), True, 0),
    Row("example 3", "α", lambda: utility(INDEXED, "alpha"), 110, 9),
    Row("example 3", "λ1", lambda: utility(INDEXED, "queries", 0, "scale"), 110, 9),
    Row("example 3", "λ2", lambda: utility(INDEXED, "queries", 1, "scale"), 1100, 9),
    Row("example 3", "λ1 of an answer", lambda: answer(SMALL, DIFF, "releases", 0, "scale"), 110, 9),
    Row("example 3", "λ2 of an answer", lambda: answer(SMALL, DIFF, "releases", 1, "scale"), 1100, 9),
    Row("example 3", "both cost", lambda: answer(SMALL, DIFF, "cost", "epsilon"), 0.01, 9),
    Row("example 3", "z of q1", lambda: utility(INDEXED, "queries", 0, "noise"), 253.3, 1),
    Row("example 3", "z of q2", lambda: utility(INDEXED, "queries", 1, "noise"), 2532.8, 1),
]  # fmt: skip

# Lee, Clifton, "How Much Is Enough? Choosing ε for Differential Privacy". Worlds are named by
# the absence days, or the school year, that are missing: ω1 lacks Terry's 10, or 4.

DAYS = "SELECT AVG(absence_days) FROM students"
YEAR = "SELECT AVG(school_year) FROM students"
MEDIAN = "SELECT MEDIAN(absence_days) FROM students"
AFTER = "--epsilon 2 --response 2.2013"
THIRD = "--max-risk 1/3"

LEE = [
    Row("section 4.1", "Δf", lambda: risk(DAYS, AFTER, "sensitivity"), 17 / 6, 9),
    Row("section 4.1", "λ = Δf/ε", lambda: risk(DAYS, AFTER, "scale"), 17 / 12, 9),
    Row("section 4.1", "f(X'), which 1.1677 is added to", lambda: risk(DAYS, AFTER, 10, "answer"), 2, 9),
    Row("section 4.1", "the ratio of probabilities above 3.1677",
        lambda: risk(DAYS, "--epsilon 2 --response 3.1677 --missing 10", "ratio"), 3.2933, 4),
    Row("section 4.4", "P(κ(ω1) = 2.2013), printed 0.3602 as the numerator",
        lambda: risk(DAYS, AFTER, 10, "density"), 0.3062, 4),
    Row("section 4.4", "P(κ(ω2) = 2.2013)", lambda: risk(DAYS, AFTER, 3, "density"), 0.0784, 4),
    Row("section 4.4", "P(κ(ω3) = 2.2013)", lambda: risk(DAYS, AFTER, 2, "density"), 0.0619, 4),
    Row("section 4.4", "P(κ(ω4) = 2.2013)", lambda: risk(DAYS, AFTER, 1, "density"), 0.0489, 4),
    Row("section 4.4", "β(ω1)", lambda: risk(DAYS, AFTER, 10, "belief"), 0.6180, 4),
    Row("section 4.4", "Δf of the year", lambda: risk(YEAR, AFTER, "sensitivity"), 5 / 6, 9),
    Row("section 4.4", "β(ω1) of the year", lambda: risk(YEAR, AFTER, 4, "belief"), 0.3390, 4),
    Row("section 4.4", "0.9705 - 0.25, printed 0.7705",
        lambda: risk(DAYS, "--epsilon 5 --response 2", 10, "confidence"), 0.7205, 4),
    Row("section 4.4", "0.3477 - 0.25",
        lambda: risk(DAYS, "--epsilon 0.5 --response 2", 10, "confidence"), 0.0977, 4),
    Row("section 5.1", "the ε at which all worlds look alike",
        lambda: risk(DAYS, "--max-risk 0.25", "epsilon_exact"), 0, 9),
    Row("section 5.2", "Δv", lambda: risk(DAYS, THIRD, "widest"), 3, 9),
    Row("equation 9", "ε <= 17/18 ln(3/2)", lambda: risk(DAYS, THIRD, "epsilon_bound"), 0.3829, 4),
    Row("section 5.2", "Δv of the year", lambda: risk(YEAR, THIRD, "widest"), 1, 9),
    Row("section 5.2", "ε <= 5/6 ln(3/2)", lambda: risk(YEAR, THIRD, "epsilon_bound"), 0.3379, 4),
    Row("equation 12", "the risk at ε = 0.5", lambda: risk(YEAR, "--epsilon 0.5", "risk"), 0.3292, 4),
    Row("table 4", "LS(1, 2, 3)", lambda: risk(MEDIAN, THIRD, 10, "sensitivity"), 0.5, 9),
    Row("table 4", "LS(1, 2, 10)", lambda: risk(MEDIAN, THIRD, 3, "sensitivity"), 4, 9),
    Row("table 4", "LS(1, 3, 10)", lambda: risk(MEDIAN, THIRD, 2, "sensitivity"), 3.5, 9),
    Row("table 4", "LS(2, 3, 10)", lambda: risk(MEDIAN, THIRD, 1, "sensitivity"), 3.5, 9),
    Row("section 6", "Δv of the median", lambda: risk(MEDIAN, THIRD, "widest"), 1, 9),
    Row("equation 18", "4 ln(3/2)", lambda: risk(MEDIAN, THIRD, "epsilon_bound"), 1.6219, 4),
    Row("section 6", "4 ln 2, printed 2.776",
        lambda: risk(MEDIAN, THIRD, "epsilon_exact"), 2.7726, 4),
    Row("figure 3", "where ω1 and ω2 are as likely, printed 3.16",
        lambda: (risk(DAYS, AFTER, 10, "answer") + risk(DAYS, AFTER, 3, "answer")) / 2, 19 / 6, 9),
]  # fmt: skip

# "Differential Privacy: 6 Key Equations Explained".

SHARES = "; ".join(
    f"SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon = {epsilon}) {query} FROM ce"
    for epsilon, query in ((0.5, "SUM(Income)"), (0.3, "AVG(Income)"), (0.2, "MEDIAN(Income)"))
)
HUNDRED = (
    "SET epsilon = 0.1; SET mechanism = 'laplace'; SET repeats = 'fresh'"
    + "; SELECT SUM(Income) FROM ce" * 100
)
MANY = f"{CE} --composition advanced --epsilon 6 --delta 1e-5 --queries 100"
ONE = "--epsilon 1 --queries 1"
SUM = "SUM(CLAMP(income, 0, 100)) FROM people"
GAUSSIAN = f"SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(mechanism = 'gaussian') {SUM}"
LOCAL = "SET sensitivity = 'local'; SET reveal = on; SELECT MAX(absence_days) FROM students"


def chance(scores: list[int], epsilon: int, chosen: int) -> float:
    """How often the exponential mechanism selects a score; Δu is 1."""
    rate = Exponential(Fraction(1), Fraction(epsilon)).rate
    each = weights(max(scores) - np.array(scores), rate)
    return each[chosen] / sum(each)


TOGETHER = "--epsilon 0.1 --delta 1e-5 --queries 100"
KEY_EQUATIONS = [
    Row("Laplace", "λ = Δf/ε of a count",
        lambda: scale(f"{PEOPLE} {ONE}", "SELECT COUNT(*) FROM people"), 1, 9),
    # ln(1.25/1e-5) = ln 1.25 + 5 ln 10 = 11.736069, and √(2 · 11.736069) = 4.844805.
    Row("Gaussian", "σ by the formula, Δf = 1, ε = 1, δ = 1e-5",
        lambda: utility("--epsilon 1 --delta 1e-5", "gaussian", "classic"), 4.844805, 6),
    # dp-accounting has 3.7306317 for the same.
    Row("Gaussian", "the least σ",
        lambda: utility("--epsilon 1 --delta 1e-5", "gaussian", "least"), 3.7306, 4),
    Row("Gaussian", "σ in a session, Δf = 100",
        lambda: scale(f"{PEOPLE} {ONE} --delta 1e-5", GAUSSIAN), 373.06, 2),
    Row("sequential", "0.5 + 0.3 + 0.2",
        lambda: spent(f"{CE} --epsilon 1 --queries 3", SHARES, "sequential composition"), 1.0, 9),
    Row("advanced", "first term, as printed",
        lambda: utility(TOGETHER, "together", "advanced_as_printed") - 100 * 0.1**2, 4.8, 1),
    Row("advanced", "as printed, with k·ε²",
        lambda: utility(TOGETHER, "together", "advanced_as_printed"), 5.8, 1),
    Row("advanced", "by the theorem", lambda: utility(TOGETHER, "together", "advanced"), 5.8502351, 7),
    # √(200 · 11.5129255)·0.1 = 4.7985259, and 100·0.1·(e^0.1 - 1) = 1.0517092. What the page
    # calls (5.8, 1e-5) for queries that are (0.1, 1e-5) each has δ = 101e-5 in all: here
    # queries have no δ of their own.
    Row("advanced", "with k·ε·(e^ε - 1), printed 5.8",
        lambda: spent(MANY, HUNDRED, "advanced composition"), 5.8502351, 7),
    Row("advanced", "k·ε, to compare", lambda: spent(MANY, HUNDRED, "sequential composition"), 10, 9),
    Row("sensitivity", "of a count",
        lambda: change(f"{PEOPLE} {ONE}", "SELECT COUNT(*) FROM people WHERE age < 30"), 1, 9),
    Row("sensitivity", "of a sum of values in [0, 100]",
        lambda: change(f"{PEOPLE} {ONE}", f"SELECT {SUM}"), 100, 9),
    Row("sensitivity", "of such a sum, under replace",
        lambda: change(f"{PEOPLE} {ONE} --neighbors replace", f"SELECT {SUM}"), 100, 9),
    Row("sensitivity", "of an average, (max - min)/n",
        lambda: change(f"{CE} {ONE}", "SELECT AVG(CLAMP(Income, 0, 100)) FROM ce"), 100 / 994, 9),
    Row("sensitivity", "local, of the maximum of 1, 2, 3, 10",
        lambda: answer(f"{STUDENTS} {ONE} --teach", LOCAL, "reveal", 0, "b"), 7, 9),
    # e³ = 20.0855, e² = 7.3891 and e⁰ = 1 add up to 28.4746.
    Row("exponential", "Pr of utility 3 beside 2 and 0, ε = 2", lambda: chance([3, 2, 0], 2, 0), 0.7054, 4),
    Row("exponential", "Pr of utility 2", lambda: chance([3, 2, 0], 2, 1), 0.2595, 4),
    Row("exponential", "Pr of utility 0", lambda: chance([3, 2, 0], 2, 2), 0.0351, 4),
    Row("exponential", "2Δu/ε in a session",
        lambda: scale(f"{CE} {ONE}", "SELECT MODE(Race) FROM ce"), 2, 9),
    Row("exponential", "2Δu/ε of a sum of incomes up to 1,000,000",
        lambda: scale(f"{CE} {ONE}", "SELECT MODE(Race, Income) FROM ce"), 2_000_000, 9),
]  # fmt: skip

# Evans, Girkins, Sartor: the transcripts are in test_teaching. Here is the noise k·Δf/ε of the
# first and the third set where Δf follows from the bounds of ages, 18 to 65.

EVANS = [
    Row("query set 1", "2·65/5",
        lambda: scale(f"{PEOPLE} --epsilon 5 --queries 2", "SELECT SUM(age) FROM people WHERE zip = 31643"), 26, 9),
    Row("query set 3", "4·1/4",
        lambda: scale(f"{PEOPLE} --epsilon 4 --queries 4", "SELECT COUNT(name) FROM people WHERE name == 'Peter Gist'"), 1, 9),
]  # fmt: skip

# Hu, "Differential Privacy: An Overview", chapter 7. Its noisy answers (45, 50, 62028.67 and
# 67036.76) are draws of R with a seed of its own; what follows from the text is their scale.

OFF, ON = f"{CE} --teach", f"{CE} --epsilon 1 --queries 1"
TENTH = f"{CE} --epsilon 0.1 --queries 1"
ADD_REMOVE = f"{ON} --neighbors add-remove"
RURAL = "SELECT COUNT(*) FROM ce WHERE UrbanRural = 2"
INCOME = "SELECT AVG(Income) FROM ce"
CENTRED = "SELECT SUM(Income - 500000) FROM ce"
GROUPS = "SELECT UrbanRural, COUNT(*) FROM ce GROUP BY UrbanRural"

HU = [
    Row("7.3.4.1.1", "consumer units", lambda: answer(ON, "SELECT COUNT(*) FROM ce", "rows", 0, 0), 994, 9),
    Row("7.3.4.1.1", "their number is public under replace",
        lambda: answer(ON, "SELECT COUNT(*) FROM ce", "cost", "epsilon"), 0, 9),
    Row("7.3.4.1.1", "rural ones", lambda: answer(OFF, f"SET dp = off; {RURAL}", "rows", 0, 0), 51, 9),
    Row("7.2.2", "Δf of the count, a unit changed", lambda: change(ON, RURAL), 1, 9),
    Row("7.2.2", "Δf of the count, a unit removed", lambda: change(ADD_REMOVE, RURAL), 1, 9),
    Row("7.3.4.1.2", "scale at ε = 0.1", lambda: scale(TENTH, RURAL), 10, 9),
    Row("7.3.4.1.2", "scale at ε = 1", lambda: scale(ON, RURAL), 1, 9),
    Row("7.3.4.2.1", "mean income", lambda: answer(OFF, f"SET dp = off; {INCOME}", "rows", 0, 0), 67593, 0),
    Row("7.2.2", "Δf of the mean", lambda: change(ON, INCOME), 1_000_000 / 994, 6),
    Row("7.3.4.2.2", "scale at ε = 0.1", lambda: scale(TENTH, INCOME), 1_000_000 / 994 / 0.1, 5),
    Row("7.3.4.2.2", "scale at ε = 1", lambda: scale(ON, INCOME), 1_000_000 / 994, 6),
    # With n not public a mean is a sum over a count; incomes less the middle of their bounds.
    Row("7.2.2", "Δf of the mean's sum, a unit removed", lambda: change(ADD_REMOVE, CENTRED), 500_000, 9),
    # dpdb reads it from a pair of sums, which a unit moves by the width of the bounds together.
    Row("7.2.2", "Δf of the pair, a unit removed", lambda: change(ADD_REMOVE, INCOME), 1_000_000, 9),
    Row("7.2.3.1", "Δf of expenditure, which is less",
        lambda: change(ON, "SELECT AVG(Expenditure) FROM ce"), 200_000 / 994, 6),
    Row("7.3.2", "Δf of a k-dimension query, a unit changed", lambda: change(ON, GROUPS), 2, 9),
    Row("7.3.2", "Δf of a k-dimension query, a unit removed", lambda: change(ADD_REMOVE, GROUPS), 1, 9),
    Row("7.3.2", "ε of each of two queries",
        lambda: answer(f"{CE} --epsilon 1 --queries 2", RURAL, "cost", "epsilon"), 0.5, 9),
]  # fmt: skip

PAPERS = {
    "Shoaran": SHOARAN, "Lee": LEE, "6 Key Equations": KEY_EQUATIONS, "Evans": EVANS, "Hu": HU,
}  # fmt: skip


@pytest.mark.parametrize(
    "row",
    [
        pytest.param(row, id=f"{paper}, {row.where}: {row.what}")
        for paper, rows in PAPERS.items()
        for row in rows
    ],
)
def test_number(row: Row) -> None:
    assert round(float(row.found()), row.digits) == round(float(row.printed), row.digits)


# Lee and Clifton's table 3 follows from any response of 2 or less, and of table 2 the column of
# ε = 0.01 from any of 5 or more; tests/analysis/test_risk.py says what is wrong with the others.
BELIEFS = [
    ("table 3", 2, 5, [0.9705, 0.0158, 0.0088, 0.0049]),
    ("table 3", 2, 2, [0.6825, 0.1315, 0.1039, 0.0821]),
    ("table 3", 2, 1, [0.4596, 0.2017, 0.1793, 0.1594]),
    ("table 3", 2, 0.5, [0.3477, 0.2303, 0.2172, 0.2048]),
    ("table 3", 2, 0.1, [0.2680, 0.2469, 0.2440, 0.2411]),
    ("table 3", 2, 0.01, [0.2518, 0.2497, 0.2494, 0.2491]),
    ("table 2", 5, 0.01, [0.2482, 0.2503, 0.2506, 0.2509]),
]


@pytest.mark.parametrize(("table", "response", "epsilon", "beliefs"), BELIEFS)
def test_table(table: str, response: float, epsilon: float, beliefs: list[float]) -> None:
    words = f"--epsilon {epsilon} --response {response}"
    found = [risk(DAYS, words, missing, "belief") for missing in (10, 3, 2, 1)]
    assert [round(belief, 4) for belief in found] == beliefs


def test_explain_at_the_prompt_says_z_and_mta() -> None:
    """Sections 3 and 4 of Shoaran, Thomo, Weber, in the steps of 1 that a count's noise has."""
    session = Session(read_policy(ROOT / "sample_data" / "people.toml"))
    query = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon = 0.01) COUNT(*) FROM people"
    page = explain_screen(session.execute(f"EXPLAIN {query}"), ())
    assert "± 69 (50%), ± 230 (90%)" in page
    assert "690 (50%), 2300 (90%)" in page
