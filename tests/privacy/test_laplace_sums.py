"""The tails of sums of discrete Laplace noises, against the convolution of their law."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dpdb.privacy.mechanisms.laplace import margin, tail


def convolved(number: int, scale: float) -> list[float]:
    """P(|sum| > z) for z = 0, 1, …, as far as the tails matter."""
    reach = math.ceil(45 * scale)
    values = np.arange(-reach, reach + 1)
    law = np.exp(-np.abs(values) / scale)
    law /= law.sum()
    total = np.ones(1)
    for _ in range(number):
        total = np.convolve(total, law)
    middle = len(total) // 2
    outside = 2 * np.cumsum(total[::-1])[:middle][::-1]
    return [float(each) for each in outside]


@pytest.mark.parametrize("scale", [0.2, 1.0, 7.5])
@pytest.mark.parametrize("number", [1, 2, 3, 10])
def test_tails_are_those_of_the_convolved_law(number: int, scale: float) -> None:
    expected = [each for each in convolved(number, scale) if each > 1e-9]
    found = [tail(number, scale, z) for z in range(len(expected))]
    assert found == pytest.approx(expected, rel=1e-7)
    assert all(above >= below * (1 - 1e-12) for above, below in zip(found, expected, strict=True))


@pytest.mark.parametrize("number", [2, 5])
def test_the_margin_is_the_least_that_will_do(number: int) -> None:
    for failure in (0.5, 0.05, 1e-6):
        expected = convolved(number, 3.0)
        assert margin(number, 3.0, failure) == next(
            z for z, outside in enumerate(expected) if outside <= failure
        )


def test_many_large_noises_are_almost_normal() -> None:
    """The variance of each is 2·scale², and 1.96 the normal quantile at 97.5 %."""
    large = margin(256, 1e12, 0.05) / math.sqrt(2 * 256) / 1e12
    assert large == pytest.approx(1.96, rel=1e-2)
    assert tail(256, 1e12, 10**16) < 1e-300 < tail(2, 1e12, 10**13)
