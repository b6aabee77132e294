"""Which rows a filter can let through, told from its text and the policy alone.

Releases under filters that let no row through together compose in parallel
(McSherry 2009, Theorem 4). To claim that wrongly would charge a loss once
instead of twice, so a region holds every row for which the engine finds the
condition true, and where in doubt more. It limits each column by itself; what it
cannot limit so (columns against columns, arithmetic, functions) limits nothing.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from dpdb.plan.expressions import (
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
from dpdb.policy.catalog import Column, Kind, Table, Value

Point = float | str
"""What the engine compares: doubles (dates and booleans, too) or texts."""

_ROUNDING = Fraction(1, 2**40)
"""More than a double is off, of its magnitude."""


@dataclass(frozen=True)
class Span:
    """A set of points: intervals, each with its lower end and without its upper.

    `below` says whether it holds what lies below all `turns`; each of them, which
    ascend, is the first point where that changes.
    """

    below: bool
    turns: tuple[Point, ...] = ()

    def __contains__(self, point: Point) -> bool:
        return self.below is (bisect_right(self.turns, point) % 2 == 0)

    @property
    def complement(self) -> Span:
        """All other points."""
        return Span(not self.below, self.turns)


EVERY_POINT = Span(below=True)
NO_POINT = Span(below=False)


@dataclass(frozen=True)
class ColumnLimit:
    """What a column's cells can be: points of a span, perhaps NULL."""

    column: Column
    span: Span
    null: bool = False

    @property
    def possible(self) -> bool:
        """Whether the column as declared can hold any of them."""
        column = self.column
        if self.null and column.nullable:
            return True
        values = column.values
        if values is None and column.kind is Kind.BOOLEAN:
            values = (False, True)
        if values is not None:
            return any(_stored(value) in self.span for value in values)
        held = EVERY_POINT
        if column.bounds is not None:
            lower, upper = column.bounds
            if _whole(column):
                held = Span(below=False, turns=(math.ceil(lower), math.floor(upper) + 1))
            else:
                # Wider than the bounds: the grid's ends are rounded to doubles.
                around = column.step + max(abs(lower), abs(upper)) * _ROUNDING
                held = Span(below=False, turns=(float(lower - around), float(upper + around)))
        return _overlap([self.span, held], 2) != NO_POINT


Limits = Mapping[str, ColumnLimit]
"""By the column's name; a column that is not there may hold anything."""


@dataclass(frozen=True)
class Region:
    """The rows of `table` whose cells are all within `limits`."""

    table: Table
    limits: Limits

    @property
    def everything(self) -> bool:
        """Whether nothing is limited; such a region excludes none."""
        return not self.limits

    @property
    def turns(self) -> int:
        """How many ends its intervals have: what a comparison with another has to look at."""
        return sum(len(cells.span.turns) for cells in self.limits.values())

    def excludes(self, other: Region) -> bool:
        """Whether surely no row is in both. Of the rows' units this says nothing."""
        if self.table != other.table:
            return False
        shared = self.limits.keys() & other.limits.keys()
        return any(
            not _combined([self.limits[name], other.limits[name]], 2).possible for name in shared
        )


def region(table: Table, condition: Expr | None) -> Region:
    """A region around the rows of `table` for which `condition` is true."""
    return Region(table, {} if condition is None else _limits(condition, wanted=True))


def _limits(condition: Expr, *, wanted: bool) -> Limits:
    """What the cells of a row can be where `condition` is true, or (not `wanted`) false.

    Where it is NULL it is neither, and NOT leaves it NULL.
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
            listed = _overlap([_point(column, _stored(value)) for value in values], 1)
            # Beside a NULL, no value is known not to be listed.
            return _only(column, (listed, NO_POINT if null else listed.complement), wanted)
        case IsNull(operand=ColumnRef(column=column)) if not column.guessed:
            span = NO_POINT if wanted else EVERY_POINT
            return {column.name: ColumnLimit(column, span, null=wanted)}
        case Call(name="coalesce", arguments=(operand, Literal(value=False))) if wanted:
            return _limits(operand, wanted=True)  # IS TRUE
    return {}


_TURNED = {"=": "=", "<>": "<>", "<": ">", "<=": ">="}
"""The comparisons as seen from the other side."""

Verdicts = tuple[Span, Span]
"""Of which points a condition on one column is true, and of which false; of NULL it is neither."""


def _only(column: Column, verdicts: Verdicts, wanted: bool) -> Limits:
    """The limits that one column has of its own; an undeclared one has none."""
    span = verdicts[0] if wanted else verdicts[1]
    return {} if column.guessed else {column.name: ColumnLimit(column, span)}


def _compared(operator: str, column: Column, value: Value | None) -> Verdicts:
    """What a comparison of the column with a constant says."""
    if value is None:
        return NO_POINT, NO_POINT
    point = _stored(value)
    match operator:
        case "=" | "<>":
            true = _point(column, point)
        case "<" | ">=":
            true = Span(below=True, turns=(_turn(column, point),))
        case _:
            true = Span(below=True, turns=(_turn(column, _next(point)),))
    verdicts = true, true.complement
    return verdicts if operator in ("=", "<", "<=") else (verdicts[1], verdicts[0])


def _stored(value: Value) -> Point:
    """A constant as the engine compares it: two numbers may be one double."""
    return value if isinstance(value, str) else float(value)


def _point(column: Column, point: Point) -> Span:
    """Just the cells equal to `point`."""
    return Span(below=False, turns=(_turn(column, point), _turn(column, _next(point))))


def _next(point: Point) -> Point:
    """The first point after `point`."""
    return point + "\0" if isinstance(point, str) else math.nextafter(point, math.inf)


def _turn(column: Column, point: Point) -> Point:
    """The first point from `point` on that a cell can be: integers leave gaps."""
    if isinstance(point, str) or math.isinf(point) or not _whole(column):
        return point
    return math.ceil(point)


def _whole(column: Column) -> bool:
    return column.kind in (Kind.INTEGER, Kind.DATE)


def _every(parts: Sequence[Limits]) -> Limits:
    """What limits the rows that are within all the parts."""
    return {name: _combined(found, len(found)) for name, found in _by_column(parts).items()}


def _any(parts: Sequence[Limits]) -> Limits:
    """What limits the rows that are within one of the parts: columns that all of them limit."""
    return {
        name: _combined(found, 1)
        for name, found in _by_column(parts).items()
        if len(found) == len(parts)
    }


def _by_column(parts: Sequence[Limits]) -> dict[str, list[ColumnLimit]]:
    found: dict[str, list[ColumnLimit]] = {}
    for part in parts:
        for name, cells in part.items():
            found.setdefault(name, []).append(cells)
    return found


def _combined(cells: Sequence[ColumnLimit], needed: int) -> ColumnLimit:
    """What at least `needed` of the limits of one column allow."""
    span = _overlap([each.span for each in cells], needed)
    return ColumnLimit(cells[0].column, span, sum(each.null for each in cells) >= needed)


def _overlap(spans: Sequence[Span], needed: int) -> Span:
    """The points in at least `needed` of the spans, with no turn too many."""
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
