"""Answers and errors leave a session on a tick, on a clock that the test sets."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from dpdb.errors import DpdbError
from dpdb.policy.reader import policy_for
from dpdb.session import tick
from dpdb.session.session import Session
from dpdb.session.tick import wait_for_tick

PEOPLE = Path(__file__).parents[2] / "sample_data" / "people.csv"


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The time, and after it how long was slept."""
    now = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    monkeypatch.setattr(time, "sleep", now.append)
    return now


@pytest.mark.parametrize("taken", [0.0003, 0.0141, 1.2999])
def test_a_tick_is_waited_for(
    clock: list[float], monkeypatch: pytest.MonkeyPatch, taken: float
) -> None:
    monkeypatch.setattr(tick, "TICK", 0.01)
    clock[0] += taken
    wait_for_tick(100.0)
    total = taken + clock[1]
    assert 0 <= clock[1] <= 0.01
    assert abs(total / 0.01 - round(total / 0.01)) < 1e-6


@pytest.mark.parametrize("text", ["SELECT COUNT(*) FROM people", "SHOW BUDGET"])
def test_answers_leave_a_session_on_a_tick(clock: list[float], text: str) -> None:
    Session(policy_for(PEOPLE)).execute(text)
    assert len(clock) == 2


@pytest.mark.parametrize("failure", [None, ValueError("a cell"), DpdbError("after the rows")])
def test_errors_leave_a_session_on_a_tick(
    clock: list[float], monkeypatch: pytest.MonkeyPatch, failure: Exception | None
) -> None:
    session = Session(policy_for(PEOPLE))

    def fail(*_: object) -> None:
        assert failure is not None
        raise failure

    text = "SELECT nothing FROM people"
    if failure is not None:
        text = "SELECT COUNT(*) FROM people"
        monkeypatch.setattr(session, "_answer", fail)
    with pytest.raises(DpdbError):
        session.execute(text)
    assert len(clock) == 2


def test_a_price_waits_for_nothing(clock: list[float]) -> None:
    """It is told while somebody types, and reads no row."""
    Session(policy_for(PEOPLE)).quote("SELECT COUNT(*) FROM people")
    assert len(clock) == 1
