"""Moments that several release groups tell: the number of rows over one filter.

Each vector over a filter has its own noisy number of the same rows. Together they know it better
than each alone, and a sum gains from that what its noise has in common with its own number.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from fractions import Fraction

from dpdb.plan.logical.query import Aggregate
from dpdb.plan.physical.moments import (
    Combination,
    GroupMoments,
    Moment,
    Moments,
    PartIndex,
    moments_of,
)
from dpdb.plan.physical.release import Release
from dpdb.plan.ranges.ranges import nullable
from dpdb.privacy.mechanisms.kinds import NoiseKind
from dpdb.privacy.mechanisms.mechanism import VectorNoise


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


Series = Sequence[str | None]
"""For each release the series that it is a level of; None for a draw of its own."""


def combined(
    groups: Sequence[GroupMoments], releases: Sequence[Release], series: Series = ()
) -> tuple[GroupMoments, ...]:
    """The groups with the best number of all rows, and the sums that go with it.

    Let N_j be numbers of rows over one filter with independent noises of variances v_j. Their best
    linear combination is N = Σ N_j/v_j / Σ 1/v_j, and the best combination of a sum S_j is
    S_j - (N_j - N)·Cov(S_j, N_j)/v_j (generalised least squares). All weights follow from the plan.
    Averages and variances stay with their own group, so that one test tells of their intervals.
    So do all numbers of a vector with noise that is one draw, which is none of the N_j.

    Of the levels of one series the finest stands for all. In the chain Z_j = Z_(j+1) + W_j of
    `privacy.levels` each coarser level is the finest one plus noise that tells nothing of the
    rows, so all weight of the best linear combination is on the finest (Gauss, Markov and Aitken).
    A sum is left as it is where the combination would read two levels of a series. Numbers with
    noise of another kind are left out, as a sum of both has no law of its own.
    """
    if len(groups) < 2:
        return tuple(groups)
    names = (*series, *[None] * (len(releases) - len(series)))
    return tuple(_with_common_rows(group, groups, releases, names) for group in groups)


def _with_common_rows(
    group: GroupMoments, groups: Sequence[GroupMoments], releases: Sequence[Release], series: Series
) -> GroupMoments:
    own = group.moments.rows
    if own is None or not own.releases or _is_vector_noise(own, releases):
        return group
    kind = kinds(own, releases)
    read = [each.moments.rows for each in groups if each.where == group.where]
    alike = [
        rows
        for rows in read
        if rows is not None
        and kinds(rows, releases) == kind
        and not _is_vector_noise(rows, releases)
    ]
    known = [rows for rows in alike if covariance(rows, rows, releases)]
    if own not in known or len(known) < 2:
        return group
    numbers = _independent(known, releases, series)
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
        better = total - (own - best) * shared
        total = better if _levels_differ(better.releases, series) else total
    return replace(group, moments=replace(group.moments, rows=best, sum=total))


def _independent(
    numbers: Sequence[Combination], releases: Sequence[Release], series: Series
) -> list[Combination]:
    """The numbers, from the least noisy on, that have no series in common with one before."""
    chosen: list[Combination] = []
    for each in sorted(numbers, key=lambda rows: covariance(rows, rows, releases)):
        read = set[int]().union(each.releases, *(other.releases for other in chosen))
        if _levels_differ(read, series):
            chosen.append(each)
    return chosen


def _is_vector_noise(combination: Combination, releases: Sequence[Release]) -> bool:
    """Whether any of the noise is that of a vector, whose parts are not independent."""
    return any(isinstance(releases[i].mechanism, VectorNoise) for i in combination.releases)


def _levels_differ(read: Iterable[int], series: Series) -> bool:
    """Whether no two of the releases are levels of one series."""
    names = [series[index] for index in read if series[index] is not None]
    return len(names) == len(set(names))


def has_noise_of(kind: NoiseKind, releases: Iterable[Release]) -> bool:
    """Whether all noise of some releases is of one kind; that of scale 0 is of any."""
    noises = (release.noise for release in releases)
    return all(each is None or not each.sensitivity or each.kind is kind for each in noises)


def kinds(combination: Combination, releases: Sequence[Release]) -> set[NoiseKind]:
    """The kinds of noise in a combination."""
    noises = (releases[index].noise for index in combination.releases)
    return {noise.kind for noise in noises if noise is not None}


def covariance(one: Combination, other: Combination, releases: Sequence[Release]) -> Fraction:
    """The covariance of two combinations, whose noises have none with each other."""
    weights, sums = dict(other.weights), dict[PartIndex, Fraction]()
    for place, weight in one.weights:
        if place in weights:
            release, part = place
            # The parts of other vectors have noise of one variance.
            alike = release, part if isinstance(releases[release].mechanism, VectorNoise) else 0
            sums[alike] = sums.get(alike, Fraction(0)) + weight * weights[place]
    terms = (each * _variance(releases[release], part) for (release, part), each in sums.items())
    return sum(terms, Fraction(0))


def _variance(release: Release, part: int) -> Fraction:
    """The variance of the noise on a part of each value, added up over its terms."""
    noise = release.noise_of(part)
    assert noise is not None
    if release.level is not None:
        return Fraction(release.level.deviation) ** 2
    return release.terms * noise.variance
