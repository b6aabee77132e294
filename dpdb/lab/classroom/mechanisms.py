"""Mechanisms to be audited: functions of a list of values, most of them with one mistake."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from dpdb.errors import UsageError, did_you_mean
from dpdb.lab.attacks.chances import MOST, Threshold, ThresholdNoise, sparse_vector
from dpdb.records import dataclass

if TYPE_CHECKING:
    import numpy as np


Values = Sequence[float]
Several = tuple[float, ...]
"""Numbers that come out of one run together."""
Function = Callable[[list[float], float, "np.random.Generator"], object]
"""From values, ε and a generator of random numbers to a number, or a tuple of numbers."""


@dataclass(frozen=True)
class Mechanism:
    """A function that is said to be ε-differentially private."""

    function: Function
    epsilon: float = 1.0
    values: Values = (0, 1, 1, 0, 1, 1, 0, 1)
    """The last one is of the person who is there or not."""

    def outputs(self, runs: int, rng: np.random.Generator) -> list[list[object]]:
        """The outputs of `runs` runs with the person, and of as many without."""
        return [
            [self.function(list(values), self.epsilon, rng) for _ in range(runs)]
            for values in (self.values, self.values[:-1])
        ]


LARGEST = 10
"""In `forgotten_sensitivity`, the largest value that anybody can have."""
COARSE = 10
QUESTIONS = 3
PAIRS = 20
"""In a sparse vector: questions about one person, each with its opposite."""
FEWEST = 3
NOTHING = 100


def laplace(values: list[float], epsilon: float, rng: np.random.Generator) -> float:
    """A count with noise of scale 1/ε, as it should be."""
    return sum(values) + _noise(1 / epsilon, rng)


def forgotten_sensitivity(values: list[float], epsilon: float, rng: np.random.Generator) -> float:
    """A sum of values up to 10, with the noise of a count."""
    return sum(values) + _noise(1 / epsilon, rng)


def reused_noise(values: list[float], epsilon: float, rng: np.random.Generator) -> Several:
    """Two counts, of everybody and of the first half, with the same noise."""
    noise = _noise(2 / epsilon, rng)
    return sum(values) + noise, sum(values[:4]) + noise


def unsplit_budget(values: list[float], epsilon: float, rng: np.random.Generator) -> Several:
    """Three answers to one question, each with noise of scale 1/ε, for one ε."""
    return tuple(sum(values) + _noise(1 / epsilon, rng) for _ in range(QUESTIONS))


def rounded_first(values: list[float], epsilon: float, rng: np.random.Generator) -> float:
    """The exact count is rounded to tens, and noise is added after that."""
    return round(sum(values) / COARSE) * COARSE + _noise(1 / epsilon, rng)


def fixed_seed(values: list[float], epsilon: float, rng: np.random.Generator) -> float:
    """A count with noise from a generator that begins anew for every answer."""
    import numpy as np  # noqa: PLC0415 (a list of mistakes does without)

    return sum(values) + _noise(1 / epsilon, np.random.default_rng(2026))


def doubles(values: list[float], epsilon: float, rng: np.random.Generator) -> float:
    """A count with noise in floating point, by the textbook's formula."""
    u = rng.uniform(-1, 1)
    return sum(values) + math.copysign(math.log(abs(u)) / epsilon, u)


def randomised_response(values: list[float], epsilon: float, rng: np.random.Generator) -> float:
    """A report: the truth with the chance e^ε / (1 + e^ε), else the opposite."""
    truth = sum(values)
    return truth if rng.random() < 1 / (1 + math.exp(-epsilon)) else 1 - truth


def coin_for_yes(values: list[float], epsilon: float, rng: np.random.Generator) -> float:
    """A report where only who would say yes tosses the coin."""
    truth = sum(values)
    return truth if truth == 0 else randomised_response(values, epsilon, rng)


def withheld(values: list[float], epsilon: float, rng: np.random.Generator) -> float:
    """A count with noise, and 0 in its place if it is below 3."""
    return 0 if sum(values) < FEWEST else sum(values) + _noise(1 / epsilon, rng)


def sparse_vector_1(values: list[float], epsilon: float, rng: np.random.Generator) -> Several:
    """Tells if counts are 1 or more, as Lyu, Su and Li prove it, with c = 10."""
    return _yes(values, sparse_vector(1, epsilon), rng)


def sparse_vector_2(values: list[float], epsilon: float, rng: np.random.Generator) -> Several:
    """The same, with a new threshold after each yes (Dwork and Roth 2014)."""
    return _yes(values, sparse_vector(2, epsilon), rng)


def sparse_vector_3(values: list[float], epsilon: float, rng: np.random.Generator) -> float:
    """The same with c = 1, telling the noisy count (Roth 2011)."""
    threshold = _noise(2 / epsilon, rng)
    for count in [sum(values)] * QUESTIONS:
        if count + _noise(2 / epsilon, rng) >= threshold:
            return NOTHING  # of what is told, only an answer to the last question is looked at
    last = 1 - sum(values) + _noise(2 / epsilon, rng)
    return last if last >= threshold else NOTHING


def sparse_vector_4(values: list[float], epsilon: float, rng: np.random.Generator) -> Several:
    """The same, with other noise (Lee and Clifton 2014)."""
    return _yes(values, sparse_vector(4, epsilon), rng)


def sparse_vector_5(values: list[float], epsilon: float, rng: np.random.Generator) -> Several:
    """The same, with no noise on counts and no end (Stoddard et al. 2014)."""
    return _yes(values, sparse_vector(5, epsilon), rng)


