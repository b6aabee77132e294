"""Ticks: few, round, evenly spaced and where they belong."""

from __future__ import annotations

import math

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from dpdb.answers.formats.scales import Axis, roomy, tight

VALUES = st.floats(-1e9, 1e9)


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (0, 500, [0, 100, 200, 300, 400, 500]),
        (-10, 10, [-10, -5, 0, 5, 10]),
        (0.01, 0.2, [0.05, 0.1, 0.15, 0.2]),
        (3, 101, [20, 40, 60, 80, 100]),
    ],
)
def test_ticks_are_round(low: float, high: float, expected: list[float]) -> None:
    assert Axis(low, high, 0, 1).ticks == pytest.approx(expected)


@given(VALUES, VALUES)
def test_ticks_are_few_and_evenly_spaced(one: float, other: float) -> None:
    low, high = sorted((one, other))
    assume(high - low > 1e-6 * max(abs(low), abs(high), 1e-6))
    ticks = Axis(low, high, 0, 1).ticks
    slack = 1e-5 * (high - low)
    assert 2 <= len(ticks) <= 6
    assert low - slack <= ticks[0] < ticks[-1] <= high + slack
    step = ticks[1] - ticks[0]
    leading = step / 10 ** math.floor(math.log10(step * 1.0001))
    assert min(abs(leading - round_one) for round_one in (1, 2, 5)) < 1e-2


def test_a_roomy_axis_ends_at_ticks() -> None:
    axis = roomy((3, 460), 0, 10)
    assert (axis.low, axis.high) == (0, 500)
    assert (axis(0), axis(250), axis(500)) == (0, 5, 10)


def test_a_tight_axis_ends_with_the_values() -> None:
    axis = tight((3, 460), 10, 0)
    assert (axis(3), axis(460)) == (10, 0)


@pytest.mark.parametrize("value", [0.0, 5.0, -1e-9])
def test_one_value_has_room_around_it(value: float) -> None:
    axis = tight((value, value), 0, 8)
    assert axis(value) == pytest.approx(4)
