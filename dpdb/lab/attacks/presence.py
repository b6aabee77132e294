"""Attacks on whether a person is in the file: by a count, by a group's line, by many rows."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from dpdb.lab.attack import Attack, Guess, Scales, Scenes, StudentTask
from dpdb.lab.attacks import chances
from dpdb.lab.database import Database, Refused, number
from dpdb.lab.foils import FirstOwner, KeysOfTheRows, RowsAsUnits, Undeclared
from dpdb.lab.scenario import DataFile, Scenario, names

if TYPE_CHECKING:
    import numpy as np

    from dpdb.lab.database import Defence


PAPERS_EPSILON = 4
"""Of four questions, two about each of two people."""


def _right(epsilon: float) -> float:
    """Chance that the best guess from one count at ε is right."""
    return 1 / (1 + math.exp(-epsilon))


@dataclass(frozen=True)
class Membership(Attack):
    """A count of one person: the shortest attack there is."""

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
        return Scenario(PERSON_COLUMNS, rows, inside, neighbors="add-remove")

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


PERSON_COLUMNS = """
name = { type = "text" }
age  = { type = "integer", bounds = [18, 65] }
"""


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
        return Scenario(JOB_COLUMNS, rows, inside, neighbors="add-remove")

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


JOB_COLUMNS = f"""
name = {{ type = "text" }}
job  = {{ type = "text", values = {sorted([*JOBS, RARE, NOBODYS])} }}
"""


class CountOfMany(Attack):
    """The count of the rows of a person who has many, or none."""

    question: str
    rows: int
    """The number of the person's rows, if there are any."""

    def run(self, session: Database, rng: np.random.Generator) -> Guess:
        count = number(session.execute(self.question))
        inside = count >= self.rows / 2
        return Guess(inside, f"{count:g} is closer to {self.rows if inside else 0}.")

    def chance(self, defence: Defence, scales: Scales) -> float:
        return chances.of_sign(scales, self.rows) if scales else 1.0


PATIENTS, VISITS = 40, 20


class ManyRows(CountOfMany):
    """Many visits to a clinic are many rows and one patient."""

    place = 12
    title = f"Many rows: the patient who came {VISITS} times"
    source = (
        "McSherry, Privacy Integrated Queries, SIGMOD 2009, and Wilson and others, Differentially "
        "Private SQL with Bounded User Contribution, PoPETs 2020. The arithmetic: Dwork and Roth, "
        "The Algorithmic Foundations of Differential Privacy (2014), Theorem 2.2."
    )
    secret = (
        f"Whether Abel Woods is a patient of this clinic: {VISITS} rows of the file, or none. A "
        "coin decides."
    )
    idea = (
        "Noise that hides a row is of the size of a row. Count the rows of one person: with "
        f"{VISITS} of them the noise is {VISITS} times too small."
    )
    remedy = (
        f'Saying whose rows they are: unit = "patient", rows_per_unit = {VISITS}. A person is '
        f"then what comes or goes, the sensitivity is {VISITS}, and rows beyond that are left "
        f"out. A promise of ε for each row is one of {VISITS}·ε for him. The red diamonds are "
        "attacks that succeed more often than the promised ε allows."
    )
    tasks = (
        StudentTask(
            "With rows_per_unit = 1 the noise is smaller and most rows are left out. Which is "
            "better for the number of visits, and which for the number of patients?",
            "For patients 1: each has one row left, COUNT(*) is their number, and the noise has "
            f"scale 1/ε. For visits {VISITS}: with 1 about {PATIENTS} of "
            f"{PATIENTS * (VISITS + 1) // 2} visits are counted, an error that no ε mends; with "
            f"{VISITS} all are, with noise of scale {VISITS}/ε.",
        ),
        StudentTask(
            "What is the unit where a row is about two people, as in a list of marriages?",
            "Each of the two is to be hidden, and is in either column. A unit of one column does "
            'not do that. unit = { person = ["wife", "husband"] } does: dpdb lab other-owner.',
        ),
    )
    foils = (RowsAsUnits(0.1, 1), RowsAsUnits(1, 1))
    question = "SELECT COUNT(*) FROM visits WHERE patient = 'Abel Woods'"
    rows = VISITS
    honest = "SELECT COUNT(*) FROM visits"

    def scenario(self, rng: np.random.Generator) -> Scenario:
        patients = [name for name in names(PATIENTS) for _ in range(rng.integers(1, VISITS + 1))]
        inside = bool(rng.integers(2))
        if inside:
            patients += ["Abel Woods"] * VISITS
        rows = [(patient, int(rng.integers(1, 366))) for patient in patients]
        return Scenario(
            VISIT_COLUMNS,
            rows,
            inside,
            table="visits",
            neighbors="add-remove",
            unit="patient",
            rows_per_unit=VISITS,
        )


VISIT_COLUMNS = """
patient = { type = "text" }
day     = { type = "integer", bounds = [1, 366] }
"""


LINES = 20


class OtherOwner(CountOfMany):
    """A line of an order is a customer's and a supplier's."""

    place = 12
    title = "The other owner: who supplies this shop?"
    source = (
        "Kasiviswanathan, Nissim, Raskhodnikova and Smith, Analyzing Graphs with Node Differential "
        "Privacy, TCC 2013: an edge is two persons'. Day, Li and Lyu, Publishing Graph Degree "
        "Distribution with Node Differential Privacy, SIGMOD 2016."
    )
    secret = (
        f"Whether the firm Woods supplies this shop: {LINES} lines of the file, each of another "
        "customer, or none. A coin decides."
    )
    idea = (
        "The policy protects customers, of whom each has one line. Noise that hides a customer is "
        f"of the size of one line: count the {LINES} lines of the supplier."
    )
    remedy = (
        'Protecting both: units = ["customer", "supplier"] and unit = { customer = "customer", '
        f'supplier = "supplier" }}, with rows_per_unit = {LINES}. Each has room for so many lines, '
        "and a line counts where both have room, so neither moves the count by more. A customer "
        "and a supplier together have 2 ε. The red diamonds are attacks that succeed more often "
        "than the promised ε allows."
    )
    tasks = (
        StudentTask(
            "Which queries on the lines does dpdb refuse once both are protected, and why?",
            "LEFT JOIN and EXISTS between tables of the two, MAX, MEDIAN, windows: of each there "
            "is a table in which a line is there, or not, because of the rows of others. dpdb help "
            "messages has the list.",
        ),
    )
    foils = (FirstOwner(0.1, 1), FirstOwner(1, 1))
    question = "SELECT COUNT(*) FROM lines WHERE supplier = 'Woods'"
    rows = LINES
    honest = "SELECT COUNT(*) FROM lines"

    def scenario(self, rng: np.random.Generator) -> Scenario:
        suppliers = [f"firm {number}" for number in range(1, 31) for _ in range(rng.integers(1, 9))]
        inside = bool(rng.integers(2))
        if inside:
            suppliers += ["Woods"] * LINES
        rows = [(f"c{number}", supplier) for number, supplier in enumerate(suppliers)]
        return Scenario(
            LINE_COLUMNS,
            rows,
            inside,
            table="lines",
            neighbors="add-remove",
            rows_per_unit=LINES,
            owners=("customer", "supplier"),
        )


LINE_COLUMNS = """
customer = { type = "text" }
supplier = { type = "text" }
"""