def sparse_vector_6(values: list[float], epsilon: float, rng: np.random.Generator) -> Several:
    """The same, with less noise and no end (Chen et al. 2015)."""
    return _yes(values, sparse_vector(6, epsilon), rng)


def _yes(values: list[float], noise: ThresholdNoise, rng: np.random.Generator) -> Several:
    """Number of yes to a count of one person, and to the count of the opposite, asked in turn."""
    run, yes = Threshold(noise, rng), [0, 0]
    for place, count in enumerate([sum(values), 1 - sum(values)] * PAIRS):
        if not run.ended:
            yes[place % 2] += run.ask(count)
    return tuple(yes)


def _noise(scale: float, rng: np.random.Generator) -> float:
    """Laplace noise of whole numbers, the difference of two geometric ones [GRS09]."""
    end = -math.expm1(-1 / scale)
    return float(rng.geometric(end) - rng.geometric(end))


@dataclass(frozen=True)
class Exercise:
    """A mechanism to be audited in class."""

    function: Function
    explanation: str
    """The mistake, and what keeps it out of dpdb."""
    values: Values = Mechanism.values

    @property
    def name(self) -> str:
        """The name on the command line: that of the function, with hyphens."""
        return self.function.__name__.replace("_", "-")

    @property
    def title(self) -> str:
        """The mechanism in a sentence."""
        return (self.function.__doc__ or "").strip()

    @property
    def mechanism(self) -> Mechanism:
        """The mechanism with the values that it is audited on."""
        return Mechanism(self.function, values=self.values)


EXERCISES = (
    Exercise(
        laplace,
        "No mistake: one person changes a count by 1, and the scale is 1/ε. The bound comes near "
        "to ε and stays below it. An audit cannot prove that a mechanism is private, only that "
        "one is not.",
    ),
    Exercise(
        forgotten_sensitivity,
        f"One person can change the sum by {LARGEST}, so the scale has to be {LARGEST}/ε. What is "
        f"called ε = 1 is ε = {LARGEST}. dpdb reads Δf off the declared bounds.",
        values=(3, 7, 0, 5, LARGEST),
    ),
    Exercise(
        reused_noise,
        "One answer less the other is exact: the noise is gone, and it does not matter how large "
        "it was. dpdb draws noise anew for every release.",
    ),
    Exercise(
        unsplit_budget,
        f"{QUESTIONS} answers at ε are {QUESTIONS}·ε together: their mean is nearer to the truth "
        "than any of them. dpdb gives each a part of ε, and answers the same question from memory.",
    ),
    Exercise(
        rounded_first,
        f"One person can tip the rounding, and then moves the count by {COARSE} and not by 1. "
        "dpdb adds noise first; what is rounded after that tells no more.",
        values=(0, 1, 1, 1, 0, 1, 1, 1),
    ),
    Exercise(
        fixed_seed,
        "The noise is the same number every time, so the answer is one number with the person and "
        "another without. The bound is the most that so many runs can prove; the true ε has no "
        "bound. dpdb draws from the operating system's entropy.",
        values=(0, 1, 1, 0, 1),
    ),
    Exercise(
        doubles,
        "A double near 0 has more binary places than one near 1, so that 0 + noise can be what 1 + "
        "noise cannot (dpdb lab floating-point). dpdb draws whole numbers, exactly, on a grid.",
        values=(1,),
    ),
    Exercise(
        randomised_response,
        "No mistake: a yes is e^ε times as likely from who has it as from who has not, and the "
        "other way round. The bound comes near to ε, and the one who sees the report may be the "
        "owner (dpdb lab randomised-response).",
        values=(1,),
    ),
    Exercise(
        coin_for_yes,
        "Nobody says yes who has nothing to hide, so a yes is certain to be true. The coin has to "
        "be tossed by everybody.",
        values=(1,),
    ),
    Exercise(
        withheld,
        f"Whether a count is withheld follows from the exact count: with {FEWEST} people there is "
        f"a number, with {FEWEST - 1} there is none. dpdb decides such things by noisy counts, and "
        "pays for it.",
        values=(1, 1, 1),
    ),
    Exercise(
        sparse_vector_1,
        "No mistake: the noise on the counts grows with the number of yes, and the run ends after "
        "so many (dpdb lab sparse-vector has the story of all six).",
        values=(1,),
    ),
    Exercise(
        sparse_vector_2,
        "No mistake, and more noise than is needed: the threshold may stay after a yes, and then "
        "its noise need not grow with c.",
        values=(1,),
    ),
    Exercise(
        sparse_vector_3,
        "A count that is told bounds the noisy threshold, and every no before it then tells "
        "something. With more questions more is told, without end.",
        values=(1,),
    ),
    Exercise(
        sparse_vector_4,
        "The noise on the counts does not grow with the number c of yes. What is called ε = 1 is "
        f"up to (1 + 6c)/4 = {(1 + 6 * MOST) / 4:g}.",
        values=(1,),
    ),
    Exercise(
        sparse_vector_5,
        "There is no noise on the counts. Yes to the one and no to the opposite is possible in one "
        "of the two cases only.",
        values=(1,),
    ),
    Exercise(
        sparse_vector_6,
        "Nothing ends the run, and each yes costs: with more questions more is told, without end.",
        values=(1,),
    ),
)


def exercise(name: str) -> Exercise:
    """The exercise called `name`; underscores are as good as hyphens."""
    known = {each.name: each for each in EXERCISES}
    wanted = name.casefold().replace("_", "-")
    if wanted not in known:
        hint = did_you_mean(wanted, known) or "`dpdb lab audit` lists them; a file ends in .py"
        raise UsageError(f"no mechanism is called {name}", hint=hint)
    return known[wanted]
