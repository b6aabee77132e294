"""Counts over filters: cut into cells that exclude each other, and released as one vector."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property

from dpdb.plan.expressions.expressions import (
    Call,
    ColumnRef,
    Compare,
    Expr,
    InList,
    IsNull,
    Literal,
    Logic,
    Not,
    columns_of,
    conjunction,
)
from dpdb.plan.logical.query import Aggregate, Query
from dpdb.plan.ranges.ranges import nullable
from dpdb.plan.ranges.statistics import Histogram
from dpdb.plan.relations.regions import EVERY_POINT, ColumnLimit, Limits, Point, region
from dpdb.plan.relations.relations import Source
from dpdb.policy.catalog import Column, Kind
from dpdb.records import dataclass

MAX_SEGMENTS = 256
"""The most segments of one histogram."""

_MAX_BOXES = 4 * MAX_SEGMENTS
_Box = Mapping[str, int]
"""A set of rows: for each column the pieces of its values that may occur, as bits."""


def cell_histogram(
    table: Source, where: Expr | None, conditions: Sequence[Expr]
) -> Histogram | None:
    """The histogram over the segments of `conditions` within `where`; None for too many segments.

    Condition by condition the rows are divided into boxes in which the conditions so far are true
    or not, and boxes that no row can be in are left out. Conditions on one column with t ends of
    intervals have at most t + 2 segments.
    """
    limits = [region(table, each).limits for each in (where, *conditions)]
    columns = {limit.column.name: limit.column for each in limits for limit in each.values()}
    cuts = {name: _Cuts(column, limits) for name, column in columns.items()}
    everything = {name: cut.everything for name, cut in cuts.items()}
    start, *inside = ({name: cuts[name].within(each[name]) for name in each} for each in limits)
    boxes: list[tuple[tuple[bool, ...], _Box]] = [((), {**everything, **start})]
    for condition, within in zip(conditions, inside, strict=True):
        exact = _is_exact(condition)
        boxes = [
            ((*segment, true), part)
            for segment, box in boxes
            for true, part in _divided(box, within, exact=exact)
        ]
        if len(boxes) > _MAX_BOXES:
            return None
    segments = {segment for segment, _ in boxes if any(segment)}
    if len(segments) > MAX_SEGMENTS:
        return None
    return Histogram(tuple(conditions), tuple(sorted(segments)))


def _divided(box: _Box, within: _Box, *, exact: bool) -> Iterator[tuple[bool, _Box]]:
    """The boxes into which a condition divides a box, and whether it is true in them.

    The condition is true within the box `within` only, and everywhere there if `exact`. Rows not
    in `within` are outside in some column; the boxes for different columns may overlap.
    """
    inside = {**box, **{name: box[name] & pieces for name, pieces in within.items()}}
    possible = all(inside.values())
    if possible:
        yield True, inside
    if not (exact and possible):
        yield False, box
        return
    for name, pieces in within.items():
        if outside := box[name] & ~pieces:
            yield False, {**box, name: outside}


class _Cuts:
    """The values of a column, cut where any of the limits changes; NULL is the last piece."""

    def __init__(self, column: Column, limits: Sequence[Limits]):
        own = [each[column.name] for each in limits if column.name in each]
        turns: set[Point] = {turn for limit in own for turn in limit.span.turns}
        self._starts: tuple[Point | None, ...] = (None, *sorted(turns))
        values = ColumnLimit(column, EVERY_POINT).held
        ends = (*self._starts[1:], None)
        possible = [
            _holds(values.turns, start, end, below=values.below)
            for start, end in zip(self._starts, ends, strict=True)
        ]
        self.everything = _bits([*possible, column.nullable])

    def within(self, limit: ColumnLimit) -> int:
        """The bits of the pieces within the limit that the column can hold."""
        span = limit.span
        inside = [span.below if start is None else start in span for start in self._starts]
        return _bits([*inside, limit.null]) & self.everything


def _holds(
    turns: tuple[Point, ...], start: Point | None, end: Point | None, *, below: bool
) -> bool:
    """Whether a set of points that begins and ends at `turns` has one from `start` up to `end`."""
    first = 0 if start is None else bisect_right(turns, start)
    last = len(turns) if end is None else bisect_left(turns, end)
    return first < last or below is (first % 2 == 0)


def _bits(flags: Sequence[bool]) -> int:
    """A number with a bit for each flag, the first the lowest."""
    return sum(1 << place for place, flag in enumerate(flags) if flag)


def _is_exact(condition: Expr) -> bool:
    """Whether the condition is true for all rows within the limits of its region."""
    match condition:
        case Literal(value=True):
            return True
        case Logic(operator="and", operands=operands):
            return all(map(_is_exact, operands))
        case Call(name="coalesce", arguments=(operand, Literal(value=False))):
            return _is_exact(operand)
    columns = columns_of(condition)
    return (
        len(columns) == 1
        and not any(column.guessed for column in columns.values())
        and _is_plain(condition)
    )


def _is_plain(condition: Expr) -> bool:
    """Whether the condition is made of comparisons of columns with constants."""
    match condition:
        case Logic(operands=operands):
            return all(map(_is_plain, operands))
        case Not(operand=operand):
            return _is_plain(operand)
        case (
            Compare(left=ColumnRef(), right=Literal()) | Compare(left=Literal(), right=ColumnRef())
        ):
            return True
        case ColumnRef() | InList(operand=ColumnRef()) | IsNull(operand=ColumnRef()):
            return True
    return False


@dataclass(frozen=True)
class CountGroup:
    """Counts that are drawn together."""

    members: tuple[int, ...]
    """The indices of the counts among the aggregates of the query."""
    conditions: tuple[Expr, ...]
    """The condition on the rows of each count."""
    histogram: Histogram | None = None
    """The histogram that is drawn; None if all members count the same rows."""

    @cached_property
    def size(self) -> int:
        """The number of segments."""
        return 1 if self.histogram is None else len(self.histogram.segments)

    @cached_property
    def added(self) -> tuple[tuple[int, ...] | None, ...]:
        """The segments that each count adds up; None without a histogram."""
        if self.histogram is None:
            return (None,) * len(self.members)
        places = [self.histogram.conditions.index(condition) for condition in self.conditions]
        return tuple(
            tuple(index for index, segment in enumerate(self.histogram.segments) if segment[place])
            for place in places
        )

    @cached_property
    def terms(self) -> tuple[int, ...]:
        """The number of noises that each count adds up."""
        return tuple(1 if each is None else len(each) for each in self.added)


@dataclass(frozen=True)
class NoiseCost:
    """The variance of the noise of counts, up to a common factor."""

    weight: Callable[[int], int]
    """Returns the variance of the noise on each of a number of segments, at equal ε."""
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


def at_once(query: Query, counts: Iterable[int]) -> list[CountGroup]:
    """All counts as one group, unless its histogram is too large; then there is no group."""
    conditions = {index: counted(query.aggregates[index]) for index in counts}
    different = tuple(dict.fromkeys(conditions.values()))
    histogram = cell_histogram(query.table, query.where, different)
    if len(different) < 2 or histogram is None:
        return []
    group = CountGroup(tuple(conditions), tuple(conditions.values()), histogram)
    return [group] if all(group.terms) else []


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
    histogram = cell_histogram(query.table, query.where, tuple(dict.fromkeys(conditions)))
    if histogram is None:
        return None
    one = CountGroup(members, conditions, histogram)
    rest = [group for group in groups if group not in chosen]
    merged = [*rest, one]
    better = all(one.terms) and cost.of(merged) < cost.of(groups)
    return merged if better else None
