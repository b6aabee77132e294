"""Exact binomial confidence intervals of success rates, without scipy."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache

import numpy as np
import numpy.typing as npt


def interval(hits: int, tries: int, confidence: float = 0.95) -> tuple[float, float]:
    """The two-sided interval of Clopper and Pearson [CP34].

    At each end's rate, a number of hits at least as extreme as `hits` has the probability
    (1 - confidence) / 2.
    """
    tail = (1 - confidence) / 2
    low = 0.0 if hits == 0 else _solve(lambda p: at_least(hits, tries, p) < tail)
    high = 1.0 if hits == tries else _solve(lambda p: 1 - at_least(hits + 1, tries, p) > tail)
    return low, high


def at_least(hits: int, tries: int, rate: float) -> float:
    """The probability of `hits` or more successes in `tries` at `rate`."""
    if hits <= 0 or rate >= 1:
        return 1.0
    if rate <= 0:
        return 0.0
    numbers = np.arange(hits, tries + 1)
    logs = _log_choose(tries)[hits:] + numbers * math.log(rate)
    logs += (tries - numbers) * math.log1p(-rate)
    return min(float(np.exp(logs).sum()), 1.0)


@lru_cache(maxsize=4)
def _log_choose(tries: int) -> npt.NDArray[np.float64]:
    """log C(tries, k) for every k."""
    logs = np.array([math.lgamma(k + 1) for k in range(tries + 1)])
    return np.asarray(logs[-1] - logs - logs[::-1])


def _solve(below: Callable[[float], bool]) -> float:
    """The rate at which `below` turns from true to false."""
    low, high = 0.0, 1.0
    for _ in range(50):
        middle = (low + high) / 2
        if below(middle):
            low = middle
        else:
            high = middle
    return (low + high) / 2
