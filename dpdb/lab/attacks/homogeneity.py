"""Machanavajjhala and others: a crowd to hide in, whose members all have the same."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from dpdb.lab import chances
from dpdb.lab.attack import Attack, Scales, StudentTask
from dpdb.lab.controls import Generalised
from dpdb.lab.database import Database
from dpdb.lab.scenario import Scenario
from dpdb.lab.transcript import Guess

if TYPE_CHECKING:
    import numpy as np

    from dpdb.lab.defences import Defence

DISEASES = ("asthma", "cancer", "diabetes", "flu")
CROWD = 3


def coarser(row: tuple[object, ...]) -> tuple[object, ...]:
    """Areas to their first three digits, ages to decades."""
    area, age, disease = row
    assert isinstance(area, int)
    assert isinstance(age, int)
    return area // 100 * 100, age // 10 * 10, disease


def _ceiling(people: int, epsilon: float) -> float:
    """The highest success rate where all of so many people have the same disease."""
    return 1 / (1 + (len(DISEASES) - 1) * math.exp(-epsilon * people))


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
        f"at least {CROWD - 1} others, so that nobody can be told which row is his. Nobody needs "
        f"to be told: the {CROWD} in his group have the same disease."
    )
    remedy = (
        "Noise on every count. But look at ε = 5, and at the ceilings: this is a secret of "
        f"{CROWD} people, and differential privacy hides each of them at ε and {CROWD} at "
        f"{CROWD}·ε. What is true "
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
            "Make the group ten people: CROWD in dpdb/lab/attacks/homogeneity.py. What happens to "
            "the ceilings, and is that wrong?",
            f"They rise: for ten people at ε = 0.1 to {_ceiling(10, 0.1):.0%} instead of "
            f"{_ceiling(CROWD, 0.1):.0%}, at ε = 1 to {_ceiling(10, 1):.2%}. It is not wrong: what "
            "ten people have in common is a statistic, and each of them is hidden in it at ε.",
        ),
    )
    worlds = len(DISEASES)
    distance = CROWD
    foils = (Generalised(CROWD, coarser),)
    honest = "SELECT COUNT(*) FROM patients WHERE disease = 'flu'"

    def scenario(self, rng: np.random.Generator) -> Scenario:
        his = DISEASES[rng.integers(len(DISEASES))]
        rows: list[tuple[object, ...]] = [(13053, 34, his), (13068, 31, his), (13012, 38, his)]
        for area in (13000, 13100, 14800):
            for decade in (20, 30, 40, 50):
                if (area, decade) != (13000, 30):
                    rows += [
                        (
                            area + int(rng.integers(100)),
                            decade + int(rng.integers(10)),
                            DISEASES[rng.integers(len(DISEASES))],
                        )
                        for _ in range(int(rng.integers(CROWD, 8)))
                    ]
        return Scenario(COLUMNS, rows, his, table="patients")

    def run(self, session: Database, rng: np.random.Generator) -> Guess:
        answer = session.execute(
            "SELECT disease, COUNT(*) FROM patients WHERE area BETWEEN 13000 AND 13099 "
            "AND age BETWEEN 30 AND 39 GROUP BY disease ORDER BY 2 DESC"
        )
        disease, count = answer.rows[0]
        others = ", ".join(f"{n} {name}" for name, n in answer.rows[1:])
        return Guess(disease, f"{count} {disease} against {others}.")

    def chance(self, defence: Defence, scales: Scales) -> float:
        return chances.of_largest(scales[0], CROWD, len(DISEASES)) if scales else 1.0


COLUMNS = f"""
area    = {{ type = "integer", bounds = [10000, 19999], nullable = false }}
age     = {{ type = "integer", bounds = [0, 120], nullable = false }}
disease = {{ type = "text", values = {list(DISEASES)}, nullable = false }}
"""
