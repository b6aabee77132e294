"""Denning, Denning and Schwartz: one large set that finds out everybody."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpdb.lab import chances
from dpdb.lab.attack import Attack, Scales, StudentTask
from dpdb.lab.controls import QuerySetSize
from dpdb.lab.database import Database, number
from dpdb.lab.scenario import Scenario
from dpdb.lab.students import COLUMNS, LEVELS, asked_directly, nearest_grant, students
from dpdb.lab.transcript import Guess

if TYPE_CHECKING:
    import numpy as np

    from dpdb.lab.defences import Defence

LEAST = 20
QUERIES = 5
"""The direct question, and the four whose answers are added up."""
SUM = "SELECT SUM(grant_k) FROM students WHERE"


class GeneralTracker(Attack):
    """q(C) = q(C or T) + q(C or not T) - q(T) - q(not T), for any C and a single T."""

    place = 7
    title = "General tracker: one set that finds out everybody"
    source = (
        "Denning, Denning and Schwartz, The Tracker: A Threat to Statistical Database Security, "
        "ACM TODS 4 (1979)."
    )
    secret = (
        f"The grant, from 0 to {LEVELS - 1} thousand, of one student, of whom nothing is known but "
        "the name."
    )
    idea = (
        f"No question may be about fewer than {LEAST} people, or about all but fewer than {LEAST}. "
        "Take any set T of middling size, here the men. “She or the men” and “she or the women” "
        "are both large enough, and together they count everybody once and her twice. Take "
        "everybody away. The same T works for every person in the file."
    )
    remedy = (
        "Nothing that looks at sizes: Denning and her colleagues show that a general tracker "
        "almost always exists, unless so many questions are refused that the database is of no "
        f"use. Under differential privacy all {QUERIES} questions are answered, each with noise of "
        f"scale {QUERIES}·{LEVELS - 1}/ε; adding up answers adds up their noise."
    )
    tasks = (
        StudentTask(
            "Find out a second student with the same tracker: how many more questions does it "
            "take?",
            "Two. “He or the men” and “he or the women” are new; the sums over the men and over "
            "the women are known.",
        ),
        StudentTask(
            "Take T = (subject = 'law'). How small may T be?",
            f"There are 40 in law, which is enough. T and its opposite have to be allowed, with "
            f"the victim and without, so that both have at least {LEAST} people. With "
            f"{2 * LEAST} in each, the theorem says, sums over sets of any size are found out.",
        ),
        StudentTask(
            "Which of the four questions are the same for every victim, and so are free repeats?",
            "The sums over T and over its opposite. Under privacy that saves budget, but the noise "
            "of both is then the same for all victims.",
        ),
    )
    queries = QUERIES
    worlds = LEVELS
    foils = (QuerySetSize(LEAST),)
    honest = "SELECT SUM(grant_k) FROM students"

    def scenario(self, rng: np.random.Generator) -> Scenario:
        rows = students(rng)
        return Scenario(COLUMNS, rows, rows[7][-1], table="students")

    def run(self, session: Database, rng: np.random.Generator) -> Guess:
        she, tracker, rest = "name = 'Grace Huber'", "sex = 'M'", "sex = 'F'"
        direct = asked_directly(session, f"{SUM} {she}")
        twice = [number(session.execute(f"{SUM} {she} OR {side}")) for side in (tracker, rest)]
        once = [number(session.execute(f"{SUM} {side}")) for side in (tracker, rest)]
        grant = sum(twice) - sum(once)
        because = f"({twice[0]:g} + {twice[1]:g}) - ({once[0]:g} + {once[1]:g}) = {grant:g}"
        return Guess(nearest_grant(grant), f"{because}; {direct}.")

    def chance(self, defence: Defence, scales: Scales) -> float:
        # The direct question comes first, and its answer is not used.
        return chances.of_nearest(scales[1:], LEVELS) if scales else 1.0
