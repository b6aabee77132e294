"""The loop of all engines: partitions are read, their rows added to a work, passes repeated.

    while True:
        runner.each(work)       # all partitions, in this thread, in several, or in Spark's tasks
        if work.settle():
            return work.result()

A partition is what a runner gives to a worker: row groups of a file, units of cached columns, or
the rows of a task of Spark. Partitions, and the number of passes, follow from the plan and the
sizes of files. A worker takes the next partition whenever it is idle, and has none waiting.

Theorem. If one person's rows make partitions longer by D in all, the pass ends later by 0 to D.
Proof. Let x and y be the sorted times at which workers are idle again, without these rows and with
them. As long as x_i <= y_i <= x_i + d for all i, where d is by how much the partitions so far are
longer, giving the next one to the first, sorted, keeps that with the d of then. In the end take the
last i. Caches and the bandwidth of memory, which all workers share, are outside of this.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from threading import Event
from typing import TYPE_CHECKING, ClassVar, Generic, Self, TypeVar

import numpy as np

from dpdb.engines.sources.read_ahead import begun
from dpdb.records import dataclass

if TYPE_CHECKING:
    from concurrent.futures import Future

Each = TypeVar("Each")
"""A partition."""
Rows = TypeVar("Rows")
Result = TypeVar("Result")

_MOST = 4
"""The most threads, as each of them holds a block and what it has found."""


class Work(ABC, Generic[Rows, Result]):
    """A result of all rows: one worker or several add them, in one pass or several."""

    keeps_rows: ClassVar[bool] = False
    """Whether rows themselves are kept, so that threads add them, which need not send them."""

    @abstractmethod
    def copy(self) -> Self:
        """A copy to which another worker adds rows, in this pass; nothing is added to it yet."""

    @abstractmethod
    def add(self, rows: Rows) -> None:
        """Add some rows."""

    @abstractmethod
    def join(self, other: Self) -> None:
        """Add what was added to a copy of this pass: one batch of rows at least."""

    def settle(self) -> bool:
        """End a pass over all rows; whether it was the last one that is needed."""
        return True

    @abstractmethod
    def result(self) -> Result:
        """The result of all rows, which were added in one batch at least."""


class Runner(ABC, Generic[Rows]):
    """Goes over the rows of a plan's table."""

    @abstractmethod
    def each(self, work: Work[Rows, Result]) -> None:
        """Add all rows to a work, once."""


def run(work: Work[Rows, Result], runner: Runner[Rows]) -> Result:
    """The result of a work over all rows, after as many passes as it needs."""
    while True:
        runner.each(work)
        if work.settle():
            return work.result()


def processors(most: int = _MOST) -> int:
    """The number of processors that this process may use, up to four, or to another number."""
    # Not every system can say which may be.
    usable = getattr(os, "sched_getaffinity", None)
    return min(most, (len(usable(0)) if usable else os.cpu_count()) or 1)


@dataclass(frozen=True, repr=False)
class Threads(Runner[Rows], Generic[Each, Rows]):
    """Reads partitions in threads of this process; with one worker in the thread that asks."""

    partitions: Iterable[Each]
    read: Callable[[Each], Iterable[Rows]]
    workers: int = 1

    def each(self, work: Work[Rows, Result]) -> None:
        """Add all partitions. After an error no further one is begun."""
        left, stopped = iter(self.partitions), Event()
        copies = [work.copy() for _ in range(self.workers - 1)]
        others: list[Future[int]] = []
        try:
            others.extend(begun(partial(self._add, copy, left, stopped)) for copy in copies)
            self._add(work, left, stopped)
            for copy, other in zip(copies, others, strict=True):
                if other.result():
                    work.join(copy)
        except BaseException:
            stopped.set()
            for other in others:
                other.exception()
            raise

    def _add(self, work: Work[Rows, Result], left: Iterator[Each], stopped: Event) -> int:
        """Add the rows of each partition that is next; returns the number of batches."""
        added = 0
        try:
            # Threads have their own settings; warnings about overflow would tell of rows.
            with np.errstate(all="ignore"):
                for partition in left:
                    for rows in self.read(partition):
                        if stopped.is_set():
                            return added
                        work.add(rows)
                        # Nothing of a batch is kept while the next one is made.
                        del rows
                        added += 1
        except BaseException:
            stopped.set()
            raise
        return added
