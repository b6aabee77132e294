"""Losses added up by theorems, in formulas of the tests' own.

What is computed in doubles is taken a little too low, so that all comparisons can be exact.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from operator import add

import numpy as np
from scipy.signal import fftconvolve

ZERO = Fraction(0)
_SPARE = 1e-9
"""What is computed in doubles is taken lower by this part of itself."""


@dataclass(frozen=True)
class Lost:
    """A loss: (ε, δ), besides δ-approximately ρ-zCDP, and that of Gaussian noise."""

    forth: Fraction = ZERO
    """The most that outcomes are likelier with the one table than with the other, as logarithm."""
    back: Fraction = ZERO
    """The same, with the other than with the one: a draw may lose less one way."""
    delta: Fraction = ZERO
    rho: Fraction = ZERO
    moves: tuple[tuple[int, Fraction], ...] = ()
    """What had Gaussian noise, by how far it moved, and the variance: `epsilon` counts none."""

    @property
    def epsilon(self) -> Fraction:
        return max(self.forth, self.back)

    def __add__(self, other: Lost) -> Lost:
        return Lost(
            self.forth + other.forth,
            self.back + other.back,
            self.delta + other.delta,
            self.rho + other.rho,
            self.moves + other.moves,
        )


def total(losses: Iterable[Lost]) -> Lost:
    return reduce(add, losses, Lost())


def pure(epsilon: Fraction) -> Lost:
    return Lost(epsilon, epsilon, rho=epsilon**2 / 2)


def ranged(span: Fraction) -> Lost:
    """That of a selection whose log probability ratios lie in an interval of this length."""
    return Lost(span, span, rho=span**2 / 8)


def below(number: float) -> Fraction:
    return Fraction(number * (1 - _SPARE))


def gaussian_delta(moves: Sequence[tuple[int, Fraction]], epsilon: Fraction) -> Fraction:
    """The δ at ε of Gaussian noise on values that moved: the mean of (1 - e^(ε - L))⁺.

    Losses L are added up as whole numbers of a small step, to which each is rounded down.
    """
    if not moves:
        return ZERO
    step = math.sqrt(sum(move**2 / variance for move, variance in moves)) / 1000
    chances, least = np.ones(1), 0
    for move, variance in moves:
        deviation = math.sqrt(variance)
        # Of wide noise every so many values stand for those between.
        noise = np.arange(-4000.0, 4001) * max(1, round(deviation / 300))
        noise = noise[abs(noise) < 12 * deviation + 1]
        weights = np.exp(-(noise**2) / (2 * deviation**2))
        losses = (2.0 * noise * move + move**2) / (2 * deviation**2)
        places = np.floor(losses / step).astype(int)
        own = np.bincount(places - places.min(), weights / weights.sum())
        chances, least = fftconvolve(chances, own), least + int(places.min())
    beyond = np.arange(least, least + len(chances)) * step - float(epsilon)
    return below(max(float((chances * -np.expm1(-np.maximum(beyond, 0))).sum()) - 1e-12, 0.0))


def epsilon_by_rho(rho: Fraction, delta: Fraction) -> Fraction:
    """The ε at δ of ρ-zCDP, a little too low: the least over orders ([CKS20] Proposition 12)."""
    if not rho:
        return ZERO
    orders = 1 + np.exp(np.linspace(-12, 16, 20_001))
    logarithm = -math.log(delta) + (orders - 1) * np.log1p(-1 / orders) - np.log(orders)
    least = float((orders * float(rho) + logarithm / (orders - 1)).min())
    return below(max(least * (1 - 1e-6), 0.0))
