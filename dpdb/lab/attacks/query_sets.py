"""Query sets 1 and 2 of [EGS]: a difference of two sums, and the owner of the maximum."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from dpdb.lab.attack import Attack, Guess, Scales, Scenes, StudentTask
from dpdb.lab.attacks import chances
from dpdb.lab.database import Database, number
from dpdb.lab.scenario import DataFile, Scenario, names

if TYPE_CHECKING:
    import numpy as np

    from dpdb.lab.database import Defence


SUMMED = 250
LEAST, MOST = 18, 65
DRAWN_AT = 5
"""The ε in the story."""
_QUERIES = 2
_HIDDEN = _QUERIES * MOST
"""k·Δf of the sum that leaves him out, in which a row adds MOST at most, or nothing."""
HIS_AGE, PAPERS_SCALE = 33, 26
"""The age of Abel Woods in sample_data/people.csv, and k·Δf/ε of the paper's replay."""


def _off_by(distance: float, scale: float) -> float:
    """P(|X - Y| > distance) for two Laplace noises: e^-t·(1 + t/2) with t = distance/scale."""
    t = distance / scale
    return math.exp(-t) * (1 + t / 2)


_OFF = math.log(20) * _HIDDEN / DRAWN_AT / ((SUMMED + 1) * (LEAST + MOST) / 2)
"""The share of the sum that 95 of 100 draws of that noise are smaller than."""


@dataclass(frozen=True)
class Differencing(Attack):
    """Two sums that differ by one person."""

    table: str = "people"
    measure: str = "age"
    others: str = "name != 'Abel Woods'"
    least: int = LEAST
    most: int = MOST
    worlds: int | None = MOST - LEAST + 1
    invented: bool = True
    """Whether the file is the lab's own, in which no cell is NULL and all values are whole."""

    notice: str = ""
    place = 1
    title: str = "Differencing: how old is Abel Woods?"
    source = (
        "Evans, Girkins, Sartor: Applications and Implementation of Differential Privacy on "
        "Statistical Databases, query set 1. Older: Denning, Cryptography and Data Security "
        "(1982), chapter 6."
    )
    secret: str = (
        f"The age of Abel Woods: in each trial another one from {LEAST} to {MOST}, all as likely."
    )
    idea: str = (
        "Neither of two sums over hundreds of people says anything about one of them. Their "
        "difference does, if the second leaves out him alone."
    )
    remedy: str = (
        f"Noise of scale k·Δf/ε on both sums. In the first everybody is counted, and an age can "
        f"only change, by {MOST - LEAST}: its scale is {_QUERIES}·{MOST - LEAST}/ε, "
        f"{_QUERIES * (MOST - LEAST) / DRAWN_AT:g} at ε = {DRAWN_AT}. In the second a row can be "
        f"there or not, and the scale is {_QUERIES}·{MOST}/ε, as in the paper: "
        f"{_HIDDEN / DRAWN_AT:g}. That hides {MOST} years as well as {LEAST}, whoever is left out. "
        f"The sums themselves are over {SUMMED + 1} people, and at ε = {DRAWN_AT} 95 of 100 are "
        f"within {_OFF:.1%} of the truth."
    )
    tasks: tuple[StudentTask, ...] = (
        StudentTask(
            "Replay the paper: dpdb sample_data/people.csv --teach --epsilon 5 --queries 2 "
            "-f sample_data/evans_set1.sql",
            f"Without privacy the sums differ by {HIS_AGE}, and so is he. With the paper's noise, "
            f"of scale {PAPERS_SCALE} on both, the difference is off by more than his whole age in "
            f"{_off_by(HIS_AGE, PAPERS_SCALE):.0%} of all replays.",
        ),
        StudentTask(
            "Ask for SUM(age) WHERE name = 'Abel Woods' at once, with all of ε. Is that better?",
            f"A little. One query gets all of ε, so its noise has scale {MOST}/ε, at ε = "
            f"{DRAWN_AT} {MOST // DRAWN_AT} instead of {_HIDDEN // DRAWN_AT} and "
            f"{_QUERIES * (MOST - LEAST) / DRAWN_AT:g} that add up. The ceiling is the same for "
            "every way of asking.",
        ),
        StudentTask(
            "Try it on a file of yours: dpdb lab differencing --data FILE.csv",
            "It takes a column of text that singles out somebody, and a numeric column with "
            "bounds. The noise depends on the bounds alone: a file with a hundred times as many "
            "rows keeps the secret as well, and its sums are a hundred times as accurate.",
        ),
    )
    queries = _QUERIES
    honest: str = "SELECT SUM(age) FROM people"

    def scenario(self, rng: np.random.Generator) -> Scenario:
        rows = [(name, int(rng.integers(LEAST, MOST + 1))) for name in names(SUMMED)]
        age = int(rng.integers(LEAST, MOST + 1))
        return Scenario(AGES, [*rows, ("Abel Woods", age)], age)

    def run(self, session: Database, rng: np.random.Generator) -> Guess:
        everybody = f"SELECT SUM({self.measure}) FROM {self.table}"
        whole = number(session.execute(everybody))
        rest = number(session.execute(f"{everybody} WHERE {self.others}"))
        guess = min(max(round(whole - rest), self.least), self.most)
        return Guess(guess, f"{whole:.10g} - {rest:.10g} = {whole - rest:.10g}")

    def chance(self, defence: Defence, scales: Scales) -> float | None:
        if not self.invented:
            return None
        return chances.of_nearest(scales, self.most - self.least + 1) if scales else 1.0

    def on(self, file: DataFile) -> tuple[Attack, Scenes]:
        victim, measure = file.victim(), file.measure()
        name, low, high = measure.column.name, measure.least, measure.most

        def scenario(rng: np.random.Generator) -> Scenario:
            value = int(rng.integers(low, high + 1))
            rows = file.with_cell(victim.index, measure.column, value)
            return file.scenario(rows, value, "replace")

        whose = f"of the row of {file.table.name} with {victim.alone}"
        attack = replace(
            self,
            notice=file.notice,
            title=f"Differencing: what is the {name} {whose}?",
            secret=f"The {name} {whose}: in each trial another whole number from {low} to "
            f"{high}, all as likely. The other rows stay as they are.",
            idea=f"Neither of two sums over {len(file.rows)} rows says anything about one of them. "
            "Their difference does, if the second leaves out this one alone.",
            remedy="Noise of scale k·Δf/ε on both sums. Δf follows from the bounds that are "
            f"declared, {low} to {high}, and not from the rows: it hides the largest value as well "
            "as the least, whoever is left out. EXPLAIN shows it.",
            tasks=(
                StudentTask(
                    "Narrow the bounds in the policy. What happens to the noise, and what to "
                    "values beyond them?",
                    "The noise shrinks as the bounds do. Values beyond them are clamped to the "
                    "nearer one, so that sums are too small or too large, by as much as there is "
                    "beyond.",
                ),
            ),
            table=file.written,
            measure=measure.written,
            others=victim.others,
            least=low,
            most=high,
            worlds=high - low + 1,
            invented=False,
        )
        return attack, scenario


