"""The scale of the paper's noise is itself a secret told."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from dpdb.lab.attack import Attack, Scales, StudentTask
from dpdb.lab.database import Database, number
from dpdb.lab.mistakes import LocalSensitivity
from dpdb.lab.people import names
from dpdb.lab.scenario import Scenario
from dpdb.lab.transcript import Guess

if TYPE_CHECKING:
    import numpy as np

    from dpdb.lab.defences import Defence

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
        return Scenario(COLUMNS, rows, boss, table="firm")

    def run(self, session: Database, rng: np.random.Generator) -> Guess:
        share = number(session.execute("SHOW BUDGET"), row=3, column=1)
        answer = session.execute("SELECT SUM(salary) FROM firm")
        noise = answer.revealed or answer.releases
        scale = float(noise[0].scale or 0)
        return Guess(round(scale * share), f"b·ε/k = {scale:g} * {share:g} = {scale * share:g}")

    def chance(self, defence: Defence, scales: Scales) -> float:
        # Under privacy b·ε/k is the upper bound, whoever the boss is.
        return 1.0 if isinstance(defence, LocalSensitivity) else 1 / (BOSS - STAFF)


COLUMNS = f"""
name   = {{ type = "text" }}
salary = {{ type = "integer", bounds = [0, {BOSS}], nullable = false }}
"""
