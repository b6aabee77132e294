"""Atoms: the cells into which conditions divide the rows of a table, from text and policy alone.

A row is in one atom at most, so counts over atoms compose in parallel ([McS09] Theorem 4), and the
number of rows for which a condition is true is a sum of such counts. Which atoms there are
follows from what columns can hold. Where that is in doubt there are more atoms, which adds noise
but is never wrong.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence

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
    columns_of,
)
from dpdb.plan.regions import ColumnLimit, Limits, region
from dpdb.plan.relations import Source
from dpdb.plan.spans import EVERY_POINT, Point
from dpdb.plan.statistics import Histogram
from dpdb.policy.catalog import Column

MAX_ATOMS = 256
"""The most atoms of one histogram."""

_MAX_BOXES = 4 * MAX_ATOMS
_Box = Mapping[str, int]
"""Rows: for each column a set of the pieces that its values are cut into, a bit for each piece."""


def histogram(table: Source, where: Expr | None, conditions: Sequence[Expr]) -> Histogram | None:
    """The histogram over the atoms of `conditions` within `where`; None for too many atoms.

    Condition by condition the rows are divided into boxes in which the conditions so far are true
    or not, and boxes that no row can be in are left out. Conditions on one column with t ends of
    intervals have at most t + 2 atoms.
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
            ((*atom, true), part)
            for atom, box in boxes
            for true, part in _divided(box, within, exact=exact)
        ]
        if len(boxes) > _MAX_BOXES:
            return None
    found = {atom for atom, _ in boxes if any(atom)}
    return Histogram(tuple(conditions), tuple(sorted(found))) if len(found) <= MAX_ATOMS else None


def _divided(box: _Box, within: _Box, *, exact: bool) -> Iterator[tuple[bool, _Box]]:
    """The boxes into which a condition divides a box, and whether it is true in them.

    The condition is true within the second box only, and everywhere there if `exact`. Rows outside
    are then so in one of the columns; they may be in several of the boxes for these.
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
        """Those pieces within the limit that the column can hold."""
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
