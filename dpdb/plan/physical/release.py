"""The releases of a plan: noisy statistics that are to be drawn, and the groups of them."""

from __future__ import annotations

from dataclasses import field
from fractions import Fraction
from functools import cached_property

from dpdb.plan.physical.cubes import LevelNoise, Strategy, SummedNoise, WeightedNoises
from dpdb.plan.physical.moments import GroupMoments
from dpdb.plan.ranges.statistics import Histogram, Joint, Part, Statistic
from dpdb.privacy.accounting.loss import Loss, added
from dpdb.privacy.mechanisms.mechanism import Mechanism, PublicNoise, public_noise
from dpdb.records import dataclass

CONFIDENCE = 0.95
"""The confidence of every interval, and of an error goal that names none."""


def at_once(confidence: float, number: int, *, independent: bool = True) -> float:
    """The confidence that each of `number` intervals needs for all to hold at once.

    All hold with probability `confidence`: where their noises are independent by Šidák's
    correction ([Sid67]), and otherwise because the probabilities to fail add up (Bonferroni).
    """
    if independent:
        return float(confidence ** (1 / number))
    return 1 - (1 - confidence) / number


@dataclass(frozen=True)
class Release:
    """A noisy statistic that is to be drawn: one value for each group."""

    aggregate: str
    """The name of the aggregate, or of the part of one: `sum`, `count`, `sum_of_squares`, …"""
    statistic: Statistic
    mechanism: Mechanism
    """A bracket is around the values of a release before it, as `Plan.centres` says."""
    unit: Fraction = Fraction(1)
    """The size of one grid step of the mechanism, in the analyst's units."""
    column: int = 0
    """Index of the bracket's quantile among the quantiles that are selected together."""
    terms: int = 1
    """Number of noisy values of an earlier answer that each value of this release adds up."""
    level: LevelNoise | SummedNoise | None = None
    """For values that follow from all levels of a cube or a strategy, the noises in each."""
    strategy: Strategy | None = None
    """The sums of the segments of a histogram that are drawn, in the cells of several keys."""

    def __hash__(self) -> int:
        """The hash of the fields, computed once: lookups of remembered releases use it often."""
        return self._hash

    @cached_property
    def _hash(self) -> int:
        fields = self.aggregate, self.statistic, self.mechanism, self.unit, self.column, self.terms
        return hash(fields)

    def noise_of(self, part: int) -> PublicNoise | None:
        """The noise on a part of each value, where its law is public."""
        return public_noise(self.mechanism, part)

    @property
    def noise(self) -> PublicNoise | None:
        """The noise on each value, where its law is public."""
        return public_noise(self.mechanism)

    @property
    def noises(self) -> WeightedNoises:
        """The noises that are added up in each value; none where the mechanism adds none."""
        if self.level is not None:
            return self.level.terms
        return () if self.noise is None else ((1.0, self.terms, self.noise),)

    @property
    def size(self) -> int:
        """The number of noisy values for each group."""
        if isinstance(self.statistic, Histogram):
            return len(self.statistic.rows or self.statistic.segments)
        return len(self.parts)

    @property
    def parts(self) -> tuple[Part, ...]:
        """The statistics drawn for each group: the parts of a vector, or a single one."""
        match self.statistic:
            case Joint(parts=parts):
                return parts
            case statistic:
                return (Part(self.aggregate, statistic, unit=self.unit),)


@dataclass(frozen=True)
class ReleasedGroup:
    """Releases that are drawn together for moments of one argument over one filter."""

    read: GroupMoments
    """The moments that the releases tell, by index in `releases`."""
    releases: tuple[Release, ...]
    source: str | None = None
    """For a derived group, the releases it was computed from, in words; None if it was drawn."""
    linear: bool = False
    """Whether only counts and sums may be read, because the values add up several noises."""
    more: tuple[GroupMoments, ...] = ()
    """The moments of more arguments over the same filter, which one vector tells."""
    series: tuple[str | None, ...] = field(default=(), compare=False)
    """The series that each release is a level of, or None; empty if no release is a level.

    Noises of one series are not independent of each other.
    """

    def __hash__(self) -> int:
        """The hash of the releases alone, which cache theirs."""
        return hash(self.releases)

    @property
    def reads(self) -> tuple[GroupMoments, ...]:
        """The moments that the releases tell, of each argument."""
        return (self.read, *self.more)

    @cached_property
    def loss(self) -> Loss:
        """The privacy loss of all of them."""
        return added(release.mechanism.loss for release in self.releases)


ReleaseFamily = tuple[tuple[int, ...], ...]
"""Releases over filters that exclude each other: for each filter the indices of its releases."""
