"""Moments that several release groups tell of: the number of rows over one filter.

Each vector over a filter has its own noisy number of the same rows. Together they know it better
than each alone, and a sum gains from that what its noise has in common with its own number.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

from dpdb.plan.moments import Combination, GroupMoments, Moment, Moments, moments_of
from dpdb.plan.plan import Release
from dpdb.plan.query import Aggregate
from dpdb.plan.ranges import nullable
from dpdb.privacy.mechanisms import Gaussian, Laplace


def moments_for(aggregate: Aggregate, groups: Sequence[GroupMoments]) -> Moments | None:
    """The moments from which an aggregate is computed; None where no group tells them all."""
    over = [group for group in groups if group.where == aggregate.where]
    if counts_all_rows(aggregate):
        rows = next((group.moments.rows for group in over if group.tells(Moment.ROWS)), None)
        return None if rows is None else Moments(rows=rows, count=rows)
    needed = moments_of(aggregate)
    for group in over if needed else ():
        if group.argument == aggregate.argument and all(map(group.tells, needed)):
            return group.moments
    return None


def counts_all_rows(aggregate: Aggregate) -> bool:
    """Whether an aggregate counts rows, or values that are never NULL."""
    if aggregate.argument is None:
        return True
    counts = moments_of(aggregate) == {Moment.COUNT}
    return counts and not nullable(aggregate.argument)


def combined(
    groups: Sequence[GroupMoments], releases: Sequence[Release]
) -> tuple[GroupMoments, ...]:
    """The groups with the best number of all rows, and the sums that go with it.

    Let N_j be the numbers of rows of the groups over one filter, with variances v_j. Their best
    linear combination is N = Σ N_j/v_j / Σ 1/v_j, and the best combination of a sum S_j is
    S_j - (N_j - N)·Cov(S_j, N_j)/v_j (generalised least squares). All weights follow from the plan.
    Averages and variances stay with their own group, so that one test tells of their intervals.
    """
    if len(groups) < 2:
        return tuple(groups)
    return tuple(_with_common_rows(group, groups, releases) for group in groups)


def _with_common_rows(
    group: GroupMoments, groups: Sequence[GroupMoments], releases: Sequence[Release]
) -> GroupMoments:
    own = group.moments.rows
    read = [each.moments.rows for each in groups if each.where == group.where]
    numbers = [rows for rows in read if rows is not None and covariance(rows, rows, releases)]
    if own not in numbers or len(numbers) < 2:
        return group
    assert own is not None
    precisions = [1 / covariance(rows, rows, releases) for rows in numbers]
    best = sum(
        (
            rows * (precision / sum(precisions))
            for rows, precision in zip(numbers, precisions, strict=True)
        ),
        Combination(),
    )
    total = group.moments.sum
    if total is not None:
        shared = covariance(total, own, releases) / covariance(own, own, releases)
        total = total - (own - best) * shared
    return replace(group, moments=replace(group.moments, rows=best, sum=total))


def covariance(one: Combination, other: Combination, releases: Sequence[Release]) -> Fraction:
    """The covariance of two combinations, but for the factor 2 of all Laplace noise.

    Noises are independent, and noises of different kinds are not found in one statement.
    """
    weights = dict(other.weights)
    terms = (
        weight * weights[place] * _square(releases[place[0]])
        for place, weight in one.weights
        if place in weights
    )
    return sum(terms, Fraction(0))


def _square(release: Release) -> Fraction:
    """The square of the noise's scale, added up over its terms."""
    match release.mechanism:
        case Laplace(scale=scale):
            return release.terms * scale**2
        case Gaussian(variance=variance):
            return release.terms * variance
    raise AssertionError(release.mechanism)
