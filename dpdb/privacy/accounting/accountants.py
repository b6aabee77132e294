"""The accountants: what a query may spend of a budget, and what the budget covers, by theorem.

Under `advanced` and `zcdp` one half of δ is the failure probability of the theorem itself. The
other half is for releases that need a δ of their own.
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
"""The number of decimal digits of a computed share, so that it is short to print."""
_STEP = Fraction(1, 2**29)
"""The relative distance between neighbouring values of ε that are converted from ρ."""


@dataclass(frozen=True)
class BudgetShare:
    """The part of a budget that a query, or a part of a query, may spend.

    `epsilon` is the ε of a single Laplace release that spends the whole share. Where the share is
    `concentrated` it stands for ρ = ε²/2, so the squares of ε add up.
    """

    epsilon: Fraction
    delta: Fraction = Fraction(0)
    concentrated: bool = False

    def part(self, part: Fraction) -> BudgetShare:
        """This fraction of the share; fractions that add up to 1 spend at most the whole share."""
        if part == 1:
            return self
        epsilon = _root(self.epsilon**2 * part) if self.concentrated else self.epsilon * part
        return BudgetShare(epsilon, self.delta * part, self.concentrated)


@dataclass(frozen=True)
class Accountant(ABC):
    """A composition theorem applied to a budget."""

    budget: Budget

    @property
    def slack(self) -> Fraction:
        """The part of δ that is the failure probability of the theorem itself."""
        return self.budget.delta / 2

    @property
    def delta(self) -> Fraction:
        """The part of δ that releases may spend."""
        return self.budget.delta - self.slack

    @cached_property
    def share(self) -> BudgetShare:
        """The largest share that each of the budget's queries can have if all have the same."""
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
        """The ε of these sums at the budget's δ."""

    def delta_spent(self, sums: ComposedLoss) -> Fraction:
        """The δ that the releases have spent; at most `delta` may be."""
        return sums.delta

    def covers(self, sums: ComposedLoss) -> bool:
        """Whether these sums are within the budget."""
        return self.epsilon(sums) <= self.budget.epsilon and self.delta_spent(sums) <= self.delta


class Sequential(Accountant):
    """Sequential composition: the ε add up, and the δ add up."""

    @property
    def slack(self) -> Fraction:
        return Fraction(0)

    def _share(self) -> BudgetShare:
        queries = self.budget.queries
        return BudgetShare(self.budget.epsilon / queries, self.budget.delta / queries)

    def epsilon(self, sums: ComposedLoss) -> Fraction:
        return sequential(sums)


class Advanced(Accountant):
    """Advanced composition of the statements, or the sum of their ε where that is less.

    If the sum fits the budget, the session is within ε with certainty; otherwise the bound of the
    theorem holds with probability 1 - slack. So the smaller of the two is sound.
    """

    def _share(self) -> BudgetShare:
        even = self.budget.epsilon / self.budget.queries
        share = super()._share()
        return BudgetShare(max(even, share.epsilon), share.delta)

    def epsilon(self, sums: ComposedLoss) -> Fraction:
        return min(sequential(sums), advanced(sums, self.slack))


class Concentrated(Accountant):
    """Zero-concentrated differential privacy: the ρ add up, and the sum is converted to (ε, δ)."""

    @property
    def rho(self) -> Fraction:
        """The largest ρ such that ρ-zCDP implies (ε, slack)-differential privacy."""
        return _rho(self.budget.epsilon, self.slack)

    def _share(self) -> BudgetShare:
        share = super()._share()
        return BudgetShare(share.epsilon, share.delta, concentrated=True)

    def epsilon(self, sums: ComposedLoss) -> Fraction:
        # Sums are compared as ρ, because the conversion to ε is rounded. The result is at most
        # the budget's ε exactly where ρ is covered.
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
    """The largest value up to `most` that fits, rounded down to _DIGITS decimal digits."""
    if fits(most):
        return most
    low, high = Fraction(0), most
    while high - low > high / 10 ** (_DIGITS + 1):
        middle = (low + high) / 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    unit = Fraction(10) ** (math.floor(math.log10(high)) - _DIGITS + 1)
    return low // unit * unit


def _root(square: Fraction) -> Fraction:
    """√square, rounded down with a relative error of at most 2^-80."""
    top, bottom = square.numerator, square.denominator
    return Fraction(math.isqrt(top * bottom << 160), bottom << 80)
