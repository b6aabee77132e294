"""Asking again until the noise cancels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from dpdb.lab import chances
from dpdb.lab.attack import Attack, Scales, StudentTask
from dpdb.lab.database import Database, Refused, number
from dpdb.lab.mistakes import EachItsOwn
from dpdb.lab.people import names
from dpdb.lab.plots.figures import ChartLine, Figure, Lines
from dpdb.lab.scenario import Scenario
from dpdb.lab.transcript import Guess

if TYPE_CHECKING:
    import numpy as np

    from dpdb.lab.defences import Defence
    from dpdb.lab.transcript import Showing

AS_IT_IS, IN_ALL, AFFORDED = 10, 100, 10
NEAREST = 0.01
"""The least distance that the chart shows."""
EACH = 1
"""The ε of each answer of the system without a budget."""
QUESTION = "SELECT SUM(smokes) FROM people WHERE name = 'Abel Woods'"


def _needed(epsilon: float) -> int:
    """How many answers at ε each lead to a right guess in 95 of 100.

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
            "How many questions at ε = 0.1 each would the system without a budget have to answer?",
            f"About {_needed(0.1):,} for 95 right guesses in 100, and at ε = 1 {_needed(1)}: ten "
            "times the noise takes a hundred times as many.",
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
        return Scenario(COLUMNS, rows, bool(bits[-1]))

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
        return (
            Lines(
                "How far the mean of all answers so far is from the truth",
                f"times asked (what is nearer than {NEAREST:g} is drawn there)",
                [ChartLine(s.defence.label, _distances(s)) for s in showings],
                level=0.5,
                level_label="nearer than this, and the guess is right",
                logarithmic=True,
            ),
        )


def _distances(showing: Showing) -> list[tuple[float, float]]:
    answers = [e.answer for e in showing.exchanges if e.answer is not None and e.answer.query]
    points, total = [], 0.0
    for asked, answer in enumerate(answers, 1):
        total += number(answer)
        distance = abs(total / asked - float(bool(showing.truth)))
        points.append((float(asked), max(distance, NEAREST)))
    return points


COLUMNS = """
name   = { type = "text" }
smokes = { type = "integer", bounds = [0, 1], nullable = false }
"""
