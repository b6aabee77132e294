"""The accountants: what a query may spend of a budget, and what the budget covers, by theorem.

Under `zcdp` nine tenths of δ are the failure probability of the theorem itself. The other tenth is
for releases that need a δ of their own.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import cache, cached_property

from dpdb.policy.budget import Budget, Composition
from dpdb.privacy.accounting.composition import (
    ComposedLoss,
    Theorem,
    concentrated,
    concentrated_rho,
    sequential,
)
from dpdb.privacy.accounting.loss import pure
from dpdb.records import dataclass

_DIGITS = 9
"""The number of decimal digits of a computed share, so that it is short to print."""
_STEP = Fraction(1, 2**29)
"""The relative distance between neighbouring values of ε that are converted from ρ."""
_RESERVED = Fraction(1, 10)
"""The part of δ that zCDP leaves to releases: only those of smooth sensitivity need any."""
_MORE_THAN_ALL = Fraction(10**100)
"""The part that is taken of nothing."""


@dataclass(frozen=True)
class BudgetShare:
    """The part of a budget that a query, or a part of a query, may spend.

    `epsilon` is the ε of a single Laplace release that spends the whole share. Where the share is
    `concentrated` it stands for ρ = ε²/2, so the squares of ε add up.
    """

    epsilon: Fraction
    delta: Fraction = Fraction(0)
    concentrated: bool = False

    @property
    def loss(self) -> ComposedLoss:
        """The loss of a Laplace release that spends the whole share."""
        return ComposedLoss.of(pure(self.epsilon))

    @property
    def variance(self) -> Fraction:
        """About the variance of the noise on a count that has the whole share.

        Noise is Gaussian where the share is concentrated, and Laplace elsewhere.
        """
        return (1 if self.concentrated else 2) / self.epsilon**2

    def __add__(self, other: BudgetShare) -> BudgetShare:
        """Both shares as one: their ε add up, or where they are concentrated the squares of ε."""
        if self.concentrated != other.concentrated:
            raise ValueError("shares by different theorems do not add up")
        epsilon = self.epsilon + other.epsilon
        if self.concentrated:
            epsilon = _root(self.epsilon**2 + other.epsilon**2)
        return BudgetShare(epsilon, self.delta + other.delta, self.concentrated)

    def part(self, part: Fraction) -> BudgetShare:
        """This fraction of the share; fractions that add up to 1 spend at most the whole share."""
        if part == 1:
            return self
        epsilon = _root(self.epsilon**2 * part) if self.concentrated else self.epsilon * part
        return BudgetShare(epsilon, self.delta * part, self.concentrated)


@dataclass(frozen=True)
class Accountant(ABC):
    """The composition theorems that apply to a budget."""

    budget: Budget

    @property
    @abstractmethod
    def slack(self) -> Fraction:
        """The part of δ that is the failure probability of a theorem itself."""

    @cached_property
    def delta(self) -> Fraction:
        """The part of δ that releases may spend."""
        return self.budget.delta - self.slack

    @property
    @abstractmethod
    def shares(self) -> tuple[BudgetShare, ...]:
        """The largest share that each of the budget's queries can have, by each theorem.

        All queries can have theirs by the same theorem.
        """

    @abstractmethod
    def shares_of(self, epsilon: Fraction) -> tuple[BudgetShare, ...]:
        """The shares of a query that is to spend `epsilon` at most, by the theorems of `shares`.

        Each spends at most that where its own theorem has paid for everything before.
        """

    def price(self, loss: ComposedLoss, spent: ComposedLoss) -> Fraction:
        """By how much `loss` raises the ε of what was spent."""
        return self.epsilon(spent + loss) - self.epsilon(spent)

    @abstractmethod
    def epsilon(self, sums: ComposedLoss) -> Fraction:
        """The ε of these sums at the budget's δ."""

    @abstractmethod
    def theorem(self, sums: ComposedLoss) -> Theorem:
        """The theorem by which these sums have that ε."""

    @abstractmethod
    def delta_spent(self, sums: ComposedLoss) -> Fraction:
        """The δ that the releases have spent; at most `delta` may be."""

    @abstractmethod
    def covers(self, sums: ComposedLoss) -> bool:
        """Whether these sums are within the budget."""

    @abstractmethod
    def part_taken(self, loss: ComposedLoss, spent: ComposedLoss) -> Fraction:
        """The part that `loss` takes of what `spent` leaves: the least by any theorem.

        It is more than 1 where the budget does not cover the loss.
        """


class Sequential(Accountant):
    """Sequential composition: the ε add up, and the δ add up."""

    @property
    def slack(self) -> Fraction:
        return Fraction(0)

    @cached_property
    def shares(self) -> tuple[BudgetShare, ...]:
        queries = self.budget.queries
        return (BudgetShare(self.budget.epsilon / queries, self.budget.delta / queries),)

    def shares_of(self, epsilon: Fraction) -> tuple[BudgetShare, ...]:
        return tuple(replace(share, epsilon=epsilon) for share in self.shares)

    def epsilon(self, sums: ComposedLoss) -> Fraction:
        return sequential(sums)

    def theorem(self, sums: ComposedLoss) -> Theorem:
        return Theorem.SEQUENTIAL

    def delta_spent(self, sums: ComposedLoss) -> Fraction:
        return sums.delta

    def covers(self, sums: ComposedLoss) -> bool:
        return self.epsilon(sums) <= self.budget.epsilon and sums.delta <= self.delta

    def part_taken(self, loss: ComposedLoss, spent: ComposedLoss) -> Fraction:
        return max(
            _part(loss.epsilon, self.budget.epsilon - spent.epsilon),
            _part(loss.delta, self.delta - spent.delta),
        )


