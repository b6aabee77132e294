"""Trackers: the secret of a person whom no question may single out, by questions that do not."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpdb.lab.attack import Attack, Guess, Scales, StudentTask
from dpdb.lab.attacks import chances
from dpdb.lab.database import Database, Refused, number
from dpdb.lab.foils import QuerySetSize
from dpdb.lab.scenario import Scenario, names

if TYPE_CHECKING:
    import numpy as np

    from dpdb.lab.database import Defence

STUDENTS = 100
LEVELS = 8
"""A grant is a whole number of thousands below this; all are equally likely."""
COLUMNS = f"""
name    = {{ type = "text" }}
sex     = {{ type = "text", values = ["F", "M"], nullable = false }}
subject = {{ type = "text", values = ["physics", "history", "law"], nullable = false }}
grant_k = {{ type = "integer", bounds = [0, {LEVELS - 1}], nullable = false }}
"""
FEWEST, LEAST = 6, 20
"""The least size of a query set, against the individual tracker and against the general one."""
QUERIES = 5
"""The direct question, and the four whose answers are added up."""
SUM = "SELECT SUM(grant_k) FROM students"


def students(rng: np.random.Generator) -> list[tuple[str, str, str, int]]:
    """A row for each: half are women, a fifth physicists; the first alone is both."""
    grants = rng.integers(LEVELS, size=STUDENTS).tolist()
    rows = []
    for i, (name, grant) in enumerate(zip(names(STUDENTS), grants, strict=True)):
        subject = "physics" if i % 5 == 0 else ("history", "law")[i % 2]
        woman = i == 0 or (subject != "physics" and i % 5 in (1, 2, 3))
        rows.append((name, "F" if woman else "M", subject, int(grant)))
    return rows


class Tracker(Attack):
    """The grant of the student in row `victim`, by sums over larger sets."""

    victim: int
    worlds = LEVELS
    honest = SUM

    def scenario(self, rng: np.random.Generator) -> Scenario:
        rows = students(rng)
        return Scenario(COLUMNS, rows, rows[self.victim][-1], table="students")

    def chance(self, defence: Defence, scales: Scales) -> float:
        # The direct question comes first, and its answer is not used.
        return chances.of_nearest(scales[1:], LEVELS) if scales else 1.0


def _total(session: Database, where: str) -> float:
    """The sum of the grants of the students that fulfil a condition."""
    return number(session.execute(f"{SUM} WHERE {where}"))


def _asked_directly(session: Database, where: str) -> str:
    """The answer to the question that the control should refuse, in words."""
    try:
        return f"asked directly: {_total(session, where):g}"
    except Refused:
        return "asked directly: refused"


def _guess(estimate: float, equation: str, direct: str) -> Guess:
    """The possible grant that is nearest to an estimate, in thousands."""
    grant = min(max(round(estimate), 0), LEVELS - 1)
    return Guess(grant, f"{equation} = {estimate:g}; {direct}.")


class IndividualTracker(Tracker):
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
        f"The database answers no question about fewer than {FEWEST} people. So pad it: ask about "
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
            "Make the control stricter, in a FILE.py with `from dpdb.lab.attacks.trackers import "
            "IndividualTracker`, `from dpdb.lab.foils import QuerySetSize` and `class "
            "Mine(IndividualTracker): foils = (QuerySetSize(10),)`: dpdb lab FILE.py. From where "
            "on does it stop the attack, and what else does it stop?",
            "From 20 on: there are 19 men in physics. Then nothing at all can be asked of them, "
            "nor of any other group as small, and the general tracker goes on as before.",
        ),
    )
    queries = 3
    victim = 0
    foils = (QuerySetSize(FEWEST),)

    def run(self, session: Database, rng: np.random.Generator) -> Guess:
        subject = "subject = 'physics'"
        direct = _asked_directly(session, f"{subject} AND sex = 'F'")
        physics = _total(session, subject)
        men = _total(session, f"{subject} AND sex = 'M'")
        return _guess(physics - men, f"{physics:g} - {men:g}", direct)


class GeneralTracker(Tracker):
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
            answer=2,
            near=0,
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
    victim = 7
    foils = (QuerySetSize(LEAST),)

    def run(self, session: Database, rng: np.random.Generator) -> Guess:
        she, tracker, rest = "name = 'Grace Huber'", "sex = 'M'", "sex = 'F'"
        direct = _asked_directly(session, she)
        twice = [_total(session, f"{she} OR {side}") for side in (tracker, rest)]
        once = [_total(session, side) for side in (tracker, rest)]
        equation = f"({twice[0]:g} + {twice[1]:g}) - ({once[0]:g} + {once[1]:g})"
        return _guess(sum(twice) - sum(once), equation, direct)
