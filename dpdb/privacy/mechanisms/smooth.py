"""Laplace noise in proportion to a smooth bound of the local sensitivity."""

from __future__ import annotations

from fractions import Fraction
from functools import cached_property
from typing import ClassVar

from dpdb.privacy.accounting.composition import log_inverse
from dpdb.privacy.accounting.loss import Loss
from dpdb.records import dataclass

_SMOOTH_SLACK = Fraction(1, 2**40)
"""A bound on the relative rounding error of a smooth sensitivity and of its noise scale."""
_LEAST_SCALE = Fraction(1, 2**7)
"""The least scale, in grid steps: its noise differs from 0 with probability at most exp(-64)."""


@dataclass(frozen=True)
class Smooth:
    """Laplace noise of scale 2S/ε, for a β-smooth upper bound S of the local sensitivity.

    It is (ε, δ)-DP for any ε > 0 and 0 < δ < 1 ([NRS07] Lemmas 2.6 and 2.9). Between neighbours
    the noise changes its scale by a factor e^λ with |λ| <= β, and its centre by at most S. The move
    of the centre costs at most ε/2. For noise of z times its scale, the change of scale costs
    (e^λ - 1)|z| - λ, which is at most ε/2 (see `beta`) while |z| <= L = max(1, ln(2/δ)); a larger
    |z| has probability at most δ/2.
    """

    name: ClassVar[str] = "smooth laplace"
    title: ClassVar[str] = "Laplace noise of smooth sensitivity"
    changes: ClassVar[str] = "smooth: read off the rows, and as secret as they are"
    formula: ClassVar[str] = ""
    nearness: ClassVar[str] = "in proportion to the smooth sensitivity"
    sensitivity: ClassVar[None] = None
    scale: ClassVar[None] = None
    """Sensitivity and scale are read off the rows, and secret: see `scale_of`."""
    fraction: Fraction
    """The order statistic: 0 is the least value, 1/2 the lower median, 1 the greatest value."""
    epsilon: Fraction
    delta: Fraction
    rows_per_unit: int = 1
    groups_per_unit: int = 1
    """The number of groups that the rows of one unit can be in, or move between.

    ε and δ are divided evenly among these groups.
    """

    @cached_property
    def beta(self) -> Fraction:
        """The most that ln S may change between neighbours: ε / (2L + max(0, ε - 2)), less slack.

        [NRS07] has ε/2L, for ε < 1. For ε > 2 this may be too large: the cost of a change of scale
        is largest at λ = β <= 1, and is at most ε/2 there because e^β <= 1 + β/(1 - β/2) and
        L >= 1. Where there is no room for the slack β is 0, which makes S the global sensitivity.
        """
        epsilon = self.epsilon / self.groups_per_unit
        logarithm = log_inverse(self.delta / (2 * self.groups_per_unit))
        beta = epsilon / (2 * max(logarithm, Fraction(1)) + max(epsilon - 2, Fraction(0)))
        return beta - _SMOOTH_SLACK if beta > 2 * _SMOOTH_SLACK else Fraction(0)

    def scale_of(self, sensitivity: Fraction) -> Fraction:
        """The noise scale 2S/ε for a computed S, rounded up, in grid steps; it must stay secret.

        S has a relative error of at most 2^-44, and sources of noise round scales up by at most
        2^-52. The slack here keeps the scale from falling below 2S/ε; the slack in β covers the
        rounding of ln S. A least scale is sound: a constant is β-smooth, and so is the maximum of
        two β-smooth bounds.
        """
        scale = 2 * sensitivity * (1 + _SMOOTH_SLACK) * self.groups_per_unit / self.epsilon
        return max(scale, _LEAST_SCALE)

    def largest_scale(self, grid: tuple[int, int]) -> Fraction:
        """The scale for the global sensitivity of the `grid` (lowest, highest point); it is public.

        Noise of scales up to 2^55 can be drawn.
        """
        low, high = grid
        return self.scale_of(Fraction(high - low))

    @property
    def spread(self) -> float:
        """A number that falls as ε grows, to compare plans by."""
        return float(1 / self.epsilon)

    @property
    def loss(self) -> Loss:
        """The privacy loss: (ε, δ)-DP is ε-DP outside events of probability δ.

        So it is δ-approximately ½ε²-zCDP ([BS16] Definition 8.1 and Proposition 1.4).
        """
        return Loss(self.epsilon, self.delta, self.epsilon**2 / 2, self.delta)
