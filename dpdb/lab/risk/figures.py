"""The three figures of Lee and Clifton, for any query; they are exact, so for the data owner."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

import numpy as np

from dpdb.lab.plots.figures import ChartLine, Lines
from dpdb.lab.risk.adversary import LARGEST, Adversary
from dpdb.lab.risk.worlds import Array

PRIVATE = "(for the data owner only)"
"""A note in each title, as a figure travels without the page around it."""
_MOST_CURVES = 6
_MOST_NAMES = 3
_STEPS = 200
_TAILS = 3
"""Noise scales to either side of the outermost answers."""
_NEAR_CERTAIN = Fraction(9, 10)
"""Risks are drawn at least up to the ε at which the bound is this."""


def distributions(query: str, adversary: Adversary, epsilon: float) -> Lines:
    """Figures 1 and 3: how likely each answer is in each world, for at most six of them."""
    worlds, scale = adversary.worlds, adversary.scale(epsilon)
    answers = np.unique(worlds.answers)
    chosen = np.unique(np.linspace(0, len(answers) - 1, _MOST_CURVES).astype(int))
    across = np.linspace(answers[0] - _TAILS * scale, answers[-1] + _TAILS * scale, _STEPS)
    # The peaks are points of their own, or they would be cut off.
    across = np.union1d(across, answers[chosen])
    curves = []
    for answer in answers[chosen]:
        heights = np.exp(-np.abs(across - answer) / scale) / (2 * scale)
        points = list(zip(across.tolist(), heights.tolist(), strict=True))
        curves.append(ChartLine(_named(worlds.missing[worlds.answers == answer]), points))
    some = f", {len(chosen)} of {len(answers)} worlds" if len(chosen) < len(answers) else ""
    title = f"{query} at ε = {epsilon:.4g}{some} {PRIVATE}"
    return Lines(title, "the answer", curves, up="density")


def _named(missing: Array) -> str:
    """The label of worlds with the same answer: the values that they lack."""
    names = [f"{value:.6g}" for value in missing[:_MOST_NAMES]]
    others = ["…"] if len(missing) > _MOST_NAMES else []
    return f"without {' or '.join([*names, *others])}"


def risks(adversaries: Mapping[str, Adversary], most: Fraction | None) -> Lines:
    """Figure 2: the bound on the risk (equation 5) and the risk (equation 3) as ε grows."""
    reach = max(_reach(adversary, most) for adversary in adversaries.values())
    across = np.linspace(0, reach, _STEPS // 4).tolist()
    curves = []
    for query, adversary in adversaries.items():
        curves.append(ChartLine(f"bound, {query}", [(x, adversary.bound(x)) for x in across]))
        curves.append(ChartLine(f"exact, {query}", [(x, adversary.risk(x)) for x in across]))
    level = None if most is None else float(most)
    title = f"Risk of disclosure {PRIVATE}"
    return Lines(title, "ε", curves, level, "the most allowed", up="belief in one world")


def _reach(adversary: Adversary, most: Fraction | None) -> float:
    """An ε by which bound and risk have risen, where they do."""
    marks = [adversary.bounding_epsilon(_NEAR_CERTAIN)]
    if most is not None:
        marks.append(adversary.largest_epsilon(most))
    return max((mark for mark in marks if mark and mark < LARGEST), default=1.0)
