"""Batches that are read while others are worked on."""

from __future__ import annotations

from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

Item = TypeVar("Item")


def read_ahead(items: Generator[Item, None, None]) -> Generator[Item, None, None]:
    """The same items; a thread prepares the next one while one is in use."""
    with ThreadPoolExecutor(1) as reader:
        try:
            following = reader.submit(next, items, None)
            while (item := following.result()) is not None:
                following = reader.submit(next, items, None)
                yield item
        finally:
            reader.submit(items.close)
