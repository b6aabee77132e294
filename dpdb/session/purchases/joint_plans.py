"""The plans of statements that are drawn together: all gain, and none is noisier than alone.

A group of releases with the part p of what its statements may spend is as noisy as if each had r/p
of its own share and were alone, for some r. Shares in proportion to r let all groups gain alike.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

from dpdb.errors import TooLarge
from dpdb.plan.batch import JointQuery, noise_ratio
from dpdb.plan.relations.regions import region
from dpdb.policy.catalog import Policy
from dpdb.records import dataclass
from dpdb.session.purchases.query_plans import plans_of
from dpdb.session.purchases.strategies import with_strategies

if TYPE_CHECKING:
    from dpdb.plan.logical.query import Query
    from dpdb.plan.physical.lowering import RowCount
    from dpdb.plan.physical.plan import Plan

_AS_GOOD = 1 + 1e-9
"""The most times that a statement may be as noisy as alone, for the rounding of doubles."""
_FINE = 1_000
"""About the number of parts of a share that are divided."""
Ratios = Sequence[float]
"""How many times as noisy statements are as alone."""


@dataclass(frozen=True)
class JointPlan:
    """Statements that are drawn together, and the part that each has of their plan."""

    together: JointQuery
    plan: Plan
    parts: Mapping[Query, tuple[Plan, tuple[int, ...]]]
    ratios: Ratios

    @property
    def worst(self) -> float:
        """How many times the noisiest statement is as noisy as alone."""
        return _worst(self.ratios)

    @property
    def squares(self) -> float:
        """The sum of the squares of how many times statements are as noisy as alone."""
        return sum(ratio**2 for ratio in self.ratios)

    @property
    def mean(self) -> float:
        """The geometric mean of how many times statements are as noisy as alone."""
        return _mean(self.ratios)


def _mean(ratios: Ratios) -> float:
    return math.exp(sum(math.log(ratio) for ratio in ratios if ratio) / max(len(ratios), 1))


def _worst(ratios: Ratios) -> float:
    return max(ratios, default=0.0)


def drawn_together(
    queries: Sequence[JointQuery], policy: Policy, rows: RowCount, alone: Mapping[Query, Plan]
) -> list[JointPlan]:
    """The plans of the joint queries that gain; of each statement the plan `alone` is given.

    Where all of them are about the same table, and each about all of its rows, they get parts of
    what they may spend together by what they need, if no statement is noisier than alone then.
    """
    planner = _Planner(policy, rows, alone)
    plans = [each for query in queries if (each := planner.without_noisier(query)) is not None]
    if len(plans) < 2 or not all(_is_alike(each, plans[0]) for each in plans):
        return plans
    power = 2 if plans[0].together.share.concentrated else 1
    spent = [len(each.together.members) * each.mean**power for each in plans]
    number = sum(len(each.together.members) for each in plans)
    factors = (
        Fraction(math.floor(_FINE * number * own / sum(spent) / len(each.together.members)), _FINE)
        for own, each in zip(spent, plans, strict=True)
    )
    pairs = zip(plans, factors, strict=True)
    others = [other for each, factor in pairs if (other := planner.best(each.together, factor))]
    gain = len(others) == len(plans) and all(each.worst <= _AS_GOOD for each in others)
    return others if gain else plans


def _is_alike(one: JointPlan, other: JointPlan) -> bool:
    """Whether two plans are about the same table, all of its rows, and the same share of each."""
    whole = region(other.plan.table, None)
    alike = one.plan.table == other.plan.table and one.together.share == other.together.share
    return alike and one.plan.region == whole == other.plan.region


@dataclass(frozen=True)
class _Planner:
    policy: Policy
    rows: RowCount
    alone: Mapping[Query, Plan]

    def without_noisier(self, query: JointQuery) -> JointPlan | None:
        """The plan of those statements of a joint query of which none is noisier than alone."""
        while len(query.members) > 1:
            found = self.best(query, Fraction(1))
            if found is None or found.worst <= _AS_GOOD:
                return found
            noisiest = max(zip(found.ratios, found.parts, strict=True), key=lambda pair: pair[0])[1]
            left = tuple(member for member in query.members if member != noisiest)
            query = JointQuery(left, query.share)
        return None

    def best(self, query: JointQuery, factor: Fraction) -> JointPlan | None:
        """The best plan of a joint query with so many times its share; None if all are too large.

        No statement is noisier than alone if that can be; then the sum of squares is least.
        """
        ways = (each for at_once in (False, True) for each in self._weighed(query, factor, at_once))
        found = [each for each in ways if each is not None]
        return min(found, key=lambda each: (max(each.worst, _AS_GOOD), each.squares), default=None)

    def _weighed(
        self, query: JointQuery, factor: Fraction, at_once: bool
    ) -> Iterator[JointPlan | None]:
        """The plan with equal shares of all groups, and those with shares by what they need."""
        even = self._planned(query, factor, (), at_once)
        yield even
        if even is None or len(even.plan.by_share) < 2:
            return
        power = 2 if query.share.concentrated else 1
        ratios = [[r for r in self._ratios(even, group) if r] for group in even.plan.by_share]
        for summary in (_mean, _worst):
            needs = [summary(each) ** power for each in ratios]
            if not 0 < sum(needs) < math.inf:
                continue
            weights = tuple(Fraction(max(1, round(_FINE * each / sum(needs)))) for each in needs)
            yield self._planned(query, factor, weights, at_once)

    def _ratios(self, joint: JointPlan, group: Sequence[int]) -> Iterator[float]:
        """The ratio of each statement for what it reads of a group of releases; 0 for none."""
        for member, (part, used) in joint.parts.items():
            own = [place for place, index in enumerate(used) if index in group]
            yield noise_ratio(part, self.alone[member], own)

    def _planned(
        self, query: JointQuery, factor: Fraction, weights: tuple[Fraction, ...], at_once: bool
    ) -> JointPlan | None:
        share = query.joint_share.part(factor)
        try:
            (plan,) = plans_of(
                query.query, self.policy, share, self.rows, weights=weights, counts_at_once=at_once
            )
        except TooLarge:
            return None
        plan = with_strategies(plan) if at_once else plan
        parts = {
            member: query.part(plan, member, self.policy, self.rows) for member in query.members
        }
        ratios = [noise_ratio(part, self.alone[each]) for each, (part, _) in parts.items()]
        return JointPlan(query, plan, parts, ratios)
