"""Exact draws of the bracket: the half-width of the interval around a released quantile.

The same number of half-widths is weighed whatever the rows are. Slacks and distances are whole
numbers of 1/d ranks for a fraction with the denominator d, and the weights are integers.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from dpdb.privacy.bracket import Bracket
from dpdb.privacy.noise.exponential import choose, weights

if TYPE_CHECKING:
    from dpdb.privacy.noise.sorted_values import SortedValues
    from dpdb.privacy.noise.source import Noise


def select_width(
    values: SortedValues, centre: int, fraction: Fraction, mechanism: Bracket, noise: Noise
) -> int:
    """The index of the half-width that is selected for the interval around `centre`."""
    return choose(width_weights(values, centre, fraction, mechanism), noise)


def width_weights(
    values: SortedValues, centre: int, fraction: Fraction, mechanism: Bracket
) -> list[int]:
    """The integer weight of each half-width, for sorted `values`."""
    scale = fraction.denominator
    reach = np.array(mechanism.widths[:-1], dtype=np.int64)
    below = values.searchsorted(centre - reach, side="left")
    upto = values.searchsorted(centre + reach, side="right")
    middle = fraction.numerator * (len(values) - 1)
    slack = np.minimum(middle - scale * below, scale * (upto - 1) - middle)
    target = math.ceil(scale * mechanism.target)
    # Of the first half-width no slack is too large, and of the whole grid none is too small.
    above = np.concatenate(([0], slack - target))
    short = np.concatenate((target - slack, [0]))
    distances = np.maximum(0, np.maximum(above, short))
    return weights(distances, mechanism.rate / scale)
