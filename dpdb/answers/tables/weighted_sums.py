"""The least-squares values of counts that are read from a strategy's noisy sums.

Let x be the numbers of rows, by cell of all keys and segment, and P_B for a set B of keys the
projection of `plan.physical.cubes`. The sums of level T are S_T x A_T' + noise of equal variance,
and S_T' S_T = Σ (M/M_T) P_B over B ⊆ T, for M cells of all keys and M_T of level T. So the normal
equations are those of one matrix for each B, and a count w in the cells of U is

    X_B = Σ (M/M_T) A_T' A_T over T ⊇ B
    M/M_U · Σ over B ⊆ U of w X_B^-1 Σ over T ⊇ B of A_T' · (P_B part of the sums of T, as a mean)

with the variance M/M_U² · Σ over B ⊆ U of k_B w X_B^-1 w' for noise of variance 1, and k_B the
product of n - 1 over B. No linear estimate without bias has less (Gauss, Markov and Aitken). All of
it is computed from noisy values and public weights: post-processing ([DR14] Proposition 2.1).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cached_property

import numpy as np

from dpdb.plan.physical.cubes import KeySet, Strategy, subsets
from dpdb.records import dataclass
from dpdb.vectors.vector import Array


@dataclass(frozen=True)
class WeightedSums:
    """Reads counts from the noisy sums of a strategy."""

    strategy: Strategy

    @cached_property
    def _matrices(self) -> dict[KeySet, Array]:
        """The weights of each level."""
        pairs = zip(self.strategy.levels, self.strategy.rows, strict=True)
        return {keys: np.array(rows, dtype=np.float64) for keys, rows in pairs}

    @cached_property
    def _inverses(self) -> dict[KeySet, Array]:
        """X_B^-1 of each set of keys."""
        whole = math.prod(self.strategy.sizes)
        known: dict[KeySet, Array] = {}
        for keys, matrix in self._matrices.items():
            more = matrix.T @ matrix * (whole / self.strategy.cells(keys))
            for within in subsets(keys):
                known[within] = known.get(within, 0.0) + more
        return {keys: np.linalg.inv(matrix) for keys, matrix in known.items()}

    def variance(self, keys: KeySet, segments: Sequence[int]) -> float:
        """The variance of a count of these segments in a cell, for noise of variance 1."""
        parts = (
            math.prod(self.strategy.sizes[key] - 1 for key in within)
            * self._inverses[within][np.ix_(segments, segments)].sum()
            for within in subsets(keys)
        )
        whole = math.prod(self.strategy.sizes)
        return float(sum(parts)) * whole / self.strategy.cells(keys) ** 2

    def weights(self, keys: KeySet, segments: Sequence[int]) -> Iterator[tuple[float, int]]:
        """The weights of the noises in each value, and how many have it, the largest first."""
        weights: Counter[float] = Counter()
        for level, matrix in self._matrices.items():
            common = tuple(key for key in level if key in keys)
            apart = math.prod(self.strategy.sizes[key] for key in level if key not in keys)
            before = math.prod(self.strategy.sizes) / self.strategy.cells(keys) / apart
            solved = {
                within: matrix @ self._inverses[within][:, list(segments)].sum(axis=1)
                for within in subsets(common)
            }
            for alike in subsets(common):
                others = math.prod(self.strategy.sizes[key] - 1 for key in common
                                   if key not in alike)  # fmt: skip
                factors = {
                    within: math.prod(self._factor(key, key in within, key in alike)
                                      for key in common)
                    for within in solved
                }  # fmt: skip
                each = sum(factors[within] * own for within, own in solved.items())
                for weight in np.abs(before * np.asarray(each)).tolist():
                    if weight and others:
                        weights[weight] += others * apart
        yield from sorted(weights.items(), reverse=True)

    def _factor(self, key: int, within: bool, alike: bool) -> float:
        size = self.strategy.sizes[key]
        return (alike - 1 / size) if within else 1 / size

    def values(self, drawn: Array, keys: KeySet, segments: Sequence[int]) -> Array:
        """The counts of these segments, with an axis for each key of the strategy."""
        sizes, cells = self.strategy.sizes, self.strategy.cells(keys)
        total = np.zeros([n if key in keys else 1 for key, n in enumerate(sizes)])
        before = 0
        for level, matrix in self._matrices.items():
            number = self.strategy.cells(level) * len(matrix)
            own = drawn[before : before + number].astype(np.float64)
            before += number
            shape = [n if key in level else 1 for key, n in enumerate(sizes)]
            parts: dict[KeySet, Array] = {(): own.reshape(*shape, len(matrix))}
            for key in level:
                for within in list(parts):
                    mean = parts[within].mean(axis=key, keepdims=True)
                    if key in keys:
                        parts[*within, key] = parts[within] - mean
                    parts[within] = mean
            for within, part in parts.items():
                solved = matrix @ self._inverses[within][:, list(segments)].sum(axis=1)
                total += (part @ solved) * (math.prod(sizes) / cells)
        return total


def sums_of(strategy: Strategy, counts: Array) -> Array:
    """A strategy's sums of the numbers of rows in each cell of all keys and each segment."""
    by_key = counts.reshape(*strategy.sizes, -1)
    sums = []
    for keys, rows in zip(strategy.levels, strategy.rows, strict=True):
        others = tuple(key for key in range(len(strategy.sizes)) if key not in keys)
        cells = by_key.sum(axis=others).reshape(strategy.cells(keys), -1)
        sums.append((cells @ np.array(rows).T).ravel())
    return np.concatenate(sums)
