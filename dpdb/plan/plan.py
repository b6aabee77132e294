"""The physical plan: the releases that are drawn, the estimates from them, and their price."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from dpdb.plan.expressions import ColumnRef, Expr, Slot, column_names, conjunction, slots
from dpdb.plan.obstacles import Obstacle
from dpdb.plan.query import Aggregate, Ordering, Output
from dpdb.plan.ranges import Environment, Interval, interval
from dpdb.plan.regions import Region, region
from dpdb.plan.statistics import Statistic
from dpdb.policy.catalog import Table, Value
from dpdb.privacy.accounting.loss import Loss
from dpdb.privacy.mechanisms import Mechanism

CONFIDENCE = 0.95
"""Of every interval, and of an error that is asked for without one."""


def at_once(confidence: float, number: int) -> float:
    """What each of `number` independent intervals is held to for all to hold (Šidák 1967)."""
    return float(confidence ** (1 / number))


@dataclass(frozen=True)
class Release:
    """One noisy thing to be drawn, a value for each cell."""

    aggregate: str
    """What it is of, by the name the contract uses."""
    statistic: Statistic
    mechanism: Mechanism
    unit: Fraction = Fraction(1)
    """One step of the mechanism in the analyst's units."""


@dataclass(frozen=True)
class Estimate:
    """How one aggregate comes out of the releases, by their indices.

    For averages and variances (squares,) sum and count, in this order; `rows`
    stands for a count that is public.
    """

    aggregate: Aggregate
    releases: tuple[int, ...]
    interval: Interval
    """Where the exact answer must lie."""
    rows: int | None = None
    obstacle: Obstacle | None = None
    """Why no row can have a part in it: it is known, and nothing is drawn for it."""


@dataclass(frozen=True)
class Plan:
    """All that is to be done for one SELECT, and its price."""

    table: Table
    where: Expr | None
    keys: tuple[ColumnRef, ...]
    groups: tuple[tuple[Value, ...], ...]
    """The keys' values, a tuple for each row of the answer before HAVING."""
    releases: tuple[Release, ...]
    estimates: tuple[Estimate, ...]
    subplans: tuple[Plan, ...]
    outputs: tuple[Output, ...]
    having: Expr | None
    order: tuple[Ordering, ...]
    limit: int | None
    offset: int
    sample_key: str
    """Which rows of a unit count that has more than its cap."""
    competing_rows: int = 1
    """The number of rows among which noise decides which are shown.

    The intervals of these rows hold at once.
    """

    @property
    def every_release(self) -> Iterator[Release]:
        """The releases, subqueries' first: in the order they are drawn."""
        for subplan in self.subplans:
            yield from subplan.every_release
        yield from self.releases

    @property
    def settled(self) -> bool:
        """Whether the policy alone answers it: no row can have a part in it."""
        return not self.subplans and all(estimate.obstacle for estimate in self.estimates)

    @property
    def aggregates(self) -> int:
        """The number of aggregates, subqueries' too."""
        return len(self.estimates) + sum(subplan.aggregates for subplan in self.subplans)

    @property
    def loss(self) -> Loss:
        """What the mechanisms add up to."""
        return sum((r.mechanism.loss for r in self.every_release), Loss())

    @property
    def region(self) -> Region:
        """The rows that can have a part in it."""
        filters = {estimate.aggregate.where for estimate in self.estimates}
        if self.subplans or self.table.unit is not None:
            # A unit can have rows in several regions, up to its cap in each.
            return region(self.table, None)
        return region(self.table, conjunction(self.where, *filters if len(filters) == 1 else ()))

    @property
    def identity(self) -> tuple[object, ...]:
        """Equal for queries that draw the same things; how they are shown does not matter."""
        nested = tuple(
            (p.identity, p.outputs[0].expression, *(e.aggregate for e in p.estimates))
            for p in self.subplans
        )
        return self.table.name, self.where, self.groups, self.keys, self.releases, nested

    @property
    def columns(self) -> frozenset[str]:
        """The names of the columns that it reads, subqueries' left out."""
        read = [self.where, *self.keys]
        for part in (*(e.aggregate for e in self.estimates), *(r.statistic for r in self.releases)):
            read += (part.argument, part.where)
        return frozenset().union(*(column_names(each) for each in read if each is not None))

    def interval_of(self, output: Output) -> Interval:
        """Where an output must lie, whatever the rows are."""
        known: Environment = {
            Slot("aggregate", index, estimate.aggregate.kind): estimate.interval
            for index, estimate in enumerate(self.estimates)
        }
        return interval(output.expression, known)

    def released_for(self, output: Output) -> set[int]:
        """The indices of the releases that an output is made of."""
        used = slots(output.expression, "aggregate")
        return {index for slot in used for index in self.estimates[slot].releases}
