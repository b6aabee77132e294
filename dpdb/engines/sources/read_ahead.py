"""Batches that are read while others are worked on."""

from __future__ import annotations

from collections.abc import Generator
from concurrent.futures import Future
from threading import Thread
from typing import TypeVar

Item = TypeVar("Item")


def read_ahead(items: Generator[Item, None, None]) -> Generator[Item, None, None]:
    """The items as they come; a thread prepares the next one while one is in use.

    If nobody wants the rest, the thread ends with the item that it prepares. There is nothing to
    be done then: a generator may be closed amid any other work of the process, whenever Python
    looks for garbage, and would wait for ever for a lock that this work holds.
    """
    following = _prepared(items)
    while (item := following.result()) is not None:
        following = _prepared(items)
        yield item


def _prepared(items: Generator[Item, None, None]) -> Future[Item | None]:
    """The next item, or None after the last one, once a thread of its own has it."""
    future: Future[Item | None] = Future()

    def prepare() -> None:
        try:
            future.set_result(next(items, None))
        except BaseException as error:  # raised where the item is asked for
            future.set_exception(error)

    Thread(target=prepare).start()
    return future
