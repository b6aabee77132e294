"""A group that is listed at all is a person who is there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpdb.lab import chances
from dpdb.lab.attack import Attack, Scales, StudentTask
from dpdb.lab.database import Database, Refused
from dpdb.lab.mistakes import KeysOfTheRows, Undeclared
from dpdb.lab.people import names
from dpdb.lab.scenario import Scenario
from dpdb.lab.transcript import Guess

if TYPE_CHECKING:
    import numpy as np

    from dpdb.lab.defences import Defence

JOBS = ("baker", "clerk", "driver", "farmer", "nurse", "teacher")
RARE, NOBODYS = "astronaut", "lighthouse keeper"


class GroupKeys(Attack):
    """The count of the astronauts is noisy; that there is such a line is not."""

    place = 11
    title = "Group keys: the only astronaut in town"
    source = (
        "Korolova, Kenthapadi, Mishra and Ntoulas, Releasing Search Queries and Clicks Privately, "
        "WWW 2009. The astronaut is from Lee and Clifton, How Much Is Enough?, section 1."
    )
    secret = "Whether the town's only astronaut is in the file: a coin decides."
    idea = (
        "GROUP BY job has a line for each job that there is. Never mind the numbers: look for the "
        "line. Noise on a count cannot hide that it is there."
    )
    remedy = (
        "The lines come from the policy, not from the rows. Declared values are all listed, also "
        "those that nobody has, each with noise; a column without declared values cannot be "
        "grouped by at all. Dropping small groups would not do: whether a group is dropped "
        "depends on one person, too. (With δ > 0 there is a way, and dpdb has it: a threshold on "
        "noisy numbers, above which nobody comes alone but with that probability.)"
    )
    tasks = (
        StudentTask(
            "DESCRIBE people shows what is declared. Where may such a list come from?",
            "From what is public without the file: the options of the form, an official list of "
            "occupations. Not from SELECT DISTINCT job, which is the mistake shown here.",
        ),
        StudentTask(
            "Which other names give a person away before any number is computed? File names, "
            "columns, error messages, the time that an answer takes.",
            "In dpdb messages, types, prices and refusals follow from the statement and the policy "
            "alone, and answers leave on a tick. The names of files and columns are the "
            "data owner's: a column “hiv_positive” says what everybody in the file was tested for.",
        ),
    )
    off = KeysOfTheRows("job")
    foils = (KeysOfTheRows("job", 0.1), KeysOfTheRows("job", 1), Undeclared(1, 1, "job"))
    honest = "SELECT COUNT(*) FROM people"

    def scenario(self, rng: np.random.Generator) -> Scenario:
        jobs = [JOBS[i] for i in rng.integers(len(JOBS), size=120)]
        inside = bool(rng.integers(2))
        rows = list(zip(names(120), jobs, strict=True))
        if inside:
            rows.append(("Abel Woods", RARE))
        return Scenario(COLUMNS, rows, inside, neighbors="add-remove")

    def run(self, session: Database, rng: np.random.Generator) -> Guess:
        try:
            answer = session.execute("SELECT job, COUNT(*) FROM people GROUP BY job")
        except Refused:
            return Guess(bool(rng.integers(2)), "There is no answer: toss a coin.")
        counts = {row[0]: row[1] for row in answer.rows}
        if NOBODYS not in counts:
            seen = "a" if RARE in counts else "no"
            return Guess(RARE in counts, f"There is {seen} line for {RARE}s.")
        count = counts[RARE]
        assert isinstance(count, int)
        because = f"Even jobs that nobody has are listed. The count of {RARE}s is {count}."
        return Guess(count >= 0.5, because)

    def chance(self, defence: Defence, scales: Scales) -> float:
        match defence:
            case KeysOfTheRows():
                return 1.0
            case Undeclared():
                return 1 / 2
        return chances.of_sign(scales, 1)


COLUMNS = f"""
name = {{ type = "text" }}
job  = {{ type = "text", values = {sorted([*JOBS, RARE, NOBODYS])} }}
"""
