"""The moments behind an aggregate, and how its estimate is computed from them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from enum import StrEnum, auto
from fractions import Fraction
from typing import assert_never

from dpdb.plan.expressions.expressions import Expr
from dpdb.plan.logical.query import Aggregate, Function
from dpdb.plan.ranges.grids import Grid
from dpdb.plan.ranges.intervals import Interval
from dpdb.plan.relations.contradictions import Contradiction
from dpdb.records import dataclass

PartIndex = tuple[int, int]
"""The index of a release in its plan, and that of a part of it."""


@dataclass(frozen=True)
class Combination:
    """A linear combination: `constant` + Σ weight · noisy value."""

    weights: tuple[tuple[PartIndex, Fraction], ...] = ()
    constant: Fraction = Fraction(0)

    @classmethod
    def of(
        cls, weights: Mapping[PartIndex, Fraction], constant: Fraction = Fraction(0)
    ) -> Combination:
        """The combination with these weights; those of 0 are left out."""
        kept = sorted((place, Fraction(weight)) for place, weight in weights.items() if weight)
        return cls(tuple(kept), constant)

    def __add__(self, other: Combination) -> Combination:
        weights = dict(self.weights)
        for place, weight in other.weights:
            weights[place] = weights.get(place, Fraction(0)) + weight
        return Combination.of(weights, self.constant + other.constant)

    def __mul__(self, factor: Fraction | int) -> Combination:
        weights = {place: factor * weight for place, weight in self.weights}
        return Combination.of(weights, factor * self.constant)

    def __sub__(self, other: Combination) -> Combination:
        return self + other * -1

    def placed(self, places: Mapping[int, int]) -> Combination:
        """The same combination of releases at other places."""
        weights = {(places[release], part): weight for (release, part), weight in self.weights}
        return Combination.of(weights, self.constant)

    def moved(self, by: int) -> Combination:
        """The same combination of releases whose indices are larger by this number."""
        return self.placed({release: release + by for release in self.releases})

    @property
    def releases(self) -> set[int]:
        """The indices of the releases that are read."""
        return {release for (release, _), _ in self.weights}


def value(release: int = 0, part: int = 0, weight: Fraction | int = 1) -> Combination:
    """The noisy value of one part of a release, times a weight."""
    return Combination.of({(release, part): Fraction(weight)})


def constant(number: Fraction | int) -> Combination:
    """A public number."""
    return Combination((), Fraction(number))


class Moment(StrEnum):
    """A moment of an argument over a filter, which estimates are computed from."""

    ROWS = auto()
    """The number of rows that pass the filter."""
    COUNT = auto()
    """The number of rows with an argument that is not NULL."""
    TOTAL = auto()
    """The sum of the argument."""
    SQUARES = auto()
    """The sum of the argument's squares."""


def moments_of(aggregate: Aggregate) -> frozenset[Moment]:
    """The moments from which an aggregate is computed; none where it is not made of sums."""
    match aggregate.function:
        case Function.COUNT:
            return frozenset({Moment.ROWS if aggregate.argument is None else Moment.COUNT})
        case Function.SUM:
            return frozenset({Moment.TOTAL})
        case Function.AVG:
            return frozenset({Moment.COUNT, Moment.TOTAL})
        case Function.VAR_POP | Function.VAR_SAMP | Function.STDDEV_POP | Function.STDDEV_SAMP:
            return frozenset({Moment.COUNT, Moment.TOTAL, Moment.SQUARES})
        case (
            Function.COUNT_DISTINCT
            | Function.MIN
            | Function.MAX
            | Function.QUANTILE
            | Function.MODE
            | Function.APPROX_BOUNDS
        ):
            return frozenset()
        case other:
            assert_never(other)


