"""Joint queries: several queries drawn as one query with the aggregates of all.

A shared aggregate is drawn once, and counts of different queries are sums over the same segments.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cached_property

from dpdb.plan.expressions.expressions import Expr, columns_of
from dpdb.plan.expressions.single_values import single_value
from dpdb.plan.identity import identity
from dpdb.plan.logical.per_unit import filtered
from dpdb.plan.logical.query import Aggregate, Function, Query
from dpdb.plan.physical.bounds import sought
from dpdb.plan.physical.caps import with_declared_total
from dpdb.plan.physical.context import NO_SHARE, PlanningContext, RowCount
from dpdb.plan.physical.cubes import KeySet
from dpdb.plan.physical.lowering import contribution_of
from dpdb.plan.physical.moments import Estimate
from dpdb.plan.physical.plan import Plan
from dpdb.plan.ranges.group_keys import is_found, key_values
from dpdb.plan.ranges.statistics import Histogram
from dpdb.plan.releases.allocation import competing_rows
from dpdb.plan.releases.count_groups import cell_histogram, counted
from dpdb.plan.releases.key_selection import selects_keys
from dpdb.plan.releases.shared_moments import covariance
from dpdb.plan.unit_work import MAX_UNIT_SECONDS, work_of
from dpdb.policy.catalog import Policy, Table, Value
from dpdb.privacy.accounting.accountants import BudgetShare
from dpdb.records import dataclass


def unlabelled(query: Query) -> Query:
    """The query without the names of its columns: equal for queries with the same answer."""
    return replace(query, outputs=tuple(replace(output, label="") for output in query.outputs))


def can_be_joined(query: Query) -> bool:
    """Whether a query can be drawn together with others.

    One with a goal of accuracy has a price of its own, and so has one with subqueries, as these
    come first, and one whose keys or bounds are found in the data, or that clamps totals. Sums over
    rows of two units are each drawn by themselves.
    """
    apart = (
        query.table.kinds
        or query.subqueries
        or query.options.has_accuracy_goal
        or selects_keys(query)
    )
    settled = query.settled or query.table.kinds
    return not (settled or apart or sought(query) or with_declared_total(query))


def _joint_key(query: Query, share: BudgetShare) -> str:
    """Identity of all that members of a joint query share: table, rows, keys, options, share."""
    options = replace(query.options, epsilon=None, delta=None)  # the share has both
    return identity((query.table, _common_filter(query), query.keys, options, share))


def _common_filter(query: Query) -> Expr | None:
    """The WHERE of the joint query; None if each aggregate has the member's WHERE as its FILTER.

    WHERE can decide which of its keys' values a GROUP BY has, and which rows of a unit count.
    """
    decides = any(key_values(k, query.where, {}) != _all_values(k) for k in query.keys)
    return query.where if decides or query.table.unit is not None else None


def _all_values(key: Expr) -> tuple[Value, ...]:
    """The values of a key without any WHERE; none where only a WHERE lists them."""
    return () if is_found(key, None) else key_values(key, None, {})


@dataclass(frozen=True)
class JointQuery:
    """Different queries that are drawn as one."""

    members: tuple[Query, ...]
    share: BudgetShare
    """Budget share of each member query."""

    def __post_init__(self) -> None:
        # The bounds and caps of one table say nothing of what another one's rows come to.
        assert len({_joint_key(member, self.share) for member in self.members}) == 1

    @cached_property
    def query(self) -> Query:
        """The joint query, which has each aggregate of its members once."""
        first = self.members[0]
        aggregates = dict.fromkeys(
            each for member in self.members for each in _filtered(member).values()
        )
        where = first.where if _common_filter(first) is not None else None
        return Query(first.table, (), tuple(aggregates), where, first.keys, options=first.options)

    @property
    def joint_share(self) -> BudgetShare:
        """Budget share of all members: the sum of ε and δ, under zCDP the sum of the squared ε."""
        number = len(self.members)
        return self.share if number == 1 else self.share.part(Fraction(number))

    def part(
        self, plan: Plan, member: Query, policy: Policy, rows: RowCount
    ) -> tuple[Plan, tuple[int, ...]]:
        """A member's plan cut out of the joint plan, and the indices of its releases there."""
        filtered = _filtered(member)
        joint = {estimate.aggregate: estimate for estimate in plan.estimates}
        own = [replace(joint[filtered[each]], aggregate=each) for each in member.aggregates]
        used = sorted({index for estimate in own for index in estimate.releases})
        places = {index: place for place, index in enumerate(used)}
        context = PlanningContext(policy, rows, member.options)
        return replace(
            plan,
            where=member.where,
            releases=tuple(plan.releases[index] for index in used),
            estimates=tuple(
                replace(
                    each,
                    releases=tuple(places[index] for index in each.releases),
                    moments=each.moments.placed(places),
                )
                for each in own
            ),
            groups=(),
            parallel=(),  # no part is charged for by itself
            outputs=member.outputs,
            having=member.having,
            order=member.order,
            limit=member.limit,
            offset=member.offset,
            competing_rows=competing_rows(member, plan.cells, context),
        ), tuple(used)


