"""The answer that the adversary observes: one that is given, or one drawn with noise."""

from __future__ import annotations

import numpy as np

from dpdb.errors import UsageError
from dpdb.lab.risk.adversary import Adversary
from dpdb.lab.risk.page import Observation


def observe(
    adversary: Adversary,
    epsilon: float,
    *,
    missing: float | None,
    response: float | None,
    seed: int | None,
) -> Observation:
    """An answer to the query on the file without one row: `response`, or one drawn with noise.

    `missing` is the value of that row; without it, the row most at risk is missing.
    """
    worlds = adversary.worlds
    absent = int(adversary.risks(epsilon).argmax())
    if missing is not None:
        places = np.flatnonzero(worlds.missing == missing)
        if not len(places):
            raise UsageError(f"--missing: no row counted has the value {missing:.8g}")
        absent = int(places[0])
    if response is not None:
        return Observation(response, absent, drawn=False)
    noise = np.random.default_rng(seed).laplace(scale=adversary.scale(epsilon))
    return Observation(float(worlds.answers[absent] + noise), absent, drawn=True)
