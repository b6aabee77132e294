"""A ledger as simple as can be: a list of what was charged, added up anew each time."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import reduce
from operator import add
from threading import Lock

from dpdb.errors import BudgetExceeded
from dpdb.ledger.protocol import Balance, Ledger, Price, Receipt
from dpdb.plan.relations.regions import Region
from dpdb.policy.budget import Budget, Neighbors
from dpdb.privacy.accounting.accountants import accountant
from dpdb.privacy.accounting.composition import NO_LOSS, ComposedLoss, parallel

Entry = tuple[ComposedLoss, Region | None, int]


@dataclass
class PlainLedger(Ledger):
    budget: Budget
    neighbors: Neighbors = Neighbors.ADD_REMOVE
    entries: list[Entry] = field(default_factory=list)
    lock: Lock = field(default_factory=Lock)

    @property
    def balance(self) -> Balance:
        return self._balance(list(self.entries))

    def rehearsal(self) -> PlainLedger:
        return PlainLedger(self.budget, self.neighbors, list(self.entries))

    def price(self, loss: ComposedLoss, region: Region | None, queries: int = 1) -> Price:
        with self.lock:
            return self._price((loss, region, queries))

    def charge(self, loss: ComposedLoss, region: Region | None, queries: int = 1) -> Receipt:
        entry = (loss, region, queries)
        with self.lock:
            price, after = self._price(entry), self._balance([*self.entries, entry])
            # A statement's further steps need no query, even where none is left.
            many = queries > 0 and after.queries_left < 0
            if many or not accountant(self.budget).covers(after.sums):
                raise BudgetExceeded("the budget does not cover it")
            self.entries.append(entry)
        return Receipt(loss, region, price)

    def _price(self, entry: Entry) -> Price:
        now, then = self._balance(self.entries), self._balance([*self.entries, entry])
        return Price(
            now.epsilon_left - then.epsilon_left,
            now.delta_left - then.delta_left,
            now.queries_left - then.queries_left,
        )

    def _balance(self, entries: list[Entry]) -> Balance:
        """What is left: filters that exclude each other are put together, first come first."""
        sums, groups = NO_LOSS, list[list[tuple[Region, ComposedLoss]]]()
        for loss, region, _ in entries:
            if region is None:
                sums += loss
                continue
            for group in groups:
                if all(region.excludes(other) for other, _ in group):
                    group.append((region, loss))
                    break
            else:
                groups.append([(region, loss)])
        rows = 2 if self.neighbors is Neighbors.REPLACE else 1
        losses = [parallel((loss for _, loss in group), rows) for group in groups]
        queries = sum(queries for _, _, queries in entries)
        return Balance.after(self.budget, reduce(add, losses, sums), queries)
