"""Partition selection: keys found in the data are shown if enough units have them ([DVGM22]).

The number n of units that have a key gets noise X, and the key is shown where n + X > k, with n + X
as its number of units. X is discrete Laplace noise of scale 1/ε, cut to |X| <= k:

    P(X = x) = p^|x| · (1 - p) / (1 + p - 2·p^(k+1))  for p = e^-ε,

where k is the least whole number with P(X = k) <= δ. That is the truncated geometric noise of
[DVGM22], which shows a key as often as any (ε, δ) mechanism can, up to one unit.

Privacy, for one key and a unit that enters: n becomes n + 1. For each outcome but two the
probability changes by the factor p or 1/p, as these are the same x, moved by one, of the same law.
The two are the greatest outcome that n + 1 can have, n + 1 + k, and the least that n can have,
n - k. Each has the probability P(X = k) <= δ, or is hidden together with others. Without these
events of probability δ the outcomes are within e^ε of each other: so the mechanism is (ε, δ)-DP,
and δ-approximately ½ε²-zCDP ([BS16] Definition 8.1 and Proposition 1.4). A key that nobody has is
never shown, as X <= k: it needs no draw, and nobody has to know which keys there could be.

Where a policy or a query says that no key of fewer than m units is shown, n stands for
max(units - (m - 1), 0), which one unit changes by one at most, and the number shown is larger by
m - 1. So a key of m - 1 units is as hidden as one that nobody has, whatever the noise, and one is
shown from k + m units on: δ pays for the cut as before ([DVGM22]; offices of statistics ask for
both rules, [MTTH26]).

A unit has at most `groups` keys, and so moves so many of these numbers by one each. What all of
them lose adds up.
"""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import ClassVar

from dpdb.privacy.accounting.loss import Loss
from dpdb.privacy.mechanisms.laplace import Laplace, short_scale
from dpdb.records import dataclass

_DIGITS = 60
_DOWN = Context(prec=_DIGITS, rounding=ROUND_FLOOR, Emax=10**9, Emin=-(10**9))
_UP = Context(prec=_DIGITS, rounding=ROUND_CEILING, Emax=10**9, Emin=-(10**9))


@dataclass(frozen=True)
class Threshold:
    """Shows the keys that enough units have, each with its noisy number of units."""

    name: ClassVar[str] = "threshold"
    title: ClassVar[str] = "a threshold on noisy numbers of units"
    changes: ClassVar[str] = "the most {} can change the numbers of units of all keys"
    formula: ClassVar[str] = "1/ε of one key"
    group_epsilon: Fraction
    """The ε of one key."""
    group_delta: Fraction
    """The δ of one key."""
    groups: int = 1
    """The most keys that one unit can have, or under `replace` lose and gain."""
    least_units: int = 1
    """A key with fewer units than this is never shown."""

    @cached_property
    def scale(self) -> Fraction:
        """The scale of the noise before the cut: 1/ε, rounded up."""
        return short_scale(self.group_epsilon)

    @property
    def spread(self) -> float:
        """The scale, in units, to compare plans by."""
        return float(self.scale)

    @cached_property
    def cut(self) -> int:
        """The largest noise k: the least whole number with P(X = k) <= δ."""
        near = float(self.scale) * math.log1p(_ratio(float(self.scale)) / float(self.group_delta))
        low, high = 0, max(1, round(near))
        while _largest_probability(self.scale, high) > self.group_delta:
            low, high = high, 2 * high
        while high - low > 1:
            middle = (low + high) // 2
            enough = _largest_probability(self.scale, middle) <= self.group_delta
            low, high = (low, middle) if enough else (middle, high)
        return high

    @property
    def shown_from(self) -> int:
        """With so many units a key is more likely to be shown than not."""
        return self.cut + self.least_units

    @property
    def surely_from(self) -> int:
        """With so many units a key is always shown."""
        return 2 * self.cut + self.least_units

    def shown(self, units: str) -> str:
        """The keys that are shown, in words."""
        return f"about {self.shown_from} or more {units}, and all with {self.surely_from} or more"

    @property
    def sensitivity(self) -> int:
        """The most that one unit can move the numbers of all keys, added up."""
        return self.groups

    @property
    def noise(self) -> Laplace:
        """The noise before the cut, which is as often as far from zero as the cut one, or oftener.

        Both laws are symmetric and fall on either side, so that this holds of sums of such noises,
        too ([Bir48] Theorem 1).
        """
        return Laplace(1, 1 / self.scale)

    @cached_property
    def loss(self) -> Loss:
        """The loss of all keys that a unit can have."""
        epsilon, delta = self.group_epsilon * self.groups, self.group_delta * self.groups
        return Loss(epsilon, delta, self.group_epsilon**2 / 2 * self.groups, delta)


def _ratio(scale: float) -> float:
    """About (1 - p)/(1 + p), the probability of no noise."""
    return math.tanh(1 / (2 * scale))


@lru_cache(maxsize=4096)
def _largest_probability(scale: Fraction, cut: int) -> Fraction:
    """P(X = cut), rounded up."""
    low = _power(scale, 1, _DOWN)
    most, further = _power(scale, cut, _UP), _power(scale, cut + 1, _UP)
    return most * (1 - low) / (1 + low - 2 * further)


def _power(scale: Fraction, times: int, rounded: Context) -> Fraction:
    """e^(-times/scale), rounded down or up.

    `Decimal.exp` rounds to the nearest, so one more unit in the last digit is a bound.
    """
    upwards = rounded is _UP
    exponent = (_DOWN if upwards else _UP).divide(
        Decimal(times * scale.denominator), Decimal(scale.numerator)
    )
    power = rounded.exp(exponent.copy_negate())
    return Fraction(rounded.next_plus(power) if upwards else rounded.next_minus(power))
