"""Local sensitivities, as in [EGS]: read off the data.

Δf(D) = max |f(D) - f(D')| over D' = D less one row ([EGS] equation 5). The scale of such noise
is itself a function of the rows, so answers with it are not differentially private: only
teaching mode uses it.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from dpdb.plan.query import COUNTS, DEVIATIONS, SAMPLED, Function

Array = npt.NDArray[np.float64]


def statistic(function: Function, values: Array, fraction: float = 0.5) -> float:
    """The exact statistic f(D) of the sorted values; NaN where it needs a value and has none."""
    if not len(values) and function not in COUNTS:
        return math.nan
    match function:
        case Function.COUNT:
            return len(values)
        case Function.COUNT_DISTINCT:
            return len(np.unique(values))
        case Function.SUM:
            return float(values.sum())
        case Function.AVG:
            return float(values.mean())
        case Function.MIN:
            return float(values[0])
        case Function.MAX:
            return float(values[-1])
        case Function.QUANTILE:
            return float(np.quantile(values, fraction))
        case Function.MODE:
            distinct, counts = np.unique(values, return_counts=True)
            return float(distinct[counts.argmax()])
    return _variance_or_deviation(function, values)


def sensitivity(function: Function, values: Array, fraction: float = 0.5) -> float:
    """Δf(D) in closed form, in O(n) for n sorted values.

    A file of one row has none left without it; there Δf is the size of that row's value, as in
    the paper.
    """
    if function in COUNTS:
        return 1.0
    if len(values) == 1:
        return abs(float(values[0]))
    match function:
        case Function.SUM:
            # Equation 7 says max(D); where values can be negative it is max |d|.
            return float(np.abs(values).max())
        case Function.AVG:
            # Equation 8: Σ/n - (Σ-d)/(n-1) = (d - mean)/(n-1).
            return float(np.abs(values - values.mean()).max() / (len(values) - 1))
        case Function.MAX:
            return float(values[-1] - values[-2])
        case Function.MIN:
            return float(values[1] - values[0])
        case Function.QUANTILE:
            return _of_quantile(values, fraction)
        case Function.MODE:
            return float(values[-1] - values[0])
    return _of_variance(function, values)


def _of_quantile(values: Array, fraction: float) -> float:
    """Δf of a quantile: after [LC11] equation 15.

    Leaving out a row moves the values above it down by one place, so only the rows at the
    quantile's place and beside it change the quantile differently.
    """
    place = int(fraction * (len(values) - 1))
    around = {0, len(values) - 1, *range(max(0, place - 2), min(len(values), place + 4))}
    whole = np.quantile(values, fraction)
    left_out = [np.quantile(np.delete(values, i), fraction) for i in around]
    return float(max(abs(whole - without) for without in left_out))


def _of_variance(function: Function, values: Array) -> float:
    """Δf of a variance or standard deviation.

    Leaving out d takes n/(n-1)·(d - mean)² from the sum of squares. The change is monotone in
    that square, so it is greatest for a row nearest to the mean or farthest from it.
    """
    place = int(np.searchsorted(values, values.mean()))
    around = {0, len(values) - 1, max(place - 1, 0), min(place, len(values) - 1)}
    whole = _variance_or_deviation(function, values)
    return max(abs(whole - _variance_or_deviation(function, np.delete(values, i))) for i in around)


def _variance_or_deviation(function: Function, values: Array) -> float:
    """The variance or the standard deviation; 0 for one row."""
    sample = function in SAMPLED
    squares = float(((values - values.mean()) ** 2).sum())
    variance = squares / max(len(values) - 1 if sample else len(values), 1)
    deviation = function in DEVIATIONS
    return math.sqrt(variance) if deviation else variance
