"""A tick is waited for until its end, on a clock that the test sets."""

from __future__ import annotations

import time

import pytest

from dpdb.session import tick
from dpdb.session.tick import wait_for_tick


@pytest.mark.parametrize("taken", [0.0003, 0.0141, 1.2999])
def test_a_tick_is_waited_for(monkeypatch: pytest.MonkeyPatch, taken: float) -> None:
    slept: list[float] = []
    monkeypatch.setattr(tick, "TICK", 0.01)
    monkeypatch.setattr(time, "monotonic", lambda: 100.0 + taken)
    monkeypatch.setattr(time, "sleep", slept.append)
    wait_for_tick(100.0)
    total = taken + slept[0]
    assert 0 <= slept[0] <= 0.01
    assert abs(total / 0.01 - round(total / 0.01)) < 1e-6
