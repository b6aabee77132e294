"""One person with many rows, each of which is hidden."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpdb.lab import chances
from dpdb.lab.attack import Attack, Scales, StudentTask
from dpdb.lab.database import Database, number
from dpdb.lab.mistakes import RowsAsUnits
from dpdb.lab.people import names
from dpdb.lab.scenario import Scenario
from dpdb.lab.transcript import Guess

if TYPE_CHECKING:
    import numpy as np

    from dpdb.lab.defences import Defence

PATIENTS, VISITS = 40, 20


class ManyRows(Attack):
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
            "not do that: the marriage itself has to be the unit, or each person a row.",
        ),
    )
    foils = (RowsAsUnits(0.1, 1), RowsAsUnits(1, 1))
    honest = "SELECT COUNT(*) FROM visits"

    def scenario(self, rng: np.random.Generator) -> Scenario:
        patients = [name for name in names(PATIENTS) for _ in range(rng.integers(1, VISITS + 1))]
        inside = bool(rng.integers(2))
        if inside:
            patients += ["Abel Woods"] * VISITS
        rows = [(patient, int(rng.integers(1, 366))) for patient in patients]
        return Scenario(
            COLUMNS,
            rows,
            inside,
            table="visits",
            neighbors="add-remove",
            unit="patient",
            rows_per_unit=VISITS,
        )

    def run(self, session: Database, rng: np.random.Generator) -> Guess:
        question = "SELECT COUNT(*) FROM visits WHERE patient = 'Abel Woods'"
        count = number(session.execute(question))
        inside = count >= VISITS / 2
        return Guess(inside, f"{count:g} is closer to {VISITS if inside else 0}.")

    def chance(self, defence: Defence, scales: Scales) -> float:
        return chances.of_sign(scales, VISITS) if scales else 1.0


COLUMNS = """
patient = { type = "text" }
day     = { type = "integer", bounds = [1, 366] }
"""
