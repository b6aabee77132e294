"""Threads that go over strands: at once, until one of them fails, and without a word."""

from __future__ import annotations

from itertools import count
from threading import Barrier, Event, Thread, current_thread
from time import sleep

import numpy as np
import pytest

from dpdb.engines.streams.threads import go_over, threads
from dpdb.errors import DataFileError


def test_there_is_a_thread_for_each_processor_up_to_four(monkeypatch: pytest.MonkeyPatch) -> None:
    for processors, expected in ((1, 1), (3, 3), (64, 4)):
        usable = set(range(processors))
        monkeypatch.setattr("os.sched_getaffinity", lambda _, usable=usable: usable, raising=False)
        assert threads() == expected


def test_strands_are_gone_over_at_once() -> None:
    """No work ends before that of the other strand has begun."""
    met, seen = Barrier(2, timeout=10), set()

    def work(_: int) -> None:
        met.wait()
        seen.add(current_thread())

    assert go_over([iter([1, 2]), iter([3, 4])], [work, work]) == [2, 2]
    assert len(seen) == 2


@pytest.mark.parametrize("spoilt", [0, 1])
def test_an_error_ends_all_strands(spoilt: int) -> None:
    """The other strand would never end."""

    def fail(_: int) -> None:
        raise DataFileError("cannot be read")

    works = [lambda _: None, lambda _: None]
    works[spoilt] = fail
    with pytest.raises(DataFileError, match="cannot be read"):
        go_over([count(), count()], works)


def test_no_strand_goes_on_where_ctrl_c_comes_before_all_have_begun(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen, began, start = list[int](), Event(), Thread.start

    def once(thread: Thread) -> None:
        if began.is_set():
            raise KeyboardInterrupt
        start(thread)
        assert began.wait(10)

    def work(number: int) -> None:
        seen.append(number)
        began.set()
        sleep(0.001)

    monkeypatch.setattr(Thread, "start", once)
    with pytest.raises(KeyboardInterrupt):
        go_over([iter(range(5_000)) for _ in range(3)], [work] * 3)
    assert len(seen) < 5_000


@pytest.mark.parametrize("started", [0, 1])
def test_all_strands_are_gone_over_where_no_further_thread_starts(
    monkeypatch: pytest.MonkeyPatch, started: int
) -> None:
    starts, seen = [Thread.start] * started, list[int]()

    def some(thread: Thread) -> None:
        if not starts:
            raise RuntimeError("can't start new thread")
        starts.pop()(thread)

    monkeypatch.setattr(Thread, "start", some)
    assert go_over([iter([1]), iter([2, 3]), iter([4])], [seen.append] * 3) == [1, 2, 1]
    assert sorted(seen) == [1, 2, 3, 4]


def test_no_thread_warns_of_what_rows_hold() -> None:
    def work(_: int) -> None:
        np.ones(1) / np.zeros(1)

    assert go_over([iter([1]), iter([1])], [work, work]) == [1, 1]
