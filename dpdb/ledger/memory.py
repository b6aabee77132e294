"""The ledger of one session, which is forgotten with it."""

from __future__ import annotations

from dataclasses import field
from threading import Lock

from dpdb.ledger.protocol import Balance, Ledger, Price, Receipt
from dpdb.ledger.spending import Spent, covered_price, price_between
from dpdb.plan.relations.regions import Region
from dpdb.policy.budget import Budget, Neighbors
from dpdb.privacy.accounting.composition import ComposedLoss
from dpdb.records import dataclass


@dataclass
class MemoryLedger(Ledger):
    """The budget of one session; both limits hold, whatever is asked."""

    budget: Budget
    neighbors: Neighbors = Neighbors.ADD_REMOVE
    _spent: Spent = field(init=False, repr=False)
    _left: Balance = field(init=False, repr=False)
    _lock: Lock = field(default_factory=Lock, repr=False)

    def __post_init__(self) -> None:
        self._spent = Spent(self.neighbors)
        self._left = self._balance(self._spent)

    @property
    def balance(self) -> Balance:
        """What is left."""
        return self._left

    def rehearsal(self) -> MemoryLedger:
        """A ledger that has spent as much."""
        rehearsal = MemoryLedger(self.budget, self.neighbors)
        with self._lock:
            rehearsal._spent, rehearsal._left = self._spent, self._left
        return rehearsal

    def price(self, loss: ComposedLoss, region: Region | None, queries: int = 1) -> Price:
        """What a statement would cost that adds `loss` for rows of `region`."""
        with self._lock:
            return price_between(self.balance, self._balance(self._after(loss, region, queries)))

    def charge(self, loss: ComposedLoss, region: Region | None, queries: int = 1) -> Receipt:
        """Take what that costs: all of it or, raising BudgetExceeded, nothing."""
        with self._lock:
            after = self._after(loss, region, queries)
            left = self._balance(after)
            price = covered_price(self.balance, left)
            self._spent, self._left = after, left
        return Receipt(loss, region, price)

    def _after(self, loss: ComposedLoss, region: Region | None, queries: int) -> Spent:
        """What will have been spent."""
        return self._spent.after(loss, region, queries, self._spent.group_for(region))

    def _balance(self, spent: Spent) -> Balance:
        return Balance.after(self.budget, spent.sums, spent.queries)
