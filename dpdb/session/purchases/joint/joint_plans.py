"""The plans of statements that are drawn together: all gain, and none is noisier than alone.

A group of releases with the part p of what its statements may spend is as noisy as if each had r/p
of its own share and were alone, for some r. Shares in proportion to r let all groups gain alike.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

from dpdb.answers.release_reports import promised_error
from dpdb.errors import TooLarge
from dpdb.plan.batch import CrossQuery, JointQuery, crossed, noise_ratio
from dpdb.plan.relations.regions import region
from dpdb.policy.catalog import Policy
from dpdb.privacy.mechanisms.kinds import Law
from dpdb.records import dataclass
from dpdb.session.purchases.joint.cross_plans import CrossPlan
from dpdb.session.purchases.joint.strategies import with_strategies
from dpdb.session.purchases.query_plans import plans_of

if TYPE_CHECKING:
    from dpdb.answers.estimates import Draws
    from dpdb.plan.logical.query import Query
    from dpdb.plan.physical.context import RowCount
    from dpdb.plan.physical.plan import Plan

_AS_GOOD = 1 + 1e-9
"""The most times that a statement may be as noisy as alone, for the rounding of doubles."""
_FINE = 1_000
"""About the number of parts of a share that are divided."""
Ratios = Sequence[float]
"""The noise of each statement, as a multiple of its noise alone."""


@dataclass(frozen=True)
class JointPlan:
    """Statements that are drawn together, and the part that each has of their plan."""

    together: JointQuery | CrossQuery
    plan: Plan
    parts: Mapping[Query, tuple[Plan, tuple[int, ...]]]
    """Of each statement its plan and the releases that it reads as they are drawn."""
    ratios: Ratios
    across: CrossPlan | None = None
    """Reads the statements of a cross query."""

    def read(self, member: Query, draws: Draws) -> Draws:
        """A statement's noisy values, from those that were drawn."""
        if self.across is not None:
            return self.across.read(member, draws)
        return tuple(draws[index] for index in self.parts[member][1])

    @property
    def worst(self) -> float:
        """The noise of the noisiest statement, as a multiple of its noise alone."""
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


def _ratio(part: Plan, alone: Plan) -> float:
    """The noise of a statement as a multiple of that alone: by its variance, and by each ±.

    A weighted sum of Laplace noises has no larger ± than one of the same variance, so that its
    variance says enough. Other noises can have the same variance and another ±.
    """
    ratio = noise_ratio(part, alone)
    noises = (each.noise for each in part.releases)
    if any(noise is not None and noise.law is not Law.LAPLACE for noise in noises):
        pairs = ((promised_error(part, o), promised_error(alone, o)) for o in alone.outputs)
        ratio = max([ratio, *(now / before for now, before in pairs if now and before)])
    return ratio


def drawn_together(
    queries: Sequence[JointQuery],
    policy: Policy,
    rows: RowCount,
    alone: Mapping[Query, Plan],
    paid: Collection[Query],
) -> list[JointPlan]:
    """The plans of the joint queries that gain; of each statement the plan `alone` is given.

    Counts are drawn across keys where the sum of the squares of all noise is less by that, if they
    are `paid` for one by one: others follow from statements before them.
    """
    planner = _Planner(policy, rows, alone)
    by_keys = planner.all_of(queries)
    left, across = crossed(queries, policy, paid)
    if not across:
        return by_keys
    ways = [by_keys, planner.all_of([*left, *across], paid)]
    return min(ways, key=lambda plans: _squares(plans, len(alone)))


def _squares(plans: Sequence[JointPlan], statements: int) -> float:
    """The sum of squares of how many times each of so many statements is as noisy as alone."""
    return sum(each.squares - len(each.parts) for each in plans) + statements


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

    def all_of(
        self, queries: Sequence[JointQuery | CrossQuery], beside: Collection[Query] = ()
    ) -> list[JointPlan]:
        """The plans of the queries that gain.

        Where all of them are about the same table, and each about all of its rows, they get parts
        of what they may spend together by what they need, if no statement is noisier than alone
        then. Statements that no other is drawn with have a part, too, if they are in `beside`.
        """
        plans = [each for query in queries if (each := self.without_noisier(query)) is not None]
        lone = (
            query for query in queries if query.members[1:] == () and query.members[0] in beside
        )
        each_alone = [each for query in lone if (each := self.best(query, Fraction(1))) is not None]
        gaining, plans = plans, [*plans, *each_alone]
        if len(plans) < 2 or not all(_is_alike(each, plans[0]) for each in plans):
            return gaining
        power = 2 if plans[0].together.share.concentrated else 1
        spent = [len(each.together.members) * each.mean**power for each in plans]
        number = sum(len(each.together.members) for each in plans)
        parts = [Fraction(round(_FINE * number * own / sum(spent)), _FINE) for own in spent]
        parts[spent.index(max(spent))] += number - sum(parts)
        factors = [
            part / len(each.together.members) for part, each in zip(parts, plans, strict=True)
        ]
        pairs = zip(plans, factors, strict=True)
        others = [self.best(each.together, factor) for each, factor in pairs]
        better = [each for each in others if each is not None and each.worst <= _AS_GOOD]
        return better if len(better) == len(others) else gaining

    def without_noisier(self, query: JointQuery | CrossQuery) -> JointPlan | None:
        """The plan of those statements of a joint query of which none is noisier than alone."""
        if isinstance(query, CrossQuery):
            found = self.best(query, Fraction(1))
            return found if found is not None and found.worst <= _AS_GOOD else None
        while len(query.members) > 1:
            found = self._of_joint(query, Fraction(1))
            if found is None or found.worst <= _AS_GOOD:
                return found
            noisiest = max(zip(found.ratios, found.parts, strict=True), key=lambda pair: pair[0])[1]
            left = tuple(member for member in query.members if member != noisiest)
            query = JointQuery(left, query.share)
        return None

    def best(self, query: JointQuery | CrossQuery, factor: Fraction) -> JointPlan | None:
        """The best plan of a query with so many times its share; None where there is none."""
        if isinstance(query, JointQuery):
            return self._of_joint(query, factor)
        across = CrossPlan.of(query, self.policy)
        if across is None:
            return None
        try:
            plan = across.plan(query.share.part(factor * len(query.members)))
        except TooLarge:
            return None
        parts = {each: (across.part(plan, each, self.alone[each]), ()) for each in query.members}
        ratios = [_ratio(part, self.alone[each]) for each, (part, _) in parts.items()]
        return JointPlan(query, plan, parts, ratios, across)

    def _of_joint(self, query: JointQuery, factor: Fraction) -> JointPlan | None:
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
                query.query, self.policy, share, self.rows, weights=weights, together=at_once
            )
        except TooLarge:
            return None
        plan = with_strategies(plan) if at_once else plan
        parts = {
            member: query.part(plan, member, self.policy, self.rows) for member in query.members
        }
        ratios = [_ratio(part, self.alone[each]) for each, (part, _) in parts.items()]
        return JointPlan(query, plan, parts, ratios)
