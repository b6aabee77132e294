"""Regions: the values that a filter lets through, as spans for each column.

Two filters whose regions have no value in common exclude each other.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import cached_property, lru_cache

from dpdb.errors import InternalError
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
)
from dpdb.plan.relations.relations import Source
from dpdb.policy.catalog import Column, Kind, Value
from dpdb.records import dataclass

Point = float | str
"""A value as the engine compares it: a text, or a double (for booleans, too, and all times)."""


@dataclass(frozen=True)
class Span:
    """A set of points: a union of intervals that include their lower and exclude their upper ends.

    `turns` ascend, no two are equal, and each is the first point at which membership changes.
    `below` says whether the points below all turns are in the set.
    """

    below: bool
    turns: tuple[Point, ...] = ()

    def __contains__(self, point: Point) -> bool:
        return self.below is (bisect_right(self.turns, point) % 2 == 0)

    def meets(self, other: Span) -> bool:
        """Whether some point is in both sets.

        The points in both form intervals, each of which begins where an interval of one of the sets
        does. So few points are looked at where the sets have much in common.
        """
        below = self.below and other.below
        return below or self._begins_within(other) or other._begins_within(self)

    def _begins_within(self, other: Span) -> bool:
        """Whether an interval of this set begins at a point of the other."""
        return any(turn in other for turn in self.turns[self.below :: 2])

    @property
    def complement(self) -> Span:
        """The set of all other points."""
        return Span(not self.below, self.turns)


EVERY_POINT = Span(below=True)
"""The set of all points."""

NO_POINT = Span(below=False)
"""The empty set."""


def overlap(spans: Sequence[Span], needed: int) -> Span:
    """The set of points in at least `needed` of the spans, with as few turns as possible."""
    changes: dict[Point, int] = {}
    for span in spans:
        change = -1 if span.below else 1
        for turn in span.turns:
            changes[turn] = changes.get(turn, 0) + change
            change = -change
    held = sum(span.below for span in spans)
    inside = below = held >= needed
    turns = []
    for turn in sorted(changes):
        held += changes[turn]
        if (held >= needed) is not inside:
            inside = not inside
            turns.append(turn)
    return Span(below, tuple(turns))


_ROUNDING = Fraction(1, 2**40)
"""A bound on the relative rounding error of a double, with a wide margin."""


@dataclass(frozen=True)
class ColumnLimit:
    """The values that a column may have: the points of `span`, and NULL if `null`."""

    column: Column
    span: Span
    null: bool = False

    @cached_property
    def held(self) -> Span:
        """The points within the limit that the column, as declared, can hold."""
        column = self.column
        values = column.values
        if values is None and column.kind is Kind.BOOLEAN:
            values = (False, True)
        if values is not None:
            points = [_stored(value) for value in values]
            return overlap([_point(column, point) for point in points if point in self.span], 1)
        if column.bounds is None:
            return self.span
        lower, upper = column.bounds
        if _whole(column):
            turns: tuple[Point, ...] = math.ceil(lower), math.floor(upper) + 1
        else:
            # The ends of the grid are rounded to doubles, so the span is wider than the bounds.
            around = column.step + max(abs(lower), abs(upper)) * _ROUNDING
            turns = float(lower - around), float(upper + around)
        return overlap([self.span, Span(below=False, turns=turns)], 2)

    @property
    def holds_null(self) -> bool:
        """Whether the column, as declared, can hold NULL and the limit allows it."""
        return self.null and self.column.nullable

    @property
    def possible(self) -> bool:
        """Whether the column, as declared, can hold any value within the limit."""
        return self.holds_null or self.held != NO_POINT

    def excludes(self, other: ColumnLimit) -> bool:
        """Whether the column, as declared, can hold no value within both limits."""
        return not (self.holds_null and other.holds_null) and not self.held.meets(other.held)


Limits = Mapping[str, ColumnLimit]
"""Limits by the name of the column; a column without a limit may hold any value."""


@dataclass(frozen=True)
class Region:
    """The rows of `table` whose values are all within `limits`."""

    table: Source
    limits: Limits

    @cached_property
    def key(self) -> frozenset[object]:
        """Equal for equal regions of the tables of one policy, and fast to compare."""
        spans = ((name, limit.span, limit.null) for name, limit in self.limits.items())
        return frozenset((self.table, *spans))

    @property
    def everything(self) -> bool:
        """Whether no column is limited; such a region excludes no other region."""
        return not self.limits

    @cached_property
    def turns(self) -> int:
        """The number of ends of intervals, which measures the work of a comparison."""
        return sum(len(limit.span.turns) for limit in self.limits.values())

    def excludes(self, other: Region) -> bool:
        """Whether certainly no row is in both regions; a unit may still have rows in both."""
        if self.table is not other.table and self.table != other.table:
            return False
        return any(
            name in other.limits and limit.excludes(other.limits[name])
            for name, limit in self.limits.items()
        )


def region(table: Source, condition: Expr | None) -> Region:
    """A region that holds all rows of `table` for which `condition` is true."""
    return Region(table, {} if condition is None else _limits(condition, wanted=True))


@lru_cache(maxsize=256)
def _limits(condition: Expr, *, wanted: bool) -> Limits:
    """The limits of the rows for which `condition` is true, or false if not `wanted`.

    A condition that is NULL is neither true nor false, and NOT leaves it NULL.
    """
    match condition:
        case Logic(operator=operator, operands=operands):
            parts = [_limits(operand, wanted=wanted) for operand in operands]
            return _every(parts) if (operator == "and") is wanted else _any(parts)
        case Not(operand=operand):
            return _limits(operand, wanted=not wanted)
        case Compare(operator=operator, left=ColumnRef(column=column), right=Literal(value=value)):
            return _only(column, _compared(operator, column, value), wanted)
        case Compare(operator=operator, left=Literal(value=value), right=ColumnRef(column=column)):
            return _only(column, _compared(_TURNED[operator], column, value), wanted)
        case ColumnRef(column=column):
            return _only(column, _compared("=", column, True), wanted)
        case InList(operand=ColumnRef(column=column), values=values, null=null):
            listed = overlap([_point(column, _stored(value)) for value in values], 1)
            # `x NOT IN (…, NULL)` is never true.
            return _only(column, (listed, NO_POINT if null else listed.complement), wanted)
        case IsNull(operand=ColumnRef(column=column)) if not column.guessed:
            span = NO_POINT if wanted else EVERY_POINT
            return {column.name: ColumnLimit(column, span, null=wanted)}
        case Call(name="coalesce", arguments=(operand, Literal(value=False))) if wanted:
            return _limits(operand, wanted=True)  # this is how IS TRUE is written
    return {}


_TURNED = {"=": "=", "<>": "<>", "<": ">", "<=": ">="}
"""The operator of a comparison whose two sides are exchanged."""

Verdicts = tuple[Span, Span]
"""The points where a condition on one column is true, and where it is false; NULL is in neither."""


def _only(column: Column, verdicts: Verdicts, wanted: bool) -> Limits:
    """The limits by a condition on one column; an undeclared column is never limited."""
    span = verdicts[0] if wanted else verdicts[1]
    return {} if column.guessed else {column.name: ColumnLimit(column, span)}


def _compared(operator: str, column: Column, value: Value | None) -> Verdicts:
    """The points for which `column operator value` is true, and for which it is false."""
    if value is None:
        return NO_POINT, NO_POINT
    point = _stored(value)
    match operator:
        case "=" | "<>":
            true = _point(column, point)
        case "<" | ">=":
            true = Span(below=True, turns=(_turn(column, point),))
        case "<=" | ">":
            true = Span(below=True, turns=(_turn(column, _next(point)),))
        case _:
            raise InternalError(f"there is no comparison {operator}")
    verdicts = true, true.complement
    return verdicts if operator in ("=", "<", "<=") else (verdicts[1], verdicts[0])


def _stored(value: Value) -> Point:
    """A constant as the engine compares it; different numbers may become the same double."""
    return value if isinstance(value, str) else float(value)


def _point(column: Column, point: Point) -> Span:
    """The set of the values equal to `point`; the empty set if the column cannot have it."""
    turns = _turn(column, point), _turn(column, _next(point))
    return Span(below=False, turns=turns) if turns[0] != turns[1] else NO_POINT


def _next(point: Point) -> Point:
    """The first point after `point`."""
    return point + "\0" if isinstance(point, str) else math.nextafter(point, math.inf)


def _turn(column: Column, point: Point) -> Point:
    """The first value from `point` on that the column can have: integers leave gaps."""
    if isinstance(point, str) or math.isinf(point) or not _whole(column):
        return point
    return math.ceil(point)


def _whole(column: Column) -> bool:
    """Whether the values of the column are whole numbers."""
    return column.kind.whole


def _every(parts: Sequence[Limits]) -> Limits:
    """The limits of the rows that are within all parts."""
    return {name: _combined(limits, len(limits)) for name, limits in _by_column(parts).items()}


def _any(parts: Sequence[Limits]) -> Limits:
    """The limits of the rows that are within some part: only columns that every part limits."""
    return {
        name: _combined(limits, 1)
        for name, limits in _by_column(parts).items()
        if len(limits) == len(parts)
    }


def _by_column(parts: Sequence[Limits]) -> dict[str, list[ColumnLimit]]:
    """The limits of all parts, by the name of the column."""
    by_column: dict[str, list[ColumnLimit]] = {}
    for part in parts:
        for name, limit in part.items():
            by_column.setdefault(name, []).append(limit)
    return by_column


def _combined(limits: Sequence[ColumnLimit], needed: int) -> ColumnLimit:
    """The values that at least `needed` of the limits of one column allow."""
    span = overlap([limit.span for limit in limits], needed)
    return ColumnLimit(limits[0].column, span, sum(limit.null for limit in limits) >= needed)
