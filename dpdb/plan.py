"""A query and a policy into a plan: what to compute, what to add, what it costs.

Nothing here has seen a row. Under `replace` the number of rows is public, and
is asked for.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import product

from dpdb.drawing import Drawing, RowCount, Terms
from dpdb.errors import TooLarge
from dpdb.policy import Policy, Table, Value
from dpdb.privacy.accounting import Share
from dpdb.privacy.loss import Loss
from dpdb.releases import Estimate, Release
from dpdb.sharing import candidates, is_public, shares
from dpdb.sql.intervals import Environment, Interval, interval
from dpdb.sql.keys import key_values
from dpdb.sql.query import (
    ColumnRef,
    Expr,
    Ordering,
    Output,
    Query,
    Slot,
    column_names,
    conjunction,
    slots,
)
from dpdb.sql.regions import Region, region

MAX_CELLS = 100_000
NOTHING = Share(Fraction(0))


@dataclass(frozen=True)
class Plan:
    """All that is to be done for one SELECT, and its price."""

    table: Table
    where: Expr | None
    keys: tuple[ColumnRef, ...]
    cells: tuple[tuple[Value, ...], ...]
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
    candidates: int = 1
    """Of how many rows noise has a say in which are shown; their intervals hold at once."""

    @property
    def every_release(self) -> Iterator[Release]:
        """The releases, subqueries' first: in the order they are drawn."""
        for subplan in self.subplans:
            yield from subplan.every_release
        yield from self.releases

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
        return self.table.name, self.where, self.cells, self.keys, self.releases, nested

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


def plan(query: Query, policy: Policy, share: Share, rows: RowCount) -> Plan:
    """The plan for `query` at a total of `share`, split over its aggregates."""
    terms = Terms(policy, rows, query.options)
    # Subqueries come first, and how many groups there are does not hang on their answers.
    split = shares(query, len(_cells(query, {})) if query.options.kept else 1, share, terms)
    return _planned(query, terms, split)


def outline(query: Query, policy: Policy) -> Plan:
    """The plan for `query` without releases: for teaching, where nothing is protected."""
    subplans = tuple(outline(subquery, policy) for subquery in query.subqueries)
    cells = _cells(query, {})
    estimates = tuple(Estimate(aggregate, (), Interval()) for aggregate in query.aggregates)
    return _assembled(query, cells, (), estimates, subplans, policy=policy)


def _planned(query: Query, terms: Terms, split: Iterator[Share]) -> Plan:
    subplans = tuple(_planned(subquery, terms, split) for subquery in query.subqueries)
    known: Environment = {
        Slot("subquery", index, subplan.outputs[0].expression.kind): subplan.interval_of(
            subplan.outputs[0]
        )
        for index, subplan in enumerate(subplans)
    }
    cells = _cells(query, known)
    releases: list[Release] = []
    estimates = []
    for aggregate in query.aggregates:
        share = NOTHING if is_public(aggregate, query, terms) else next(split)
        drawing = Drawing(terms, query, aggregate, known, len(cells), share)
        drawn, bounds, public_rows = drawing.releases()
        indices = tuple(range(len(releases), len(releases) + len(drawn)))
        estimates.append(Estimate(aggregate, indices, bounds, public_rows))
        releases += drawn
        if len(releases) * len(cells) > MAX_CELLS:
            raise TooLarge(f"GROUP BY makes more than {MAX_CELLS} noisy values")
    planned = _assembled(
        query, cells, tuple(releases), tuple(estimates), subplans, policy=terms.policy
    )
    return replace(planned, candidates=candidates(query, len(cells), terms))


Cells = tuple[tuple[Value, ...], ...]


def _cells(query: Query, known: Environment) -> Cells:
    columns = [key_values(key, query.where, known) for key in query.keys]
    number = math.prod(len(values) for values in columns)
    if number > MAX_CELLS:
        raise TooLarge(f"GROUP BY makes {number} groups, {MAX_CELLS} are allowed")
    return tuple(product(*columns))


def _assembled(
    query: Query,
    cells: Cells,
    releases: tuple[Release, ...],
    estimates: tuple[Estimate, ...],
    subplans: tuple[Plan, ...],
    *,
    policy: Policy,
) -> Plan:
    return Plan(
        table=query.table,
        where=query.where,
        keys=query.keys,
        cells=cells,
        releases=releases,
        estimates=estimates,
        subplans=subplans,
        outputs=query.outputs,
        having=query.having,
        order=query.order,
        limit=query.limit,
        offset=query.offset,
        sample_key=policy.sample_key,
    )
