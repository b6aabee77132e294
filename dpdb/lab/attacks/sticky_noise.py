"""The attack of [GHRLM19]: noise that stays the same can be subtracted."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from dpdb.lab import chances
from dpdb.lab.attack import Attack, Scales, StudentTask
from dpdb.lab.controls import Sticky
from dpdb.lab.database import Database, Refused, number
from dpdb.lab.people import names
from dpdb.lab.plots.figures import ChartLine, Figure, Lines
from dpdb.lab.scenario import Scenario
from dpdb.lab.transcript import Guess

if TYPE_CHECKING:
    import numpy as np

    from dpdb.lab.defences import Defence
    from dpdb.lab.transcript import Showing

YOUNGEST, OLDEST = 18, 65
NOBODYS, MOST = 66, 120
"""Ages that nobody in the file has; that the file is of people at work is no secret."""
PAIRS = MOST - NOBODYS
HIM = "SELECT COUNT(*) FROM people WHERE name = 'Abel Woods' AND smokes = 1 AND"
QUERIES = 10
NEAREST = 0.01
"""The least distance that the chart shows."""
_STEPS = 100


_SHARED = math.sqrt(2 * 2)
"""The standard deviation of two Laplace noises of scale 1: each has variance 2."""


class StickyNoise(Attack):
    """Conditions that change nothing give new noise, and what does not change cancels."""

    place = 5
    title = "Sticky noise: the same question in other words"
    source = (
        "After Gadotti, Houssiau, Rocher, Livshits and de Montjoye, When the Signal is in the "
        "Noise: Exploiting Diffix's Sticky Noise, USENIX Security 2019. Diffix: Francis, Probst "
        "Eide and Munz, Diffix: High-Utility Database Anonymization, Annual Privacy Forum 2017."
    )
    secret = "Whether Abel Woods smokes, by the toss of a coin."
    idea = (
        "Sticky noise is made from the question: the same conditions, the same noise. So asking "
        "again tells nothing new, and nobody needs a budget. But a condition that everybody "
        f"fulfils, age <= {NOBODYS}, changes the noise and not the answer, and its opposite, age > "
        f"{NOBODYS}, that nobody fulfils, leaves nothing but noise. One answer less the other: the "
        "noise of what they share is in both and cancels; what is left is his secret and the noise "
        f"of two conditions that mean nothing. There are {PAIRS} such pairs up to the age of "
        f"{MOST}; the mean of the differences is hardly noisy."
    )
    remedy = (
        "The budget: in whatever words, a question that is not known to be a repeat is paid for, "
        "and each pair costs as much as any other two. To notice every rewording is as hard as "
        "deciding what a condition means, and then there is the next fact that everybody knows "
        "about the file. Diffix itself does more than this foil. It refuses small sets, and adds "
        "noise that is made from the people selected as well. The attack named above finds people "
        "out in spite of both, with a median of 304 questions a person."
    )
    tasks = (
        StudentTask(
            "Does the foil notice if the same two conditions stand the other way round? Does dpdb?",
            "Both do: the foil adds one noise for each condition, in whatever order, and dpdb "
            "compares what the filter means, so that the second answer is a free repeat.",
        ),
        StudentTask(
            f"Why does averaging over age <= {NOBODYS}, age <= {NOBODYS + 1} and so on not do "
            "without the opposites? Which part of the noise would stay?",
            "The noise of the two conditions that never change, the name and smokes = 1: it is the "
            "same in every answer, and so in their mean. Two noises of scale 1 have a standard "
            f"deviation of {_SHARED:g}, twice what there is to be found out. The opposites have "
            "the same two, and taking them away leaves what averages out.",
        ),
        StudentTask(
            "How could the foil find out that a condition selects everybody, and what would its "
            "answer to that give away?",
            "Only by looking at the rows. Then it behaves in one way if somebody over "
            f"{NOBODYS} is in the file and in another way if not, and that is one person's secret.",
        ),
    )
    queries = QUERIES
    foils = (Sticky(1),)
    honest = "SELECT COUNT(*) FROM people WHERE smokes = 1"

    def scenario(self, rng: np.random.Generator) -> Scenario:
        bits = rng.integers(2, size=101).tolist()
        ages = rng.integers(YOUNGEST, OLDEST + 1, size=101).tolist()
        rows = list(zip([*names(100), "Abel Woods"], ages, bits, strict=True))
        return Scenario(COLUMNS, rows, bool(bits[-1]))

    def run(self, session: Database, rng: np.random.Generator) -> Guess:
        differences: list[float] = []
        try:
            for age in range(NOBODYS, MOST):
                everybody = session.execute(f"{HIM} age <= {age}")
                nobody = session.execute(f"{HIM} age > {age}")
                differences.append(number(everybody) - number(nobody))
                if not everybody.releases:
                    return Guess(differences[0] > 0, f"{differences[0]:g} is the exact number.")
        except Refused:
            pass
        mean = sum(differences) / len(differences)
        return Guess(
            mean >= 0.5, f"The mean of the differences of {len(differences)} pairs is {mean:.3f}."
        )

    def chance(self, defence: Defence, scales: Scales) -> float:
        if isinstance(defence, Sticky):
            # Noise of real numbers, for which steps of a hundredth of its scale are fine enough.
            return chances.of_sign([_STEPS / defence.each] * 2 * PAIRS, _STEPS * PAIRS)
        return chances.of_sign(scales, len(scales) / 2) if scales else 1.0

    def figures(self, showings: Sequence[Showing]) -> Sequence[Figure]:
        return (
            Lines(
                "How far the mean of the differences so far is from the truth",
                f"pairs asked (what is nearer than {NEAREST:g} is drawn there)",
                [ChartLine(s.defence.label, _distances(s)) for s in showings[1:]],
                level=0.5,
                level_label="nearer than this, and the guess is right",
                logarithmic=True,
            ),
        )


def _distances(showing: Showing) -> list[tuple[float, float]]:
    answers = [number(e.answer) for e in showing.exchanges if e.answer is not None]
    points, total = [], 0.0
    for pairs, (everybody, nobody) in enumerate(zip(answers[::2], answers[1::2], strict=False), 1):
        total += everybody - nobody
        distance = abs(total / pairs - float(bool(showing.truth)))
        points.append((float(pairs), max(distance, NEAREST)))
    return points


COLUMNS = f"""
name   = {{ type = "text" }}
age    = {{ type = "integer", bounds = [0, {MOST}], nullable = false }}
smokes = {{ type = "integer", bounds = [0, 1], nullable = false }}
"""
