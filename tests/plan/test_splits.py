"""The parts of averages and variances: all of the share, and as good as their docstrings say."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import pytest

from dpdb.plan.physical.moment_lowering import AVERAGE_SPLIT, PUBLIC_COUNT_WEIGHTS, VARIANCE_SPLIT


def error(weights: Sequence[float], split: Sequence[Fraction]) -> float:
    """The standard deviation of noises of scale weight / part, up to a factor."""
    return math.hypot(*(w / float(part) for w, part in zip(weights, split, strict=True)))


def least(weights: Sequence[float]) -> float:
    """The least over all splits: parts in proportion to weight^(2/3), by Lagrange."""
    return float(sum(w ** (2 / 3) for w in weights) ** 1.5)


def of_variance(mean: float, square: float) -> tuple[float, float, float]:
    """The weights of squares, sum and count for h = 1, from ȳ and z̄."""
    return 1 / 2, 2 * abs(mean), abs(square - 2 * mean**2)


def test_an_averages_split_is_best_for_incomes() -> None:
    """A mean 0.9 of the way from the middle of the bounds to an end."""
    assert error((1, 0.9), AVERAGE_SPLIT) == pytest.approx(least((1, 0.9)), rel=1e-4)


def test_a_variances_split_is_best_for_nearly_centred_data() -> None:
    """Spread evenly, z̄ = -1/6 of h², with ȳ an eleventh of h."""
    weights = of_variance(1 / 11, -1 / 6)
    assert error(weights, VARIANCE_SPLIT) == pytest.approx(least(weights), rel=1e-3)


def test_in_the_worst_corner_a_variances_error_is_half_as_large_again_as_it_could_be() -> None:
    """All rows on a bound: ȳ = h, and z̄ = h² - h²/2."""
    weights = of_variance(1, 1 / 2)
    assert error(weights, VARIANCE_SPLIT) / least(weights) == pytest.approx(1.52, abs=0.005)


def test_with_a_public_count_both_parts_have_more_than_their_share() -> None:
    """7|u² - v²| + 4|u - v| over all u and v in [-1, 1], against 14 and 8 for each alone."""
    squares, total = PUBLIC_COUNT_WEIGHTS
    points = [Fraction(place, 56) for place in range(-56, 57)]
    most = max(squares * abs(u * u - v * v) + total * abs(u - v) for u in points for v in points)
    assert most == squares + total + Fraction(total**2, 4 * squares)
    assert (float(squares / most), float(2 * total / most)) == pytest.approx(
        (0.605, 0.691), abs=5e-4
    )
