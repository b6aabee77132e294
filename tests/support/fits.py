"""Pearson's test of goodness of fit."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from itertools import accumulate


def survival(statistic: float, degrees: int) -> float:
    """P(χ² > statistic), in closed form for even degrees of freedom; odd ones are rounded up."""
    half = statistic / 2
    terms = accumulate(range(1, (degrees + 1) // 2), lambda term, k: term * half / k, initial=1.0)
    return math.exp(-half) * sum(terms)


def fit(draws: Sequence[int], probabilities: dict[int, float]) -> float:
    """The p-value of Pearson's χ² test, cells with fewer than 10 expected draws taken together."""
    counts = Counter(draws)
    assert set(counts) <= set(probabilities)
    observed, expected, rare = [], [], [0, 0.0]
    for outcome, probability in probabilities.items():
        if probability * len(draws) >= 10:
            observed.append(counts[outcome])
            expected.append(probability * len(draws))
        else:
            rare = [rare[0] + counts[outcome], rare[1] + probability * len(draws)]
    if rare[1] >= 10:
        observed.append(rare[0])
        expected.append(rare[1])
    else:  # too rare to be a cell of its own, but not to be left out
        observed[-1] += rare[0]
        expected[-1] += rare[1]
    assert len(observed) >= 3
    assert math.isclose(sum(expected), len(draws), rel_tol=1e-9)
    chi = sum((o - e) ** 2 / e for o, e in zip(observed, expected, strict=True))
    return survival(chi, len(observed) - 1)
