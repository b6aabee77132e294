"""Whenever a process is killed, from plan to page, it had not looked at rows without a charge."""

from __future__ import annotations

from tests.support.crashes import Crashes
from tests.support.lasting import folder_in_memory


def test_killed_at_the_first_look_at_rows() -> None:
    with folder_in_memory() as folder:
        assert Crashes.in_folder(folder).killed_at(0, looking=True) == (1, 1)


def test_killed_between_plan_and_page() -> None:
    with folder_in_memory() as folder:
        crashes = Crashes.in_folder(folder)
        calls = crashes.calls()
        outcomes = [crashes.killed_at(1 + calls * part // 4) for part in range(4)]
    assert (0, 1) not in outcomes
    assert outcomes[0] == (0, 0)
