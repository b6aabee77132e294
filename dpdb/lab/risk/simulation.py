"""An answer to form beliefs after: one that is given, or one drawn with noise."""

from __future__ import annotations

import numpy as np

from dpdb.errors import UsageError
from dpdb.lab.risk.adversary import Adversary
from dpdb.lab.risk.page import Answered


def answered(
    adversary: Adversary,
    epsilon: float,
    *,
    missing: float | None,
    response: float | None,
    seed: int | None,
) -> Answered:
    """The answer given, or one drawn from the file without the row that is missing.

    `missing` is that row's value; without it, the row most at risk is missing.
    """
    worlds = adversary.worlds
    absent = int(adversary.risks(epsilon).argmax())
    if missing is not None:
        places = np.flatnonzero(worlds.missing == missing)
        if not len(places):
            raise UsageError(f"--missing: no row counted has the value {missing:.8g}")
        absent = int(places[0])
    if response is not None:
        return Answered(response, absent, drawn=False)
    noise = np.random.default_rng(seed).laplace(scale=adversary.scale(epsilon))
    return Answered(float(worlds.answers[absent] + noise), absent, drawn=True)
