"""The attack of [LC11]: who is missing from the list, to who knows everything else?"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

from dpdb.lab.attack import Attack, Guess, Scales, StudentTask
from dpdb.lab.attacks import chances
from dpdb.lab.database import Database, number
from dpdb.lab.figures import ChartLine, Figure, Lines
from dpdb.lab.foils import DoubleLaplace
from dpdb.lab.scenario import Scenario

if TYPE_CHECKING:
    import numpy as np

    from dpdb.lab.attack import Showing
    from dpdb.lab.database import Defence

STUDENTS = (("Chris", 1), ("Kelly", 2), ("Pat", 3), ("Terry", 10))
"""Table 1 of the paper: names and days of absence."""
CHANGE = Fraction(17, 6)
"""The sensitivity that the paper works out from this universe: (1+2+10)/3 - (1+2)/2."""
APART = float(Fraction(STUDENTS[-1][1] - STUDENTS[0][1], len(STUDENTS) - 1))
"""The greatest distance of the means of two worlds: (10 - 1)/3."""
DRAWN_AT = 2.0
PAPERS_EPSILON = 0.3829
"""The ε with which, by the paper's bound, nobody is more than a third sure (section 5.2)."""


def _belief(loss: float) -> float:
    """The highest belief in one of the worlds after an answer that costs so much."""
    return 1 / (1 + (len(STUDENTS) - 1) * math.exp(-loss))


