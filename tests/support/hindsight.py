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


def rows_of_units(number: int = NUMBER) -> Iterator[Floats]:
    """Ten tables: the numbers of rows that their units have."""
    random = np.random.default_rng(1)
    yield np.full(number, 8)
    yield 1 + random.poisson(5, number)
    yield random.geometric(0.2, number)
    for tail in (1.2, 1.5, 2):
        yield np.minimum(1 + random.pareto(tail, number), 2_000).astype(int)
    yield np.maximum(1, np.rint(random.lognormal(2, 1, number))).astype(int)
    for whales, rows in ((3, 2_000), (number // 100, 500)):
        yield np.where(np.arange(number) < whales, rows, random.geometric(0.2, number))
    yield random.integers(1, 21, number)


def orders() -> Floats:
    """The number of orders of each customer of the shop."""
    with (PEOPLE.parent / "shop/orders.csv").open() as file:
        named = [row["customer_id"] for row in csv.DictReader(file) if row["customer_id"]]
    return np.unique(named, return_counts=True)[1]


def error_of(cap: float, rows: Floats, epsilon: float = 1) -> float:
    """The error of a count with at most so many rows of a unit: noise, and rows that are lost."""
    return math.hypot(math.sqrt(2) * cap / epsilon, float(np.maximum(rows - cap, 0).sum()))


def best_cap(rows: Floats) -> float:
    """The least error of any cap, at ε = 1."""
    return min(error_of(cap, rows) for cap in range(1, int(rows.max()) + 1))
