"""Query set 1 of [EGS]: how old is Abel Woods?"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from dpdb.lab import chances
from dpdb.lab.attack import Attack, Scales, Scenes, StudentTask
from dpdb.lab.database import Database, number
from dpdb.lab.people import names
from dpdb.lab.scenario import DataFile, Scenario
from dpdb.lab.transcript import Guess

if TYPE_CHECKING:
    import numpy as np

    from dpdb.lab.defences import Defence


OTHERS = 250
LEAST, MOST = 18, 65
DRAWN_AT = 5
"""The ε of which the story tells."""
_QUERIES = 2
_HIDDEN = _QUERIES * MOST
"""k·Δf of the sum that leaves him out, in which a row adds MOST at most, or nothing."""
HIS_AGE, PAPERS_SCALE = 33, 26
"""The age of Abel Woods in sample_data/people.csv, and k·Δf/ε of the paper's replay."""


def _off_by(distance: float, scale: float) -> float:
    """P(|X - Y| > distance) for two Laplace noises: e^-t·(1 + t/2) with t = distance/scale."""
    t = distance / scale
    return math.exp(-t) * (1 + t / 2)


_OFF = math.log(20) * _HIDDEN / DRAWN_AT / ((OTHERS + 1) * (LEAST + MOST) / 2)
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
        f"The sums themselves are over {OTHERS + 1} people, and at ε = {DRAWN_AT} 95 of 100 are "
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
        rows = [(name, int(rng.integers(LEAST, MOST + 1))) for name in names(OTHERS)]
        age = int(rng.integers(LEAST, MOST + 1))
        return Scenario(COLUMNS, [*rows, ("Abel Woods", age)], age)

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


COLUMNS = f"""
name = {{ type = "text" }}
age  = {{ type = "integer", bounds = [{LEAST}, {MOST}], nullable = false }}
"""
