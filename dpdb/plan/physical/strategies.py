"""Strategies: weighted sums of segments, in the cells of several sets of keys, drawn as one vector.

A row of the table is in one segment at most, and in one cell of each set of keys. So it changes the
sums of level T by its segment's column of the weights A_T, and all of them together by at most Δ,
the largest Σ over T of the sum of a column. Noise of scale Δ/ε on each sum is ε-DP ([DMNS06]
Definition 2); a row that is replaced changes them by at most 2Δ, and a unit of k rows by k times
as much.
"""

from __future__ import annotations

import math
from functools import cached_property

from dpdb.plan.physical.cubes import KeySet, WeightedNoises
from dpdb.records import dataclass

Rows = tuple[tuple[int, ...], ...]
"""For each sum that is drawn the whole weights, at least 0, of all segments."""


@dataclass(frozen=True)
class Strategy:
    """The sums that are drawn: for each set of keys the same ones in each of its cells."""

    sizes: tuple[int, ...]
    """The number of values of each key."""
    levels: tuple[KeySet, ...]
    rows: tuple[Rows, ...]
    """The sums of each level."""

    @cached_property
    def change(self) -> int:
        """The most that a row which enters or leaves changes all sums, added up."""
        columns = zip(*(row for rows in self.rows for row in rows), strict=True)
        return max(map(sum, columns), default=0)

    def cells(self, keys: KeySet) -> int:
        """The number of cells of a set of keys."""
        return math.prod(self.sizes[key] for key in keys)

    @property
    def size(self) -> int:
        """The number of sums."""
        pairs = zip(self.levels, self.rows, strict=True)
        return sum(self.cells(keys) * len(rows) for keys, rows in pairs)


@dataclass(frozen=True)
class SummedNoise:
    """The noise in each least-squares value of a statement that is read from a strategy's sums."""

    terms: WeightedNoises

    @cached_property
    def deviation(self) -> float:
        """The standard deviation of each value."""
        variances = (w * w * number * float(noise.variance) for w, number, noise in self.terms)
        return math.sqrt(math.fsum(variances))
