"""The split of a share over the levels of a CUBE, by what is asked of its answers.

The split is in whole hundredths, and the same wherever it is computed: the search adds,
multiplies and divides doubles, and nothing else, in an order that follows from public sizes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from enum import StrEnum
from fractions import Fraction
from functools import lru_cache

from dpdb.plan.physical.cubes import KeySet, subsets

HUNDRED = 100
MOST_TRIES = 6_000
"""The most splits that are tried from one start: half a second with five keys."""
SLACK = 1.21
"""Under RELATIVE the variance of the finest level is at most this multiple of its least."""


class Goal(StrEnum):
    """The errors that the split of ε over the levels of a CUBE makes small.

    RELATIVE: the error of a value over its size is largest in the finest level, and least there
    with all of ε on it. So among the splits with a standard deviation of the finest level within a
    tenth of that, it is the one with the least product of the levels' variances. CELLS: the mean
    variance of all values. TOTALS: the mean variance of the levels, each counted once.
    """

    RELATIVE = "relative"
    CELLS = "cells"
    TOTALS = "totals"


Parts = tuple[int, ...]
"""The hundredths of the share that each level has."""


class _Variances:
    """The variances of levels, as `plan.physical.cubes` has them, for splits that are tried."""

    def __init__(self, sizes: Sequence[int], levels: Sequence[KeySet], noise: Sequence[float]):
        sets = list(dict.fromkeys(within for keys in levels for within in subsets(keys)))
        place = {each: at for at, each in enumerate(sets)}
        self.cells = [math.prod(sizes[key] for key in keys) for keys in levels]
        self._within = [[place[within] for within in subsets(keys)] for keys in levels]
        self._dimension = [math.prod(sizes[key] - 1.0 for key in keys) for keys in sets]
        self._noise = noise

    def of(self, precisions: Sequence[float]) -> list[float]:
        """The variance of a value of each level; infinite where the split does not tell it."""
        known = [0.0] * len(self._dimension)
        for at, precision in enumerate(precisions):
            if precision:
                more = precision / (self._noise[at] * self.cells[at])
                for within in self._within[at]:
                    known[within] += more
        inverse = [
            dimension / information if information else math.inf
            for dimension, information in zip(self._dimension, known, strict=True)
        ]
        return [
            sum(inverse[at] for at in within) / (cells * cells)
            for within, cells in zip(self._within, self.cells, strict=True)
        ]


@lru_cache(maxsize=256)
def split(
    sizes: tuple[int, ...],
    levels: tuple[KeySet, ...],
    noise: tuple[Fraction, ...],
    goal: Goal,
    *,
    concentrated: bool,
) -> Parts:
    """The hundredths of a share for each level, the best that a search from several starts finds.

    `noise` has the variance of each level, where it has the whole share; 0 for one that is public.
    With a part p of the share it is 1/p² times that, or 1/p where shares are `concentrated`.
    """
    fixed = [not each for each in noise]
    variances = _Variances(sizes, levels, [float(each) or 1e-24 for each in noise])

    def of(parts: Sequence[int]) -> list[float]:
        each = [part / HUNDRED for part in parts]
        precisions = each if concentrated else [part * part for part in each]
        pairs = zip(precisions, fixed, strict=True)
        return variances.of([1.0 if public else precision for precision, public in pairs])

    finest = [
        at for at, keys in enumerate(levels)
        if not fixed[at] and not any(set(keys) < set(other) for other in levels)
    ]  # fmt: skip
    starts = [_evenly(finest, len(levels))]
    starts.append(_evenly([at for at, public in enumerate(fixed) if not public], len(levels)))
    least = of(starts[0])

    def cost(parts: list[int]) -> float:
        each = of(parts)
        match goal:
            case Goal.CELLS:
                return sum(one * cells for one, cells in zip(each, variances.cells, strict=True))
            case Goal.TOTALS:
                return sum(each)
            case Goal.RELATIVE:
                if any(each[at] > SLACK * least[at] for at in finest):
                    return math.inf
                return math.prod(one / before for one, before in zip(each, least, strict=True))

    free = [at for at, public in enumerate(fixed) if not public]
    found = [_improved(start, free, cost) for start in starts]
    costs = list(map(cost, found))
    return tuple(found[costs.index(min(costs))])


def _evenly(chosen: Sequence[int], number: int) -> list[int]:
    """The hundredths, divided evenly over the chosen levels; the first has what is left over."""
    parts = [0] * number
    for at in chosen:
        parts[at] = HUNDRED // len(chosen)
    parts[chosen[0]] += HUNDRED - sum(parts)
    return parts


def _improved(
    parts: list[int], free: Sequence[int], cost: Callable[[list[int]], float]
) -> list[int]:
    """The split after moves of hundredths from one level to another, while any lowers the cost."""
    best, tries, step = cost(parts), 0, 32
    while step and tries < MOST_TRIES:
        better = False
        for source in free:
            for target in free:
                if source == target or parts[source] < step:
                    continue
                parts[source] -= step
                parts[target] += step
                now, tries = cost(parts), tries + 1
                if now < best:
                    best, better = now, True
                else:
                    parts[source] += step
                    parts[target] -= step
        step = step if better else step // 2
    return parts
