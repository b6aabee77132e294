"""The shares of a SELECT: one for each release group, or for a family that composes in parallel."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from dpdb.plan.key_selection import selects_keys
from dpdb.plan.lowering import PlanningContext
from dpdb.plan.moments import Moment
from dpdb.plan.parallel import Family, families
from dpdb.plan.query import Query
from dpdb.plan.recall import recalled
from dpdb.plan.release_groups import ReleaseGroup, release_groups
from dpdb.plan.single_values import single_value
from dpdb.policy.budget import Neighbors


@dataclass(frozen=True)
class Sharing:
    """The release groups of a query, and those whose filters exclude each other."""

    groups: tuple[ReleaseGroup, ...]
    families: tuple[Family, ...] = ()
    """Their members are the places of groups."""
    keys: bool = False
    """Whether a share is for the keys, which are found in the data."""
    subqueries: tuple[Sharing, ...] = ()
    """What each subquery shares."""

    @property
    def shares(self) -> int:
        """The number of equal parts of ε that these groups have."""
        return len(self.groups) + self.keys - sum(family.saved for family in self.families)

    @property
    def all_shares(self) -> int:
        """The number of equal parts of ε, those of subqueries included."""
        return self.shares + sum(each.all_shares for each in self.subqueries)

    @cached_property
    def family_of(self) -> Mapping[int, tuple[Family, int]]:
        """For each group in a family: the family, and how many there are over its filter."""
        return {
            place: (family, len(members))
            for family in self.families
            for members in family.members
            for place in members
        }


def sharing(query: Query, context: PlanningContext) -> Sharing:
    """The release groups of a query and of its subqueries."""
    own = _own_sharing(query, context)
    if not query.subqueries:
        return own
    return replace(own, subqueries=tuple(sharing(each, context) for each in query.subqueries))


def _own_sharing(query: Query, context: PlanningContext) -> Sharing:
    """The release groups of a query alone; no family where the size of the noise is given.

    Families are of what is made of sums, to which each row of a unit adds by itself.
    """
    groups = release_groups(query, context, recalled(query, context))
    options, keys = context.options, selects_keys(query)
    if len(groups) < 2 or options.has_accuracy_goal or options.mechanism == "gaussian":
        return Sharing(groups, keys=keys)
    summed = {
        place: query.aggregates[group.aggregate].where
        for place, group in enumerate(groups)
        if group.needed & {Moment.TOTAL, Moment.SQUARES}
        and single_value(query.aggregates[group.aggregate].argument) is None
    }
    shared = Sharing(groups, tuple(families(query, summed)), keys)
    return shared if _is_better(shared, query, context) else Sharing(groups, keys=keys)


def _is_better(shared: Sharing, query: Query, context: PlanningContext) -> bool:
    """Whether no aggregate is noisier with the families than alone.

    Under `replace` noise for several groups is up to twice as large as noise for a single one.
    """
    doubled = context.policy.neighbors is Neighbors.REPLACE and not query.keys
    factor = 2 if doubled else 1
    factor = factor**2 if context.concentrated else factor
    return factor * shared.shares <= len(shared.groups) + shared.keys
