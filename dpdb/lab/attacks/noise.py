"""Secrets in the noise itself: in its scale, and in its last bits."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from dpdb.lab.attack import Attack, Guess, Scales, StudentTask
from dpdb.lab.attacks import chances
from dpdb.lab.database import Database, number
from dpdb.lab.figures import Figure, TileRow, Tiles
from dpdb.lab.foils import DoubleLaplace, LocalSensitivity, textbook_noise
from dpdb.lab.scenario import Scenario, names

if TYPE_CHECKING:
    import numpy as np

    from dpdb.lab.attack import Showing
    from dpdb.lab.database import Defence


STAFF, BOSS = 100, 200
"""In thousands: the staff earn at most the one, the boss more, and at most the other."""


class NoiseScale(Attack):
    """b = k·Δf/ε, so Δf = b·ε/k; and Δf of a sum is the largest value there is."""

    place = 10
    title = "Reading the noise: what does the boss earn?"
    source = (
        "The rule is that of Evans, Girkins, Sartor, equation 7; that it leaks is in Nissim, "
        "Raskhodnikova and Smith, Smooth Sensitivity and Sampling in Private Data Analysis, STOC "
        "2007."
    )
    secret = (
        f"The highest salary of a firm, in thousands: any from {STAFF + 1} to {BOSS}. Nobody else "
        f"earns more than {STAFF}."
    )
    idea = (
        "Nobody looks at the answer. The noise has scale b = k·Δf/ε, which is told so that people "
        "know how good the answer is; the paper prints it as # b=…. If Δf is the largest value in "
        "the file, b·ε/k is that value, to the digit, at every ε."
    )
    remedy = (
        "Sensitivity from the bounds that the policy declares, and never from the rows: b says "
        f"that salaries are at most {BOSS}, which everybody knows. The rule of the paper protects "
        "the sum and publishes the maximum. It need not even print b: the spread of a few answers "
        "tells it."
    )
    tasks = (
        StudentTask(
            "Hide b, ask thirty times, and estimate it: the mean of |answer - median| is b.",
            f"The estimate is off by b/√30, {1 / math.sqrt(30):.0%} of b: the salary is no longer "
            "told to the digit, and still told. The thirty answers need fresh noise, and so a "
            "system without a budget, or thirty times the ε.",
        ),
        StudentTask(
            "Which sensitivities of the paper tell what? Try MIN, and VARIANCE.",
            "That of MIN is the gap between the two lowest values, that of MAX between the two "
            "highest, and that of VARIANCE grows with the square of the largest distance from the "
            "mean. COUNT is harmless: one row changes it by 1, whatever is in the file.",
        ),
        StudentTask(
            "dpdb sample_data/people.csv --teach, then SET sensitivity = 'local'; SET reveal = on; "
            "SELECT SUM(net_worth) FROM people",
            "b = 52,469,370, and k/ε is 10: the largest net worth is 5,246,937, as in dpdb lab "
            "maximum, from a single question about the sum of all.",
        ),
    )
    worlds = BOSS - STAFF
    off = LocalSensitivity(0.1)
    foils = (LocalSensitivity(1), LocalSensitivity(5))
    honest = "SELECT SUM(salary) FROM firm"

    def scenario(self, rng: np.random.Generator) -> Scenario:
        salaries = rng.integers(20, STAFF + 1, size=60).tolist()
        boss = int(rng.integers(STAFF + 1, BOSS + 1))
        rows = list(zip(names(61), [*salaries, boss], strict=True))
        return Scenario(SALARIES, rows, boss, table="firm")

    def run(self, session: Database, rng: np.random.Generator) -> Guess:
        share = number(session.execute("SHOW BUDGET"), row=3, column=1)
        answer = session.execute("SELECT SUM(salary) FROM firm")
        noise = answer.revealed or answer.releases
        scale = float(noise[0].scale or 0)
        return Guess(round(scale * share), f"b·ε/k = {scale:g} * {share:g} = {scale * share:g}")

    def chance(self, defence: Defence, scales: Scales) -> float:
        # Under privacy b·ε/k is the upper bound, whoever the boss is.
        return 1.0 if isinstance(defence, LocalSensitivity) else 1 / (BOSS - STAFF)


SALARIES = f"""
name   = {{ type = "text" }}
salary = {{ type = "integer", bounds = [0, {BOSS}], nullable = false }}
"""


GRID = 2.0**-52
"""`random.uniform(-1, 1)` gives whole multiples of this, and nothing between them."""
NEAR = 6
"""Multiples tried on either side: more than rounding can be off."""
QUESTIONS = 4
TELLING = 0.81
"""The share of the foil's answers that are impossible in the other row."""