class PossibleWorlds(Attack):
    """Four worlds, an answer, and Bayes' rule."""

    place = 16
    title = "Possible worlds: who is on probation?"
    source = (
        "Lee and Clifton, How Much Is Enough? Choosing ε for Differential Privacy, ISC 2011: "
        "sections 4 and 5."
    )
    secret = (
        "Which of four students was on probation, and is left out of the file. Their days of "
        "absence, 1, 2, 3 and 10, are known to every teacher."
    )
    idea = (
        "There are four possible files, with the means 5, 4⅔, 4⅓ and 2. Ask for the mean, work out "
        "how likely the answer is in each of the four worlds, and believe the likeliest. This is "
        "the strongest attacker there is: all is known but the secret."
    )
    remedy = (
        "Nothing stops an attacker who may guess; ε says how much better than 1 in 4 the guess "
        "can be. The paper turns this round: if nobody is to be more than a third sure, ε may be "
        f"at most {PAPERS_EPSILON} by its bound 1/(1 + 3·e^(-ε·Δv/Δf)). Note that Terry is at "
        "greater risk than the others: the world without Terry is far from the other three. The "
        "right ε depends on the data and the question, which is the paper's point. Note, too, "
        f"that this world and the one without Chris are {APART:g} apart, more than "
        f"Δf = {CHANGE}: the paper's noise keeps ε·{APART:g}/({CHANGE}) = {APART / CHANGE:.3g}·ε "
        "and not ε, and its true ceilings are that little higher than those drawn. dpdb's own "
        "noise is of the declared bounds, and keeps its ε."
    )
    tasks = (
        StudentTask(
            f"Read off the chart what ε = {PAPERS_EPSILON} allows: dpdb lab possible-worlds "
            f"--epsilon {PAPERS_EPSILON} --trials 3000",
            f"The diamond is at e^ε / (e^ε + 3) = {_belief(PAPERS_EPSILON):.1%}. By the paper's "
            f"bound it is {_belief(PAPERS_EPSILON * APART / float(CHANGE)):.1%}, a third, as two "
            f"worlds are {APART:g} apart and its noise is for {CHANGE}.",
        ),
        StudentTask(
            "Which ε keeps every belief below a third? dpdb risk sample_data/students.csv "
            "--query 'SELECT AVG(absence_days) FROM students' --max-risk 1/3",
            f"{PAPERS_EPSILON} by the bound, and 0.4317 exactly: the bound takes all worlds to be "
            "as far apart as the two farthest. In either case it is Terry who is at risk.",
        ),
        StudentTask(
            "Give Terry 4 days of absence instead of 10. What happens to the rates?",
            "The four means come to lie within 1 of each other, and the same noise hides more: the "
            "best guess at ε = 2 with the noise of Δf = 17/6 falls from 44.6 % to 33.3 %. The "
            "ceilings stay; they hold for every file.",
        ),
        StudentTask(
            "Ask for the median instead (section 6 of the paper): two of the worlds have the same.",
            "Without Chris and without Kelly it is 3, without Pat and without Terry 2. Even the "
            "exact median leaves two worlds, and no guess is right more often than in one of two.",
        ),
    )
    worlds = len(STUDENTS)
    foils = (
        DoubleLaplace(PAPERS_EPSILON, 1, CHANGE, "Δf = 17/6"),
        DoubleLaplace(2, 1, CHANGE, "Δf = 17/6"),
    )
    honest = "SELECT AVG(absence_days) FROM students"

    def scenario(self, rng: np.random.Generator) -> Scenario:
        missing = int(rng.integers(len(STUDENTS)))
        rows = [row for index, row in enumerate(STUDENTS) if index != missing]
        return Scenario(COLUMNS, rows, STUDENTS[missing][0], table="students")

    def run(self, session: Database, rng: np.random.Generator) -> Guess:
        answer = session.execute("SELECT AVG(absence_days) FROM students")
        scale = float(answer.releases[0].scale or 0) if answer.releases else 1e-6
        beliefs = posterior(number(answer), scale)
        guess = max(beliefs, key=lambda name: beliefs[name])
        listed = ", ".join(f"{name} {belief:.1%}" for name, belief in beliefs.items())
        return Guess(guess, f"Missing is: {listed}.")

    def chance(self, defence: Defence, scales: Scales) -> float:
        if not scales:
            return 1.0
        if isinstance(defence, DoubleLaplace):
            return _chance(lambda x: chances.laplace_at_most(x, scales[0]))
        # dpdb's noise is of the sum of the days, in whole days.
        rows = len(STUDENTS) - 1
        noise = chances.NoiseDistribution.of([scales[0] * rows])
        return _chance(lambda x: 1 - noise.at_least(x * rows))

    def figures(self, showings: Sequence[Showing]) -> Sequence[Figure]:
        scale = float(CHANGE) / DRAWN_AT
        answers = [step / 20 - 1 for step in range(200)]
        return (
            Lines(
                f"How likely each answer is, with noise of scale Δf/ε at ε = {DRAWN_AT:g}",
                "the answer",
                [
                    ChartLine(
                        f"without {name}",
                        [(x, math.exp(-abs(x - mean) / scale) / 2 / scale) for x in answers],
                    )
                    for name, mean in means().items()
                ],
            ),
        )


def means() -> dict[str, float]:
    """The mean in each world, by who is missing."""
    total = sum(days for _, days in STUDENTS)
    return {name: (total - days) / (len(STUDENTS) - 1) for name, days in STUDENTS}


def _chance(at_most: Callable[[float], float]) -> float:
    """The chance that the mean nearest to the noisy answer is the right one.

    `at_most(x)` is the chance that the noise is below x.
    """
    ordered = sorted(means().values())
    ends = [-math.inf, *((a + b) / 2 for a, b in itertools.pairwise(ordered)), math.inf]
    found = 0.0
    for mean, low, high in zip(ordered, ends[:-1], ends[1:], strict=True):
        found += 1.0 if high == math.inf else at_most(high - mean)
        found -= 0.0 if low == -math.inf else at_most(low - mean)
    return found / len(ordered)


def posterior(answer: float, scale: float) -> dict[str, float]:
    """Definition 3 of the paper: the belief in each world, all alike before the answer."""
    distances = {name: abs(answer - mean) / scale for name, mean in means().items()}
    nearest = min(distances.values())
    weights = {name: math.exp(nearest - distance) for name, distance in distances.items()}
    total = sum(weights.values())
    return {name: weight / total for name, weight in weights.items()}


COLUMNS = """
name         = { type = "text" }
absence_days = { type = "integer", bounds = [1, 10], nullable = false }
"""
