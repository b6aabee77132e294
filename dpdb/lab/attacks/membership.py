"""Query set 3 of [EGS]: is Peter Gist in the file?"""

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


PAPERS_EPSILON = 4
"""Of four questions, two about each of two people."""


def _right(epsilon: float) -> float:
    """How often the best guess from one count at ε is right."""
    return 1 / (1 + math.exp(-epsilon))


@dataclass(frozen=True)
class Membership(Attack):
    """One count of one person: the shortest attack there is."""

    table: str = "people"
    who: str = "name = 'Peter Gist'"

    notice: str = ""
    place = 3
    title: str = "Membership by count: is Peter Gist in the file?"
    source = (
        "Evans, Girkins, Sartor: Applications and Implementation of Differential Privacy on "
        "Statistical Databases, query set 3. The bound on the success of any such attack: "
        "Wasserman and Zhou, A Statistical Framework for Differential Privacy, JASA 105 (2010)."
    )
    secret: str = (
        "Whether one person is in the file: a coin decides, anew in each trial. If the file is "
        "one of patients or of debtors, being in it says it all."
    )
    idea: str = "Count the rows that only this person can have. One means yes, none means no."
    remedy: str = (
        "Noise of scale 1/ε makes every answer possible in both cases, and no guess can be right "
        "more than e^ε / (1 + e^ε) of the time. No attack is better than this one: it reaches the "
        "ceiling ◆ at every ε. So this is the picture of what ε means, and it shows that ε = 5 is "
        "little protection against who spends all of it on one question about one person."
    )
    tasks: tuple[StudentTask, ...] = (
        StudentTask(
            "Count everybody instead: is the answer still useful at ε = 0.1?",
            f"95 of 100 answers are within ± {round(math.log(20) / 0.1)}, whether there are a "
            "hundred people or a million. Of a hundred that is little use, of ten thousand it is "
            "0.3 %.",
        ),
        StudentTask(
            "The paper asks about two people, twice each, at a quarter of ε a question. Does it "
            "help to ask twice?",
            f"No. At the paper's ε = {PAPERS_EPSILON} one answer with half of it is right in "
            f"{_right(PAPERS_EPSILON / 2):.1%}. Two with a quarter each are right in "
            f"{_right(PAPERS_EPSILON / 4):.1%}, which is no more than one of them: where they "
            "disagree, a coin has to be tossed.",
        ),
        StudentTask(
            "Try dpdb lab membership --epsilon 0.01 --epsilon 0.7 --epsilon 2 --trials 2000",
            f"The ceilings are {_right(0.01):.1%}, {_right(0.7):.1%} and {_right(2):.1%}, and the "
            "attack reaches each of them: e^ε / (1 + e^ε).",
        ),
    )
    honest: str = "SELECT COUNT(*) FROM people"

    def scenario(self, rng: np.random.Generator) -> Scenario:
        rows = [(name, int(rng.integers(18, 66))) for name in names(100)]
        inside = bool(rng.integers(2))
        if inside:
            rows.append(("Peter Gist", 41))
        return Scenario(COLUMNS, rows, inside, neighbors="add-remove")

    def run(self, session: Database, rng: np.random.Generator) -> Guess:
        count = number(session.execute(f"SELECT COUNT(*) FROM {self.table} WHERE {self.who}"))
        inside = count >= 0.5
        return Guess(inside, f"{count:g} is closer to {int(inside)} than to {1 - int(inside)}.")

    def chance(self, defence: Defence, scales: Scales) -> float:
        return chances.of_sign(scales, 1) if scales else 1.0

    def on(self, file: DataFile) -> tuple[Attack, Scenes]:
        victim = file.victim()
        without = (*file.rows[: victim.index], *file.rows[victim.index + 1 :])

        def scenario(rng: np.random.Generator) -> Scenario:
            inside = bool(rng.integers(2))
            return file.scenario(file.rows if inside else without, inside, "add-remove")

        attack = replace(
            self,
            notice=file.notice,
            title=f"Membership by count: is {victim.alone} in {file.table.name}?",
            secret=f"Whether the row with {victim.alone} is in {file.table.name}: a coin decides, "
            f"anew in each trial. The other {len(without)} rows stay as they are.",
            table=file.written,
            who=victim.alone,
        )
        return attack, scenario


COLUMNS = """
name = { type = "text" }
age  = { type = "integer", bounds = [18, 65] }
"""
