"""Averages over many answers to one question, asked again or in other words."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from dpdb.lab.attack import Attack, Guess, Scales, StudentTask
from dpdb.lab.attacks import chances
from dpdb.lab.database import Database, Refused, number
from dpdb.lab.figures import ChartLine, Figure, Lines
from dpdb.lab.foils import EachItsOwn, Sticky
from dpdb.lab.scenario import Scenario, names

if TYPE_CHECKING:
    import numpy as np

    from dpdb.lab.attack import Showing
    from dpdb.lab.database import Defence


AS_IT_IS, IN_ALL, AFFORDED = 10, 100, 10
NEAREST = 0.01
"""The least distance that the chart shows."""
EACH = 1
"""The ε of each answer of the system without a budget."""
QUESTION = "SELECT SUM(smokes) FROM people WHERE name = 'Abel Woods'"


def _needed(epsilon: float) -> int:
    """Number of answers at ε each after which 95 of 100 guesses are right.

    The guess is wrong where their mean is off by a half or more, to the one side that matters.
    The mean of n has nearly a normal distribution of variance 2/(nε²).
    """
    return round(2 * (1.645 / 0.5 / epsilon) ** 2)


class Averaging(Attack):
    """The mean of many noisy answers is hardly noisy."""

    place = 4
    title = f"Averaging: the same question {IN_ALL} times"
    source = (
        "Evans, Girkins, Sartor, section I-B3: with unlimited queries “the attacker could simply "
        "run his query many times and take the average”. Known since Denning, Secure Statistical "
        "Databases with Random Sample Queries, ACM TODS 5 (1980)."
    )
    secret = "Whether Abel Woods smokes: 0 or 1, by the toss of a coin."
    idea = (
        "Noise is as often above zero as below, so the mean of n answers is √n times as accurate "
        "as one. Nobody has to be clever, only persistent."
    )
    remedy = (
        "Two things. A repeated question gets the answer that it had before, for free: there is "
        "nothing to average. And who insists on fresh noise (SET repeats = 'fresh') pays again, "
        f"from a budget that {AFFORDED} questions use up; the mean of {AFFORDED} answers at "
        f"ε/{AFFORDED} tells no more than one answer at ε. The system without a budget promises "
        f"ε = {EACH} for each answer, and keeps that promise; {IN_ALL} of them are "
        f"ε = {IN_ALL * EACH}."
    )
    tasks = (
        StudentTask(
            "Word the question in other ways: name == 'Abel Woods', or 'Abel Woods' = name. Are "
            "those repeats, too?",
            "Yes, in dpdb: it compares what is asked, not how it is written. To a wording that it "
            "does not recognise it draws fresh noise, and takes the price for it.",
        ),
        StudentTask(
            "How many questions at ε = 0.1 each would the system without a budget have to answer, "
            "for 95 right guesses in 100?",
            f"About {_needed(0.1):,}, and at ε = 1 {_needed(1)}: ten times the noise takes a "
            "hundred times as many.",
            answer=_needed(0.1),
            near=150,
        ),
        StudentTask(
            "Ending the session and starting again gives a new budget. Whose task is it to forbid "
            "that?",
            "The data owner's: a budget with a name in the policy lasts, and the next session goes "
            "on with what is left. People who pool their answers pool their ε as well.",
        ),
    )
    queries = AFFORDED
    foils = (EachItsOwn(EACH),)
    honest = "SELECT SUM(smokes) FROM people"

    def scenario(self, rng: np.random.Generator) -> Scenario:
        bits = rng.integers(2, size=101).tolist()
        rows = list(zip([*names(100), "Abel Woods"], bits, strict=True))
        return Scenario(SMOKERS, rows, bool(bits[-1]))

    def run(self, session: Database, rng: np.random.Generator) -> Guess:
        answers = [number(session.execute(QUESTION)) for _ in range(AS_IT_IS)]
        different = len(set(answers))
        session.execute("SET repeats = 'fresh'")
        # The repeats of one answer count once.
        fresh = answers if different > 1 else answers[:1]
        try:
            while len(fresh) < IN_ALL:
                fresh.append(number(session.execute(QUESTION)))
        except Refused:
            pass
        mean = sum(fresh) / len(fresh)
        return Guess(
            mean >= 0.5,
            f"Different among the first {AS_IT_IS} answers: {different}. "
            f"The mean of {len(fresh)} answers, repeats left out, is {mean:.3f}.",
        )

    def chance(self, defence: Defence, scales: Scales) -> float:
        return chances.of_sign(scales, len(scales)) if scales else 1.0

    def figures(self, showings: Sequence[Showing]) -> Sequence[Figure]:
        return (_distances("all answers", "times", [(s, _asked(s)) for s in showings]),)


def _asked(showing: Showing) -> list[float]:
    """The numbers that the questions of a run were answered with."""
    answers = (exchange.answer for exchange in showing.exchanges)
    return [number(answer) for answer in answers if answer is not None and answer.query]


def _distances(what: str, across: str, runs: Sequence[tuple[Showing, Sequence[float]]]) -> Lines:
    """The distance between the truth and the mean of the values of a run so far."""
    series = []
    for showing, values in runs:
        truth = float(bool(showing.truth))
        means = (total / n for n, total in enumerate(itertools.accumulate(values), 1))
        points = [(float(n), max(abs(m - truth), NEAREST)) for n, m in enumerate(means, 1)]
        series.append(ChartLine(showing.defence.label, points))
    return Lines(
        f"How far the mean of {what} so far is from the truth",
        f"{across} asked (what is nearer than {NEAREST:g} is drawn there)",
        series,
        level=0.5,
        level_label="nearer than this, and the guess is right",
        logarithmic=True,
    )


SMOKERS = """
name   = { type = "text" }
smokes = { type = "integer", bounds = [0, 1], nullable = false }
"""


YOUNGEST, OLDEST = 18, 65
NOBODYS, MOST = 66, 120
"""Ages that nobody in the file has; that the file is of people at work is no secret."""
PAIRS = MOST - NOBODYS
HIM = "SELECT COUNT(*) FROM people WHERE name = 'Abel Woods' AND smokes = 1 AND"
QUERIES = 10
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
        return Scenario(AGED_SMOKERS, rows, bool(bits[-1]))

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
        runs = []
        for showing in showings[1:]:
            asked = _asked(showing)
            pairs = zip(asked[::2], asked[1::2], strict=False)
            runs.append((showing, [everybody - nobody for everybody, nobody in pairs]))
        return (_distances("the differences", "pairs", runs),)


AGED_SMOKERS = f"""
name   = {{ type = "text" }}
age    = {{ type = "integer", bounds = [0, {MOST}], nullable = false }}
smokes = {{ type = "integer", bounds = [0, 1], nullable = false }}
"""
