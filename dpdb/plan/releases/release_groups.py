"""Release groups: the aggregates of a SELECT, grouped by the releases that answer them.

COUNT, SUM, AVG, VARIANCE and STDDEV of one argument over one filter are made of the same moments,
which cost one share of ε. COUNT(*) is read beside them wherever no row is left out by a NULL, or
where the number of NULLs is a part of the vector.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from fractions import Fraction

from dpdb.errors import MissingBounds, TooLarge
from dpdb.plan.expressions.expressions import Expr
from dpdb.plan.expressions.single_values import single_value
from dpdb.plan.identity import identity
from dpdb.plan.logical.query import Aggregate, Function, Query
from dpdb.plan.physical.box_lowering import is_less_noisy
from dpdb.plan.physical.context import PlanningContext
from dpdb.plan.physical.lowering import AggregateLowering, contribution_of
from dpdb.plan.physical.moments import GroupMoments, Moment, moments_of
from dpdb.plan.physical.release import Release
from dpdb.plan.ranges.ranges import nullable
from dpdb.plan.releases.count_groups import CountGroup, NoiseCost, at_once, count_groups
from dpdb.plan.releases.key_selection import told_by_keys
from dpdb.plan.releases.shared_moments import combined, counts_all_rows, covariance, moments_for
from dpdb.policy.budget import Neighbors
from dpdb.privacy.accounting.accountants import BudgetShare
from dpdb.privacy.sensitivity import total, total_squared
from dpdb.records import dataclass


@dataclass(frozen=True)
class ReleaseGroup:
    """Moments of one argument over one filter, or one aggregate that is not made of moments."""

    aggregate: int
    """The index of the first aggregate of the group."""
    needed: frozenset[Moment]
    """The moments to be read from its releases; none for another aggregate."""
    counts: CountGroup | None = None
    """Counts that are drawn as one, as sums over the same segments."""
    box: tuple[int, ...] = ()
    """The averages, one of each argument, that are drawn as one vector with the noise of a box."""


def is_public(index: int, query: Query, context: PlanningContext) -> bool:
    """Whether an aggregate follows from what is public, so that it has no noise and no share."""
    if query.contradictions[index] is not None:
        return True
    aggregate = query.aggregates[index]
    counts = aggregate.function is Function.COUNT
    return counts and contribution_of(aggregate, query, context.policy).fixed


def release_groups(
    query: Query, context: PlanningContext, before: Collection[int] = (), *, boxed: bool = True
) -> tuple[ReleaseGroup, ...]:
    """The groups of a query's own aggregates that are noisy, by their first aggregate.

    A query that fixes the size of its noise has a group for each. Those `before`, which follow
    from releases that are remembered, are in none. Unless `boxed`, averages stay by themselves.
    """
    known = {*before, *told_by_keys(query, context)}
    noisy = [
        index
        for index in range(len(query.aggregates))
        if not is_public(index, query, context) and index not in known
    ]
    needed = {index: moments_of(query.aggregates[index]) for index in noisy}
    if context.options.has_accuracy_goal:
        return tuple(ReleaseGroup(index, needed[index]) for index in noisy)
    groups = [ReleaseGroup(index, needed[index]) for index in noisy if not needed[index]]
    asked = [(index, query.aggregates[index]) for index in noisy if needed[index]]
    counts = []
    for where in dict.fromkeys(aggregate.where for _, aggregate in asked):
        over = [(index, aggregate) for index, aggregate in asked if aggregate.where == where]
        if all(aggregate.function is Function.COUNT for _, aggregate in over):
            counts += [index for index, _ in over]
            continue
        if context.options.kind.of_ratios is not context.options.kind:
            sums = [each for each in over if each[1].function in (Function.COUNT, Function.SUM)]
            groups += _one_by_one(sums)
            over = [each for each in over if each not in sums]
        groups += _over_one_filter(over, query, context) if over else ()
    groups += _of_counts(counts, len(groups), query, context)
    boxed &= not query.table.kinds
    if boxed and not query.cube and not context.concentrated and context.options.kind.draws_vectors:
        groups = _in_boxes(groups, asked, query, context)
    return tuple(sorted(groups, key=lambda group: group.aggregate))


def _in_boxes(
    groups: list[ReleaseGroup], asked: NumberedAggregates, query: Query, context: PlanningContext
) -> list[ReleaseGroup]:
    """The groups, where averages over one filter are drawn together if that is less noisy.

    The order is that of the arguments' identities, whichever is asked for first.
    """
    together: dict[Expr | None, list[ReleaseGroup]] = {}
    for group in groups:
        aggregate = query.aggregates[group.aggregate]
        if {Moment.COUNT, Moment.TOTAL} <= group.needed and _can_be_in_a_box(group, query, context):
            together.setdefault(aggregate.where, []).append(group)
    fewer = {where: members for where, members in together.items() if len(members) > 1}
    while fewer:
        left = len(groups) - sum(len(members) - 1 for members in fewer.values())
        noisy = [
            where
            for where, members in fewer.items()
            if not _is_less_noisy(
                members, asked, (len(members), 1) if context.together else (len(groups), left),
                query, context,
            )
        ]  # fmt: skip
        if not noisy:
            break
        del fewer[noisy[-1]]
    boxed = [each for members in fewer.values() for each in members]
    for members in fewer.values():
        indices = [each.aggregate for each in members]
        ordered = sorted(indices, key=lambda i: identity(query.aggregates[i].argument))
        groups = [*groups, ReleaseGroup(min(indices), _all_needed(members), box=tuple(ordered))]
    return [each for each in groups if each not in boxed]


def _is_less_noisy(
    members: Sequence[ReleaseGroup],
    asked: NumberedAggregates,
    shares: tuple[int, int],
    query: Query,
    context: PlanningContext,
) -> bool:
    """Whether averages over one filter are less noisy together, by the shares before and after."""
    cells = 2 if query.keys else 1
    aggregates = [query.aggregates[each.aggregate] for each in members]
    lowerings = [
        AggregateLowering(context, query, each, {}, cells, context.share).moments
        for each in aggregates
    ]
    functions = {each.function for _, each in asked if each.where == aggregates[0].where}
    counted = bool(functions & {Function.COUNT, Function.SUM})
    return is_less_noisy(lowerings, _all_needed(members), shares, counted=counted)


def _all_needed(members: Iterable[ReleaseGroup]) -> frozenset[Moment]:
    return frozenset().union(*(each.needed for each in members))


def _can_be_in_a_box(group: ReleaseGroup, query: Query, context: PlanningContext) -> bool:
    """Whether an average is of values of each row, whose bounds are known and differ."""
    aggregate = query.aggregates[group.aggregate]
    argument = aggregate.argument
    if argument is None or single_value(argument) is not None:
        return False
    if Moment.SQUARES in group.needed or context.options.bounds == "find":
        return False
    try:
        grid = AggregateLowering(context, query, aggregate, {}, 1, _CHEAP).moments.grid_of(False)
    except (MissingBounds, TooLarge):
        return False
    return grid.lower < grid.upper


def _of_counts(
    counts: list[int], others: int, query: Query, context: PlanningContext
) -> list[ReleaseGroup]:
    """The groups in which counts are drawn, beside `others` other groups.

    Two counts that differ are one histogram where that is better.
    """
    drawn: list[CountGroup] = []
    if len(counts) > 1 and not query.table.kinds:
        first = query.aggregates[counts[0]]

        def weight(segments: int) -> int:
            several = segments * (2 if query.keys else 1)
            contribution = contribution_of(first, query, context.policy, several, segments)
            if context.options.kind.is_euclidean:
                return total_squared(1, 1, contribution)
            return total(1, 1, contribution) ** 2

        power = 1 if context.concentrated else 2
        drawn = at_once(query, counts) if context.together else []
        drawn = drawn or count_groups(query, counts, NoiseCost(weight, power, others))
    together = [group for group in drawn if len(group.members) > 1]
    members = {member for group in together for member in group.members}
    alone = [index for index in counts if index not in members]
    return [
        *(ReleaseGroup(min(group.members), frozenset(), group) for group in together),
        *(ReleaseGroup(index, moments_of(query.aggregates[index])) for index in alone),
    ]


Subject = tuple[Expr | None, bool]
"""An argument, or None for all rows; and whether its squares stand apart from its sum."""
Needs = dict[Subject, frozenset[Moment]]
NumberedAggregates = Sequence[tuple[int, Aggregate]]
ROWS: Subject = (None, False)
_CHEAP = BudgetShare(Fraction(1), Fraction(1, 10**6))
"""A share to compare groupings at: all errors grow alike as the share shrinks."""


def _over_one_filter(
    asked: NumberedAggregates, query: Query, context: PlanningContext
) -> tuple[ReleaseGroup, ...]:
    """The groups of aggregates over one filter, by the grouping with the smallest errors.

    A SUM alone has less noise than one that is read from a vector, but a vector tells more.
    """
    needs: Needs = {}
    first: dict[Subject, int] = {}
    for index, aggregate in asked:
        subject = _subject(aggregate, asked, query, context)
        own = moments_of(aggregate) if subject[0] is not None else frozenset({Moment.ROWS})
        first.setdefault(subject, index)
        needs[subject] = needs.get(subject, frozenset()) | own

    def groups(needs: Needs) -> tuple[ReleaseGroup, ...]:
        way = _with_rows(needs, query, context)
        return tuple(ReleaseGroup(first[subject], needed) for subject, needed in way.items())

    if len(asked) == 1 or contribution_of(asked[0][1], query, context.policy).fixed:
        return groups(needs)
    vectors = {
        subject: needed | {Moment.COUNT} if needed == {Moment.TOTAL} else needed
        for subject, needed in needs.items()
    }
    if context.options.bounds == "found":  # which way is better follows from bounds
        return groups(vectors)
    ways = [groups(needs), groups(vectors)]
    if all(aggregate.function in (Function.COUNT, Function.SUM) for _, aggregate in asked):
        ways.append(_one_by_one(asked))
    if len(set(ways)) == 1:
        return ways[0]
    return min(ways, key=lambda way: _error(way, asked, query, context))


def _one_by_one(asked: NumberedAggregates) -> tuple[ReleaseGroup, ...]:
    """A group for each COUNT and SUM, but one for all that count the same rows."""
    groups: dict[object, ReleaseGroup] = {}
    for index, aggregate in asked:
        every = counts_all_rows(aggregate)
        needed = frozenset({Moment.ROWS}) if every else moments_of(aggregate)
        key = (None if every else aggregate.argument, needed)
        groups.setdefault(key, ReleaseGroup(index, needed))
    return tuple(groups.values())


def _subject(
    aggregate: Aggregate, asked: NumberedAggregates, query: Query, context: PlanningContext
) -> Subject:
    """The subject of an aggregate; COUNT(x) of values that are never NULL has the subject ROWS.

    Squares stand apart where their grid is coarser than that of the sums beside them, which
    would be those of rounded values.
    """
    argument = aggregate.argument
    if argument is None or counts_all_rows(aggregate):
        return ROWS
    same = [other for _, other in asked if other.argument == argument]
    needed = [moments_of(other) for other in same]
    summed = any(Moment.TOTAL in each and Moment.SQUARES not in each for each in needed)
    apart = summed and any(Moment.SQUARES in each for each in needed)
    if not apart or Moment.SQUARES not in moments_of(aggregate):
        return argument, False
    if context.options.bounds == "found":  # grids follow from bounds
        return argument, True
    grid_of = AggregateLowering(context, query, aggregate, {}, 1, _CHEAP).moments.grid_of
    try:
        return argument, grid_of(True) != grid_of(False)
    except (MissingBounds, TooLarge):
        return argument, True


def _with_rows(needs: Needs, query: Query, context: PlanningContext) -> Needs:
    """The needs, with the number of all rows read beside the vectors, if there are any.

    Under `replace` within one group a row that becomes NULL would move a number of NULLs as well.
    With two owners a unit moves each further part by a room of its own, so nothing is gained.
    """
    if ROWS not in needs or query.table.kinds:
        return needs
    replaced = context.policy.neighbors is Neighbors.REPLACE and not query.keys
    beside = {
        subject: needed | {Moment.ROWS}
        for subject, needed in needs.items()
        if Moment.COUNT in needed
        and not (replaced and subject[0] is not None and nullable(subject[0]))
    }
    if not beside:
        return needs
    return {
        subject: beside.get(subject, needed) for subject, needed in needs.items() if subject != ROWS
    }


def _error(
    way: Sequence[ReleaseGroup], asked: NumberedAggregates, query: Query, context: PlanningContext
) -> float:
    """The sum of the errors of all aggregates, each relative to what it is when asked alone.

    Averages and variances have errors that depend on the rows; these grow as their share shrinks.
    """
    whole = replace(_CHEAP, concentrated=context.concentrated)
    part = whole.part(Fraction(1, len(way)))
    groups = 2 if query.keys else 1
    lowering = AggregateLowering(context, query, asked[0][1], {}, groups, part)
    try:
        shared = _lowered([(query.aggregates[g.aggregate], g.needed) for g in way], part, lowering)
        total = 0.0
        for _, aggregate in asked:
            if aggregate.function not in (Function.COUNT, Function.SUM):
                total += float(whole.epsilon / part.epsilon)
                continue
            alone = _lowered([(aggregate, moments_of(aggregate))], whole, lowering)
            least = _variance(aggregate, *alone)
            total += math.sqrt(_variance(aggregate, *shared) / least) if least else 0.0
    except (MissingBounds, TooLarge):
        return math.inf
    return total


def _lowered(
    groups: Sequence[tuple[Aggregate, frozenset[Moment]]],
    share: BudgetShare,
    lowering: AggregateLowering,
) -> tuple[list[Release], Sequence[GroupMoments]]:
    """Groups with the same share each: their releases, and what is read from all of them."""
    releases: list[Release] = []
    moments = []
    for aggregate, needed in groups:
        one = replace(lowering, aggregate=aggregate, share=share).moments
        own, read = one.lower(needed)
        moments.append(GroupMoments(one.argument, one.where, read.moved(len(releases))))
        releases += own
    return releases, combined(moments, releases)


def _variance(
    aggregate: Aggregate, releases: list[Release], groups: Sequence[GroupMoments]
) -> Fraction:
    """The variance of a COUNT or a SUM."""
    moments = moments_for(aggregate, groups)
    assert moments is not None
    combination = moments.sum if aggregate.function is Function.SUM else moments.count
    assert combination is not None
    return covariance(combination, combination, releases)
