"""Spending by segments of the data, which compose in parallel; and the ledger of one session.

Two regions with a value in common for every column that both limit do not exclude each other. The
sample of a region is chosen so that many have the same: a filter such as `x >= 5` lets the upper
bound of x through, whatever the comparison.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field, replace
from fractions import Fraction
from threading import Lock

from dpdb.errors import BudgetExceeded
from dpdb.ledger.protocol import Balance, Ledger, Price, Receipt
from dpdb.plan.relations.regions import ColumnLimit, Point, Region
from dpdb.plan.relations.relations import Source
from dpdb.policy.budget import Budget, Neighbors
from dpdb.policy.numbers import decimal
from dpdb.privacy.accounting.accountants import accountant
from dpdb.privacy.accounting.composition import NO_LOSS, ComposedLoss, largest, parallel
from dpdb.records import dataclass

Sample = tuple[Source, frozenset[tuple[str, Point]]]
"""A table, and a value for each of its columns that a region limits."""
Samples = Mapping[Sample, tuple[int, ...]]
"""For each sample the indices of the groups that have a region with it."""


def sample(region: Region) -> Sample | None:
    """The sample of a region; None where a column has no value within its limit, but NULL."""
    values = {name: _value(limit) for name, limit in region.limits.items()}
    points = frozenset((name, value) for name, value in values.items() if value is not None)
    return (region.table, points) if len(points) == len(values) else None


def _value(limit: ColumnLimit) -> Point | None:
    """A value within the limit: an end of the bounds, if one is."""
    ends = (float(end) for end in reversed(limit.column.bounds or ()))
    return next((each for each in (*ends, *limit.held.turns) if each in limit.held), None)


def holds(region: Region, of_another: Sample) -> bool:
    """Whether a region contains the sample of another region, or is of another table.

    Regions of two tables do not exclude each other, and their values are not compared, as columns
    of one name may have two types.
    """
    limits, (table, values) = region.limits, of_another
    within = (name not in limits or value in limits[name].held for name, value in values)
    return table != region.table or all(within)


def with_sample(samples: Samples, region: Region, group: int) -> Samples:
    """The samples, with that of a region that joins a group."""
    own = sample(region)
    return samples if own is None else {**samples, own: (*samples.get(own, ()), group)}


def refusing(samples: Samples, region: Region) -> set[int]:
    """Groups that do not admit a region, as it holds a sample of theirs.

    Samples of one group alone are left out: looking at them takes as long as comparing filters.
    """
    common = ((each, groups) for each, groups in samples.items() if len(groups) > 1)
    return {group for each, groups in common if holds(region, each) for group in groups}


MAX_APART = 1000
"""The most statements that are compared with the next: do their filters exclude it?

