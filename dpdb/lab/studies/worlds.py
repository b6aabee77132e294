"""Possible worlds: the values of a statistic of a file from which one row is missing.

[LC11] sections 4 to 6. The universe X has n rows; a possible world ω is X less one of
them. No world is ever made: each statistic f has a closed form for one row left
out and for two, over sorted values. All of this is exact, and private.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from dpdb.errors import TooLarge, Unsupported
from dpdb.plan.logical.query import DEVIATIONS, SAMPLED, Function
from dpdb.records import dataclass

Array = npt.NDArray[np.float64]
ValuePlaces = npt.NDArray[Any]
"""Places in the sorted values."""

FEWEST_ROWS = 3
"""A world less one more row must have a row left to take a mean of."""


@dataclass(frozen=True, repr=False)
class Worlds:
    """The possible worlds, grouped by the value of the row that is missing."""

    whole: float
    """f(X), over all rows."""
    missing: Array
    """The distinct values of a row, ascending."""
    counts: ValuePlaces
    """The number of rows with that value, and so of worlds that lack one of them."""
    shifts: Array
    """f(ω) - f(X); the difference keeps digits that f(ω) loses in a double."""
    local: Array
    """LS(ω), the most that f changes when one more row leaves ω."""

    @property
    def number(self) -> int:
        """n, the number of worlds and of rows in X."""
        return int(self.counts.sum())

    @property
    def answers(self) -> Array:
        """f(ω)."""
        return self.whole + self.shifts

    @property
    def sensitivity(self) -> float:
        """Δf: the largest local sensitivity over the worlds (sections 4.1 and 6)."""
        return float(self.local.max())

    @property
    def widest(self) -> float:
        """Δv: the largest distance between two worlds' answers (equation 5).

        It is at most 2·Δf: without both missing rows, X is one row less than either world.
        """
        return float(np.ptp(self.shifts))


def worlds(function: Function, values: Array, fraction: Fraction | None = None) -> Worlds:
    """The worlds of the sorted values that an aggregate counts; O(n log n) at most."""
    if len(values) < FEWEST_ROWS:
        raise Unsupported(
            f"the query counts fewer than {FEWEST_ROWS} rows",
            hint="with one missing and another one left out there must be one to ask about",
        )
    if function is Function.COUNT:
        values = np.ones(len(values))
    with np.errstate(all="ignore"):
        possible = _worlds(_statistic(function, values, fraction))
    if not np.isfinite([possible.whole, possible.sensitivity, possible.widest]).all():
        raise TooLarge("the values are too large to compute with")
    return possible


def _worlds(statistic: _Statistic) -> Worlds:
    missing, first, counts = np.unique(statistic.values, return_index=True, return_counts=True)
    shifts = statistic.without(first)
    local = np.zeros(len(first))
    for other in statistic.others(first):
        change = np.abs(shifts - statistic.without_both(first, other))
        local = np.maximum(local, np.where(other == first, 0.0, change))
    return Worlds(statistic.whole, missing, counts, shifts, local)


@dataclass(frozen=True, repr=False)
class _Statistic(ABC):
    """f over sorted values; the methods give differences from `whole`."""

    values: Array

    @property
    @abstractmethod
    def whole(self) -> float:
        """f(X)."""

    @abstractmethod
    def without(self, left_out: ValuePlaces) -> Array:
        """f(X - x) - f(X)."""

    @abstractmethod
    def without_both(self, left_out: ValuePlaces, other: ValuePlaces) -> Array:
        """f(X - x - y) - f(X)."""

    def others(self, left_out: ValuePlaces) -> Iterator[ValuePlaces]:
        """Candidates y for the row that changes f(X - x) most; some may be x itself.

        By default these are the smallest and the greatest rows, where f is monotone in y.
        """
        n = len(self.values)
        for place in (0, 1, n - 2, n - 1):
            yield np.full_like(left_out, place)


class _Sum(_Statistic):
    """Each row leaves with its own value."""

    @property
    def whole(self) -> float:
        return float(self.values.sum())

    def without(self, left_out: ValuePlaces) -> Array:
        return -self.values[left_out]

    def without_both(self, left_out: ValuePlaces, other: ValuePlaces) -> Array:
        return -(self.values[left_out] + self.values[other])


class _Centred(_Statistic):
    """A statistic computed from distances to the mean, where sums lose fewer digits."""

    @property
    def mean(self) -> float:
        return float(self.values.mean())

    @cached_property
    def distances(self) -> Array:
        return self.values - self.mean


class _Mean(_Centred):
    """(Σ - x)/(n-1) - Σ/n = (mean - x)/(n-1), and the like for two."""

    @property
    def whole(self) -> float:
        return self.mean

    def without(self, left_out: ValuePlaces) -> Array:
        return -self.distances[left_out] / (len(self.values) - 1)

    def without_both(self, left_out: ValuePlaces, other: ValuePlaces) -> Array:
        return -(self.distances[left_out] + self.distances[other]) / (len(self.values) - 2)


@dataclass(frozen=True, repr=False)
class _Spread(_Centred):
    """Variance or standard deviation; a sample of one row has none, that is 0.

    A row at distance d from the mean of m rows takes d²·m/(m-1) from the sum of
    squares: [CGL83] equation 2.1 with one row.
    """

    sample: bool
    root: bool

    @cached_property
    def squares(self) -> float:
        return float((self.distances**2).sum())

    @property
    def whole(self) -> float:
        return float(self._of(np.array(self.squares), len(self.values)))

    def without(self, left_out: ValuePlaces) -> Array:
        return self._of(self._less(left_out), len(self.values) - 1) - self.whole

    def without_both(self, left_out: ValuePlaces, other: ValuePlaces) -> Array:
        n = len(self.values)
        away = self.distances[other] + self.distances[left_out] / (n - 1)
        left = self._less(left_out) - away**2 * (n - 1) / (n - 2)
        return self._of(left, n - 2) - self.whole

    def others(self, left_out: ValuePlaces) -> Iterator[ValuePlaces]:
        """The ends and the rows beside the mean: the change is monotone in the distance to it."""
        yield from super().others(left_out)
        n = len(self.values)
        middle = np.searchsorted(self.distances, -self.distances[left_out] / (n - 1))
        for step in (-2, -1, 0, 1):
            yield np.clip(middle + step, 0, n - 1)

    def _less(self, left_out: ValuePlaces) -> Array:
        n = len(self.values)
        return self.squares - self.distances[left_out] ** 2 * n / (n - 1)

    def _of(self, squares: Array, rows: int) -> Array:
        # What rounding leaves of nothing may be below zero.
        variance = np.maximum(squares, 0.0) / max(rows - self.sample, 1)
        return np.sqrt(variance) if self.root else variance


@dataclass(frozen=True, repr=False)
class _Quantile(_Statistic):
    """Between the two values around the place fraction·(m-1) among m, from 0.

    With 1/2 the paper's median (equation 13), with 0 and 1 the ends.
    """

    fraction: Fraction

    @property
    def whole(self) -> float:
        return float(self._of_all_but())

    def without(self, left_out: ValuePlaces) -> Array:
        return self._of_all_but(left_out) - self.whole

    def without_both(self, left_out: ValuePlaces, other: ValuePlaces) -> Array:
        lower, upper = np.minimum(left_out, other), np.maximum(left_out, other)
        return self._of_all_but(lower, upper) - self.whole

    def _of_all_but(self, *left_out: ValuePlaces) -> Array:
        """The quantile without the rows at these places, the lower first."""
        place = self.fraction * (len(self.values) - len(left_out) - 1)
        below, above, part = np.array(int(place)), np.array(int(place) + 1), float(place % 1)
        for row in left_out:
            below, above = below + (below >= row), above + (above >= row)
        # At the end there is no next value, and no part of the way to it.
        ends = self.values[below], self.values[np.minimum(above, len(self.values) - 1)]
        return np.asarray(ends[0] + part * (ends[1] - ends[0]))


def _statistic(function: Function, values: Array, fraction: Fraction | None) -> _Statistic:
    match function:
        case Function.COUNT | Function.SUM:
            return _Sum(values)
        case Function.AVG:
            return _Mean(values)
        case Function.MIN:
            return _Quantile(values, Fraction(0))
        case Function.MAX:
            return _Quantile(values, Fraction(1))
        case Function.QUANTILE if fraction is not None:
            return _Quantile(values, fraction)
        case Function.VAR_SAMP | Function.VAR_POP | Function.STDDEV_SAMP | Function.STDDEV_POP:
            sample = function in SAMPLED
            root = function in DEVIATIONS
            return _Spread(values, sample, root)
    raise Unsupported(f"the possible worlds of {function.upper()} are not worked out")
