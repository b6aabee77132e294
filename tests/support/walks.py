"""The law of a walk, by its definition."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from dpdb.privacy.mechanisms.selections.walk import Walk

FAR = 45
"""Thresholds of a probability below e^-45 are left out."""


def law(beyond: Sequence[int], walk: Walk) -> list[float]:
    """The probability of stopping at each rung, for the number of rows beyond each."""
    first, second = 1 / float(walk.threshold_scale), 1 / float(walk.look_scale)
    thresholds = np.arange(math.ceil(FAR / first) + 1)
    weights = -math.expm1(-first) * np.exp(-first * thresholds)
    excess = np.array(beyond) - walk.threshold + thresholds[:, np.newaxis]
    stops = np.exp(-second * np.maximum(0, excess))
    stops[:, -1] = 1
    reached = np.cumprod(1 - stops, axis=1)
    reached = np.hstack([np.ones((len(thresholds), 1)), reached[:, :-1]])
    return list((weights[:, np.newaxis] * stops * reached).sum(axis=0).tolist())


def rows_beyond(values: Sequence[int], rungs: Sequence[int]) -> list[int]:
    """For each rung of a rising ladder the number of values above it."""
    return [sum(value > rung for value in values) for rung in rungs]
