"""The search for a strategy: whole weights of the sums that are drawn for many counts.

Let all levels' rows be stacked, A = [I; B] / D with D = 1 + the sums of B's columns; I and the
first rows of B are drawn in the cells of all keys. All columns of A have the sum 1, and for each
set of keys X is D^-1 (I + R'R) D^-1 with rows R of B times the roots of M/M_T, so that it is
inverted at the size of B (p-identity, [MMHM18]). The mean variance of the counts is a smooth
function of B, which is made small from several starts within bounds (a limited-memory
quasi-Newton method on the free entries, [LN89]). A strategy is looked for once and then kept with
what it is drawn for: on another machine the last digits, and so the weights, may differ.
"""

from __future__ import annotations

import math
from collections import deque
from functools import lru_cache

import numpy as np

from dpdb.answers.tables.weighted_sums import WeightedSums
from dpdb.plan.physical.cubes import KeySet, Strategy, subsets
from dpdb.vectors.vector import Array

WHOLE = 2**14
"""The weight that stands for 1."""
Counts = tuple[tuple[KeySet, tuple[int, ...]], ...]
"""The keys and the segments of each count."""
_STARTS = ((1.0, 1.0), (0.3, 1.0), (0.3, 0.3), (0.3, 0.03), (1.0, 0.03))
"""The first factors of the counts, in the cells of all keys and of fewer."""
_FIRST, _THEN, _LAST = 40, 200, 400
"""The steps from each start, from the two best ones, and from the best one with a larger bound."""
_BOUND, _LAST_BOUND = 10.0, 100.0
"""The largest entries of B: else rows that the counts need could be rounded away."""
_REMEMBERED = 12
"""The steps from which the curvature is known."""


@lru_cache(maxsize=64)
def found_strategy(sizes: tuple[int, ...], counts: Counts, segments: int) -> Strategy:
    """The strategy with the least mean variance of the counts that is found."""
    search = _Search(sizes, counts, segments)
    whole = search.level == 0
    starts = _STARTS if len(search.levels) > 1 else _STARTS[:2]
    found = [
        search.improved(search.rows * np.where(whole, *start)[:, None], _FIRST, _BOUND)
        for start in starts
    ]
    best = sorted(found, key=search.mean_variance)[:2]
    best = [search.improved(each, _THEN, _BOUND) for each in best]
    best.append(search.improved(min(best, key=search.mean_variance), _LAST, _LAST_BOUND))
    drawn = [search.rounded(each) for each in best]
    return min(drawn, key=lambda each: mean_variance(each, counts))


def mean_variance(strategy: Strategy, counts: Counts) -> float:
    """The mean variance of counts, for noise on each sum of Δ times the variance 1."""
    sums = WeightedSums(strategy)
    try:
        each = [sums.variance(keys, list(segments)) for keys, segments in counts]
    except np.linalg.LinAlgError:
        return math.inf
    return strategy.change**2 * sum(each) / len(each) if min(each) > 0 else math.inf


