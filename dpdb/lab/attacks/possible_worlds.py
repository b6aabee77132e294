"""Attackers who know all else: who is missing [LC11], and who owns a survey [War65]."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

from dpdb.lab.attack import PROTECTED_AT, Attack, Guess, Scales, StudentTask
from dpdb.lab.attacks import chances
from dpdb.lab.database import Database, Defence, Reports, number, truthful
from dpdb.lab.figures import ChartLine, Figure, Lines
from dpdb.lab.foils import DoubleLaplace, Owner
from dpdb.lab.scenario import Scenario, names

if TYPE_CHECKING:
    import numpy as np

    from dpdb.lab.attack import Showing

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
            f"Read off the chart what per cent ε = {PAPERS_EPSILON} allows: dpdb lab "
            f"possible-worlds --epsilon {PAPERS_EPSILON} --trials 3000",
            f"The diamond is at e^ε / (e^ε + 3) = {_belief(PAPERS_EPSILON):.1%}. By the paper's "
            f"bound it is {_belief(PAPERS_EPSILON * APART / float(CHANGE)):.1%}, a third, as two "
            f"worlds are {APART:g} apart and its noise is for {CHANGE}.",
            answer=100 * _belief(PAPERS_EPSILON),
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


RESPONDENTS = 200
SURVEY_EPSILON = 1.0
_SAID_YES = 90
_COUNTED = 1000


def estimated(yes: float, people: int, epsilon: float) -> float:
    """The number of true yes, by [War65], from `yes` reports of `people`.

    With p the chance of a true report it is (yes - n(1 - p)) / (2p - 1), and without bias.
    """
    p = truthful(epsilon)
    return (yes - people * (1 - p)) / (2 * p - 1)


def off_by_reports(people: int, epsilon: float) -> float:
    """The standard deviation of `estimated`: √(n·p(1 - p)) / (2p - 1) = √n·e^(ε/2) / (e^ε - 1)."""
    return math.sqrt(people) * math.exp(epsilon / 2) / math.expm1(epsilon)


def off_by_owner(epsilon: float) -> float:
    """The standard deviation of a count with discrete Laplace noise, √2·e^(ε/2) / (e^ε - 1)."""
    return math.sqrt(2) * math.exp(epsilon / 2) / math.expm1(epsilon)


class RandomisedResponse(Attack):
    """The attacker is who collects the answers."""

    place = 17
    title = "Randomised response: what does the owner know?"
    source = (
        "Warner, Randomized Response: A Survey Technique for Eliminating Evasive Answer Bias, "
        "Journal of the American Statistical Association 60 (1965), 63-69. As a model of privacy: "
        "Kasiviswanathan, Lee, Nissim, Raskhodnikova and Smith, What Can We Learn Privately?, "
        "FOCS 2008. That no other way of reporting saves √n: Chan, Shi and Song, Optimal Lower "
        "Bound for Differentially Private Multi-Party Aggregation, ESA 2012."
    )
    secret = (
        f"Whether Abel Woods has cheated in an exam, by the toss of a coin. He is one of "
        f"{RESPONDENTS} who are asked in a survey."
    )
    idea = (
        "Do not attack what is published. Be the owner of the survey, or bribe or rob the owner, "
        "and look up his answer. Noise on published counts is added after the answers are "
        "collected, so it does nothing here."
    )
    remedy = (
        "Noise that is added before anything leaves the person: local differential privacy. A coin "
        "decides whether he reports the truth, so the report proves nothing. The owner who sees it "
        "is right in e^ε / (1 + e^ε) of cases, as an outsider is who sees a count of a trusted "
        "owner at the same ε. The price is accuracy. The reports of n people carry the noise of n "
        "coins: the variance of their count is n/2 times that of the trusted owner's, at every ε, "
        f"so for {RESPONDENTS} people the error is {math.sqrt(RESPONDENTS / 2):g} times as large. "
        "Trust the owner where the law, a contract and locked doors make that reasonable, as with "
        "a census; use reports where nobody should have to, as with a browser or a telephone. dpdb "
        "is of the first kind: it protects from those who ask, and not from who has the file."
    )
    tasks = (
        StudentTask(
            "Take a coin. On heads tell the truth; on tails toss again, and say yes on heads and "
            "no on tails. Which ε is that?",
            f"The truth is told with the chance 1/2 + 1/4 = 3/4, so e^ε is (3/4) / (1/4) = 3, and "
            f"ε = ln 3 = {math.log(3):.2f}.",
            answer=math.log(3),
            near=0.01,
        ),
        StudentTask(
            f"Of {RESPONDENTS} reports at ε = {SURVEY_EPSILON:g}, {_SAID_YES} are yes. How many "
            "have cheated?",
            f"A report is true with the chance {truthful(SURVEY_EPSILON):.1%}, so without any "
            f"cheater {RESPONDENTS * (1 - truthful(SURVEY_EPSILON)):.1f} yes are expected. The "
            f"rest is divided by {2 * truthful(SURVEY_EPSILON) - 1:.3f}: about "
            f"{estimated(_SAID_YES, RESPONDENTS, SURVEY_EPSILON):.0f}, with a standard deviation "
            f"of {off_by_reports(RESPONDENTS, SURVEY_EPSILON):.1f}. A trusted owner's count has "
            f"one of {off_by_owner(SURVEY_EPSILON):.1f}.",
            answer=estimated(_SAID_YES, RESPONDENTS, SURVEY_EPSILON),
        ),
        StudentTask(
            f"A trusted owner counts {_COUNTED:,} people. How many have to report, for a share "
            "that is as accurate at the same ε?",
            f"The owner's share is off by √2·s/{_COUNTED:,}, where s depends on ε alone, and that "
            f"of n reports by s/√n. Both are equal for n = {_COUNTED:,}²/2 = {_COUNTED**2 // 2:,}.",
            answer=_COUNTED**2 / 2,
        ),
        StudentTask(
            "In a careless survey only those toss a coin who have something to hide. dpdb lab "
            "audit coin-for-yes finds out what is wrong.",
            "A yes is then certain to be true, as nobody else says yes. The ratio of the chances "
            "has no bound, however often the coin makes somebody say no.",
        ),
    )
    foils = (Owner(SURVEY_EPSILON),)
    honest = "SELECT SUM(cheated) FROM survey"

    def defences(self, epsilons: Sequence[float] = PROTECTED_AT) -> tuple[Defence, ...]:
        return *super().defences(epsilons), *map(Reports, epsilons)

    def scenario(self, rng: np.random.Generator) -> Scenario:
        bits = rng.integers(2, size=RESPONDENTS).tolist()
        people = ["Abel Woods", *names(RESPONDENTS - 1)]
        return Scenario(ANSWERS, list(zip(people, bits, strict=True)), bits[0] == 1, table="survey")

    def run(self, session: Database, rng: np.random.Generator) -> Guess:
        question = "SELECT SUM(cheated) FROM survey WHERE name = 'Abel Woods'"
        said = number(session.execute(question))
        return Guess(said >= 0.5, f"{said:g} is closer to {int(said >= 0.5)}.")

    def chance(self, defence: Defence, scales: Scales) -> float:
        if isinstance(defence, Reports):
            return truthful(defence.budget)
        return chances.of_sign(scales, 1) if scales else 1.0

    def figures(self, showings: Sequence[Showing]) -> Sequence[Figure]:
        people = range(10, 10_001, 90)
        return (
            Lines(
                f"How far a count is off, at ε = {SURVEY_EPSILON:g}",
                "people who are asked",
                [
                    ChartLine("reports", [(n, off_by_reports(n, SURVEY_EPSILON)) for n in people]),
                    ChartLine("trusted owner", [(n, off_by_owner(SURVEY_EPSILON)) for n in people]),
                ],
                up="standard deviation, people",
                logarithmic=True,
            ),
        )


ANSWERS = """
name    = { type = "text" }
cheated = { type = "integer", bounds = [0, 1], nullable = false }
"""
