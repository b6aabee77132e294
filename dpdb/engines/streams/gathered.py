"""What is found in the parts of a table, put together from time to time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from math import isqrt
from typing import Generic, TypeVar

T = TypeVar("T")

FEW = 8
"""How many parts may wait, however few were put together before."""


@dataclass
class Gathered(Generic[T]):
    """Parts that wait are put together when they are more than the square root of all before them.

    A part comes of each block of rows, so the number of blocks says when that is: what is found in
    them has no say in how often. Where most blocks have the same in them, it is the parts that wait
    that take memory; where all have their own, it is the time to put together that grows.
    """

    together: Callable[[list[T]], T]
    """Puts parts together, one at least; it may take them out of the list, to free them."""
    _settled: list[T] = field(default_factory=list, repr=False)
    _waiting: list[T] = field(default_factory=list, repr=False)
    _number: int = 0
    """How many parts were put together."""

    def __bool__(self) -> bool:
        """Whether a part was added."""
        return bool(self._settled or self._waiting)

    def add(self, part: T) -> None:
        """Add what is found in a part."""
        self._waiting.append(part)
        if len(self._waiting) > max(FEW, isqrt(self._number)):
            self.all()

    def all(self) -> T:
        """All that was added: one part at least."""
        parts = [*self._settled, *self._waiting]
        self._number += len(self._waiting)
        self._settled.clear()
        self._waiting.clear()
        self._settled.append(self.together(parts))
        return self._settled[0]