def _filtered(member: Query) -> Mapping[Aggregate, Aggregate]:
    """The joint query's aggregate for each aggregate of the member, over the same rows."""
    where = None if _common_filter(member) is not None else member.where
    return {each: filtered(each, where) for each in member.aggregates}


@dataclass(frozen=True)
class CrossQuery:
    """Counts over all rows of one table, in the groups of several sets of keys, drawn as one."""

    members: tuple[Query, ...]
    share: BudgetShare
    """Budget share of each member query."""

    @cached_property
    def query(self) -> Query:
        """The counts of all members in the groups of all keys, with one for rows with NULL."""
        first = self.members[0]
        counts = (each for member in self.members for each in self._counts(member))
        keys = tuple(dict.fromkeys(key for member in self.members for key in member.keys))
        return Query(
            first.table, (), tuple(dict.fromkeys(counts)), None, keys,
            options=first.options, cube=keys,
        )  # fmt: skip

    @cached_property
    def histogram(self) -> Histogram | None:
        """The segments of all counts; None for too many."""
        conditions = tuple(dict.fromkeys(map(counted, self.query.aggregates)))
        return cell_histogram(self.query.table, None, conditions)

    def keys(self, member: Query) -> KeySet:
        """The indices of a member's keys among all."""
        return tuple(sorted(map(self.query.keys.index, member.keys)))

    def segments(self, member: Query) -> Iterator[tuple[int, ...]]:
        """The segments that each count of a member adds up."""
        assert self.histogram is not None
        for each in self._counts(member):
            place = self.histogram.conditions.index(counted(each))
            segments = enumerate(self.histogram.segments)
            yield tuple(index for index, segment in segments if segment[place])

    def _counts(self, member: Query) -> Iterator[Aggregate]:
        return (filtered(each, member.where) for each in member.aggregates)


def crossed(
    queries: Sequence[JointQuery], policy: Policy, among: Collection[Query]
) -> tuple[list[JointQuery], list[CrossQuery]]:
    """Joint queries without the counts that can be drawn across keys, and those.

    A count is `among` those wanted, or shows one of them again. Keys that are grouped by are in no
    condition, so that every sum is wanted in all of its cells.
    """

    def rows(query: Query) -> object:
        return query.table, query.where, frozenset(query.keys)

    wanted: dict[object, set[Aggregate]] = {}
    for each in among:
        wanted.setdefault(rows(each), set()).update(each.aggregates)
    together: dict[str, list[tuple[Query, BudgetShare]]] = {}
    for query in queries:
        for member in query.members:
            asked = {*member.aggregates} <= wanted.get(rows(member), set())
            if asked and _counts_all_rows_of_a_table(member, policy):
                options = replace(member.options, epsilon=None, delta=None)
                alike = identity((member.table, options, query.share))
                together.setdefault(alike, []).append((member, query.share))
    found = list[CrossQuery]()
    for pairs in together.values():
        whole = CrossQuery(tuple(member for member, _ in pairs), NO_SHARE)
        filtered_by = {
            name for each in whole.query.aggregates for name in columns_of(counted(each))
        }
        free = tuple(
            member for member in whole.members
            if not filtered_by & {name for key in member.keys for name in columns_of(key)}
        )  # fmt: skip
        if len({frozenset(member.keys) for member in free}) > 1:
            found.append(CrossQuery(free, pairs[0][1]))
    taken = {member for each in found for member in each.members}
    left = [
        JointQuery(members, query.share) for query in queries
        if (members := tuple(each for each in query.members if each not in taken))
    ]  # fmt: skip
    return left, found


