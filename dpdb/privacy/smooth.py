"""Order statistics with noise of their smooth sensitivity.

"NRS" is Nissim, Raskhodnikova, Smith, "Smooth Sensitivity and Sampling in Private Data Analysis"
(STOC 2007, full version). The noise is as large as these rows, and rows near to them, ask for. So
its scale is as secret as they are: only what `Smooth` says of itself may be shown. The
sensitivity is worked out in `privacy.smoothing`.
"""

# ruff: noqa: PLC0415 - numpy is loaded by the first release, not from here

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

from dpdb.privacy.composition import log_inverse
from dpdb.privacy.loss import Loss

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from dpdb.privacy.noise import Noise

_SLACK = Fraction(1, 2**40)
"""More than rounding can change a sensitivity and the scale of its noise, relatively."""
_LEAST_SCALE = Fraction(1, 2**7)
"""In steps of the grid: noise of this scale is other than 0 with probability exp(-64) at most."""


@dataclass(frozen=True)
class Smooth:
    """Laplace noise of scale 2S/ε, for a β-smooth upper bound S of the local sensitivity.

    (ε, δ)-DP (NRS Lemmas 2.6 and 2.9), for any ε > 0 and 0 < δ < 1. From one neighbour to the
    other the noise first changes its scale, by a factor e^λ with |λ| <= β, and then moves by at
    most S, which costs ε/2 whatever the noise is. Where the noise is z times its scale, the change
    of scale costs (e^λ - 1)|z| - λ: at most ε/2 (see `beta`) while |z| <= L = max(1, ln(2/δ)),
    and beyond it lies a probability of δ/2 at most.
    """

    name: ClassVar[str] = "smooth laplace"
    fraction: Fraction
    """Which order statistic: 0 is the least value, 1/2 the lower median, 1 the greatest."""
    epsilon: Fraction
    delta: Fraction
    rows_per_unit: int = 1
    cells_per_unit: int = 1
    """How many cells one unit's rows can be in, or move between. Each has its part of ε and δ."""

    @property
    def beta(self) -> Fraction:
        """How far ln S may move between neighbours: ε / (2L + max(0, ε - 2)), less the slack.

        NRS have ε/2L, for ε < 1. For ε > 2 that may be too much: the cost of a change of scale is
        largest at λ = β <= 1, and within ε/2 there by e^β <= 1 + β/(1 - β/2) and L >= 1. For want
        of room for the slack it is 0, which makes S the global sensitivity.
        """
        epsilon = self.epsilon / self.cells_per_unit
        logarithm = log_inverse(self.delta / (2 * self.cells_per_unit))
        beta = epsilon / (2 * max(logarithm, Fraction(1)) + max(epsilon - 2, Fraction(0)))
        return beta - _SLACK if beta > 2 * _SLACK else Fraction(0)

    def scale(self, sensitivity: Fraction) -> Fraction:
        """2S/ε for a computed S, and a little more, in steps of the grid: not to be shown.

        S is computed to 2^-44 of itself and sources of noise round scales up by 2^-52 at most. The
        slack here keeps the scale from falling below 2S/ε, the slack in β is for what rounding
        adds to its logarithm. A least scale is sound: a constant is smooth, and so is a maximum.
        """
        scale = 2 * sensitivity * (1 + _SLACK) * self.cells_per_unit / self.epsilon
        return max(scale, _LEAST_SCALE)

    def largest_scale(self, grid: tuple[int, int]) -> Fraction:
        """The scale for the worst of rows, which is public; up to 2^55 it can be drawn."""
        low, high = grid
        return self.scale(Fraction(high - low))

    @property
    def loss(self) -> Loss:
        """The privacy loss: (ε, δ)-DP is ε-DP but for events of probability δ.

        So it is δ-approximate ½ε²-zCDP (Bun and Steinke 2016, Definition 8.1 and Proposition 1.4).
        """
        return Loss(self.epsilon, self.delta, self.epsilon**2 / 2, self.delta)


def reveal(
    values: npt.NDArray[np.int64], grid: tuple[int, int], mechanism: Smooth
) -> tuple[int, Fraction]:
    """The order statistic of sorted `values` and the scale of its noise: both are secret."""
    from dpdb.privacy.smoothing import order_statistic, smooth_sensitivity

    rows = mechanism.rows_per_unit
    sensitivity = smooth_sensitivity(values, grid, mechanism.fraction, mechanism.beta, rows)
    statistic = order_statistic(values, grid, mechanism.fraction)
    return statistic, mechanism.scale(Fraction(sensitivity))


def release(
    values: npt.NDArray[np.int64], grid: tuple[int, int], mechanism: Smooth, noise: Noise
) -> int:
    """The noisy order statistic of sorted `values`, within the grid."""
    statistic, scale = reveal(values, grid, mechanism)
    return min(max(statistic + rounded_laplace(scale, noise), grid[0]), grid[1])


def rounded_laplace(scale: Fraction, noise: Noise) -> int:
    """Z ~ Laplace(scale), which is continuous, rounded to the nearest integer: exactly.

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
