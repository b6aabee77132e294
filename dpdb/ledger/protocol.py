"""What a statement costs, and what is left of a budget."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from dpdb.policy.budget import Budget
from dpdb.privacy.accounting.accountants import BudgetShare, accountant
from dpdb.privacy.accounting.composition import NO_LOSS, ComposedLoss


@dataclass(frozen=True)
class Price:
    """What a statement costs: by how much the session's loss grows."""

    epsilon: Fraction = Fraction(0)
    delta: Fraction = Fraction(0)
    queries: int = 0

    def __add__(self, other: Price) -> Price:
        """The price of two steps of one statement."""
        return Price(
            self.epsilon + other.epsilon, self.delta + other.delta, self.queries + other.queries
        )


FREE = Price()


@dataclass(frozen=True)
class Balance:
    """A budget and what is left of it."""

    budget: Budget
    epsilon_left: Fraction
    delta_left: Fraction
    queries_left: int
    sums: ComposedLoss = NO_LOSS
    """What the composition theorems need to know of the statements so far."""

    @property
    def share(self) -> BudgetShare:
        """What a query gets that asks for nothing special."""
        return accountant(self.budget).share
