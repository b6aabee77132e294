"""The privacy loss: a bound on what a release, or a statement, reveals about one unit."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from fractions import Fraction
from functools import reduce
from operator import add

from dpdb.records import dataclass

_ZERO = Fraction(0)


@dataclass(frozen=True)
class Loss:
    """A guarantee in the two measures that composition theorems add up.

    A release with this loss is (epsilon, delta)-differentially private ([DR14] Definition 2.4),
    and rho_delta-approximately rho-zCDP ([BS16] Definitions 1.1 and 8.1).
    """

    epsilon: Fraction = _ZERO
    delta: Fraction = _ZERO
    rho: Fraction = _ZERO
    rho_delta: Fraction = _ZERO

    @property
    def own_delta(self) -> Fraction:
        """The part of `delta` that concentrated privacy does not need: that of Gaussian noise."""
        return max(self.delta - self.rho_delta, _ZERO)

    def __add__(self, other: Loss) -> Loss:
        """The loss of both on the same rows: all four numbers add up.

        [DR14] Theorem 3.16 and [BS16] Lemma 1.7.
        """
        return Loss(
            plus(self.epsilon, other.epsilon),
            plus(self.delta, other.delta),
            plus(self.rho, other.rho),
            plus(self.rho_delta, other.rho_delta),
        )


def plus(one: Fraction, other: Fraction) -> Fraction:
    """The sum of two parts of losses: many are zero, and sums of fractions take long."""
    return one + other if one and other else one or other


def added(losses: Iterable[Loss]) -> Loss:
    """The loss of all of these on the same rows."""
    own = iter(losses)
    return reduce(add, own, next(own, Loss()))


def largest_loss(losses: Iterable[Loss]) -> Loss:
    """A loss that is at least each of these: the largest of each of the four numbers.

    Its δ is larger by so much that the δ of a Gaussian does not hide behind that of another.
    """
    each = tuple(losses)
    numbers = [(one.epsilon, one.delta, one.rho, one.rho_delta) for one in each]
    most = Loss(*map(max, zip(*numbers, strict=True)))
    own = max(one.own_delta for one in each)
    return replace(most, delta=max(most.delta, most.rho_delta + own)) if own else most


def pure(epsilon: Fraction) -> Loss:
    """The loss of an ε-DP release, which is ½ε²-zCDP ([BS16] Proposition 1.4)."""
    return Loss(epsilon, rho=epsilon**2 / 2)
