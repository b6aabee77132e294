"""Threads that share partitions: at once, until one of them fails, and without a word."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from itertools import count
from threading import Barrier, Event, Thread, current_thread
from time import sleep
from typing import Any

import numpy as np
import pytest

from dpdb.engines.loop import Threads, Work, processors, run
from dpdb.errors import DataFileError


@dataclass
class Done(Work[Any, list[Any]]):
    """Does something with each item, and holds all of them."""

    do: Callable[[Any], object]
    items: list[Any] = field(default_factory=list)

    def copy(self) -> Done:
        return Done(self.do)

    def add(self, rows: Any) -> None:
        self.do(rows)
        self.items.append(rows)

    def join(self, other: Done) -> None:
        assert other.items
        self.items += other.items

    def result(self) -> list[Any]:
        return self.items


def go_over(do: Callable[[Any], object], *partitions: Iterable[Any], workers: int) -> list[Any]:
    """All items of the partitions, done by so many workers."""
    return run(Done(do), Threads(partitions, lambda partition: partition, workers))


def test_there_is_a_thread_for_each_processor_up_to_four(monkeypatch: pytest.MonkeyPatch) -> None:
    for number, expected in ((1, 1), (3, 3), (64, 4)):
        usable = set(range(number))
        monkeypatch.setattr("os.sched_getaffinity", lambda _, usable=usable: usable, raising=False)
        assert processors() == expected


def test_partitions_are_gone_over_at_once() -> None:
    """No work ends before that of another partition has begun."""
    met, seen = Barrier(2, timeout=10), set()

    def work(_: int) -> None:
        met.wait()
        seen.add(current_thread())

    assert sorted(go_over(work, [1, 2], [3, 4], workers=2)) == [1, 2, 3, 4]
    assert len(seen) == 2


def test_a_worker_that_has_no_partition_is_left_out() -> None:
    assert sorted(go_over(id, [1], [], workers=4)) == [1]


def test_an_error_ends_all_partitions() -> None:
    """Another partition would never end."""

    def fail(number: int) -> None:
        if number < 0:
            raise DataFileError("cannot be read")

    for partitions in ((count(), [-1]), ([-1], count())):
        with pytest.raises(DataFileError, match="cannot be read"):
            go_over(fail, *partitions, workers=2)


def test_no_worker_goes_on_where_ctrl_c_comes_before_all_have_begun(
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
        go_over(work, *(range(5_000) for _ in range(3)), workers=3)
    assert len(seen) < 5_000


@pytest.mark.parametrize("started", [0, 1])
def test_all_partitions_are_gone_over_where_no_further_thread_starts(
    monkeypatch: pytest.MonkeyPatch, started: int
) -> None:
    starts, seen = [Thread.start] * started, list[int]()

    def some(thread: Thread) -> None:
        if not starts:
            raise RuntimeError("can't start new thread")
        starts.pop()(thread)

    monkeypatch.setattr(Thread, "start", some)
    assert len(go_over(seen.append, [1], [2, 3], [4], workers=3)) == 4
    assert sorted(seen) == [1, 2, 3, 4]


def test_no_thread_warns_of_what_rows_hold() -> None:
    def work(_: int) -> None:
        np.ones(1) / np.zeros(1)

    assert go_over(work, [1], [1], workers=2) == [1, 1]
