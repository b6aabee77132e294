"""Query set 1 of [EGS]: how old is Abel Woods?"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from dpdb.lab.attack import Attack, Scenes
from dpdb.lab.database import Database, number
from dpdb.lab.people import names
from dpdb.lab.scenario import DataFile, Scenario, identifier
from dpdb.lab.transcript import Guess

if TYPE_CHECKING:
    import numpy as np


OTHERS = 250
LEAST, MOST = 18, 65
DRAWN_AT = 5
"""The ε of which the story tells."""
_QUERIES = 2
_HIDDEN = _QUERIES * MOST
"""k·Δf of the sum that leaves him out: there or not, a row adds up to MOST."""
_OFF = math.log(20) * _HIDDEN / DRAWN_AT / ((OTHERS + 1) * (LEAST + MOST) / 2)
"""Of the sum, what 95 of 100 draws of that noise keep within."""


@dataclass(frozen=True)
class Differencing(Attack):
    """Two sums that differ by one person."""

    table: str = "people"
    measure: str = "age"
    others: str = "name != 'Abel Woods'"
    least: int = LEAST
    most: int = MOST
    worlds: int | None = MOST - LEAST + 1

    place = 1
    title = "Differencing: how old is Abel Woods?"
    source = (
        "Evans, Girkins, Sartor: Applications and Implementation of Differential Privacy on "
        "Statistical Databases, query set 1. Older: Denning, Cryptography and Data Security "
        "(1982), chapter 6."
    )
    secret = (
        f"The age of Abel Woods: in each trial another one from {LEAST} to {MOST}, all as likely."
    )
    idea = (
        "Neither of two sums over hundreds of people says anything about one of them. Their "
        "difference does, if the second leaves out him alone."
    )
    remedy = (
        f"Noise of scale k·Δf/ε on both sums. In the first everybody is counted, and an age can "
        f"only change, by {MOST - LEAST}: its scale is {_QUERIES}·{MOST - LEAST}/ε, "
        f"{_QUERIES * (MOST - LEAST) / DRAWN_AT:g} at ε = {DRAWN_AT}. In the second a row can be "
        f"there or not, and the scale is {_QUERIES}·{MOST}/ε, as in the paper: "
        f"{_HIDDEN / DRAWN_AT:g}. That hides {MOST} years as well as {LEAST}, whoever is left out. "
        f"The sums themselves are over {OTHERS + 1} people, and at ε = {DRAWN_AT} 95 of 100 are "
        f"within {_OFF:.1%} of the truth."
    )
    further = (
        "Replay the paper: dpdb sample_data/people.csv --teach --epsilon 5 --queries 2 "
        "-f sample_data/evans_set1.sql",
        "Ask for SUM(age) WHERE name = 'Abel Woods' at once, with all of ε. Is that better?",
        "Try it on a file of yours: dpdb lab differencing --data FILE.csv",
    )
    queries = _QUERIES
    trials = 300

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

    def on(self, file: DataFile) -> tuple[Attack, Scenes]:
        victim, column = file.victim(), file.measure()
        assert column.bounds is not None
        low, high = (round(bound) for bound in column.bounds)

        def scenario(rng: np.random.Generator) -> Scenario:
            value = int(rng.integers(low, high + 1))
            rows = file.with_cell(victim.index, column, value)
            return file.scenario(rows, value, "replace")

        attack = replace(
            self,
            table=identifier(file.table.name),
            measure=identifier(column.name),
            others=victim.others,
            least=low,
            most=high,
            worlds=high - low + 1,
        )
        return attack, scenario


COLUMNS = f"""
name = {{ type = "text" }}
age  = {{ type = "integer", bounds = [{LEAST}, {MOST}], nullable = false }}
"""
