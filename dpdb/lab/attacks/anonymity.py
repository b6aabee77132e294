"""Tables without names, which name people all the same: linkage [Swe02], and homogeneity."""

from __future__ import annotations

import datetime
import itertools
import math
import random
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dpdb.lab.attack import Attack, Guess, Scales, StudentTask
from dpdb.lab.attacks import chances
from dpdb.lab.database import Database, Refused, number
from dpdb.lab.figures import Figure, TileRow, Tiles
from dpdb.lab.foils import Generalised
from dpdb.lab.scenario import Scenario, names

if TYPE_CHECKING:
    import numpy as np

    from dpdb.lab.attack import Showing
    from dpdb.lab.database import Defence


VOTERS, PATIENTS = 200, 100
AREAS = (2138, 2139, 2140, 2141)
FIRST_BORN, YEARS = 1930, 50
DIAGNOSES = ("asthma", "cancer", "diabetes", "flu")
CROWD = 5
"""The least number of patients who share area, sex and decade of birth once these are blurred."""


@dataclass(frozen=True)
class Voter:
    """A line of the public list."""

    name: str
    area: int
    sex: str
    born: datetime.date


def _voter(name: str, chance: random.Random) -> Voter:
    born = datetime.date(FIRST_BORN + chance.randrange(YEARS), 1, 1)
    born += datetime.timedelta(days=chance.randrange(365))
    return Voter(name, chance.choice(AREAS), chance.choice("FM"), born)


_PUBLIC = random.Random(1997)  # noqa: S311 (a list that anybody can buy, not a key)
VOTER_LIST = tuple(_voter(name, _PUBLIC) for name in names(VOTERS))
"""The list that the attacker bought: first the governor; the first half were in hospital."""
GOVERNOR = VOTER_LIST[0]
PATIENT_LIST = VOTER_LIST[:PATIENTS]