AGES = f"""
name = {{ type = "text" }}
age  = {{ type = "integer", bounds = [{LEAST}, {MOST}], nullable = false }}
"""


MIDDLE = (LEAST + MOST) // 2
POORER = 200
RICH, RICHEST = 3_000_000, (4_000_000, 9_000_000)
"""Everybody but the richest owns less than the first; the richest owns between the other two."""
LEAST_WORTH, MOST_WORTH = -1_000_000, 10_000_000
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
        f"{LEAST} to {MOST}, and it is what is scored."
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
            "Ask for a quantile instead, exactly and at ε = 1: dpdb sample_data/people.csv --teach "
            '--queries 1 -c "SET dp = off; SELECT QUANTILE_CONT(net_worth, 0.9) FROM people; SET '
            'dp = on; SELECT QUANTILE_CONT(net_worth, 0.9) FROM people". How far are they apart?',
            "Half of all answers are off by less than 600, of 395,455. One person moves a quantile "
            "by a rank, the maximum by any amount.",
        ),
    )
    queries = 3
    worlds = MOST - LEAST + 1
    honest = "SELECT AVG(income) FROM people"

    def scenario(self, rng: np.random.Generator) -> Scenario:
        incomes = rng.lognormal(10.7, 0.5, POORER + 1).clip(0, 900_000).round().tolist()
        ages = rng.integers(LEAST, MOST + 1, POORER + 1).tolist()
        worths = rng.integers(0, RICH, POORER).tolist()
        worths.append(int(rng.integers(*RICHEST)))
        rows = zip(names(POORER + 1), ages, map(int, incomes), worths, strict=True)
        return Scenario(WORTHS, list(rows), ages[-1])

    def run(self, session: Database, rng: np.random.Generator) -> Guess:
        most = number(session.execute("SELECT MAX(net_worth) FROM people"))
        richest = f"FROM people WHERE net_worth > {most - 1:.0f}"
        income = number(session.execute(f"SELECT MEAN(income) {richest}"))
        age = number(session.execute(f"SELECT MEAN(age) {richest}"))
        because = f"Whoever owns {most:.0f} earns {income:.0f} a year and is {age:.0f} years old."
        return Guess(min(max(round(age), LEAST), MOST), because)

    def chance(self, defence: Defence, scales: Scales) -> float | None:
        return None if scales else 1.0

    def simulate(
        self, defence: Defence, scales: Scales, rng: np.random.Generator, trials: int
    ) -> int:
        import numpy as np  # noqa: PLC0415 (a list of attacks does without)

        rank, *_, of_sum, of_count = scales
        worths = np.sort(rng.integers(0, RICH, (trials, POORER)), axis=1)[:, ::-1]
        richest = rng.integers(*RICHEST, (trials, 1))
        ages = rng.integers(LEAST, MOST + 1, (trials, POORER + 1))
        # The maximum is chosen above all, or in the gap below the n-th largest: exp(-n/scale)
        # as likely for each of its values.
        ends = [
            np.full((trials, 1), MOST_WORTH),
            richest,
            worths,
            np.full((trials, 1), LEAST_WORTH),
        ]
        gaps = -np.diff(np.hstack(ends), axis=1) * np.exp(-np.arange(POORER + 2) / rank)
        totals = gaps.cumsum(axis=1)
        chosen = (totals < rng.random((trials, 1)) * totals[:, -1:]).sum(axis=1)
        # So many people have more than that, and their mean age is asked for.
        sums = np.hstack([np.zeros((trials, 1), dtype=int), (ages - MIDDLE).cumsum(axis=1)])
        total = sums[np.arange(trials), chosen] + chances.draws(rng, of_sum, trials)
        mean = MIDDLE + total / np.maximum(chosen + chances.draws(rng, of_count, trials), 1)
        return int((np.rint(np.clip(mean, LEAST, MOST)) == ages[:, 0]).sum())


WORTHS = f"""
name      = {{ type = "text" }}
age       = {{ type = "integer", bounds = [{LEAST}, {MOST}], nullable = false }}
income    = {{ type = "integer", bounds = [0, 1_000_000], nullable = false }}
net_worth = {{ type = "integer", bounds = [{LEAST_WORTH}, {MOST_WORTH}], nullable = false }}
"""
