"""The plans of counts that are drawn across several sets of keys, by one strategy."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING

from dpdb.answers.tables.weighted_sums import WeightedSums
from dpdb.errors import TooLarge
from dpdb.plan.batch import CrossQuery
from dpdb.plan.physical.cubes import SummedNoise
from dpdb.plan.physical.lowering import contribution_of
from dpdb.plan.physical.mechanism_choice import MechanismChoice, with_usual_noise
from dpdb.plan.physical.moments import Estimate, Moments, value
from dpdb.plan.physical.plan import Plan
from dpdb.plan.physical.release import Release
from dpdb.plan.planner import outline
from dpdb.plan.ranges.intervals import Interval
from dpdb.plan.ranges.ranges import nullable
from dpdb.plan.ranges.statistics import Count
from dpdb.plan.releases.query_releases import MAX_GROUPS
from dpdb.plan.unit_work import MAX_UNIT_SECONDS
from dpdb.privacy.mechanisms.kinds import NoiseKind
from dpdb.privacy.mechanisms.mechanism import StrategyNoise
from dpdb.records import dataclass
from dpdb.session.purchases.joint.strategy_search import WHOLE, found_strategy

if TYPE_CHECKING:
    from dpdb.answers.estimates import Draws
    from dpdb.plan.logical.query import Query
    from dpdb.policy.catalog import Policy
    from dpdb.privacy.accounting.accountants import BudgetShare
    from dpdb.vectors.vector import Array

_MOST_SUMS = MAX_GROUPS // 2
"""The most cells times segments: there are about as many sums again."""


@dataclass(frozen=True)
class CrossPlan:
    """The outline of a cross query, and the strategy that serves all of its members."""

    query: CrossQuery
    outline: Plan
    policy: Policy

    @classmethod
    def of(cls, query: CrossQuery, policy: Policy) -> CrossPlan | None:
        """The plan of a cross query; None where it would be too large, or has other noise."""
        options = with_usual_noise(query.query.options, query.share)
        if query.share.concentrated or options.kind is not NoiseKind.LAPLACE:
            return None
        try:
            empty = outline(query.query, policy)
        except TooLarge:
            return None
        segments = query.histogram
        if segments is None or empty.work.seconds > MAX_UNIT_SECONDS:
            return None
        found = cls(query, empty, policy)
        small = empty.cells * len(segments.segments) <= _MOST_SUMS
        return found if small and found.sums.strategy.size <= MAX_GROUPS else None

    @cached_property
    def sums(self) -> WeightedSums:
        """Reads the members' counts from what is drawn."""
        counts = tuple(
            (self.query.keys(member), segments)
            for member in self.query.members for segments in self.query.segments(member)
        )  # fmt: skip
        sizes = tuple(map(len, self.outline.key_values))
        assert self.query.histogram is not None
        return WeightedSums(found_strategy(sizes, counts, len(self.query.histogram.segments)))

    def plan(self, share: BudgetShare) -> Plan:
        """The plan that draws all of it; its estimates are those of no member."""
        query, strategy, segments = self.query.query, self.sums.strategy, self.query.histogram
        assert segments is not None
        contribution = contribution_of(query.aggregates[0], query, self.policy, 2)
        choice = MechanismChoice(with_usual_noise(query.options, share), contribution, None)
        noise = choice.for_total(strategy.change, strategy.change, share)
        release = Release("count", segments, noise, Fraction(1, WHOLE), strategy=strategy)
        return replace(self.outline, releases=(release,))

    def part(self, plan: Plan, member: Query, alone: Plan) -> Plan:
        """A member's plan, as its counts are read from what the plan draws; `alone` is its own."""
        (drawn,), keys = plan.releases, self.query.keys(member)
        assert isinstance(drawn.mechanism, StrategyNoise)
        releases, estimates = [], []
        pairs = zip(member.aggregates, self.query.segments(member), strict=True)
        for place, (count, segments) in enumerate(pairs):
            weights = self.sums.weights(keys, segments)
            terms = tuple((weight, number, drawn.mechanism) for weight, number in weights)
            known = count.argument if count.argument and nullable(count.argument) else None
            releases.append(
                replace(drawn, statistic=Count(known, count.where), level=SummedNoise(terms))
            )
            moments = Moments(rows=value(place), count=value(place))
            estimates.append(Estimate(count, (place,), Interval(), moments=moments))
        return replace(
            alone,
            releases=tuple(releases),
            estimates=tuple(estimates),
            outputs=member.outputs,
            groups=(),
            parallel=(),
            by_share=(),
        )

    def read(self, member: Query, draws: Draws) -> Draws:
        """The values of a member's releases, in the order of its groups."""
        return tuple(self._read(member, draws))

    def _read(self, member: Query, draws: Draws) -> Iterator[Array]:
        keys, query = self.query.keys(member), self.query.query
        null = [place in keys and nullable(key) for place, key in enumerate(query.keys)]
        shown = tuple(slice(-1 if each else None) for each in null)
        order = [keys.index(query.keys.index(key)) for key in member.keys]
        for segments in self.query.segments(member):
            cells = self.sums.values(draws[0].ravel(), keys, segments)[shown]
            others = tuple(place for place in range(cells.ndim) if place not in keys)
            yield cells.squeeze(others).transpose(order).ravel()
