"""Sums in the cells of several sets of keys: the levels of a CUBE, and strategies.

The levels of a CUBE add up, because the value of each cell is a least-squares one. A level A is a
set of keys, with N_A cells. Let y_A be its noisy sums, whose noises have the inverse variance
`precision` p_A; 0 stands for a level that is not drawn. Each is a sum of the cells x of all keys:
y_A = S_A x + noise. For a set B of keys let P_B be the Kronecker product of I - J/n over the keys
in B and J/n over the others, with J all ones: orthogonal projections that add up to I. As S_A' S_A
= Σ (N/N_A) P_B over B ⊆ A, the normal equations of weighted least squares are diagonal, and their
solution for the sums of a level is

    I_B = Σ p_A / N_A over A ⊇ B
    y^_A = 1/N_A · Σ over B ⊆ A of 1/I_B · Σ over drawn D ⊇ B of p_D · (P_B part of y_D, as a mean)
    Var of each cell of A = 1/N_A² · Σ over B ⊆ A of k_B / I_B,  k_B = Π (n - 1) over B

where N is the number of cells of all keys. No linear estimate without bias has less variance
(Gauss, Markov and Aitken; [DWHL11] for cubes). The values of a level are sums of those of finer
ones, as all are sums of one x.

A strategy draws weighted sums of segments in the cells of several levels as one vector. A row of
the table is in one segment at most, and in one cell of each level. So it changes the sums of level
T by its segment's column of the weights A_T, and all of them together by at most Δ, the largest Σ
over T of the sum of a column. Noise of scale Δ/ε on each sum is ε-DP ([DMNS06] Definition 2); a row
that is replaced changes them by at most 2Δ, and a unit of k rows by k times as much.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from functools import cached_property
from itertools import combinations

from dpdb.privacy.mechanisms.mechanism import PublicNoise
from dpdb.records import dataclass

KeySet = tuple[int, ...]
"""The indices of the keys of a level, in ascending order."""
WeightedNoises = tuple[tuple[float, int, PublicNoise], ...]
"""Independent noises in a sum: the weight of each, how many have it, and their law."""


def subsets(keys: KeySet) -> Iterator[KeySet]:
    """All subsets of some keys, the smallest first."""
    for size in range(len(keys) + 1):
        yield from combinations(keys, size)


@dataclass(frozen=True)
class Cube:
    """The levels of a CUBE, ROLLUP or GROUPING SETS, and how precisely each is drawn."""

    sizes: tuple[int, ...]
    """The number of values of each key."""
    levels: tuple[KeySet, ...]
    precisions: tuple[Fraction, ...]
    """The inverse variance of the noise of each level, but for a common factor."""

    def cells(self, keys: KeySet) -> int:
        """The number of cells of a level."""
        return math.prod(self.sizes[key] for key in keys)

    @cached_property
    def information(self) -> dict[KeySet, float]:
        """I_B of each set of keys in a level that is drawn."""
        known: dict[KeySet, float] = {}
        for keys, precision in zip(self.levels, self.precisions, strict=True):
            for within in subsets(keys) if precision else ():
                more = float(precision / self.cells(keys))
                known[within] = known.get(within, 0.0) + more
        return known

    def weights(self, keys: KeySet, drawn: int) -> Counter[float]:
        """The weights with which the noises of a drawn level are in each value of a level.

        Let T be the keys of both levels in which a cell of one is that of the other. The weight
        depends on T alone: p_D/N_A · Σ over B in both of 1/I_B · Π over the keys of D of 1 - 1/n
        for those in B and T, -1/n for those in B alone, and 1/n for those not in B.
        """
        source = self.levels[drawn]
        common = tuple(key for key in source if key in keys)
        apart = tuple(key for key in source if key not in keys)
        before = float(self.precisions[drawn]) / self.cells(keys) / self.cells(apart)
        weights: Counter[float] = Counter()
        for alike in subsets(common):
            weight = math.fsum(
                math.prod(self._factor(key, key in within, key in alike) for key in common)
                / self.information[within]
                for within in subsets(common)
            )
            others = math.prod(self.sizes[key] - 1 for key in common if key not in alike)
            if weight and others:
                weights[before * weight] += others * self.cells(apart)
        return weights

    def _factor(self, key: int, within: bool, alike: bool) -> float:
        size = self.sizes[key]
        return (alike - 1 / size) if within else 1 / size


@dataclass(frozen=True)
class LevelNoise:
    """The noise in the least-squares values of a level, where one release is drawn at several."""

    cube: Cube
    keys: KeySet
    noises: tuple[PublicNoise | None, ...]
    """The noise of the release at each level of the cube; None where it is not drawn."""

    @cached_property
    def terms(self) -> WeightedNoises:
        """The noises that are added up in each value."""
        return tuple(
            (weight, number, noise)
            for place, noise in enumerate(self.noises)
            if noise is not None and noise.sensitivity
            for weight, number in self.cube.weights(self.keys, place).items()
        )

    @property
    def deviation(self) -> float:
        """The standard deviation of each value."""
        return _deviation(self.terms)


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
        return _deviation(self.terms)


def _deviation(terms: WeightedNoises) -> float:
    variances = (weight * weight * number * float(of.variance) for weight, number, of in terms)
    return math.sqrt(math.fsum(variances))
