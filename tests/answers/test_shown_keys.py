"""± of keys that are found in the data, as noise decides which of them are shown."""

from __future__ import annotations

from fractions import Fraction
from random import Random

import numpy as np
import pytest
from scipy.stats import binom

from dpdb.answers.intervals.confidence_intervals import of_shown_keys
from dpdb.privacy.mechanisms.selections.threshold import Threshold
from dpdb.privacy.noise.system import SystemNoise
from dpdb.privacy.noise.thresholds import select_keys

THRESHOLDS = [
    Threshold(Fraction(1), Fraction(1, 10**6)),
    Threshold(Fraction(1, 10), Fraction(1, 10**5), groups=3, least_units=4),
    Threshold(Fraction(4), Fraction(1, 10**3)),
    Threshold(Fraction(1, 30), Fraction(1, 100)),
]
ALPHA = 1e-6


def law(threshold: Threshold) -> np.ndarray:
    """P(X = x) for x from -cut to cut."""
    chances = np.exp(-np.abs(np.arange(-threshold.cut, threshold.cut + 1)) / float(threshold.scale))
    return chances / chances.sum()


@pytest.mark.parametrize("confidence", [0.5, 0.95, 0.9999])
@pytest.mark.parametrize("threshold", THRESHOLDS, ids=str)
def test_intervals_hold_for_each_key_that_is_shown(threshold: Threshold, confidence: float) -> None:
    """Exactly, for each number of units that a shown key can have: at the threshold, too."""
    shown = np.arange(threshold.shown_from, threshold.shown_from + 6.0 * threshold.cut)
    low, high = of_shown_keys(threshold, shown, confidence)
    assert (low <= shown).all()
    assert (shown <= high).all()
    assert (low >= threshold.least_units).all()
    for number in range(threshold.least_units, threshold.shown_from + 2 * threshold.cut):
        noisy = number + np.arange(-threshold.cut, threshold.cut + 1)
        chances = np.where(noisy >= threshold.shown_from, law(threshold), 0)
        places = np.maximum(noisy - threshold.shown_from, 0)
        held = (low[places] <= number) & (number <= high[places])
        assert (chances * held).sum() >= confidence * chances.sum() * (1 - 1e-12), number


@pytest.mark.parametrize("threshold", THRESHOLDS[:2], ids=str)
def test_far_from_the_threshold_they_are_as_wide_as_the_noise(threshold: Threshold) -> None:
    shown = np.array([10.0 * threshold.surely_from])
    low, high = of_shown_keys(threshold, shown, 0.95)
    width = threshold.noise.quantile(0.95)
    assert abs(high - shown - width) <= 1
    assert abs(shown - low - width) <= 1


@pytest.mark.parametrize("below", [0, 0.5, 1])
def test_keys_at_the_threshold_that_are_drawn(below: float) -> None:
    """By draws as the executor takes them: among those shown 95 of 100 hold, with α = 1e-6."""
    threshold = THRESHOLDS[0]
    number = threshold.shown_from - round(below * threshold.cut * 0.6)
    noise = SystemNoise(Random(28).randbytes)
    _, noisy = select_keys(np.full(400_000, number), threshold, noise)
    low, high = of_shown_keys(threshold, noisy.astype(np.float64), 0.95)
    held = ((low <= number) & (number <= high)).sum()
    assert len(noisy) > 20
    assert held >= binom.ppf(ALPHA, len(noisy), 0.95)
