"""Progress, on a clock that the test sets."""

from __future__ import annotations

import time

import pytest

from dpdb.interfaces.console.terminal import ProgressLine


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    now = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    monkeypatch.setattr(time, "sleep", now.append)
    return now


def test_a_short_load_is_silent(clock: list[float], capsys: pytest.CaptureFixture[str]) -> None:
    progress = ProgressLine()
    clock[0] += 0.4
    progress(0.5)
    progress(1.0)
    assert capsys.readouterr().err == ""


def test_a_long_load_shows_how_far_it_is(
    clock: list[float], capsys: pytest.CaptureFixture[str]
) -> None:
    progress = ProgressLine()
    clock[0] += 3600  # at the prompt
    progress.restart()
    clock[0] += 0.4
    progress(0.1)
    clock[0] += 0.2
    progress(0.25)
    progress(1.0)
    line = "loading  25%"
    full = "loading 100%"
    assert capsys.readouterr().err == f"\r{line:<14}\r\r{full:<14}\r\r{'':<14}\r"


def test_a_load_that_is_cancelled_leaves_no_line(
    clock: list[float], capsys: pytest.CaptureFixture[str]
) -> None:
    progress = ProgressLine()
    clock[0] += 1
    progress(0.25)
    capsys.readouterr()
    progress.clear()
    assert capsys.readouterr().err == f"\r{'':<14}\r"
