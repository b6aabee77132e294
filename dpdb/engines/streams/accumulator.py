"""A statistic of a table, put together from what its parts come to."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Self

from dpdb.engines.memory.statistics import Statistics
from dpdb.engines.rank_window import RankWindow
from dpdb.vectors.vector import Array


class Accumulator(ABC):
    """One statistic of all parts, which have no privacy unit in common."""

    @abstractmethod
    def add(self, part: Statistics) -> None:
        """Add what a part's rows come to."""

    @abstractmethod
    def join(self, other: Self) -> None:
        """Add what was added, in this pass, to a copy of this one as it was when the pass began."""

    def settle(self) -> bool:
        """End a pass over all parts; whether it was the last one that is needed."""
        return True

    @abstractmethod
    def result(self) -> Array | list[Array] | list[RankWindow]:
        """The statistic of all parts, of which there is one at least, as an engine gives it."""
