"""The budget under each composition theorem: what a query gets, and when it is used up.

Under `advanced` and `zcdp` half of δ is the theorem's own, the other half is for releases that
need a δ themselves.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, cached_property

from dpdb.policy.budget import Budget, Composition
from dpdb.privacy.accounting.composition import ComposedLoss, advanced, concentrated, sequential
from dpdb.privacy.accounting.loss import pure
from dpdb.privacy.accounting.zcdp import concentrated_rho

_DIGITS = 9
"""Decimal digits of a computed share: as many as anybody wants to read."""
_STEP = Fraction(1, 2**29)
"""The least, relatively, by which an ε that is converted from ρ is over another."""


@dataclass(frozen=True)
class BudgetShare:
    """What a query, or a part of one, may spend.

    `epsilon` is what one Laplace release may have. Where shares are `concentrated` it stands
    for ρ = ε²/2, and it is squares that add up.
    """

    epsilon: Fraction
    delta: Fraction = Fraction(0)
    concentrated: bool = False

    def part(self, part: Fraction) -> BudgetShare:
        """`part` of it; parts that add up to 1 spend no more than all of it."""
        epsilon = self.epsilon * part
        if self.concentrated and part != 1:
            epsilon = _root(self.epsilon**2 * part)
        return BudgetShare(epsilon, self.delta * part, self.concentrated)


@dataclass(frozen=True)
class Accountant(ABC):
    """What a budget covers."""

    budget: Budget

    @property
    def slack(self) -> Fraction:
        """The part of δ that the theorem itself needs."""
        return self.budget.delta / 2

    @property
    def delta(self) -> Fraction:
        """The part of δ that is there for releases."""
        return self.budget.delta - self.slack

    @cached_property
    def share(self) -> BudgetShare:
        """What each of the k queries gets if all get the same: the most that fits."""
        return self._share()

    def _share(self) -> BudgetShare:
        queries = self.budget.queries

        def fits(epsilon: Fraction) -> bool:
            one = ComposedLoss.of(pure(epsilon))
            return self.covers(ComposedLoss(*(queries * part for part in one.parts)))

        epsilon = _largest(fits, self.budget.epsilon)
        return BudgetShare(epsilon, self.delta / queries)

    @abstractmethod
    def epsilon(self, sums: ComposedLoss) -> Fraction:
        """The ε of all that was spent, at the budget's δ."""

    def delta_spent(self, sums: ComposedLoss) -> Fraction:
        """The δ of the releases, of `delta`."""
        return sums.delta

    def covers(self, sums: ComposedLoss) -> bool:
        """Whether all that was spent is within the budget."""
        return self.epsilon(sums) <= self.budget.epsilon and self.delta_spent(sums) <= self.delta


class Sequential(Accountant):
    """The sum of ε and the sum of δ."""

    @property
    def slack(self) -> Fraction:
        return Fraction(0)

    def _share(self) -> BudgetShare:
        queries = self.budget.queries
        return BudgetShare(self.budget.epsilon / queries, self.budget.delta / queries)

    def epsilon(self, sums: ComposedLoss) -> Fraction:
        return sequential(sums)


class Advanced(Accountant):
    """Advanced composition of the statements, or their sum where that is less.

    The loss of a session that its sum covers is within ε for certain, and of any other with
    probability 1 - slack: taking whichever is less is sound.
    """

    def _share(self) -> BudgetShare:
        even = self.budget.epsilon / self.budget.queries
        found = super()._share()
        return BudgetShare(max(even, found.epsilon), found.delta)

    def epsilon(self, sums: ComposedLoss) -> Fraction:
        return min(sequential(sums), advanced(sums, self.slack))


class Concentrated(Accountant):
    """Zero-concentrated differential privacy: ρ adds up, and is ε and δ at the end."""

    @property
    def rho(self) -> Fraction:
        """The largest ρ that is (ε, slack)-differentially private."""
        return _rho(self.budget.epsilon, self.slack)

    def _share(self) -> BudgetShare:
        found = super()._share()
        return BudgetShare(found.epsilon, found.delta, concentrated=True)

    def epsilon(self, sums: ComposedLoss) -> Fraction:
        # What is spent is compared as ρ: turned into ε both ways, it would not be exact.
        converted = concentrated(sums, self.slack)
        if sums.rho <= self.rho:
            return min(converted, self.budget.epsilon)
        return max(converted, self.budget.epsilon * (1 + _STEP))

    def delta_spent(self, sums: ComposedLoss) -> Fraction:
        return sums.rho_delta

    def covers(self, sums: ComposedLoss) -> bool:
        return sums.rho <= self.rho and self.delta_spent(sums) <= self.delta


_rho = cache(concentrated_rho)


@cache
def accountant(budget: Budget) -> Accountant:
    """The accountant that the budget's policy names."""
    match budget.composition:
        case Composition.PURE:
            return Sequential(budget)
        case Composition.ADVANCED:
            return Advanced(budget)
        case Composition.ZCDP:
            return Concentrated(budget)


def _largest(fits: Callable[[Fraction], bool], most: Fraction) -> Fraction:
    """The largest value up to `most` that fits, to _DIGITS digits, rounded down."""
    if fits(most):
        return most
    low, high = Fraction(0), most
    while high - low > high / 10 ** (_DIGITS + 1):
        middle = (low + high) / 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    unit = Fraction(10) ** (math.floor(math.log10(high)) - _DIGITS + 1)
    return low // unit * unit


def _root(square: Fraction) -> Fraction:
    """√square, rounded down by 2^-80 of itself at most."""
    top, bottom = square.numerator, square.denominator
    return Fraction(math.isqrt(top * bottom << 160), bottom << 80)