class _Search:
    """The mean variance of counts as a function of B."""

    def __init__(self, sizes: tuple[int, ...], counts: Counts, segments: int):
        self.sizes, whole = sizes, math.prod(sizes)
        every = tuple(range(len(sizes)))
        levels = {every, *(keys for keys, _ in counts)}
        self.levels = sorted(levels, key=lambda keys: (-len(keys), keys))
        asked = np.zeros((len(counts), segments))
        for place, (_, own) in enumerate(counts):
            asked[place, list(own)] = 1
        of_level = [[keys == level for keys, _ in counts] for level in self.levels[1:]]
        blocks = [np.unique(rows, axis=0) for rows in (asked, *(asked[own] for own in of_level))]
        self.rows = np.vstack(blocks)
        self.level = np.repeat(np.arange(len(blocks)), list(map(len, blocks)))
        self._cells = [math.prod(sizes[key] for key in keys) for keys in self.levels]
        self._parts: list[tuple[Array, Array, Array]] = []
        for within in sorted({part for keys in self.levels for part in subsets(keys)}):
            weights: dict[tuple[int, ...], float] = {}
            dimension = math.prod(sizes[key] - 1 for key in within)
            for keys, own in counts:
                if dimension and {*within} <= {*keys}:
                    cells = math.prod(sizes[key] for key in keys)
                    more = whole * dimension / cells**2 / len(counts)
                    weights[own] = weights.get(own, 0.0) + more
            if not weights:
                continue
            needed = np.zeros((len(weights), segments))
            for place, (own, weight) in enumerate(weights.items()):
                needed[place, list(own)] = math.sqrt(weight)
            times = [
                whole / cells if {*within} <= {*keys} else 0.0
                for keys, cells in zip(self.levels, self._cells, strict=True)
            ]
            factors = np.array(times)[self.level]
            used = np.flatnonzero(factors)
            self._parts.append((needed, used, factors[used]))

    def mean_variance(self, more: Array) -> float:
        """The mean variance of the counts under [I; B] / D."""
        return self._cost(more)[0]

    def _cost(self, more: Array) -> tuple[float, Array]:
        """The mean variance, and its gradient by B; the inverse is Woodbury's."""
        sums, total, slope = 1 + more.sum(axis=0), 0.0, np.zeros_like(more)
        for needed, used, factors in self._parts:
            own = more[used]
            rows, scaled = own * np.sqrt(factors)[:, None], needed * sums
            inner = np.linalg.solve(np.eye(len(rows)) + rows @ rows.T, rows @ scaled.T)
            solved = scaled - inner.T @ rows
            total += float((scaled * solved).sum())
            slope += 2 * (needed * solved).sum(axis=0)
            slope[used] -= 2 * factors[:, None] * (own @ solved.T @ solved)
        return total, slope

    def improved(self, more: Array, steps: int, bound: float) -> Array:
        """The B with a smaller mean variance that is found from a start on, in some steps."""
        cost, slope = self._cost(more)
        known: deque[tuple[Array, Array]] = deque(maxlen=_REMEMBERED)
        for _ in range(steps):
            free = ~(((more <= 0) & (slope > 0)) | ((more >= bound) & (slope < 0)))
            steepest = np.where(free, slope, 0.0)
            if not steepest.any():
                break
            way = np.where(free, -_newton(steepest, known), 0.0)
            if float((way * slope).sum()) >= 0:
                known.clear()
                way = -_newton(steepest, known)
            size = 1.0
            while True:
                there = np.clip(more + size * way, 0, bound)
                new, turned = self._cost(there)
                if new <= cost + 1e-4 * float((slope * (there - more)).sum()):
                    break
                size /= 2
                if size < 1e-9:
                    return more
            step, bend = there - more, turned - slope
            if float((step * bend).sum()) > 1e-12 * math.sqrt((step**2).sum() * (bend**2).sum()):
                known.append((step, bend))
            more, cost, slope = there, new, turned
        return more

    def rounded(self, more: Array) -> Strategy:
        """The strategy of the whole weights of [I; B] / D, without rows that are all 0."""
        sums = 1 + more.sum(axis=0)
        drawn = np.rint(WHOLE * np.vstack([np.diag(1 / sums), more / sums])).astype(np.int64)
        level = np.concatenate([np.zeros(len(sums), dtype=np.int64), self.level])
        levels, rows = [], []
        for place, keys in enumerate(self.levels):
            own = drawn[(level == place) & drawn.any(axis=1)]
            if len(own):
                levels.append(keys)
                rows.append(tuple(map(tuple, own.tolist())))
        return Strategy(self.sizes, tuple(levels), tuple(rows))


def _newton(slope: Array, known: deque[tuple[Array, Array]]) -> Array:
    """The slope times an estimate of the inverse curvature (two loops over steps, [LN89])."""
    way, parts = slope, list[float]()
    for step, bend in reversed(known):
        parts.append(float((step * way).sum() / (step * bend).sum()))
        way = way - parts[-1] * bend
    if known:
        step, bend = known[-1]
        way = way * float((step * bend).sum() / (bend * bend).sum())
    else:
        way = way * (0.1 / np.abs(slope).max())
    for (step, bend), part in zip(known, reversed(parts), strict=True):
        way = way + step * (part - float((bend * way).sum() / (step * bend).sum()))
    return np.asarray(way)
