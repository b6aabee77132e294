"""The rows of an answer, from noisy results: computed, chosen by HAVING, sorted and cut.

Everything here is computed from noisy values, public scales and the plan. That is
post-processing, which gives nothing more away ([DR14] Proposition 2.1).
"""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from dpdb.answers.confidence_intervals import confidence_intervals
from dpdb.answers.estimates import Noisy, Values, vector
from dpdb.answers.record import Cell, CellInterval
from dpdb.plan.expressions import Slot
from dpdb.plan.plan import Plan
from dpdb.plan.query import Output
from dpdb.plan.ranges import Interval
from dpdb.policy.catalog import Kind
from dpdb.policy.numbers import days_of, iso_date
from dpdb.vectors.evaluate import Frame, evaluate
from dpdb.vectors.vector import AnyVector, TextVector, Vector

T = TypeVar("T")
_ROUNDING = 1e-9
"""An interval may fall short of its bounds by this part of their width, for rounding."""


@dataclass(frozen=True)
class ResultRows:
    """The rows of an answer, and for each cell its interval and whether that tells anything."""

    rows: tuple[tuple[Cell, ...], ...]
    intervals: tuple[tuple[CellInterval, ...], ...]
    only_noise: tuple[tuple[bool, ...], ...] = ()
    """For each cell, whether its interval is as wide as the policy's bounds allow.

    It is empty where the policy bounds no column, so that no interval can be so wide.
    """


@np.errstate(all="ignore")
def result_rows(plan: Plan, points: Values, subqueries: Values, noisy: Noisy | None) -> ResultRows:
    """The rows of the answer, from the aggregates' estimates `points` and the subqueries' values.

    Without `noisy`, as in teaching mode, no cell has an interval.
    """
    frame = Frame({}, {**subqueries, **_keys(plan), **points})
    number = len(plan.groups)
    columns = [
        _listed(evaluate(output.expression, frame), output.expression.kind, number)
        if noisy is not None
        else _unrounded(evaluate(output.expression, frame), output.expression.kind, number)
        for output in plan.outputs
    ]
    intervals: list[list[CellInterval]] = [
        [None] * number if noisy is None else _intervals(plan, noisy, output, frame)
        for output in plan.outputs
    ]
    chosen = _sorted(plan, frame, _having(plan, frame))
    chosen = chosen[plan.offset : None if plan.limit is None else plan.offset + plan.limit]
    bounds = [plan.interval_of(output) for output in plan.outputs]
    only_noise: tuple[tuple[bool, ...], ...] = ()
    if any(each.bounded for each in bounds):
        flags = [_only_noise(*each) for each in zip(intervals, bounds, strict=True)]
        only_noise = _rows(flags, chosen)
    return ResultRows(_rows(columns, chosen), _rows(intervals, chosen), only_noise)


def _only_noise(column: list[CellInterval], bounds: Interval) -> list[bool]:
    """For each interval, whether it is as wide as the bounds, but for the rounding of doubles."""
    if not bounds.bounded or bounds.lower >= bounds.upper:
        return [False] * len(column)
    rounding = float(bounds.upper - bounds.lower) * _ROUNDING
    least, most = float(bounds.lower) + rounding, float(bounds.upper) - rounding
    ends = [(None, None) if each is None else tuple(map(_number, each)) for each in column]
    return [
        low is not None and high is not None and low <= least and high >= most for low, high in ends
    ]


def _number(end: Cell) -> float | None:
    """The end of an interval, of dates in days."""
    return days_of(datetime.date.fromisoformat(end)) if isinstance(end, str) else end


def _rows(columns: list[list[T]], chosen: list[int]) -> tuple[tuple[T, ...], ...]:
    """The rows at the indices `chosen`, from the columns."""
    return tuple(zip(*([column[i] for i in chosen] for column in columns), strict=True))


def _keys(plan: Plan) -> dict[Slot, AnyVector]:
    """The values of each GROUP BY key, one for each group."""
    return {
        Slot("key", i, key.kind): vector([cell[i] for cell in plan.groups], key.kind)
        for i, key in enumerate(plan.keys)
    }


def _intervals(plan: Plan, noisy: Noisy, output: Output, frame: Frame) -> list[CellInterval]:
    number, kind = len(plan.groups), output.expression.kind
    ends = confidence_intervals(plan, noisy, output, frame)
    if ends is None:
        return [None] * number
    low, high = (_listed(end, kind, number) for end in ends)
    return list(zip(low, high, strict=True))


def _having(plan: Plan, frame: Frame) -> list[int]:
    """The indices of the groups for which HAVING is true."""
    if plan.having is None:
        return list(range(len(plan.groups)))
    passed = evaluate(plan.having, frame)
    assert isinstance(passed, Vector)
    return [int(i) for i in np.flatnonzero(np.broadcast_to(passed.values, len(plan.groups)))]


def _sorted(plan: Plan, frame: Frame, chosen: list[int]) -> list[int]:
    """The indices `chosen` in the order of ORDER BY, sorted by its last term first."""
    for ordering in reversed(plan.order):
        expression = ordering.expression
        values = _listed(evaluate(expression, frame), expression.kind, len(plan.groups))
        known = [i for i in chosen if values[i] is not None]
        known.sort(key=lambda i: values[i], reverse=ordering.descending)  # type: ignore[arg-type,return-value]
        unknown = [i for i in chosen if values[i] is None]
        chosen = unknown + known if ordering.nulls_first else known + unknown
    return chosen


def _listed(vector: AnyVector, kind: Kind, number: int) -> list[Cell]:
    """A vector as plain Python values, None for NULL."""
    if isinstance(vector, TextVector):
        texts: list[Cell] = [*vector.dictionary, None]
        return [texts[code] for code in np.broadcast_to(vector.codes, number).tolist()]
    values = np.broadcast_to(vector.values, number).tolist()
    if kind is Kind.DATE:
        values = [_date(value) for value in values]
    elif kind is Kind.INTEGER:
        values = [int(value) for value in values]
    if vector.null is None:
        return list(values)
    null = np.broadcast_to(vector.null, number).tolist()
    return [None if missing else value for value, missing in zip(values, null, strict=True)]


def _unrounded(vector: AnyVector, kind: Kind, number: int) -> list[Cell]:
    """The same for teaching mode: whole numbers as such, and noisy counts with their fractions."""
    if kind is not Kind.INTEGER:
        return _listed(vector, kind, number)
    cells = _listed(vector, Kind.NUMBER, number)
    return [int(cell) if isinstance(cell, float) and cell.is_integer() else cell for cell in cells]


def _date(days: float) -> str | None:
    """The date as text; None for NaN and for days that no calendar has."""
    try:
        return iso_date(round(days))
    except (OverflowError, ValueError):
        return None
