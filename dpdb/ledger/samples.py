"""Samples of regions: values by which filters that overlap are known without comparing them.

Two regions with a value in common for every column that both limit do not exclude each other. The
sample of a region is chosen so that many have the same: a filter such as `x >= 5` lets the upper
bound of x through, whatever it compares with.
"""

from __future__ import annotations

from collections.abc import Mapping

from dpdb.plan.regions import ColumnLimit, Region
from dpdb.plan.relations import Source
from dpdb.plan.spans import Point

Sample = tuple[Source, frozenset[tuple[str, Point]]]
"""A table, and a value for each of its columns that a region limits."""
Samples = Mapping[Sample, tuple[int, ...]]
"""For each sample the indices of the groups that have a region with it."""


def sample(region: Region) -> Sample | None:
    """The sample of a region; None where a column has no value within its limit, but NULL."""
    values = {name: _value(limit) for name, limit in region.limits.items()}
    points = frozenset((name, value) for name, value in values.items() if value is not None)
    return (region.table, points) if len(points) == len(values) else None


def _value(limit: ColumnLimit) -> Point | None:
    """A value within the limit: an end of the bounds, if one is."""
    ends = (float(end) for end in reversed(limit.column.bounds or ()))
    return next((each for each in (*ends, *limit.held.turns) if each in limit.held), None)


def holds(region: Region, of_another: Sample) -> bool:
    """Whether a region has the values of another one's sample within it, or is of another table.

    Regions of two tables do not exclude each other, and their values are not compared, as columns
    of one name may have two types.
    """
    limits, (table, values) = region.limits, of_another
    within = (name not in limits or value in limits[name].held for name, value in values)
    return table != region.table or all(within)


def with_sample(samples: Samples, region: Region, group: int) -> Samples:
    """The samples, with that of a region that joins a group."""
    own = sample(region)
    return samples if own is None else {**samples, own: (*samples.get(own, ()), group)}


def refusing(samples: Samples, region: Region) -> set[int]:
    """Groups that do not admit a region, as it holds a sample of theirs.

    Samples of one group alone are left out: looking at them takes as long as comparing filters.
    """
    common = ((each, groups) for each, groups in samples.items() if len(groups) > 1)
    return {group for each, groups in common if holds(region, each) for group in groups}
