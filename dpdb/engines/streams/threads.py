"""Work that threads share."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, wait
from functools import partial
from threading import Event
from typing import TypeVar

import numpy as np

from dpdb.engines.sources.read_ahead import begun

Item = TypeVar("Item")

_MOST = 4
"""The most threads, as each of them holds a block and what it has found."""


def threads() -> int:
    """How many threads there are: one for each processor that may be used."""
    # Not every system can say which may be.
    usable = getattr(os, "sched_getaffinity", None)
    return min(_MOST, (len(usable(0)) if usable else os.cpu_count()) or 1)


def go_over(
    strands: Sequence[Iterator[Item]], works: Sequence[Callable[[Item], None]]
) -> list[int]:
    """Do the work of each strand on all of its items, and return how many they are.

    There is a thread for each strand but the first. After an error no further item is begun.
    """
    stopped = Event()

    def one(strand: Iterator[Item], work: Callable[[Item], None]) -> int:
        done = 0
        try:
            # Threads have their own settings; warnings about overflow would tell of rows.
            with np.errstate(all="ignore"):
                for item in strand:
                    if stopped.is_set():
                        break
                    work(item)
                    done += 1
        except BaseException:
            stopped.set()
            raise
        return done

    others: list[Future[int]] = []
    try:
        for strand, work in zip(strands[1:], works[1:], strict=True):
            others.append(begun(partial(one, strand, work)))
        first = one(strands[0], works[0])
        return [first, *(other.result() for other in others)]
    except BaseException:
        stopped.set()
        wait(others)
        raise
