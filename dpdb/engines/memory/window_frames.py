"""Rows in the order of a window: where each one's partition, its equals and its frame stand."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dpdb.engines.memory.changes import changes
from dpdb.plan.derived import Window
from dpdb.vectors.vector import Array, Bools


@dataclass(frozen=True, repr=False)
class OrderedRows:
    """The rows of a table, partition by partition; the other arrays are in their order."""

    order: Array
    begins: Bools
    """Whether a row is the first of its partition."""
    differs: Bools
    """Whether it is the first, or differs in ORDER BY from the one before."""

    @classmethod
    def of(cls, within: list[Array], by: list[Array], tie_breaks: Array) -> OrderedRows:
        """The rows by the keys of their partition, by those of ORDER BY, and what breaks ties."""
        # The last of the keys is the first to be sorted by.
        order = np.lexsort((tie_breaks, *reversed(by), *reversed(within)))
        begins = changes((key[order] for key in within), len(order))
        return cls(order, begins, begins | changes((key[order] for key in by), len(order)))

    @cached_property
    def places(self) -> Array:
        """The place of each row in the order."""
        return np.arange(len(self.order))

    @cached_property
    def first(self) -> Array:
        """The place of the first row of the partition."""
        return np.maximum.accumulate(np.where(self.begins, self.places, 0))

    @cached_property
    def after(self) -> Array:
        """The place after the last row of the partition."""
        return self._after(self.begins)

    def _after(self, starts: Bools) -> Array:
        ends = np.append(np.flatnonzero(starts)[1:], len(starts))
        return np.asarray(ends[np.cumsum(starts) - 1])

    def ranks(self, function: str) -> Array:
        """ROW_NUMBER, RANK or DENSE_RANK."""
        match function:
            case "row_number":
                return np.asarray(self.places - self.first + 1)
            case "rank":
                peer = np.maximum.accumulate(np.where(self.differs, self.places, 0))
                return np.asarray(peer - self.first + 1)
        number = np.cumsum(self.differs)
        return np.asarray(number - number[self.first] + 1)

    def frames(self, window: Window) -> Ranges:
        """Where the rows that each row reads begin, and where they end, in its partition."""
        frame = window.frame
        if frame is None:
            return self.first, self._after(self.differs)
        begin, end = self.first, self.after
        if frame.first is not None:
            begin = np.clip(self.places + frame.first, self.first, self.after)
        if frame.last is not None:
            end = np.clip(self.places + frame.last + 1, self.first, self.after)
        return begin, np.maximum(end, begin)


Ranges = tuple[Array, Array]
"""Where ranges of rows begin, and where they end: the place after the last."""


def sums(values: Array, ranges: Ranges) -> Array:
    """The sums of whole numbers in ranges, exact whatever stands around them."""
    begin, end = ranges
    before = np.concatenate([np.zeros(1, dtype=values.dtype), np.cumsum(values)])
    return np.asarray(before[end] - before[begin])


def greatest(values: Array, ranges: Ranges, nothing: float) -> Array:
    """The greatest values of ranges, `nothing` of an empty one.

    Each range is covered by two that are a power of two long.
    """
    begin, end = ranges
    lengths, width, level = end - begin, 1, values
    result = np.full(len(begin), nothing, dtype=values.dtype)
    while len(level):
        here = (lengths >= width) & (lengths < 2 * width)
        result[here] = np.maximum(level[begin[here]], level[end[here] - width])
        if 2 * width > len(values):
            break
        level = np.maximum(level[:-width], level[width:])
        width *= 2
    return result
