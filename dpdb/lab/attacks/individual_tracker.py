"""Schlörer: a person whom no question may single out, by two that do not."""

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

LEAST = 6


class IndividualTracker(Attack):
    """SUM over physics less SUM over men in physics is the one woman in physics."""

    place = 6
    title = "Individual tracker: round a ban on small query sets"
    source = (
        "Schlörer, Identification and Retrieval of Personal Records from a Statistical Data "
        "Bank, Methods of Information in Medicine 14 (1975)."
    )
    secret = (
        f"The grant, from 0 to {LEVELS - 1} thousand, of the only woman who studies physics. That "
        "she is the only one is no secret."
    )
    idea = (
        f"The database answers no question about fewer than {LEAST} people. So pad it: ask about "
        "all of physics, and about the men in physics. Both are large; she is the difference. The "
        "set that is padded with is called her tracker."
    )
    remedy = (
        "Not the size of query sets: whatever sizes are allowed, some difference of two allowed "
        "sets is a person. What stops it is noise that covers any one person, in large sets as in "
        "small ones. Then there is no need to refuse the small ones: their answers are noise."
    )
    tasks = (
        StudentTask(
            "Find a tracker that needs neither sex nor subject: dpdb lab general-tracker.",
            "Any set of middling size will do, and the victim's name: add her to the set and to "
            "its opposite, and take everybody away.",
        ),
        StudentTask(
            "Make the control stricter: LEAST in dpdb/lab/attacks/individual_tracker.py. From "
            "where on does it stop the attack, and what else does it stop?",
            "From 20 on: there are 19 men in physics. Then nothing at all can be asked of them, "
            "nor of any other group as small, and the general tracker goes on as before.",
        ),
    )
    queries = 3
    worlds = LEVELS
    foils = (QuerySetSize(LEAST),)
    honest = "SELECT SUM(grant_k) FROM students"

    def scenario(self, rng: np.random.Generator) -> Scenario:
        rows = students(rng)
        return Scenario(COLUMNS, rows, rows[0][-1], table="students")

    def run(self, session: Database, rng: np.random.Generator) -> Guess:
        sums = "SELECT SUM(grant_k) FROM students WHERE subject = 'physics'"
        direct = asked_directly(session, f"{sums} AND {WOMAN}")
        physics = number(session.execute(sums))
        men = number(session.execute(f"{sums} AND {MAN}"))
        grant = physics - men
        return Guess(nearest_grant(grant), f"{physics:g} - {men:g} = {grant:g}; {direct}.")

    def chance(self, defence: Defence, scales: Scales) -> float:
        # The direct question comes first, and its answer is not used.
        return chances.of_nearest(scales[1:], LEVELS) if scales else 1.0


WOMAN, MAN = "sex = 'F'", "sex = 'M'"