class Concentrated(Accountant):
    """Zero-concentrated differential privacy, or the sum of ε while no Gaussian noise is drawn.

    Release i is P_i = (1 - d_i)·P'_i + d_i·P''_i on one table and likewise Q_i on its neighbour,
    where P'_i and Q'_i are ε_i-DP of each other and ρ_i-zCDP. Pure releases have d_i = 0. Those
    that are ε-DP but for a δ, as found keys are, have d_i = δ ([KOV15]). Gaussian noise
    has d_i = 0 and no ε_i. A session goes on while Σd_i <= d, the tenth of δ that is reserved, and

        Σε_i <= ε with no Gaussian noise,  or  Σρ_i <= ρ*,

    where ρ*-zCDP implies (ε, slack)-differential privacy. Theorem: it is (ε, δ)-DP.

    Proof. Let P' and Q' be sessions of which all releases are primed, and g = Π(1 - d_i), a
    function of the path. A release that is not primed is drawn with a probability of Σd_i <= d at
    most, so for a set S of paths P(S) <= d + ∫_S g dP'. Where a path ends within the sum, dP' is at
    most e^ε·dQ'. Where it does not, it ends within ρ*, and went the same way as in a session that
    stops before Σρ exceeds ρ*. That session is ρ*-zCDP ([WRRW23] Theorem 1), so dP' - e^ε·dQ' adds
    up to the slack at most, on these paths and whichever are left out, as its positive part does;
    so does g times it, as 0 <= g <= 1. Hence P(S) <= d + slack + e^ε·∫_S g dQ' <= δ + e^ε·Q(S).

    Two theorems that may each fail could not both have the slack. So Gaussian noise, whose δ is
    none of the reserved tenth, ends what the sum pays for.
    """

    @property
    def slack(self) -> Fraction:
        return self.budget.delta * (1 - _RESERVED)

    @property
    def rho(self) -> Fraction:
        """The largest ρ such that ρ-zCDP implies (ε, slack)-differential privacy."""
        return _rho(self.budget.epsilon, self.slack)

    @cached_property
    def shares(self) -> tuple[BudgetShare, ...]:
        budget = self.budget

        def fits(epsilon: Fraction) -> bool:
            return budget.queries * ComposedLoss.of(pure(epsilon)).rho <= self.rho

        root = _largest(fits, budget.epsilon)
        return (
            BudgetShare(budget.epsilon / budget.queries, self.delta / budget.queries),
            BudgetShare(root, self.delta / budget.queries, concentrated=True),
        )

    def shares_of(self, epsilon: Fraction) -> tuple[BudgetShare, ...]:
        """As the base class says.

        The ε that ρ-zCDP implies at one δ is an infimum of linear functions of ρ ([CKS20]
        Proposition 12), and so concave and subadditive: after other queries the same ρ adds at most
        the ε that it has alone.
        """

        def fits(root: Fraction) -> bool:
            return concentrated(ComposedLoss.of(pure(root)), self.slack) <= epsilon

        by_sum, by_rho = self.shares
        # ρ-zCDP implies no ε below ρ at any δ < 1/2.
        most = _root(2 * epsilon)
        return replace(by_sum, epsilon=epsilon), replace(by_rho, epsilon=_largest(fits, most))

    def epsilon(self, sums: ComposedLoss) -> Fraction:
        by_rho = self._epsilon_by_rho(sums)
        return by_rho if sums.own_delta else min(sequential(sums), by_rho)

    def theorem(self, sums: ComposedLoss) -> Theorem:
        by_sum = not sums.own_delta and sequential(sums) <= self._epsilon_by_rho(sums)
        return Theorem.SEQUENTIAL if by_sum else Theorem.CONCENTRATED

    def _epsilon_by_rho(self, sums: ComposedLoss) -> Fraction:
        # Sums are compared as ρ, because the conversion to ε is rounded. The result is at most
        # the budget's ε exactly where ρ is covered.
        converted = concentrated(sums, self.slack)
        if sums.rho <= self.rho:
            return min(converted, self.budget.epsilon)
        return max(converted, self.budget.epsilon * (1 + _STEP))

    def delta_spent(self, sums: ComposedLoss) -> Fraction:
        return sums.rho_delta

    def covers(self, sums: ComposedLoss) -> bool:
        if not sums.own_delta and sequential(sums) <= self.budget.epsilon:
            return sums.rho_delta <= self.delta
        return sums.rho <= self.rho and sums.rho_delta <= self.delta

    def part_taken(self, loss: ComposedLoss, spent: ComposedLoss) -> Fraction:
        part = _part(loss.rho, self.rho - spent.rho)
        if not (spent.own_delta or loss.own_delta):
            part = min(part, _part(loss.epsilon, self.budget.epsilon - spent.epsilon))
        return max(part, _part(loss.rho_delta, self.delta - spent.rho_delta))


_rho = cache(concentrated_rho)


@cache
def accountant(budget: Budget) -> Accountant:
    """The accountant that the budget's policy names."""
    match budget.composition:
        case Composition.PURE:
            return Sequential(budget)
        case Composition.ADVANCED | Composition.ZCDP:
            # Σε²/2 + √(2·ln(1/δ)·Σε²), which [BS16] Proposition 1.3 has for ρ = Σε²/2, is less
            # than the bound of advanced composition, so that theorem would cover nothing more.
            return Concentrated(budget)


def _part(taken: Fraction, left: Fraction) -> Fraction:
    """taken/left; where nothing is left, nothing is no part of it and anything more than all."""
    if left < 0 or (taken and not left):
        return _MORE_THAN_ALL
    return taken / left if taken else Fraction(0)


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
