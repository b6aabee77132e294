"""The choice of the counts that are drawn together, as sums over the atoms of one histogram.

Alone, each of k releases has 1/k of the share. A histogram is one release however many counts come
of it, but a count that adds up j atoms has the noise of all of them. What is better follows from
the text and the policy alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from dpdb.plan import atoms
from dpdb.plan.expressions import Expr, IsNull, Literal, Not, columns_of, conjunction
from dpdb.plan.query import Aggregate, Query
from dpdb.plan.ranges import nullable
from dpdb.plan.statistics import Histogram
from dpdb.policy.catalog import Kind


@dataclass(frozen=True)
class CountGroup:
    """Counts that are drawn together."""

    members: tuple[int, ...]
    """The indices of the counts among the aggregates of the query."""
    conditions: tuple[Expr, ...]
    """For each count the rows that it counts."""
    histogram: Histogram | None = None
    """Its atoms are drawn; None where all count the same rows and their number is drawn."""

    @cached_property
    def size(self) -> int:
        """The number of atoms."""
        return 1 if self.histogram is None else len(self.histogram.atoms)

    @cached_property
    def added(self) -> tuple[tuple[int, ...] | None, ...]:
        """For each count the atoms that it adds up; None without a histogram."""
        if self.histogram is None:
            return (None,) * len(self.members)
        places = [self.histogram.conditions.index(condition) for condition in self.conditions]
        return tuple(
            tuple(index for index, atom in enumerate(self.histogram.atoms) if atom[place])
            for place in places
        )

    @cached_property
    def terms(self) -> tuple[int, ...]:
        """For each count the number of noises that it adds up."""
        return tuple(1 if each is None else len(each) for each in self.added)


@dataclass(frozen=True)
class NoiseCost:
    """The variance of the noise of counts, but for a factor that all have in common."""

    weight: Callable[[int], int]
    """The variance of the noise on each of so many atoms, for one and the same ε."""
    power: int
    """The power of the number of releases with which the variance of each grows."""
    others: int
    """The number of other releases of the query."""

    def of(self, groups: Sequence[CountGroup]) -> int:
        """The sum of the variances of all answers."""
        return sum(self.of_each(groups)) + self._shares(groups) * self.others

    def of_each(self, groups: Sequence[CountGroup]) -> list[int]:
        """The variance of each count, in the order of the groups."""
        return [
            self._shares(groups) * self.weight(group.size) * terms
            for group in groups
            for terms in group.terms
        ]

    def _shares(self, groups: Sequence[CountGroup]) -> int:
        return int((len(groups) + self.others) ** self.power)


def counted(aggregate: Aggregate) -> Expr:
    """The condition that is true for the rows that a COUNT counts."""
    argument = aggregate.argument
    known = None if argument is None or not nullable(argument) else Not(IsNull(argument))
    return conjunction(aggregate.where, known) or Literal(True, Kind.BOOLEAN)


def count_groups(query: Query, counts: Iterable[int], cost: NoiseCost) -> list[CountGroup]:
    """The groups in which the `counts` among the aggregates of a query are best drawn.

    The smallest groups are drawn together as long as that is better, and so they are after a
    beginning with all conditions on the same columns together. No count is noisier than alone.
    """
    alone = _alone({index: counted(query.aggregates[index]) for index in counts})
    families: dict[frozenset[str], list[CountGroup]] = {}
    for group in alone:
        families.setdefault(frozenset(columns_of(group.conditions[0])), []).append(group)
    by_columns = alone
    for family in families.values():
        by_columns = _merged(by_columns, family, query, cost) or by_columns
    choices = [_grown(by_columns, query, cost), _grown(alone, query, cost), alone]
    most = max(cost.of_each(alone), default=0)
    quiet = [groups for groups in choices if max(cost.of_each(groups), default=0) <= most]
    return min(quiet, key=cost.of)


def _grown(groups: list[CountGroup], query: Query, cost: NoiseCost) -> list[CountGroup]:
    """The groups after the two smallest are drawn together as often as that is better."""
    while len(groups) > 1:
        smallest = sorted(groups, key=lambda group: group.size)[:2]
        fewer = _merged(groups, smallest, query, cost)
        if fewer is None:
            return groups
        groups = fewer
    return groups


def _alone(conditions: Mapping[int, Expr]) -> list[CountGroup]:
    """A group for each condition: of the counts of the same rows."""
    members: dict[Expr, list[int]] = {}
    for index, condition in conditions.items():
        members.setdefault(condition, []).append(index)
    return [
        CountGroup(tuple(same), (condition,) * len(same)) for condition, same in members.items()
    ]


def _merged(
    groups: list[CountGroup], chosen: list[CountGroup], query: Query, cost: NoiseCost
) -> list[CountGroup] | None:
    """The groups with the chosen ones drawn as one; None where that is no better."""
    conditions = tuple(condition for group in chosen for condition in group.conditions)
    members = tuple(member for group in chosen for member in group.members)
    if len(chosen) < 2:
        return None
    histogram = atoms.histogram(query.table, query.where, tuple(dict.fromkeys(conditions)))
    if histogram is None:
        return None
    one = CountGroup(members, conditions, histogram)
    rest = [group for group in groups if group not in chosen]
    merged = [*rest, one]
    better = all(one.terms) and cost.of(merged) < cost.of(groups)
    return merged if better else None
