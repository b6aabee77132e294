"""Answers leave on a tick after a secret delay, on a clock that the test sets."""

from __future__ import annotations

import time

import pytest

from dpdb.session.timing import tick
from dpdb.session.timing.tick import Ticks, wait_to_leave


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The time since the statement began, to which sleeping adds."""
    now = [0.0]
    monkeypatch.setattr(tick, "TICK", 0.01)
    monkeypatch.setattr(time, "monotonic", lambda: 100 + now[0])
    monkeypatch.setattr(time, "sleep", lambda seconds: now.append(now.pop() + seconds))
    return now


@pytest.mark.parametrize("taken", [0.0003, 0.0141, 1.2999])
@pytest.mark.parametrize(
    ("unit", "length"), [(0, 10), (0.001, 10), (0.0011, 20), (0.01, 100), (0.03, 500)]
)
def test_answers_leave_on_a_tick(
    clock: list[float], taken: float, unit: float, length: int
) -> None:
    """The tick is ten times what a unit can add, rounded up."""
    left = set()
    for _ in range(20):
        clock[:] = [taken]
        wait_to_leave(100.0, Ticks().drawn(), unit)
        assert taken <= clock[0] <= taken + 2 * length / 1000
        left.add(round(clock[0] * 1000))
        assert clock[0] * 1000 == pytest.approx(round(clock[0] * 1000))
    first = -(-taken * 1000 // length) * length
    assert left <= {first, first + length}


@pytest.mark.parametrize("elapsed", [0.0102, 0.0199, 0.01999999])
def test_the_moment_is_a_function_of_the_time_and_a_secret(
    clock: list[float], monkeypatch: pytest.MonkeyPatch, elapsed: float
) -> None:
    """Of evenly spread secrets, a tenth at most tells a millisecond, wherever a tick is."""
    steps, moments = 1000, []
    for taken in (elapsed, elapsed + 0.001):
        for number in range(steps):
            share = number / steps
            monkeypatch.setattr(tick.secrets, "randbelow", lambda most, s=share: int(s * most))
            clock[:] = [taken]
            wait_to_leave(100.0, Ticks().drawn(), 0.001)
            moments.append(round(clock[0] * 100))
    short, long = moments[:steps], moments[steps:]
    told = sum(abs(short.count(each) - long.count(each)) for each in set(moments)) / 2
    assert told <= steps / 10 + 1