class FloatingPoint(Attack):
    """Doubles that 0 + noise can be and 1 + noise cannot, or the other way round."""

    place = 13
    title = "Floating point: which answers are possible?"
    source = (
        "Mironov, On Significance of the Least Significant Bits for Differential Privacy, CCS "
        "2012. The noise attacked is Definition 3 of Evans, Girkins, Sartor, written in Python."
    )
    secret = "Whether Abel Woods is in the file: a coin decides."
    idea = (
        "u is one of 2^53 doubles, so b·log|u| is one of at most as many, with gaps between them; "
        "adding 0 or 1 shifts and rounds the gaps differently. An answer in all its digits is "
        "often one that 0 + noise cannot be, or 1 + noise cannot. Run the sampler backwards: is "
        "there a u that gives just this answer? One impossible answer ends all doubt, however "
        "large the noise."
    )
    remedy = (
        "dpdb never computes noise in floating point: it draws whole numbers, exactly, on a grid "
        "that does not depend on the data (Canonne, Kamath and Steinke 2020). 0 + noise and 1 + "
        "noise can be the same numbers, and only how often each comes differs, by e^ε at most. "
        "The proof of the Laplace mechanism is about real numbers; a program has none."
    )
    tasks = (
        StudentTask(
            "Round the foil's answers to three digits before they are shown. Does that help? And "
            "rounding them to a multiple of b, as Mironov's snapping mechanism does?",
            "Both help: either row can give what is left of the digits, and only the size of the "
            "answer tells. For snapping that is proved, at a slightly larger ε. For three digits "
            "it is not: that no attack is known is no proof.",
        ),
        StudentTask(
            f"How many of its {QUESTIONS} answers does the attack need?",
            f"Often one: {TELLING:.0%} of all answers cannot have come from the other row. All "
            f"{QUESTIONS} are possible in both in {(1 - TELLING) ** QUESTIONS:.1%} of runs.",
        ),
    )
    queries = QUESTIONS
    foils = (DoubleLaplace(0.1, QUESTIONS), DoubleLaplace(1, QUESTIONS))
    honest = "SELECT COUNT(*) FROM people"

    def scenario(self, rng: np.random.Generator) -> Scenario:
        rows = [(name, int(rng.integers(18, 66))) for name in names(50)]
        inside = bool(rng.integers(2))
        if inside:
            rows.append(("Abel Woods", 41))
        return Scenario(FIFTY, rows, inside, neighbors="add-remove")

    def run(self, session: Database, rng: np.random.Generator) -> Guess:
        values, scale = [], 0.0
        for younger in range(66, 66 + QUESTIONS):
            # Different questions with the same answer, so that none is a repeat.
            where = f"name = 'Abel Woods' AND age < {younger}"
            answer = session.execute(f"SELECT COUNT(*) FROM people WHERE {where}")
            values.append(number(answer))
            if not answer.releases:
                return Guess(values[0] > 0, f"{values[0]:g} is the exact number.")
            scale = float(answer.releases[0].scale or 0)
        return guessed(values, scale)

    def chance(self, defence: Defence, scales: Scales) -> float | None:
        if not scales:
            return 1.0
        if isinstance(defence, DoubleLaplace):
            return None
        # Each answer points to 1 or to 0; of as many for one as for the other the guess is 0.
        right = chances.of_sign(scales[:1], 1)
        ways = [math.comb(QUESTIONS, k) * right**k for k in range(QUESTIONS + 1)]
        votes = [way * (1 - right) ** (QUESTIONS - k) for k, way in enumerate(ways)]
        half = QUESTIONS // 2
        return (sum(votes[half:]) + sum(votes[half + 1 :])) / 2

    def simulate(
        self, defence: Defence, scales: Scales, rng: np.random.Generator, trials: int
    ) -> int:
        scale, hits = scales[0], 0
        for _ in range(trials):
            truth = int(rng.integers(2))
            noise = (textbook_noise(u, scale) for u in rng.uniform(-1, 1, QUESTIONS).tolist())
            hits += guessed([truth + x for x in noise], scale).value == bool(truth)
        return hits

    def figures(self, showings: Sequence[Showing]) -> Sequence[Figure]:
        foil = showings[1].exchanges[0].answer
        assert foil is not None
        value, scale = number(foil), float(foil.releases[0].scale or 0)
        doubles = [value := math.nextafter(value, math.inf) for _ in range(56)]
        zero, one = ([possible(double, truth, scale) for double in doubles] for truth in (0, 1))
        return (
            Tiles(
                f"The next {len(doubles)} doubles after the foil's answer",
                ("possible, and impossible in the other row", "impossible", "possible in both"),
                [TileRow("0 + noise", _kinds(zero, one)), TileRow("1 + noise", _kinds(one, zero))],
            ),
        )


def guessed(values: Sequence[float], scale: float) -> Guess:
    """Whether these answers are 1 + noise: by one that 0 + noise, or 1 + noise, cannot be."""
    evidence, proofs = 0.0, []
    for value in values:
        zero, one = (possible(value, truth, scale) for truth in (0, 1))
        if zero != one and not value.is_integer():
            proofs.append(f"{value!r} is not {'1' if zero else '0'} + noise, for any u.")
            evidence += -math.inf if zero else math.inf
        else:
            evidence += (abs(value) - abs(value - 1)) / scale
    likelier = f"Both are possible; by their sizes the answers are nearer to {int(evidence > 0)}."
    return Guess(evidence > 0, proofs[0] if proofs else likelier)


def possible(value: float, truth: int, scale: float) -> bool:
    """Whether `truth` + noise can be `value`: whether there is such a u."""
    noise = value - truth
    nearest = round(math.exp(-abs(noise) / scale) / GRID)
    return any(
        truth + math.copysign(scale * math.log(k * GRID), noise) == value
        for k in range(max(nearest - NEAR, 1), nearest + NEAR + 1)
    )


def _kinds(own: Sequence[bool], other: Sequence[bool]) -> list[int]:
    return [1 if not mine else 2 if theirs else 0 for mine, theirs in zip(own, other, strict=True)]


FIFTY = """
name = { type = "text" }
age  = { type = "integer", bounds = [0, 120], nullable = false }
"""
