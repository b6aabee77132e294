"""Strategies: weighted sums of the segments of a histogram, drawn in place of the segments.

Counts that are sums of segments are the rows of a matrix W of zeros and ones. Let A be a matrix of
whole weights of at least 0, and y = A x + noise for the numbers x of rows in the segments. A row of
the table is in one segment and so changes y by a column of A: by at most Δ, the largest sum of a
column, and Laplace noise of scale Δ/ε is ε-DP ([DMNS06] Definition 2). The counts are the
least-squares values W (A'A)^-1 A' y, of the variances 2 (Δ/ε)² diag W (A'A)^-1 W'.

A is searched for among A = [I; B] / D with D = 1 + the sums of B's columns: all columns of A have
the sum 1, and A'A is inverted at the size of B (p-identity, [MMHM18]). The search goes along
projected gradients with spectral steps ([BMR00]). Without a limit on B the rows of the counts would
nearly be all there is, and the rounding to whole weights would lose the rest.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from functools import lru_cache

import numpy as np

from dpdb.plan.physical.moments import Combination, Estimate, Moments
from dpdb.plan.physical.plan import Plan
from dpdb.plan.ranges.statistics import Histogram
from dpdb.privacy.mechanisms.laplace import Laplace
from dpdb.vectors.vector import Array

WHOLE = 1024
"""The weight that stands for 1."""
_UNIT = 2**50
_STEPS, _MOST, _BEFORE = 400, 10.0, 8
"""The steps of a search, the largest entry of B, and the steps that a new one is compared with."""
_STARTS = (0.1, 0.3)
"""The multiples of the counts themselves that B begins with."""
_GAIN = 0.95
"""A strategy is drawn where the counts' mean variance is at most this multiple of the segments'."""


def with_strategies(plan: Plan) -> Plan:
    """The plan with strategies for the histograms that have a better one."""
    releases, estimates = list(plan.releases), list(plan.estimates)
    for index, release in enumerate(plan.releases):
        statistic, noise = release.statistic, release.mechanism
        read = [
            at for at, each in enumerate(estimates) if each.segments and each.releases == (index,)
        ]
        if not (isinstance(statistic, Histogram) and isinstance(noise, Laplace) and len(read) > 1):
            continue
        found = _strategy(
            len(statistic.segments), tuple(estimates[at].segments or () for at in read)
        )
        if found is None:
            continue
        rows, weights = found
        most = max(map(sum, zip(*rows, strict=True)))
        releases[index] = replace(
            release,
            statistic=replace(statistic, rows=rows),
            mechanism=replace(noise, sensitivity=noise.sensitivity * most),
            unit=release.unit / WHOLE,
        )
        for at, own in zip(read, weights, strict=True):
            estimates[at] = _reading(estimates[at], index, own)
    return replace(plan, releases=tuple(releases), estimates=tuple(estimates))


@lru_cache(maxsize=1024)
def _sum(index: int, weights: tuple[float, ...]) -> Combination:
    """The sum of the parts of a release with these weights; less than 2^-40 is a rounded 0."""
    parts = enumerate(round(weight * _UNIT) for weight in weights)
    return Combination.of({(index, part): Fraction(own, _UNIT) for part, own in parts})


def _reading(estimate: Estimate, index: int, weights: tuple[float, ...]) -> Estimate:
    """The estimate of a count that is read from the weighted sums of a release."""
    number = _sum(index, weights)
    return replace(estimate, segments=None, moments=Moments(rows=number, count=number))


Rows = tuple[tuple[int, ...], ...]
Weights = tuple[tuple[float, ...], ...]
"""For each count the weights of the sums that are drawn."""


@lru_cache(maxsize=64)
def _strategy(segments: int, counts: tuple[tuple[int, ...], ...]) -> tuple[Rows, Weights] | None:
    """The rows of the best strategy that is found for counts of these segments, and their weights.

    None where it gains too little.
    """
    asked = np.zeros((len(counts), segments))
    for at, own in enumerate(counts):
        asked[at, list(own)] = 1
    different = np.unique(asked, axis=0)
    found = [_rounded(_searched(asked, start * different)) for start in _STARTS]
    drawn = min(found, key=lambda each: _variance(each, asked))
    if _variance(drawn, asked) > _GAIN * asked.sum():
        return None
    weights = asked @ _inverse(drawn) @ drawn.T
    return tuple(map(tuple, drawn.tolist())), tuple(map(tuple, weights.tolist()))


def _variance(drawn: Array, asked: Array) -> float:
    """The sum of the variances of the counts, where each segment alone would have 1."""
    most = float(drawn.sum(axis=0).max())
    return most**2 * float(((asked @ _inverse(drawn)) * asked).sum())


def _inverse(drawn: Array) -> Array:
    rows = drawn.astype(np.float64)
    return np.linalg.inv(rows.T @ rows)


def _rounded(more: Array) -> Array:
    """The whole weights of [I; B] / D, without rows that are all 0."""
    scale = 1 + more.sum(axis=0)
    rows = np.rint(WHOLE * np.vstack([np.diag(1 / scale), more / scale])).astype(np.int64)
    return np.asarray(rows[rows.any(axis=1)])


def _searched(asked: Array, more: Array) -> Array:
    """The B with the least sum of variances that is found from a start on."""
    cost, slope = _cost(more, asked)
    best, costs, size = (cost, more), [cost], 1e-3
    for _ in range(_STEPS):
        way = np.clip(more - size * slope, 0, _MOST) - more
        falls = float((slope * way).sum())
        if falls > -1e-9 * cost:
            break
        part = 1.0
        while True:
            there = more + part * way
            cost, turned = _cost(there, asked)
            if cost <= max(costs[-_BEFORE:]) + 1e-4 * part * falls or part < 1e-6:
                break
            part /= 2
        step, bend = there - more, turned - slope
        curved = float((step * bend).sum())
        size = float((step * step).sum()) / curved if curved > 0 else 1.0
        more, slope = there, turned
        costs.append(cost)
        best = min(best, (cost, more), key=lambda each: each[0])
    return best[1]


def _cost(more: Array, asked: Array) -> tuple[float, Array]:
    """The sum of the variances of the counts under [I; B] / D, and its gradient by B.

    (A'A)^-1 is D (I + B'B)^-1 D, and the inverse within it I - B' (I + B B')^-1 B (Woodbury).
    """
    scaled = asked * (1 + more.sum(axis=0))
    inner = np.linalg.inv(np.eye(len(more)) + more @ more.T)
    solved = scaled - scaled @ more.T @ inner @ more
    slope = 2 * (asked * solved).sum(axis=0) - 2 * more @ solved.T @ solved
    return float((scaled * solved).sum()), slope
