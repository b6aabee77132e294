"""The budget: what has been spent, exactly, and refusing what it does not cover."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from threading import Lock

from dpdb.errors import BudgetExceeded
from dpdb.ledger.protocol import Balance, Ledger, Price, Receipt
from dpdb.plan.regions import Region
from dpdb.policy.budget import Budget, Neighbors
from dpdb.policy.numbers import decimal
from dpdb.privacy.accounting.accountants import accountant
from dpdb.privacy.accounting.composition import ComposedLoss, largest, parallel

MAX_APART = 1000
"""As many statements are compared with the next, to see whether their filters exclude it.

Those after them pay in full.
"""
MAX_TURNS = 20_000
"""As many ends of intervals are compared: a list of values has two for each."""


@dataclass(frozen=True)
class _Group:
    """Statements whose filters exclude each other: no row sees two of them."""

    regions: tuple[Region, ...] = ()
    losses: tuple[ComposedLoss, ...] = ()
    """The largest losses: all that what the group reveals depends on."""

    def admits(self, region: Region) -> bool:
        """Whether the filters of all its statements exclude another one."""
        return all(map(region.excludes, self.regions))


@dataclass(frozen=True)
class _Spent:
    """The statements so far, in groups on the same rows."""

    balance: Balance
    groups: tuple[_Group, ...] = ()
    joined: Mapping[object, int] = field(default_factory=dict)
    """For each filter the index of the group that it joined last.

    Groups only grow, so none up to this one will admit the same filter again.
    """
    regions: int = 0
    """The number of regions in all groups."""
    turns: int = 0
    """The number of ends of intervals of all regions."""


@dataclass
class MemoryLedger(Ledger):
    """The budget of one session; both limits hold, whatever is asked."""

    budget: Budget
    neighbors: Neighbors = Neighbors.ADD_REMOVE
    _spent: _Spent = field(init=False, repr=False)
    _lock: Lock = field(default_factory=Lock, repr=False)

    def __post_init__(self) -> None:
        self._spent = _Spent(Balance.after(self.budget))

    @property
    def balance(self) -> Balance:
        """What is left."""
        return self._spent.balance

    def price(self, loss: ComposedLoss, region: Region | None, queries: int = 1) -> Price:
        """What a statement would cost that adds `loss` for rows of `region`."""
        with self._lock:
            return self._price(self._after(loss, region, queries))

    def charge(self, loss: ComposedLoss, region: Region | None, queries: int = 1) -> Receipt:
        """Take what that costs: all of it or, raising BudgetExceeded, nothing."""
        with self._lock:
            after = self._after(loss, region, queries)
            price = self._price(after)
            self._check(price, after)
            self._spent = after
        return Receipt(loss, region, price)

    def _after(self, loss: ComposedLoss, region: Region | None, queries: int) -> _Spent:
        """What will have been spent."""
        spent, together = self._spent, self.balance.sums
        asked = self.budget.queries - self.balance.queries_left + queries
        if region is None or region.everything or self._full(region):
            return replace(spent, balance=Balance.after(self.budget, together + loss, asked))
        groups, later = spent.groups, spent.joined.get(region.key, -1) + 1
        index = next(
            (i for i in range(later, len(groups)) if groups[i].admits(region)), len(groups)
        )
        group = groups[index] if index < len(groups) else _Group()
        losses = largest((*group.losses, loss), self._rows)
        grown = _Group((*group.regions, region), losses)
        more = self._of(grown) - self._of(group)
        return _Spent(
            Balance.after(self.budget, together + more, asked),
            (*groups[:index], grown, *groups[index + 1 :]),
            {**spent.joined, region.key: index},
            spent.regions + 1,
            spent.turns + region.turns,
        )

    def _full(self, region: Region) -> bool:
        """Whether comparing all filters would take too long if this one's were kept."""
        spent = self._spent
        return spent.regions >= MAX_APART or spent.turns + region.turns > MAX_TURNS

    def _of(self, group: _Group) -> ComposedLoss:
        """What a group reveals."""
        return parallel(group.losses, self._rows)

    @property
    def _rows(self) -> int:
        """In how many rows neighbours differ: under `replace` one goes from filter to filter."""
        return 2 if self.neighbors is Neighbors.REPLACE else 1

    def _price(self, after: _Spent) -> Price:
        now, then = self.balance, after.balance
        return Price(
            now.epsilon_left - then.epsilon_left,
            now.delta_left - then.delta_left,
            now.queries_left - then.queries_left,
        )

    def _check(self, price: Price, after: _Spent) -> None:
        """Refuse a price that is not covered, saying by how much."""
        balance = self.balance
        if price.queries > balance.queries_left:
            raise BudgetExceeded(
                f"the limit of {balance.budget.queries} queries is used up: "
                f"{price.queries} requested, {balance.queries_left} left, "
                f"{price.queries - balance.queries_left} too many",
                hint="repeating an answered query is free",
            )
        if accountant(self.budget).covers(after.balance.sums):
            return
        name, asked, left = "epsilon", price.epsilon, balance.epsilon_left
        way = "SET epsilon, or a larger error"
        if asked <= left:
            name, asked, left = "delta", price.delta, balance.delta_left
            way = "OPTIONS(delta = …)"
        raise BudgetExceeded(
            f"not enough {name}: {decimal(asked)} requested, {decimal(left)} left, "
            f"short by {decimal(asked - left)}",
            hint=f"ask for less with {way}, or repeat an answered query: that is free",
        )
