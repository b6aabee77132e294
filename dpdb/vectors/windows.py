"""Windows over rows: ranks, values of other rows, and aggregates of frames.

Rows of units have whole numbers, which add up exactly. The numbers of noisy rows are doubles.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from dpdb.plan.expressions.expressions import Literal
from dpdb.plan.logical.derived import Window
from dpdb.records import dataclass
from dpdb.vectors.keys import changes
from dpdb.vectors.vector import Array, Bools

Ranges = tuple[Array, Array]
"""The places where ranges of rows begin, and the places after their last rows."""


@dataclass(frozen=True, repr=False)
class OrderedRows:
    """The rows of a table, partition by partition; a place is one in this order."""

    order: Array
    begins: Bools
    """Whether the row at a place is the first of its partition."""
    differs: Bools
    """Whether the row is the first, or differs in ORDER BY from the one before."""

    @classmethod
    def of(cls, within: Sequence[Array], by: Sequence[Array], tie_breaks: Array) -> OrderedRows:
        """The rows by the keys of PARTITION BY, by those of ORDER BY, and by tie breaks."""
        # The last of the keys is the first to be sorted by.
        order = np.lexsort((tie_breaks, *reversed(by), *reversed(within)))
        begins = changes((key[order] for key in within), len(order))
        return cls(order, begins, begins | changes((key[order] for key in by), len(order)))

    def back(self, values: Array) -> Array:
        """The values of all places, in the order of the table."""
        return values[self._place_of]

    @cached_property
    def _place_of(self) -> Array:
        places = np.empty(len(self.order), dtype=np.int64)
        places[self.order] = self._places
        return places

    @cached_property
    def _places(self) -> Array:
        return np.arange(len(self.order))

    @cached_property
    def _first(self) -> Array:
        """The place of the first row of each row's partition."""
        return np.maximum.accumulate(np.where(self.begins, self._places, 0))

    @cached_property
    def _after(self) -> Array:
        """The place after the last row of each row's partition."""
        return self._next(self.begins)

    @property
    def _first_peer(self) -> Array:
        """The place of the first row that is equal to each row in ORDER BY."""
        return np.maximum.accumulate(np.where(self.differs, self._places, 0))

    @property
    def _after_peers(self) -> Array:
        """The place after the last row that is equal to each row in ORDER BY."""
        return self._next(self.differs)

    def _next(self, starts: Bools) -> Array:
        """For each place the next start after it."""
        ends = np.append(np.flatnonzero(starts)[1:], len(starts))
        return np.asarray(ends[np.cumsum(starts) - 1])

    def ranked(self, window: Window) -> Array:
        """The rank of each row, as the window's function counts."""
        sizes, before = self._after - self._first, self._places - self._first
        match window.function:
            case "row_number":
                rank: Array = before + 1
            case "rank":
                rank = self._first_peer - self._first + 1
            case "dense_rank":
                number: Array = np.cumsum(self.differs)
                rank = number - number[self._first] + 1
            case "percent_rank":
                rank = (self._first_peer - self._first) / np.maximum(sizes - 1, 1)
            case "cume_dist":
                rank = (self._after_peers - self._first) / sizes
            case "ntile":
                size, larger = np.divmod(sizes, last_argument(window))
                in_larger = larger * (size + 1)  # The first tiles have one row more.
                after = larger + (before - in_larger) // np.maximum(size, 1)
                rank = np.where(before < in_larger, before // (size + 1), after) + 1
            case _:
                raise ValueError(f"{window.function} is no rank")
        return self.back(rank)

    def picked(self, window: Window) -> tuple[Array, Bools]:
        """For each row the row whose value LAG, … or NTH_VALUE gives, and whether there is one."""
        begin, end = self._first, self._after
        if window.function in ("first_value", "last_value", "nth_value"):
            begin, end = self.frames(window)
        match window.function:
            case "lag":
                place = self._places - last_argument(window)
            case "lead":
                place = self._places + last_argument(window)
            case "first_value":
                place = begin
            case "last_value":
                place = end - 1
            case "nth_value":
                place = begin + last_argument(window) - 1
            case _:
                raise ValueError(f"{window.function} picks no row")
        inside = (begin <= place) & (place < end)
        chosen = self.order[np.where(inside, place, 0)] if len(self.order) else self.order
        return self.back(chosen), self.back(inside)

    def frames(self, window: Window) -> Ranges:
        """The ranges of places that each row reads, within its partition."""
        frame = window.frame
        if frame is None:
            return self._first, self._after_peers
        begin, end = self._first, self._after
        if frame.first is not None:
            begin = np.clip(self._places + frame.first, self._first, self._after)
        if frame.last is not None:
            end = np.clip(self._places + frame.last + 1, self._first, self._after)
        return begin, np.maximum(end, begin)


@dataclass(frozen=True, repr=False)
class FrameTotals:
    """Aggregates of the counted rows in each row's frame, in the order of the table."""

    rows: OrderedRows
    window: Window
    counted: Bools

    @cached_property
    def _frames(self) -> Ranges:
        return self.rows.frames(self.window)

    @cached_property
    def number(self) -> Array:
        """The number of counted rows."""
        return self._sums(self.counted.astype(np.int64))

    def of(self, values: Array, beyond: float) -> Array:
        """The sum, mean, least or greatest value; all values are less than `beyond` from zero."""
        match self.window.function:
            case "sum":
                return self._sums(np.where(self.counted, values, 0))
            case "avg":
                sums = self._sums(np.where(self.counted, values, 0))
                return np.asarray(sums.astype(np.float64) / np.maximum(self.number, 1))
            case "min":
                return -self._greatest(-values, -beyond)
            case "max":
                return self._greatest(values, -beyond)
        raise ValueError(f"{self.window.function} is no total")

    def _sums(self, values: Array) -> Array:
        """The sums of the frames; doubles are added from the first row of a partition on."""
        values, (begin, end) = values[self.rows.order], self._frames
        parts, part_of = [values], np.zeros(1, dtype=np.int64)
        if values.dtype == np.float64:  # Other partitions must have no part in their rounding.
            parts = np.split(values, np.flatnonzero(self.rows.begins)[1:])
            part_of = np.cumsum(self.rows.begins) - 1
        zero = np.zeros(1, dtype=values.dtype)
        before = np.concatenate([each for part in parts for each in (zero, np.cumsum(part))])
        return self.rows.back(before[end + part_of] - before[begin + part_of])

    def _greatest(self, values: Array, nothing: float) -> Array:
        """The greatest counted values of the frames, `nothing` of a frame without any."""
        chosen = np.where(self.counted, values, nothing).astype(values.dtype)[self.rows.order]
        return self.rows.back(greatest(chosen, self._frames, nothing))


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


def last_argument(window: Window) -> int:
    """The last argument of a window function, a constant whole number."""
    argument = window.arguments[-1]
    assert isinstance(argument, Literal)
    assert isinstance(argument.value, int)
    return argument.value
