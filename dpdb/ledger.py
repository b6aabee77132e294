"""The budget: what has been spent, exactly, and refusing what it does not cover."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from threading import Lock

from dpdb.errors import BudgetExceeded
from dpdb.policy import Budget, decimal


@dataclass(frozen=True)
class Price:
    """What a statement costs."""

    epsilon: Fraction = Fraction(0)
    delta: Fraction = Fraction(0)
    queries: int = 0


FREE = Price()


@dataclass(frozen=True)
class Balance:
    """A budget and what is left of it."""

    budget: Budget
    epsilon_left: Fraction
    delta_left: Fraction
    queries_left: int

    @property
    def share(self) -> Fraction:
        """What a query gets that asks for nothing special: ε/k."""
        return self.budget.epsilon / self.budget.queries


@dataclass
class MemoryLedger:
    """The budget of one session; both limits hold, whatever is asked."""

    budget: Budget
    _spent: Price = FREE
    _lock: Lock = field(default_factory=Lock, repr=False)

    @property
    def balance(self) -> Balance:
        """What is left."""
        return Balance(
            self.budget,
            self.budget.epsilon - self._spent.epsilon,
            self.budget.delta - self._spent.delta,
            self.budget.queries - self._spent.queries,
        )

    def charge(self, price: Price) -> None:
        """Take `price`, all of it or, raising BudgetExceeded, nothing."""
        with self._lock:
            check(price, self.balance)
            self._spent = Price(
                self._spent.epsilon + price.epsilon,
                self._spent.delta + price.delta,
                self._spent.queries + price.queries,
            )


def check(price: Price, balance: Balance) -> None:
    """Refuse a price that is not covered, saying by how much."""
    if price.queries > balance.queries_left:
        raise BudgetExceeded(
            f"the limit of {balance.budget.queries} queries is used up: "
            f"{price.queries} requested, {balance.queries_left} left, "
            f"{price.queries - balance.queries_left} too many",
            hint="repeating an answered query is free",
        )
    for name, asked, left in (
        ("epsilon", price.epsilon, balance.epsilon_left),
        ("delta", price.delta, balance.delta_left),
    ):
        if asked > left:
            raise BudgetExceeded(
                f"not enough {name}: {decimal(asked)} requested, {decimal(left)} left, "
                f"short by {decimal(asked - left)}",
                hint="ask for less with SET epsilon, or repeat an answered query: that is free",
            )