@dataclass(frozen=True)
class Moments:
    """The combinations of the moments of x, in steps of `grid`, and of y = x - `centre`.

    A moment is None if the releases do not tell it.
    """

    grid: Grid | None = None
    centre: int = 0
    rows: Combination | None = None
    count: Combination | None = None
    total: Combination | None = None
    """Σ y."""
    squares: Combination | None = None
    """Σ y²."""
    sum: Combination | None = None
    """Σ x."""

    def of(self, moment: Moment) -> Combination | None:
        """The combination of a moment; that of TOTAL is the sum of x itself."""
        match moment:
            case Moment.ROWS:
                return self.rows
            case Moment.COUNT:
                return self.count
            case Moment.TOTAL:
                return self.sum
            case Moment.SQUARES:
                return self.squares

    def releases_for(self, aggregate: Aggregate) -> tuple[int, ...]:
        """The indices of the releases from which an aggregate is computed."""
        needed = moments_of(aggregate)
        combinations = {
            Moment.ROWS: self.count,
            Moment.COUNT: self.count,
            Moment.TOTAL: self.sum if needed == {Moment.TOTAL} else self.total,
            Moment.SQUARES: self.squares,
        }
        read = [combinations[each] for each in needed]
        return tuple(sorted(set().union(*(each.releases for each in read if each))))

    @property
    def step(self) -> Fraction:
        """The size of one step, in the analyst's units; 1 where there are only counts."""
        return Fraction(1) if self.grid is None else self.grid.step

    def with_constants_times(self, factor: int) -> Moments:
        """The moments with constants that are this number of times as large."""
        return self._with(
            each and replace(each, constant=factor * each.constant) for each in self._combinations
        )

    def moved(self, by: int) -> Moments:
        """The moments as read from releases whose indices are larger by this number."""
        return self._with(each and each.moved(by) for each in self._combinations)

    def placed(self, places: Mapping[int, int]) -> Moments:
        """The moments that are read from releases with a place, at these places."""
        return self._with(
            each.placed(places) if each and each.releases <= places.keys() else None
            for each in self._combinations
        )

    @property
    def _combinations(self) -> tuple[Combination | None, ...]:
        """All combinations, in the order of the fields."""
        return self.rows, self.count, self.total, self.squares, self.sum

    def _with(self, combinations: Iterable[Combination | None]) -> Moments:
        """The moments of the same argument with other combinations, in the order of the fields."""
        return Moments(self.grid, self.centre, *combinations)


NO_MOMENTS = Moments()


@dataclass(frozen=True)
class GroupMoments:
    """The moments of an argument over a filter that a group of releases tells."""

    argument: Expr | None
    where: Expr | None
    moments: Moments

    def tells(self, moment: Moment) -> bool:
        """Whether the moment is among those that can be read."""
        return self.moments.of(moment) is not None

    def moved(self, by: int) -> GroupMoments:
        """The same moments, read from releases whose indices are larger by this number."""
        return replace(self, moments=self.moments.moved(by)) if by else self


@dataclass(frozen=True)
class Estimate:
    """The computation of an aggregate from releases.

    `releases` are indices into the plan's releases. Counts, sums, averages and variances are
    computed from the `moments` that are read from them, and a quantile may have a bracket beside
    its value; `rows` is a count that is public.
    """

    aggregate: Aggregate
    releases: tuple[int, ...]
    interval: Interval
    """The interval that holds the exact answer in any data."""
    rows: int | None = None
    contradiction: Contradiction | None = None
    """Why no row can count for the aggregate, which is then public and has no releases."""
    is_withheld: bool = False
    """Whether the answer is NULL, as bounds were found of too few rows."""
    column: int = 0
    """Index of this quantile among the quantiles that its release selects together."""
    segments: tuple[int, ...] | None = None
    """Segments of the histogram that a count adds up; None if its release is no histogram."""
    moments: Moments = NO_MOMENTS

    @property
    def combination(self) -> Combination | None:
        """The answer as a linear combination, where it is one: of a COUNT or a SUM."""
        match self.aggregate.function:
            case Function.COUNT:
                return self.moments.count
            case Function.SUM:
                return self.moments.sum
        return None