def _counts_all_rows_of_a_table(query: Query, policy: Policy) -> bool:
    """Whether a query counts rows, of which each is a unit, and no WHERE decides on its groups."""
    return (
        type(query) is Query
        and isinstance(query.table, Table)
        and query.table.unit is None
        and query.minimum_units == 1
        and not query.cube
        and _common_filter(query) is None
        and all(map(_all_values, query.keys))
        and not any(query.contradictions)
        and all(
            each.function is Function.COUNT
            and single_value(each.argument) is None
            and not contribution_of(each, query, policy).fixed
            for each in query.aggregates
        )
    )


def noise_ratio(part: Plan, alone: Plan, releases: Collection[int] | None = None) -> float:
    """The most times that an aggregate is as noisy in the part of a joint plan as it is alone.

    With `releases` only what is read from these of the part counts.
    """
    ratios = [0.0]
    for own, by_itself in zip(part.estimates, alone.estimates, strict=True):
        if not own.releases or not (releases is None or {*releases} & {*own.releases}):
            continue
        pairs = zip(_noises(own, part), _noises(by_itself, alone), strict=True)
        ratios += [one / other if other else math.inf for one, other in pairs if one]
    return max(ratios)


def _noises(estimate: Estimate, plan: Plan) -> list[float]:
    """The standard deviation of each sum that an aggregate reads, or the spread of a selection."""
    moments, step = estimate.moments, float(estimate.moments.step)
    steps: tuple[float, ...] = 1.0, step, step**2
    match estimate.aggregate.function:
        case Function.COUNT:
            read = [moments.count]
        case Function.SUM:
            read, steps = [moments.sum], (step,)
        case Function.AVG:
            read = [moments.count, moments.total]
        case _:
            read = [moments.count, moments.total, moments.squares]
    sums = [(each, step) for each, step in zip(read, steps, strict=False) if each is not None]
    if not sums:
        # The interval beside a selection has its own part of the same ε.
        return [plan.releases[estimate.releases[0]].mechanism.spread]
    return [step * math.sqrt(covariance(each, each, plan.releases)) for each, step in sums]


def joined(queries: Sequence[tuple[Query, BudgetShare]]) -> list[JointQuery]:
    """The joint queries, in the order of their first members; equal queries are one member.

    A unit adds no more work to a joint query than a single statement may have.
    """
    together: dict[tuple[str, int], dict[Query, None]] = {}
    shares: dict[tuple[str, int], BudgetShare] = {}
    latest: dict[str, tuple[int, float]] = {}
    for query, share in dict.fromkeys((unlabelled(query), share) for query, share in queries):
        alike, added = _joint_key(query, share), work_of(query).seconds
        number, before = latest.get(alike, (0, 0.0))
        fits = before + added <= MAX_UNIT_SECONDS
        latest[alike] = (number, before + added) if fits else (number + 1, added)
        key = alike, latest[alike][0]
        shares[key] = share
        together.setdefault(key, {})[unlabelled(query)] = None
    return [JointQuery(tuple(members), shares[key]) for key, members in together.items()]
