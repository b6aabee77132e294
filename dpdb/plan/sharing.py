"""Which aggregates of a SELECT share their part of ε, because no row has a part in all of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from dpdb.plan.count_groups import CountGroup, NoiseCost, count_groups
from dpdb.plan.lowering import PlanningContext, contribution_of
from dpdb.plan.parallel import Family, families
from dpdb.plan.query import Aggregate, Function, Query
from dpdb.policy.budget import Neighbors
from dpdb.privacy.sensitivity import total, total_squared

_OF_SUMS = (
    Function.SUM,
    Function.AVG,
    Function.VAR_SAMP,
    Function.VAR_POP,
    Function.STDDEV_SAMP,
    Function.STDDEV_POP,
)
"""The functions that are made of sums, to which each row of a unit adds by itself."""


@dataclass(frozen=True)
class Sharing:
    """The noisy aggregates of a query, and what of them is released together."""

    noisy: int
    """The number of noisy aggregates."""
    counts: tuple[CountGroup, ...] = ()
    """Counts that are one release."""
    families: tuple[Family, ...] = ()
    """Aggregates over filters that exclude each other."""

    @property
    def shares(self) -> int:
        """The number of equal parts into which ε is divided."""
        together = sum(len(group.members) - 1 for group in self.counts)
        return self.noisy - together - sum(family.saved for family in self.families)

    @cached_property
    def family_of(self) -> Mapping[int, tuple[Family, int]]:
        """For each aggregate in a family: the family, and how many there are over its filter."""
        return {
            index: (family, len(members))
            for family in self.families
            for members in family.members
            for index in members
        }


def sharing(query: Query, context: PlanningContext) -> Sharing:
    """What aggregates of a query share; nothing where the size of the noise is given."""
    noisy = [i for i in range(len(query.aggregates)) if not is_public(i, query, context)]
    if context.options.has_accuracy_goal or len(noisy) < 2:
        return Sharing(len(noisy))
    sums = [i for i in noisy if query.aggregates[i].function in _OF_SUMS]
    shared = Sharing(len(noisy), families=tuple(families(query, sums)))
    if not _is_better(shared, query, context):
        shared = replace(shared, families=())
    counts = [i for i in noisy if query.aggregates[i].function is Function.COUNT]
    if len(counts) < 2:
        return shared
    cost = _cost(query, counts, shared.shares - len(counts), context)
    return replace(shared, counts=tuple(count_groups(query, counts, cost)))


def _cost(query: Query, counts: list[int], others: int, context: PlanningContext) -> NoiseCost:
    """The cost of the noise of counts that are drawn together, beside other releases."""

    def weight(atoms: int) -> int:
        several = atoms * (2 if query.keys else 1)
        contribution = contribution_of(query.aggregates[counts[0]], query, context.policy, several)
        if context.options.mechanism == "gaussian":
            return total_squared(1, 1, contribution)
        return total(1, 1, contribution) ** 2

    # Where the squares of ε add up, the noise of k releases grows with the root of k.
    return NoiseCost(weight, 1 if context.share.concentrated else 2, others)


def _is_better(shared: Sharing, query: Query, context: PlanningContext) -> bool:
    """Whether no aggregate is noisier with the families than alone.

    Under `replace` noise for several groups is up to twice as large as noise for a single one.
    """
    if context.options.mechanism == "gaussian":
        return False
    doubled = context.policy.neighbors is Neighbors.REPLACE and not query.keys
    factor = 2 if doubled else 1
    return (factor**2 if context.share.concentrated else factor) * shared.shares <= shared.noisy


def is_public(index: int, query: Query, context: PlanningContext) -> bool:
    """Whether an aggregate follows from what is public, so that it has no noise and no share."""
    if query.obstacles[index] is not None:
        return True
    return is_public_count(query.aggregates[index], query, context)


def is_public_count(aggregate: Aggregate, query: Query, context: PlanningContext) -> bool:
    """Whether an aggregate is the number of all rows of a table, and that number is public."""
    counts = aggregate.function is Function.COUNT
    return counts and contribution_of(aggregate, query, context.policy).fixed
