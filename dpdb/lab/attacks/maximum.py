"""Query set 2 of [EGS]: the richest person's income and age."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpdb.lab.attack import Attack, Task
from dpdb.lab.database import Database, number
from dpdb.lab.people import names
from dpdb.lab.scenario import Scenario
from dpdb.lab.transcript import Guess

if TYPE_CHECKING:
    import numpy as np


class Maximum(Attack):
    """The maximum names its owner; two averages over one person do the rest."""

    place = 2
    title = "Isolating the maximum: the age of the richest"
    source = (
        "Evans, Girkins, Sartor: Applications and Implementation of Differential Privacy on "
        "Statistical Databases, query set 2."
    )
    secret = (
        "Age and income of the richest person, without a name to ask for. The age is any from 18 "
        "to 65, and it is what is scored."
    )
    idea = (
        "MAX returns somebody's value, unchanged. Whoever has that value can be selected by it, "
        "and the mean over a single person is that person's value."
    )
    remedy = (
        "MAX is chosen by the exponential mechanism: a value near the top of the data, hardly "
        "ever the top itself. A condition built on it selects nobody, or several. And the means "
        "over so few people are noise: a mean is a noisy sum divided by a noisy count."
    )
    tasks = (
        Task(
            "Replay the paper: dpdb sample_data/people.csv --teach --epsilon 3 --queries 3 "
            "-f sample_data/evans_set2.sql",
            "Without privacy 5,246,937, 304,322 and 65 come out, all of the richest. Above the "
            "noisy maximum of the paper, 3,900,194, there are two people; their means, 275,988 and "
            "63, are nobody's.",
        ),
        Task(
            "In the paper's replay Δf of the maximum is 1,332,431. What does that number give "
            "away? See dpdb lab noise-scale.",
            "How much the richest has more than the second richest, to the dollar: who knows one "
            "of the two knows the other, as 5,246,937 - 1,332,431 = 3,914,506.",
        ),
        Task(
            "Ask for QUANTILE_CONT(net_worth, 0.9) instead: how good is that at ε = 1?",
            "Good: half of all answers are off by less than 20,000, of 2.6 million. One person "
            "moves a quantile by a rank, the maximum by any amount.",
        ),
    )
    queries = 3
    worlds = 48

    def scenario(self, rng: np.random.Generator) -> Scenario:
        incomes = rng.lognormal(10.7, 0.5, 201).clip(0, 900_000).round().tolist()
        ages = rng.integers(18, 66, 201).tolist()
        worths = rng.integers(0, 3_000_000, 200).tolist()
        worths.append(int(rng.integers(4_000_000, 9_000_000)))
        rows = zip(names(201), ages, map(int, incomes), worths, strict=True)
        return Scenario(COLUMNS, list(rows), ages[-1])

    def run(self, session: Database, rng: np.random.Generator) -> Guess:
        most = number(session.execute("SELECT MAX(net_worth) FROM people"))
        richest = f"FROM people WHERE net_worth > {most - 1:.0f}"
        income = number(session.execute(f"SELECT MEAN(income) {richest}"))
        age = number(session.execute(f"SELECT MEAN(age) {richest}"))
        because = f"Whoever owns {most:.0f} earns {income:.0f} a year and is {age:.0f} years old."
        return Guess(min(max(round(age), 18), 65), because)


COLUMNS = """
name      = { type = "text" }
age       = { type = "integer", bounds = [18, 65], nullable = false }
income    = { type = "integer", bounds = [0, 1_000_000], nullable = false }
net_worth = { type = "integer", bounds = [-1_000_000, 10_000_000], nullable = false }
"""
