"""Work that a second thread does beside the first: numpy and files wait for no other thread."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from threading import Thread
from typing import TYPE_CHECKING, TypeVar

import numpy as np

if TYPE_CHECKING:
    from concurrent.futures import Future

Item = TypeVar("Item")


def read_ahead(items: Generator[Item, None, None]) -> Generator[Item, None, None]:
    """The items as they come; a thread prepares the next one while one is in use.

    If nobody wants the rest, the thread ends with the item that it prepares. There is nothing to
    be done then: a generator may be closed amid any other work of the process, whenever Python
    looks for garbage, and would wait for ever for a lock that this work holds.
    """

    def prepared() -> Item | None:
        return next(items, None)

    item = prepared()
    while item is not None:
        following = begun(prepared)
        yield item
        item = following.result()


def side_by_side(works: Sequence[Callable[[], object]]) -> None:
    """Do all works in two threads; each is begun in its turn by the one that is free first."""
    left = iter(works)

    def take_turns() -> None:
        # Threads have their own settings; warnings about overflow would tell of rows.
        with np.errstate(all="ignore"):
            for work in left:
                work()

    if len(works) < 2:
        take_turns()
        return
    other = begun(take_turns)
    try:
        take_turns()
    finally:
        error = other.exception()
    if error is not None:
        raise error


def begun(work: Callable[[], Item]) -> Future[Item]:
    """The future result of work that a thread of its own does.

    Where the machine lets no thread start, the work is done here and now.
    """
    from concurrent.futures import Future  # noqa: PLC0415 (an answer about few rows needs none)

    future = Future[Item]()

    def do() -> None:
        try:
            future.set_result(work())
        except BaseException as error:  # raised where the result is asked for
            future.set_exception(error)

    try:
        Thread(target=do).start()
    except RuntimeError:
        do()
    return future