Those after them pay in full.
"""
MAX_TURNS = 20_000
"""The most ends of intervals that are compared: a list of values has two for each value."""


@dataclass(frozen=True)
class _Group:
    """Statements whose filters exclude each other: no row sees two of them."""

    regions: tuple[Region, ...] = ()
    losses: tuple[ComposedLoss, ...] = ()
    """The largest losses: all that what the group reveals depends on."""

    def admits(self, region: Region) -> bool:
        """Whether the filters of all its statements exclude the region."""
        return all(map(region.excludes, self.regions))


@dataclass(frozen=True)
class Spent:
    """The statements so far: their loss and number, and those with filters in groups."""

    neighbors: Neighbors
    sums: ComposedLoss = NO_LOSS
    """The sums of losses that the composition theorems need."""
    queries: int = 0
    groups: tuple[_Group, ...] = ()
    joined: Mapping[object, int] = field(default_factory=dict)
    """For each filter the index of the group that it joined last.

    Groups only grow, so none up to this one will admit the same filter again.
    """
    samples: Samples = field(default_factory=dict)
    """The samples of all regions: a group admits no region that holds one of its own."""
    regions: int = 0
    """The number of regions in all groups."""
    turns: int = 0
    """The number of ends of intervals of all regions."""

    def group_for(self, region: Region | None) -> int | None:
        """The index of the group that a statement on this region joins.

        None where it joins none: it concerns all rows, or comparing all filters would take too
        long if this one's were kept.
        """
        if region is None or region.everything or self.regions >= MAX_APART:
            return None
        if self.turns + region.turns > MAX_TURNS:
            return None
        groups, later = self.groups, self.joined.get(region.key, -1) + 1
        known = refusing(self.samples, region)
        left = (i for i in range(later, len(groups)) if i not in known)
        return next((i for i in left if groups[i].admits(region)), len(groups))

    def after(
        self, loss: ComposedLoss, region: Region | None, queries: int, group: int | None
    ) -> Spent:
        """The spending after a statement that joins a group, if any.

        Losses in a group compose in parallel; groups, and statements without one, add up.
        """
        asked = self.queries + queries
        if region is None or group is None:
            return replace(self, sums=(self.sums + loss).shortened(), queries=asked)
        before = self.groups[group] if group < len(self.groups) else _Group()
        losses = largest((*before.losses, loss), self._rows)
        grown = _Group((*before.regions, region), losses)
        more = self._of(grown) - self._of(before)
        return Spent(
            self.neighbors,
            (self.sums + more).shortened(),
            asked,
            (*self.groups[:group], grown, *self.groups[group + 1 :]),
            {**self.joined, region.key: group},
            with_sample(self.samples, region, group),
            self.regions + 1,
            self.turns + region.turns,
        )

    def with_grouped(self, charges: Iterable[tuple[ComposedLoss, Region, int]]) -> Spent:
        """This spending, with statements that its sums already count added to their groups.

        Each has its loss, its region and the index of its group; they are in the order in which
        they were asked. The groups are those that `after` makes of them one by one.
        """
        groups, joined, samples = list(self.groups), dict(self.joined), self.samples
        number, turns, changed = self.regions, self.turns, set[int]()
        for loss, region, group in charges:
            if group == len(groups):
                groups.append(_Group())
            before = groups[group]
            groups[group] = _Group((*before.regions, region), (*before.losses, loss))
            joined[region.key] = group
            samples = with_sample(samples, region, group)
            number, turns = number + 1, turns + region.turns
            changed.add(group)
        for group in changed:
            losses = largest(groups[group].losses, self._rows)
            groups[group] = replace(groups[group], losses=losses)
        return replace(
            self, groups=tuple(groups), joined=joined, samples=samples, regions=number, turns=turns
        )

    def _of(self, group: _Group) -> ComposedLoss:
        """The loss of a whole group."""
        return parallel(group.losses, self._rows)

    @property
    def _rows(self) -> int:
        """In how many rows neighbours differ: under `replace` one goes from filter to filter."""
        return 2 if self.neighbors is Neighbors.REPLACE else 1


def price_between(before: Balance, after: Balance) -> Price:
    """The price paid between two balances of one budget."""
    return Price(
        before.epsilon_left - after.epsilon_left,
        before.delta_left - after.delta_left,
        before.queries_left - after.queries_left,
    )


def covered_price(before: Balance, after: Balance, told: Price | None = None) -> Price:
    """The price between two balances; raises BudgetExceeded where the budget has too little.

    The error is about the price that the asker is `told`, if that is another.
    """
    price = price_between(before, after)
    if price.queries > before.queries_left:
        limit, free = before.budget.queries, before.queries_left
        raise BudgetExceeded(
            f"{price.queries} queries are asked at once, {free} of {limit} left"
            if free
            else f"all {limit} queries are used"
            if limit > 1
            else "the only query is used",
            hint="an answered query is free again",
        )
    if accountant(before.budget).covers(after.sums):
        return price
    told = price if told is None else told
    name, asked, left = "epsilon", told.epsilon, max(before.epsilon_left, Fraction(0))
    way = "SET epsilon, or a larger error"
    if price.epsilon <= left:
        name, asked, left = "delta", told.delta, max(before.delta_left, Fraction(0))
        way = "OPTIONS(delta = …)"
    short = f", short by {decimal(asked - left)}" if asked > left else " of the whole budget"
    raise BudgetExceeded(
        f"not enough {name}: {decimal(asked)} requested, {decimal(left)} left{short}",
        hint=f"ask for less with {way}, or repeat an answered query: that is free",
    )


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
        return self._left

    def rehearsal(self) -> MemoryLedger:
        rehearsal = MemoryLedger(self.budget, self.neighbors)
        with self._lock:
            rehearsal._spent, rehearsal._left = self._spent, self._left
        return rehearsal

    def price(self, loss: ComposedLoss, region: Region | None, queries: int = 1) -> Price:
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
        """The spending after a statement."""
        return self._spent.after(loss, region, queries, self._spent.group_for(region))

    def _balance(self, spent: Spent) -> Balance:
        return Balance.after(self.budget, spent.sums, spent.queries)


class TrialLedger(MemoryLedger):
    """The ledger of a trial, in which nothing is spent.

    Each statement has the price, and the refusal, of the first one of a session.
    """

    def rehearsal(self) -> TrialLedger:
        return self

    def charge(self, loss: ComposedLoss, region: Region | None, queries: int = 1) -> Receipt:
        price = covered_price(self.balance, self._balance(self._after(loss, region, queries)))
        return Receipt(loss, region, price)
