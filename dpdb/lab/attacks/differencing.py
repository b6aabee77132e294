"""Query set 1 of Evans, Girkins and Sartor: how old is Abel Woods?"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from dpdb.lab.attack import Attack, Guess, Scenes
from dpdb.lab.database import Database, number
from dpdb.lab.people import names
from dpdb.lab.scenario import DataFile, Scenario, identifier

if TYPE_CHECKING:
    import numpy as np


@dataclass(frozen=True)
class Differencing(Attack):
    """Two sums that differ by one person."""

    table: str = "people"
    measure: str = "age"
    others: str = "name != 'Abel Woods'"
    least: int = 18
    most: int = 65
    worlds: int | None = 48

    place = 1
    title = "Differencing: how old is Abel Woods?"
    source = (
        "Evans, Girkins, Sartor: Applications and Implementation of Differential Privacy on "
        "Statistical Databases, query set 1. Older: Denning, Cryptography and Data Security "
        "(1982), chapter 6."
    )
    secret = "The age of Abel Woods: in each trial another one from 18 to 65, all as likely."
    idea = (
        "Neither of two sums over hundreds of people says anything about one of them. Their "
        "difference does, if the second leaves out him alone."
    )
    stopped = (
        "Both sums carry noise of scale k·Δf/ε = 2·65/ε, as in the paper: 26 at ε = 5. It hides 65 "
        "years as well as 18, whoever is left out. The sums themselves, over a hundred people, "
        "are only a few per cent off at ε = 5."
    )
    further = (
        "Replay the paper: dpdb sample_data/people.csv --teach --epsilon 5 --queries 2 "
        "-f sample_data/evans_set1.sql",
        "Ask for SUM(age) WHERE name = 'Abel Woods' at once, with all of ε. Is that better?",
        "Try it on a file of yours: dpdb lab differencing --data FILE.csv",
    )
    queries = 2
    trials = 300

    def scenario(self, rng: np.random.Generator) -> Scenario:
        rows = [(name, int(rng.integers(18, 66))) for name in names(250)]
        age = int(rng.integers(18, 66))
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


COLUMNS = """
name = { type = "text" }
age  = { type = "integer", bounds = [18, 65], nullable = false }
"""
