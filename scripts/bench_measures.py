"""How far drawn answers are from the exact ones: errors and intervals, with standard errors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from bench_targets import Columns, Measure, Target

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Drawn:
    """The answers to a query, and the exact one: a row for each run, a column for each value."""

    values: Floats
    lows: Floats
    """The ends of intervals; NaN, as in `highs`, where there is no such end."""
    highs: Floats
    exact: Floats
    lost: Floats
    """How many rows fewer have the value than have the commonest; 0 but for modes."""


class Measured(NamedTuple):
    """A measure of drawn answers, and its standard error."""

    value: float
    uncertain: float

    def meets(self, target: Target) -> bool:
        """Whether a target is kept, to within two standard errors.

        Some targets are what theory gives, and half of all runs lie a little above those.
        """
        slack = 2 * self.uncertain
        return target.least - slack <= self.value <= target.most + slack


def measured(drawn: Drawn, target: Target) -> Measured:
    """What a target is about, of drawn answers."""
    columns = range(drawn.values.shape[1])
    match target.of:
        case Columns.ALL:
            return _rmse((drawn.values - drawn.exact) ** 2)
        case Columns.WORST:
            return max(measured(drawn, target._replace(of=column)) for column in columns)
        case int(column):
            return _measured(drawn, target.measure, column)


def _measured(drawn: Drawn, measure: Measure, column: int) -> Measured:
    values, exact = drawn.values[:, [column]], drawn.exact[column]
    low, high = drawn.lows[:, column], drawn.highs[:, column]
    match measure:
        case Measure.RMSE:
            return _rmse((values - exact) ** 2)
        case Measure.WIDTH:
            return _median(high - low)
        case Measure.COVERAGE:
            return _mean(100.0 * ((low <= exact) & (exact <= high)))
        case Measure.LOST:
            return _mean(drawn.lost[:, column])


def _rmse(squares: Floats) -> Measured:
    mean, uncertain = _mean(squares.mean(axis=1))
    # The delta method: the standard error of a root is that of its square over twice the root.
    root = float(np.sqrt(mean))
    return Measured(root, uncertain / (2 * root) if root else 0.0)


def _mean(values: Floats) -> Measured:
    return Measured(float(values.mean()), float(values.std(ddof=1) / np.sqrt(len(values))))


def _median(values: Floats) -> Measured:
    """The standard error is half the distance of the values √n/2 places to either side."""
    places = np.array([0.5 - 0.5 / np.sqrt(len(values)), 0.5, 0.5 + 0.5 / np.sqrt(len(values))])
    below, middle, above = np.quantile(values, places).tolist()
    return Measured(middle, (above - below) / 2)
