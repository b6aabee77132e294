"""The release of order statistics with noise of their smooth sensitivity ([NRS07]).

The scale of the noise depends on the rows, so it is as secret as the rows: only the properties of
`mechanisms.smooth.Smooth` may be shown.

Let x_1 … x_n be the sorted rows, x_i = low (the least grid point) for i < 1, and x_i = high (the
greatest) for i > n. Let m be the place of the statistic among the rows; if there are no rows, m is
0 and the statistic is the middle of the grid. Let

    B_k(x) = max of x_(i+k+1) - x_i over windows with i <= m <= i+k+1.

Let y be x after one row entered, left or changed, with its statistic at place m'.

1. y_m' is between x_(m-1) and x_(m+1), so the statistic moves by at most B_0(x). After r changes
   it is between x_(m-r) and x_(m+r), so it moves by at most B_(r-1)(x).
2. B_k(x) <= B_(k+1)(y). If a row entered, or one became smaller, then y_i <= x_i <= y_(i+1) for
   all i, and m' is m or m+1. So the window of y from i to i+k+2 contains m' and is at least as wide
   as the window of x from i to i+k+1. If a row left, or became larger, the same holds for the
   window of y from i-1 to i+k+1.

So max_k e^(-βk)·B_k is a β-smooth upper bound of the local sensitivity ([NRS07] Definition 2.1),
and for units of r rows so is max_j e^(-βj)·B_(r(j+1)-1). Where rows are replaced and their number
stays, B_k(x) is the largest local sensitivity within k changes of x, so the bound is the smooth
sensitivity itself, the least such bound ([NRS07] Proposition 3.4, for the median).
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from dpdb.privacy.mechanisms.smooth import Smooth

if TYPE_CHECKING:
    import numpy.typing as npt

    from dpdb.privacy.noise.protocols import Noise, SortedValues

    Doubles = npt.NDArray[np.float64]


def statistic_and_scale(
    values: SortedValues, grid: tuple[int, int], mechanism: Smooth
) -> tuple[int, Fraction]:
    """The order statistic of sorted `values` and the scale of its noise: both are secret."""

    rows = mechanism.rows_per_unit
    sensitivity = smooth_sensitivity(values, grid, mechanism.fraction, mechanism.beta, rows)
    statistic = order_statistic(values, grid, mechanism.fraction)
    return statistic, mechanism.scale_of(Fraction(sensitivity))


def release(values: SortedValues, grid: tuple[int, int], mechanism: Smooth, noise: Noise) -> int:
    """The noisy order statistic of sorted `values`, within the grid."""
    statistic, scale = statistic_and_scale(values, grid, mechanism)
    return min(max(statistic + rounded_laplace(scale, noise), grid[0]), grid[1])


def rounded_laplace(scale: Fraction, noise: Noise) -> int:
    """A continuous Laplace(scale) value Z, rounded to the nearest integer; sampled exactly.

    Let r = exp(-1/(2·scale)) and h = floor(2Z). Given Z >= 0, P(h = g) ∝ r^g; given Z < 0,
    P(-1-h = g) ∝ r^g; and Z is nearest to floor(Z + 1/2) = floor((h + 1)/2).
    A discrete Laplace x of twice the scale has P(x) ∝ r^|x|, so that g = max(x, -1-x) has
    P(g) ∝ r^g + r^(g+1) ∝ r^g.
    """
    (x,) = noise.laplace(2 * scale, 1).tolist()
    half = max(x, -1 - x)
    if noise.below(2):
        half = -1 - half
    return int(half + 1) // 2


NEGLIGIBLE = 2.0**-64
"""Sensitivities below this part of a grid step may be computed as 0."""


def order_statistic(values: SortedValues, grid: tuple[int, int], fraction: Fraction) -> int:
    """The value at the place of the `fraction`-quantile; the middle of the grid for no values."""
    if len(values) == 0:
        return sum(grid) // 2
    return int(values[_place(len(values), fraction) - 1])


def _place(number: int, fraction: Fraction) -> int:
    """The place ceil(fraction·n), from 1 to n; 0 if n is 0. One more row moves it by 0 or 1."""
    return max(math.ceil(fraction * number), min(number, 1))


def smooth_sensitivity(
    values: SortedValues,
    grid: tuple[int, int],
    fraction: Fraction,
    beta: Fraction,
    rows_per_unit: int = 1,
) -> float:
    """max_j e^(-βj)·B_(r(j+1)-1) of sorted values, in grid steps, for r = `rows_per_unit`.

    It takes O(n log n). The result has a relative error of at most 2^-44, or is below 2^-64. Values
    are up to 2^53 and their differences up to 2^54, so exponents that matter are below
    (54 + 64)·ln 2 < 82. An exponent has a relative error of 2^-53; every other operation (an
    exponential, a difference, a sum, a product) adds a few times 2^-53, and `_search` less than
    2^-45. Together this is less than 2^-44.
    """
    low, high = grid
    number, rate, r = len(values), float(beta), rows_per_unit
    if number < r or not rate or low == high:
        return float(high - low)
    m = _place(number, fraction)
    reach = _reach(values, grid, m, rate, r)
    # Windows of r, 2r, … steps begin at m - c - ru and end at m - c + rv, for c < r, u >= 0 and
    # v >= 1; or, for c = 0, they end at m itself.
    below = np.full(r * min(math.ceil(m / r) + 1, reach), low, dtype=np.int64)
    above = np.full(r * min(math.ceil((number - m) / r) + 1, reach), high, dtype=np.int64)
    left = np.asarray(values[max(0, m - len(below)) : m])
    right = np.asarray(values[m : m + len(above)])
    below[: len(left)] = left[::-1]
    above[: len(right)] = right
    middle = below[0]
    down = (middle - below).astype(np.float64).reshape(-1, r)
    up = (above - middle).astype(np.float64).reshape(-1, r)[:, ::-1]
    fade = np.exp(-rate * np.arange(max(len(down), len(up))))
    to_the_middle = down[1:, 0] * fade[: len(down) - 1]
    return max(float(to_the_middle.max(initial=0.0)), _search(down, up, fade))


def _reach(values: SortedValues, grid: tuple[int, int], m: int, rate: float, r: int) -> int:
    """The steps of r rows, to either side, that a window that decides the maximum can reach.

    Windows of 1, 2, 4, … steps to one side, and to both sides, give a lower bound of the
    sensitivity. A window of j steps is too wide if e^(-βj)·(high - low) is below this bound.
    """
    (low, high), number = grid, len(values)

    def at(i: int) -> int:
        return low if i < 1 else high if i > number else int(values[i - 1])

    least, steps = NEGLIGIBLE, 1
    while r * steps <= 2 * number:
        down, up = at(m) - at(m - r * steps), at(m + r * steps) - at(m)
        fade = math.exp(-rate * (steps - 1))
        least = max(least, max(down, up, (down + up) * math.exp(-rate * steps)) * fade)
        steps *= 2
    return math.ceil(math.log((high - low) / least) / rate) + 2


def _search(down: Doubles, up: Doubles, fade: Doubles) -> float:
    """The largest (down[u, c] + up[v, c])·fade[u + v], where fade[u + v] = fade[u]·fade[v].

    Both grow along their columns and are at least 0, so that for u < u' and v < v'

        (down[u] + up[v])·(down[u'] + up[v']) <= (down[u] + up[v'])·(down[u'] + up[v])

    and the best v never grows with u. So the best v of a u lies between the best v of a smaller and
    of a larger u, and the search for all u halfway between known ones takes O(n) together ([NRS07]
    search in this way for the median). By the same inequality, a choice that rounding makes worse
    than the best excludes only choices that are better by no more: two roundings on each side make
    4·2^-53, and forty halvings less than 2^-45. Where all scores are 0 every choice is best.
    """
    rows, columns = down.shape
    stride = 1 << (rows.bit_length() - 1)
    best = np.zeros((2 * stride + 1, columns), dtype=np.int64)
    best[0] = last = len(up) - 1
    largest = 0.0
    while stride:
        places = np.arange(stride, rows + 1, 2 * stride)  # u + 1; places beyond have best 0
        first, final = best[places + stride], best[places - stride]
        lengths = (final - first + 1).ravel()
        ends = lengths.cumsum()
        owner = np.repeat(np.arange(lengths.size), lengths)
        v = np.arange(ends[-1]) - np.repeat(ends - lengths - first.ravel(), lengths)
        scores = (down[places - 1].ravel()[owner] + up[v, owner % columns]) * fade[v]
        peaks = np.maximum.reduceat(scores, ends - lengths)
        chosen = np.minimum.reduceat(np.where(scores == peaks[owner], v, last), ends - lengths)
        best[places] = chosen.reshape(first.shape)
        largest = max(largest, float((peaks.reshape(first.shape).T * fade[places - 1]).max()))
        stride //= 2
    return largest
