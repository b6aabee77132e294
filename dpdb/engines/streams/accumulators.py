"""Statistics of a table, put together from those of its parts.

The parts of a table have no privacy unit in common. What each accumulator holds is no more than
its own answer needs: sums, or values with their counts.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from dpdb.engines.memory.statistics import Statistics
from dpdb.engines.protocol import WORD
from dpdb.engines.streams.cell_values import CellValues, GrowingCellValues
from dpdb.plan.statistics import (
    Count,
    Distinct,
    Histogram,
    Joint,
    Ranks,
    Statistic,
    Tally,
    Total,
)
from dpdb.vectors.vector import Array


class Accumulator(ABC):
    """One statistic of all parts."""

    @abstractmethod
    def add(self, part: Statistics) -> None:
        """Add what a part's rows come to."""

    @abstractmethod
    def result(self) -> Array | list[Array]:
        """The statistic of all parts, of which there is one at least, as an engine gives it."""


def adds_up(statistic: Statistic) -> bool:
    """Whether there is an accumulator for it."""
    if isinstance(statistic, Joint):
        return all(isinstance(part.statistic, Count | Total) for part in statistic.parts)
    return isinstance(statistic, Count | Histogram | Total | Tally | Distinct | Ranks)


def accumulator(statistic: Statistic, cells: int) -> Accumulator:
    """That of a statistic which adds up, for an answer of so many cells."""
    match statistic:
        case Distinct():
            return _Different(statistic, cells)
        case Ranks():
            return _Ordered(statistic, cells)
    return _Sum(statistic)


@dataclass
class _Sum(Accumulator):
    """Numbers that add up, in a representation that holds those of the largest table.

    A tally has a row of them for each cell.
    """

    statistic: Statistic
    _sum: Array = field(default_factory=lambda: np.zeros(1, dtype=np.int64), repr=False)

    def add(self, part: Statistics) -> None:
        self._sum = self._sum + np.asarray(part.statistic(self.statistic))

    def result(self) -> Array | list[Array]:
        return list(self._sum) if isinstance(self.statistic, Tally) else self._sum


@dataclass
class _Different(Accumulator):
    """The different values of each cell.

    Texts are numbered in the order in which they come, as each part has its own codes for them.
    """

    statistic: Distinct
    cells: int
    _numbers: dict[object, int] = field(default_factory=dict, repr=False)
    _found: GrowingCellValues = field(default_factory=GrowingCellValues, repr=False)

    def add(self, part: Statistics) -> None:
        own = part.different(self.statistic)
        codes = own.codes if own.texts is None else self._numbered(own.texts)[own.codes]
        self._found.add(CellValues.of(own.cells, codes))

    def _numbered(self, texts: Sequence[object]) -> Array:
        for text in texts:
            self._numbers.setdefault(text, len(self._numbers))
        return np.fromiter(map(self._numbers.__getitem__, texts), np.int64, len(texts))

    def result(self) -> Array:
        return np.bincount(self._found.all().cells, minlength=self.cells).astype(WORD, copy=False)


@dataclass
class _Ordered(Accumulator):
    """The values of each cell in steps of the grid, with how often each is there."""

    statistic: Ranks
    cells: int
    _found: GrowingCellValues = field(default_factory=GrowingCellValues, repr=False)

    def add(self, part: Statistics) -> None:
        groups, values = part.counted_steps(self.statistic)
        self._found.add(CellValues.of_rows(groups, values, self.cells))

    def result(self) -> list[Array]:
        found = self._found.all()
        ends = np.searchsorted(found.cells, np.arange(self.cells), side="right")
        values, counts = np.split(found.values, ends[:-1]), np.split(found.counts, ends[:-1])
        return [np.repeat(v.astype(WORD), n) for v, n in zip(values, counts, strict=True)]
