"""Noise of smooth sensitivity on a median is many times worse than the default: how many times."""

from __future__ import annotations

import csv
import math
import re
from fractions import Fraction
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from dpdb.privacy.mechanisms.selections.exponential import Exponential
from dpdb.privacy.mechanisms.smooth import Smooth
from dpdb.privacy.noise.smooth import statistic_and_scale
from tests.support.selections import listed_pieces

ROOT = Path(__file__).parents[3]
PEOPLE = ROOT / "sample_data" / "people.csv"
MANUAL = ROOT / "dpdb" / "manual" / "accuracy.md"
CENTS = 100
GRID = (0, 10**6 * CENTS)
HALF = Fraction(1, 2)
DELTA = Fraction(1, 10**6)


@pytest.fixture(scope="module")
def incomes() -> npt.NDArray[np.int64]:
    with PEOPLE.open(encoding="utf-8") as lines:
        return np.sort([round(CENTS * float(row["income"])) for row in csv.DictReader(lines)])


def error_of_the_default(values: npt.NDArray[np.int64], epsilon: Fraction) -> float:
    """The root of the mean squared error, exactly: of every value that may be selected."""
    starts, lengths, weights = listed_pieces(values, GRID, HALF, Exponential(HALF, epsilon))
    median = (values[len(values) // 2 - 1] + values[len(values) // 2]) / 2
    mean_square = total = 0.0
    for start, length, weight in zip(starts, lengths, weights, strict=True):
        # The mean of (start + i - median)² over 0 <= i < length.
        centre = start + (length - 1) / 2 - median
        mean_square += weight * length * (centre**2 + (length**2 - 1) / 12)
        total += weight * length
    return math.sqrt(mean_square / total)


def error_of_smooth_noise(values: npt.NDArray[np.int64], epsilon: Fraction) -> float:
    """Laplace noise of a large scale has a standard deviation of √2 times the scale."""
    _, scale = statistic_and_scale(values, GRID, Smooth(HALF, epsilon, DELTA))
    return math.sqrt(2) * float(scale)


def test_the_manual_says_how_many_times(incomes: npt.NDArray[np.int64]) -> None:
    said = re.search(
        r"its error is (\d+) times the default's at ε = 1, and (\d+) times at ε = 0\.1",
        MANUAL.read_text(encoding="utf-8"),
    )
    assert said
    found = [
        error_of_smooth_noise(incomes, epsilon) / error_of_the_default(incomes, epsilon)
        for epsilon in (Fraction(1), Fraction(1, 10))
    ]
    assert [int(times) for times in said.groups()] == [round(times) for times in found]
