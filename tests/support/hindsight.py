"""The least error of an average with bounds that are picked afterwards, and ten distributions.

The error of an average is its noise, and the values that clamping cuts on either side, which may
not cancel: so the best bounds are not a point at the mean.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[Any]
NUMBER = 10_000
PEOPLE = Path(__file__).parents[2] / "sample_data/people.csv"


def people(column: str) -> Floats:
    with PEOPLE.open() as file:
        return np.array([float(row[column]) for row in csv.DictReader(file) if row[column]])


def distributions() -> Iterator[Floats]:
    random = np.random.default_rng(1)
    yield random.normal(100, 15, NUMBER)
    yield random.lognormal(10, 1, NUMBER)
    yield random.exponential(1_000, NUMBER)
    yield 1_000 * (1 + random.pareto(1.5, NUMBER))
    yield random.uniform(0, 1_000, NUMBER)
    yield random.choice(people("income"), NUMBER)
    yield random.choice(people("age"), NUMBER)
    yield np.where(random.random(NUMBER) < 0.8, 0, random.lognormal(6, 1, NUMBER))
    yield random.standard_t(2.5, NUMBER)
    yield random.integers(1990, 2021, NUMBER).astype(float)


def noise_of(low: Floats, high: Floats, values: Floats, epsilon: float) -> Floats:
    """The standard deviation of the noise of a mean from Σ(x - low) and Σ(high - x)."""
    mean = np.clip(values.mean(), low, high)
    return np.hypot(high - mean, mean - low) * math.sqrt(2) / (epsilon * len(values))


def best(values: Floats) -> float:
    """The least error of any bounds, at ε = 1, tried at the outermost 300 values and 60 others."""
    ordered, number = np.sort(values), len(values)
    tried = np.unique([*range(300), *np.linspace(0, number - 1, 60).astype(int)])
    lows, highs = ordered[tried], ordered[number - 1 - tried]
    below = np.array([np.maximum(low - values, 0).mean() for low in lows])
    above = np.array([np.maximum(values - high, 0).mean() for high in highs])
    low, high = np.meshgrid(lows, highs)
    error = np.hypot(noise_of(low, high, values, 1), np.add(*np.meshgrid(below, above)))
    return float(error[low < high].min())