def decade(born: datetime.date) -> datetime.date:
    """The first day of the decade."""
    return datetime.date(born.year // 10 * 10, 1, 1)


def coarser_case(row: tuple[object, ...]) -> tuple[object, ...]:
    """Areas to their first three digits, as 02100, and dates of birth to decades."""
    area, sex, born, diagnosis = row
    assert isinstance(area, int)
    assert isinstance(born, datetime.date)
    return area // 100 * 100, sex, decade(born), diagnosis


class Linkage(Attack):
    """Area, sex and date of birth stand in both lists, and few people share all three."""

    place = 14
    title = "Linkage: the governor, a voter list and a hospital's release"
    source = (
        "Sweeney, k-Anonymity: A Model for Protecting Privacy, International Journal on "
        "Uncertainty, Fuzziness and Knowledge-based Systems 10 (2002), and Simple Demographics "
        "Often Identify People Uniquely, Carnegie Mellon University, Data Privacy Working Paper 3 "
        "(2000)."
    )
    secret = (
        f"The governor's diagnosis, one of {len(DIAGNOSES)}, all as likely. The "
        "newspapers had written of the stay in hospital."
    )
    idea = (
        f"The hospital has released its {PATIENTS} cases without names. It left in what research "
        "needs: area, sex, date of birth. The town sells its voter list, and that has the same "
        f"three beside the name. Of the {VOTERS} voters, everybody who is alone in them is named "
        "by them. In 1997 Sweeney found the hospital records of the governor of Massachusetts in "
        "this way; by her estimate 87 % of the people of the United States are alone in five-digit "
        "area, sex and date of birth."
    )
    remedy = (
        "Noise on the counts, and nothing that is done to names. Removing them removes what the "
        "attacker does not need. Blurring until nobody is alone, k-anonymity, ends the certainty: "
        f"the governor is one of {CROWD} or more, and the best guess is the commonest of their "
        "diagnoses. But it says nothing of the next list that is put beside the release, nor of a "
        "crowd that has one diagnosis (dpdb lab homogeneity). Differential privacy counts on every "
        "list being known: the bound ◆ holds whatever the attacker has bought."
    )
    tasks = (
        StudentTask(
            "Which of the three should be blurred, if it may be only one? The last picture says "
            "it.",
            f"The date of birth. With the day all {VOTERS} voters are alone in the three, with the "
            "year 122 of them, with the decade 1.",
        ),
        StudentTask(
            "Not everybody is on the list. If the governor is alone in it, how sure is it that the "
            "case is the governor's?",
            f"Very. Let as many people again be on no list: that one of them has the governor's "
            f"area, sex and birthday has a chance of {VOTERS} in {len(AREAS)}·2·{YEARS}·365, or "
            f"{VOTERS / (len(AREAS) * 2 * YEARS * 365):.1%}.",
        ),
        StudentTask(
            "Ask for the diagnoses of all who are alone, one after the other. What is left of ε "
            "after the tenth?",
            "Nothing: after the first already, as one query may take all of it here, and the "
            "second is refused. With ten queries allowed each gets a tenth.",
        ),
    )
    worlds = len(DIAGNOSES)
    foils = (Generalised(CROWD, coarser_case),)
    honest = "SELECT COUNT(*) FROM cases WHERE diagnosis = 'flu'"

    def scenario(self, rng: np.random.Generator) -> Scenario:
        diagnoses = [DIAGNOSES[i] for i in rng.integers(len(DIAGNOSES), size=PATIENTS)]
        rows = [
            (voter.area, voter.sex, voter.born, diagnosis)
            for voter, diagnosis in zip(PATIENT_LIST, diagnoses, strict=True)
        ]
        return Scenario(CASES, rows, diagnoses[0], table="cases")

    def run(self, session: Database, rng: np.random.Generator) -> Guess:
        sex, born = f"sex = '{GOVERNOR.sex}'", GOVERNOR.born
        exactly = f"area = {GOVERNOR.area} AND {sex} AND born = DATE '{born}'"
        blurred = f"area = {GOVERNOR.area // 100 * 100} AND {sex} AND born = DATE '{decade(born)}'"
        found: dict[str, float] = {}
        for where in (exactly, blurred):
            try:
                found = _diagnoses(session, where)
            except Refused:
                break
            if any(found.values()):
                break
        listed = ", ".join(f"{count:g} {name}" for name, count in found.items())
        alike = sum(area_sex_birth(voter) == area_sex_birth(GOVERNOR) for voter in VOTER_LIST)
        return Guess(
            max(found, key=lambda name: found[name]),
            f"Voters with the area, sex and date of birth of {GOVERNOR.name}, the governor: "
            f"{alike}. Cases like that: {listed}.",
        )

    def chance(self, defence: Defence, scales: Scales) -> float:
        if isinstance(defence, Generalised):
            return chance_of_the_commonest(sum(map(_same_crowd, PATIENT_LIST)))
        return chances.of_largest(scales[0], 1, len(DIAGNOSES)) if scales else 1.0

    def figures(self, showings: Sequence[Showing]) -> Sequence[Figure]:
        return (
            Tiles(
                f"Who of the {VOTERS} voters is alone in what is known of them",
                ("alone: the name is found", "shared with others"),
                [TileRow(label, shared(known)) for label, known in KNOWN.items()],
            ),
        )


def _same_crowd(patient: Voter) -> bool:
    """Whether a patient is like the governor in what blurring leaves."""
    return (patient.sex, decade(patient.born)) == (GOVERNOR.sex, decade(GOVERNOR.born))


def chance_of_the_commonest(crowd: int) -> float:
    """The chance that the commonest diagnosis of a crowd is that of one of its members.

    The diagnoses are independent; of equally common ones the first in the list is taken. So it is
    the mean, over all ways to divide the crowd, of the share of the largest part.
    """
    parts = len(DIAGNOSES)
    ways = (way for way in itertools.product(range(crowd + 1), repeat=parts) if sum(way) == crowd)
    largest = (
        max(way) * math.factorial(crowd) / math.prod(map(math.factorial, way)) for way in ways
    )
    return math.fsum(largest) / crowd / math.pow(parts, crowd)


def _diagnoses(session: Database, where: str) -> dict[str, float]:
    """The number of cases of each diagnosis."""
    question = f"SELECT diagnosis, COUNT(*) FROM cases WHERE {where} GROUP BY diagnosis"
    answer = session.execute(question)
    return {str(row[0]): number(answer, place, 1) for place, row in enumerate(answer.rows)}


def area_sex_birth(voter: Voter) -> tuple[object, ...]:
    """The columns that stand in both lists."""
    return voter.area, voter.sex, voter.born


KNOWN: dict[str, Callable[[Voter], tuple[object, ...]]] = {
    "area, sex": lambda voter: (voter.area, voter.sex),
    "area, sex, decade of birth": lambda voter: (voter.area, voter.sex, decade(voter.born)),
    "area, sex, year of birth": lambda voter: (voter.area, voter.sex, voter.born.year),
    "area, sex, date of birth": area_sex_birth,
}


def shared(known: Callable[[Voter], tuple[object, ...]]) -> list[int]:
    """For each voter 1 if another voter has the same in `known`, else 0."""
    crowds = Counter(map(known, VOTER_LIST))
    return [int(crowds[known(voter)] > 1) for voter in VOTER_LIST]


CASES = f"""
area      = {{ type = "integer", bounds = [2000, 2199], nullable = false }}
sex       = {{ type = "text", values = ["F", "M"], nullable = false }}
born      = {{ type = "date", bounds = [{FIRST_BORN}-01-01, {FIRST_BORN + YEARS - 1}-12-31], \
nullable = false }}
diagnosis = {{ type = "text", values = {list(DIAGNOSES)}, nullable = false }}
"""


ALIKE = 3


def coarser_patient(row: tuple[object, ...]) -> tuple[object, ...]:
    """Areas to their first three digits, ages to decades."""
    area, age, disease = row
    assert isinstance(area, int)
    assert isinstance(age, int)
    return area // 100 * 100, age // 10 * 10, disease


def _ceiling(people: int, epsilon: float) -> float:
    """The highest success rate where `people` have the same disease."""
    return 1 / (1 + (len(DIAGNOSES) - 1) * math.exp(-epsilon * people))


class Homogeneity(Attack):
    """He is one of three who cannot be told apart, and all three have the same disease."""

    place = 15
    title = "Homogeneity: what the man from 13053 has"
    source = (
        "Machanavajjhala, Gehrke, Kifer and Venkitasubramaniam, l-Diversity: Privacy Beyond "
        "k-Anonymity, ICDE 2006. k-anonymity: Samarati and Sweeney, Protecting Privacy when "
        "Disclosing Information, 1998. That it is vulnerable is also said by Evans, Girkins and "
        "Sartor, section I-A."
    )
    secret = (
        "The disease of a patient of 34 from area 13053, one of four. His neighbours know his age "
        "and that he was in hospital."
    )
    idea = (
        "Before it was published, the table was blurred until everybody shares area and age with "
        f"at least {ALIKE - 1} others, so that nobody can be told which row is his. Nobody needs "
        f"to be told: the {ALIKE} in his group have the same disease."
    )
    remedy = (
        "Noise on every count. But look at ε = 5, and at the ceilings: this is a secret of "
        f"{ALIKE} people, and differential privacy hides each of them at ε and {ALIKE} at "
        f"{ALIKE}·ε. What is true "
        "of a whole group can be learnt from the others, also if he stays away; that a statistic "
        "says something about him is not a breach, as long as it would say so without him. "
        "k-anonymity promises less: it counts rows and does not look at what stands in them."
    )
    tasks = (
        StudentTask(
            "Demand different diseases in each group (l-diversity). What does a group of asthma, "
            "cancer and cancer tell who knows one of the three?",
            "Who knows the one with asthma knows that the others have cancer. Who knows nobody "
            "bets on cancer and is right in two of three. Diversity counts what is in the table, "
            "not what is known already.",
        ),
        StudentTask(
            f"Suppose ten people are alike instead of {ALIKE}. What happens to the ceilings, and "
            "is that wrong?",
            f"They rise: for ten people at ε = 0.1 to {_ceiling(10, 0.1):.0%} instead of "
            f"{_ceiling(ALIKE, 0.1):.0%}, at ε = 1 to {_ceiling(10, 1):.2%}. It is not wrong: what "
            "ten people have in common is a statistic, and each of them is hidden in it at ε.",
        ),
    )
    worlds = len(DIAGNOSES)
    distance = ALIKE
    foils = (Generalised(ALIKE, coarser_patient),)
    honest = "SELECT COUNT(*) FROM patients WHERE disease = 'flu'"

    def scenario(self, rng: np.random.Generator) -> Scenario:
        his = DIAGNOSES[rng.integers(len(DIAGNOSES))]
        rows: list[tuple[object, ...]] = [(13053, 34, his), (13068, 31, his), (13012, 38, his)]
        for area in (13000, 13100, 14800):
            for decade in (20, 30, 40, 50):
                if (area, decade) != (13000, 30):
                    rows += [
                        (
                            area + int(rng.integers(100)),
                            decade + int(rng.integers(10)),
                            DIAGNOSES[rng.integers(len(DIAGNOSES))],
                        )
                        for _ in range(int(rng.integers(ALIKE, 8)))
                    ]
        return Scenario(PATIENT_COLUMNS, rows, his, table="patients")

    def run(self, session: Database, rng: np.random.Generator) -> Guess:
        answer = session.execute(
            "SELECT disease, COUNT(*) FROM patients WHERE area BETWEEN 13000 AND 13099 "
            "AND age BETWEEN 30 AND 39 GROUP BY disease ORDER BY 2 DESC"
        )
        disease, count = answer.rows[0]
        others = ", ".join(f"{n} {name}" for name, n in answer.rows[1:])
        return Guess(disease, f"{count} {disease} against {others}.")

    def chance(self, defence: Defence, scales: Scales) -> float:
        return chances.of_largest(scales[0], ALIKE, len(DIAGNOSES)) if scales else 1.0


PATIENT_COLUMNS = f"""
area    = {{ type = "integer", bounds = [10000, 19999], nullable = false }}
age     = {{ type = "integer", bounds = [0, 120], nullable = false }}
disease = {{ type = "text", values = {list(DIAGNOSES)}, nullable = false }}
"""
