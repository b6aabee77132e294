"""The release of order statistics with noise of their smooth sensitivity ([NRS07]).

The scale of the noise depends on the rows, so it is as secret as the rows: only the properties of
`mechanisms.Smooth` may be shown. `noise.smooth_sensitivity` computes the sensitivity.
"""

# ruff: noqa: PLC0415 - numpy is loaded by the first release, not from here

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from dpdb.privacy.mechanisms import Smooth

if TYPE_CHECKING:
    from dpdb.privacy.noise.sorted_values import SortedValues
    from dpdb.privacy.noise.source import Noise


def statistic_and_scale(
    values: SortedValues, grid: tuple[int, int], mechanism: Smooth
) -> tuple[int, Fraction]:
    """The order statistic of sorted `values` and the scale of its noise: both are secret."""
    from dpdb.privacy.noise.smooth_sensitivity import order_statistic, smooth_sensitivity

    rows = mechanism.rows_per_unit
    sensitivity = smooth_sensitivity(values, grid, mechanism.fraction, mechanism.beta, rows)
    statistic = order_statistic(values, grid, mechanism.fraction)
    return statistic, mechanism.scale(Fraction(sensitivity))


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
