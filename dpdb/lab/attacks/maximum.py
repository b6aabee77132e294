"""Query set 2 of [EGS]: the richest person's income and age."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpdb.lab import chances
from dpdb.lab.attack import Attack, Scales, StudentTask
from dpdb.lab.database import Database, number
from dpdb.lab.people import names
from dpdb.lab.scenario import Scenario
from dpdb.lab.transcript import Guess

if TYPE_CHECKING:
    import numpy as np

    from dpdb.lab.defences import Defence


YOUNGEST, OLDEST = 18, 65
MIDDLE = (YOUNGEST + OLDEST) // 2
OTHERS = 200
RICH, RICHEST = 3_000_000, (4_000_000, 9_000_000)
"""Everybody but the richest owns less than the first; the richest owns between the other two."""
LEAST, MOST = -1_000_000, 10_000_000
"""The bounds of what anybody can own."""


class Maximum(Attack):
    """The maximum names its owner; two averages over one person do the rest."""

    place = 2
    title = "Isolating the maximum: the age of the richest"
    source = (
        "Evans, Girkins, Sartor: Applications and Implementation of Differential Privacy on "
        "Statistical Databases, query set 2."
    )
    secret = (
        f"Age and income of the richest person, without a name to ask for. The age is any from "
        f"{YOUNGEST} to {OLDEST}, and it is what is scored."
    )
    idea = (
        "MAX returns somebody's value, unchanged. Whoever has that value can be selected by it, "
        "and the mean over a single person is that person's value."
    )
    remedy = (
        "MAX is a step of a public ladder of values that a few rows exceed: one row far above all "
        "others stays hidden. A condition built on it selects nobody, or several. And the means "
        "over so few people are noise: a mean is a noisy sum divided by a noisy count."
    )
    tasks = (
        StudentTask(
            "Replay the paper: dpdb sample_data/people.csv --teach --epsilon 3 --queries 3 "
            "-f sample_data/evans_set2.sql",
            "Without privacy 5,246,937, 304,322 and 65 come out, all of the richest. Above the "
            "noisy maximum of the paper, 3,900,194, there are two people; their means, 275,988 and "
            "63, are nobody's.",
        ),
        StudentTask(
            "In the paper's replay Δf of the maximum is 1,332,431. What does that number give "
            "away? See dpdb lab noise-scale.",
            "How much the richest has more than the second richest, to the dollar: who knows one "
            "of the two knows the other, as 5,246,937 - 1,332,431 = 3,914,506.",
        ),
        StudentTask(
            "Ask for QUANTILE_CONT(net_worth, 0.9) instead: how good is that at ε = 1?",
            "Good: half of all answers are off by less than 50,000, of 2.6 million. One person "
            "moves a quantile by a rank, the maximum by any amount.",
        ),
    )
    queries = 3
    worlds = OLDEST - YOUNGEST + 1
    honest = "SELECT AVG(income) FROM people"

    def scenario(self, rng: np.random.Generator) -> Scenario:
        incomes = rng.lognormal(10.7, 0.5, OTHERS + 1).clip(0, 900_000).round().tolist()
        ages = rng.integers(YOUNGEST, OLDEST + 1, OTHERS + 1).tolist()
        worths = rng.integers(0, RICH, OTHERS).tolist()
        worths.append(int(rng.integers(*RICHEST)))
        rows = zip(names(OTHERS + 1), ages, map(int, incomes), worths, strict=True)
        return Scenario(COLUMNS, list(rows), ages[-1])

    def run(self, session: Database, rng: np.random.Generator) -> Guess:
        most = number(session.execute("SELECT MAX(net_worth) FROM people"))
        richest = f"FROM people WHERE net_worth > {most - 1:.0f}"
        income = number(session.execute(f"SELECT MEAN(income) {richest}"))
        age = number(session.execute(f"SELECT MEAN(age) {richest}"))
        because = f"Whoever owns {most:.0f} earns {income:.0f} a year and is {age:.0f} years old."
        return Guess(min(max(round(age), YOUNGEST), OLDEST), because)

    def chance(self, defence: Defence, scales: Scales) -> float | None:
        return None if scales else 1.0

    def simulate(
        self, defence: Defence, scales: Scales, rng: np.random.Generator, trials: int
    ) -> int:
        import numpy as np  # noqa: PLC0415 (a list of attacks does without)

        rank, *_, of_sum, of_count = scales
        worths = np.sort(rng.integers(0, RICH, (trials, OTHERS)), axis=1)[:, ::-1]
        richest = rng.integers(*RICHEST, (trials, 1))
        ages = rng.integers(YOUNGEST, OLDEST + 1, (trials, OTHERS + 1))
        # The maximum is chosen above all, or in the gap below the n-th largest: exp(-n/scale)
        # as likely for each of its values.
        ends = [np.full((trials, 1), MOST), richest, worths, np.full((trials, 1), LEAST)]
        gaps = -np.diff(np.hstack(ends), axis=1) * np.exp(-np.arange(OTHERS + 2) / rank)
        totals = gaps.cumsum(axis=1)
        chosen = (totals < rng.random((trials, 1)) * totals[:, -1:]).sum(axis=1)
        # So many people have more than that, and their mean age is asked for.
        sums = np.hstack([np.zeros((trials, 1), dtype=int), (ages - MIDDLE).cumsum(axis=1)])
        total = sums[np.arange(trials), chosen] + chances.draws(rng, of_sum, trials)
        mean = MIDDLE + total / np.maximum(chosen + chances.draws(rng, of_count, trials), 1)
        return int((np.rint(np.clip(mean, YOUNGEST, OLDEST)) == ages[:, 0]).sum())


COLUMNS = f"""
name      = {{ type = "text" }}
age       = {{ type = "integer", bounds = [{YOUNGEST}, {OLDEST}], nullable = false }}
income    = {{ type = "integer", bounds = [0, 1_000_000], nullable = false }}
net_worth = {{ type = "integer", bounds = [{LEAST}, {MOST}], nullable = false }}
"""
