"""Weighted sums of the segments of a histogram, drawn in place of the segments.

Counts that are sums of segments are the rows of a matrix W of zeros and ones. Let A be the whole
weights of a strategy, and y = A x + noise for the numbers x of rows in the segments. A row of the
table is in one segment and so changes y by a column of A: by at most Δ, the largest sum of a
column, and Laplace noise of scale Δ/ε is ε-DP ([DMNS06] Definition 2). The counts are the
least-squares values W (A'A)^-1 A' y, of the variances 2 (Δ/ε)² diag W (A'A)^-1 W'.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from functools import lru_cache

import numpy as np

from dpdb.plan.physical.cubes import Rows
from dpdb.plan.physical.moments import Combination, Estimate, Moments
from dpdb.plan.physical.plan import Plan
from dpdb.plan.ranges.statistics import Histogram
from dpdb.privacy.mechanisms.mechanism import StrategyNoise
from dpdb.session.purchases.joint.strategy_search import WHOLE, found_strategy, mean_variance

_UNIT = 2**50
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
        if not (isinstance(statistic, Histogram) and isinstance(noise, StrategyNoise)):
            continue
        if len(read) < 2:
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


Weights = tuple[tuple[float, ...], ...]
"""For each count the weights of the sums that are drawn."""


@lru_cache(maxsize=64)
def _strategy(segments: int, counts: tuple[tuple[int, ...], ...]) -> tuple[Rows, Weights] | None:
    """The rows of the best strategy that is found for counts of these segments, and their weights.

    None where it gains too little.
    """
    asked = tuple(((), own) for own in counts)
    found = found_strategy((), asked, segments)
    if mean_variance(found, asked) * len(counts) > _GAIN * sum(map(len, counts)):
        return None
    (rows,) = found.rows
    drawn, read = np.array(rows, dtype=np.float64), np.zeros((len(counts), segments))
    for at, own in enumerate(counts):
        read[at, list(own)] = 1
    weights = read @ np.linalg.inv(drawn.T @ drawn) @ drawn.T
    return rows, tuple(map(tuple, weights.tolist()))
