"""The cells of an answer, from noisy results: computed, chosen by HAVING, sorted and cut.

Everything here is computed from noisy values, public scales and the plan. That is
post-processing, which gives nothing more away ([DR14] Proposition 2.1).
"""

from __future__ import annotations

from dataclasses import replace
from functools import reduce

import numpy as np
import numpy.typing as npt

from dpdb.answers.confidence_intervals import confidence_intervals
from dpdb.answers.estimates import Noisy, Values
from dpdb.answers.group_rows import group_order, key_vectors
from dpdb.answers.record import Cell, CellColumn
from dpdb.plan.expressions import IntervalEnd
from dpdb.plan.plan import Plan
from dpdb.plan.query import Output, ends_asked_for
from dpdb.policy.catalog import Kind
from dpdb.policy.numbers import CALENDAR, iso_date
from dpdb.privacy.walk import Walk
from dpdb.vectors.evaluate import Frame, evaluate
from dpdb.vectors.vector import AnyVector, Array, TextVector, Vector, constant, either

Rows = npt.NDArray[np.intp]
"""The indices of the groups that are shown, in the order of the answer."""
Ends = tuple[Vector, Vector]
"""The lower and the upper ends of intervals."""

_ROUNDING = 1e-9
"""An interval may fall short of its bounds by this part of their width, for rounding."""


@np.errstate(all="ignore")
def cell_columns(
    plan: Plan, points: Values, subqueries: Values, noisy: Noisy | None
) -> tuple[CellColumn, ...]:
    """The columns of the answer, from the estimates `points` and the subqueries' values.

    Without `noisy`, as in teaching mode, no cell has an interval.
    """
    if not plan.cells:  # no key that was found is shown
        return tuple(_empty(plan, noisy, output) for output in plan.outputs)
    frame = Frame({}, {**subqueries, **key_vectors(plan), **points})
    frame = replace(frame, ends=_interval_ends(plan, noisy, frame))
    rows = _sorted(plan, frame, _having(plan, frame))
    rows = rows[plan.offset : None if plan.limit is None else plan.offset + plan.limit]
    return tuple(_column(plan, noisy, output, frame, rows) for output in plan.outputs)


def _empty(plan: Plan, noisy: Noisy | None, output: Output) -> CellColumn:
    """A column without rows."""
    measured = noisy is not None and plan.has_noise(output) and output.expression.kind.ordinal
    return CellColumn((), ((), ()) if measured else None)


def _interval_ends(plan: Plan, noisy: Noisy | None, frame: Frame) -> dict[IntervalEnd, AnyVector]:
    """The ends of intervals that the columns, HAVING and ORDER BY ask for; NULL without any."""
    found: dict[IntervalEnd, AnyVector] = {}
    for end in ends_asked_for(plan.outputs, plan.having, plan.order):
        ends = None
        if noisy is not None:
            _, ends = _intervals(plan, noisy, Output("", end.operand), frame)
        found[end] = constant(None, end.kind) if ends is None else ends[end.upper]
    return found


def _intervals(
    plan: Plan, noisy: Noisy, output: Output, frame: Frame
) -> tuple[Ends | None, Ends | None]:
    """The intervals of a column in all groups, and with the ends NULL that tell nothing."""
    ends = confidence_intervals(plan, noisy, output, frame)
    if ends is None or not _is_walked(plan, output):
        return ends, ends
    farther = confidence_intervals(plan, noisy, output, frame, farther=True)
    assert farther is not None
    return ends, _opened(plan, output, ends, farther)


def _is_walked(plan: Plan, output: Output) -> bool:
    """Whether a walk, whose intervals have one end, is behind an output."""
    used = [plan.releases[index] for index in plan.released_for(output)]
    for index in plan.noisy_subqueries(output):
        used += plan.subplans[index].every_release
    return any(isinstance(release.mechanism, Walk) for release in used)


def _having(plan: Plan, frame: Frame) -> Rows:
    """The groups for which HAVING is true."""
    if plan.having is None:
        return group_order(plan)
    passed = evaluate(plan.having, frame)
    assert isinstance(passed, Vector)
    order = group_order(plan)
    return np.extract(np.broadcast_to(passed.values, plan.cells)[order], order)


def _sorted(plan: Plan, frame: Frame, rows: Rows) -> Rows:
    """The groups `rows` in the order of ORDER BY, sorted by its last term first."""
    for ordering in reversed(plan.order):
        expression = ordering.expression
        values = _shown(evaluate(expression, frame), expression.kind)
        null, places = (_spread(each, plan)[rows] for each in (values.null, _order(values)))
        known, places = rows[~null], places[~null]
        known = known[np.argsort(-places if ordering.descending else places, kind="stable")]
        rows = np.concatenate([rows[null], known] if ordering.nulls_first else [known, rows[null]])
    return rows


def _order(values: AnyVector) -> Array:
    """Doubles in the order of the values."""
    if isinstance(values, Vector):
        return values.values.astype(np.float64)
    _, order = np.unique(np.array([*values.dictionary, ""], dtype=object), return_inverse=True)
    return order[values.codes].astype(np.float64)


def _column(
    plan: Plan, noisy: Noisy | None, output: Output, frame: Frame, rows: Rows
) -> CellColumn:
    """One column of the answer: its cells in the groups `rows`, with their intervals."""
    kind = output.expression.kind
    values = _shown(evaluate(output.expression, frame), kind)
    if noisy is None:
        return CellColumn(_unrounded(values, kind, plan, rows))
    cells = _cells(values, kind, plan, rows)
    ends, opened = _intervals(plan, noisy, output, frame)
    if ends is None or opened is None:
        return CellColumn(cells)
    if _is_walked(plan, output):
        only_noise = _without_ends(plan, output, ends, opened, rows)
    else:
        only_noise = _only_noise(plan, output, *ends, rows)
    low, high = (_cells(_shown(end, kind), kind, plan, rows) for end in opened)
    return CellColumn(cells, (low, high), only_noise)


def _opened(plan: Plan, output: Output, ends: Ends, farther: Ends) -> Ends:
    """The ends of intervals, NULL where they tell nothing.

    Such an end moves where the bounds of a walk are `farther` out, or is a bound itself.
    """
    bounds, (low, high) = plan.interval_of(output), ends
    at_bounds = low.values <= float(bounds.lower), high.values >= float(bounds.upper)
    low, high = (
        Vector(end.values, reduce(either, (end.null, far.null, at, end.values != far.values)))
        for end, far, at in zip(ends, farther, at_bounds, strict=True)
    )
    return low, high


def _without_ends(
    plan: Plan, output: Output, ends: Ends, opened: Ends, rows: Rows
) -> tuple[bool, ...] | None:
    """For each interval, whether neither of its ends tells anything."""
    bounds = plan.interval_of(output)
    if bounds.lower >= bounds.upper:
        return None
    undefined, (low, high) = _spread(ends[0].null, plan), (_spread(e.null, plan) for e in opened)
    return tuple((low & high & ~undefined)[rows].tolist())


def _only_noise(
    plan: Plan, output: Output, low: Vector, high: Vector, rows: Rows
) -> tuple[bool, ...] | None:
    """For each interval, whether it is as wide as the bounds, but for the rounding of doubles."""
    bounds = plan.interval_of(output)
    if not bounds.bounded or bounds.lower >= bounds.upper:
        return None
    rounding = float(bounds.upper - bounds.lower) * _ROUNDING
    least, most = float(bounds.lower) + rounding, float(bounds.upper) - rounding
    wide = (low.values <= least) & (high.values >= most)
    null = _spread(low.null, plan) | _spread(high.null, plan)
    return tuple((wide & ~null)[rows].tolist())


def _shown(vector: AnyVector, kind: Kind) -> AnyVector:
    """The vector as it is shown: dates are whole days, and NULL outside the calendar."""
    if kind is not Kind.DATE or isinstance(vector, TextVector):
        return vector
    first, last = CALENDAR
    days = np.rint(vector.values)
    outside = ~((days >= first) & (days <= last))
    return Vector(np.where(outside, 0.0, days), either(vector.null, outside))


def _spread(values: Array | None, plan: Plan) -> Array:
    """One value for each group, also of a constant; False for None."""
    if values is None:
        return np.zeros(plan.cells, dtype=np.bool_)
    return values if len(values) == plan.cells else np.broadcast_to(values, plan.cells)


def _cells(vector: AnyVector, kind: Kind, plan: Plan, rows: Rows) -> tuple[Cell, ...]:
    """The vector's values in the groups `rows` as plain Python values, None for NULL."""
    if isinstance(vector, TextVector):
        texts = [*vector.dictionary, None]
        return tuple(texts[code] for code in _spread(vector.codes, plan)[rows].tolist())
    values, null = _spread(vector.values, plan)[rows], _spread(vector.null, plan)[rows]
    match kind:
        case Kind.DATE:
            days, places = np.unique(values, return_inverse=True)
            dates = [iso_date(int(day)) for day in days.tolist()]
            cells: list[Cell] = [dates[place] for place in places.tolist()]
        case Kind.INTEGER:
            cells = _integers(values)
        case _:
            cells = values.tolist()
    if null.any():
        return tuple(None if no else cell for cell, no in zip(cells, null.tolist(), strict=True))
    return tuple(cells)


def _unrounded(vector: AnyVector, kind: Kind, plan: Plan, rows: Rows) -> tuple[Cell, ...]:
    """The same for teaching mode: whole numbers as such, and noisy counts with their fractions."""
    if kind is not Kind.INTEGER:
        return _cells(vector, kind, plan, rows)
    cells = _cells(vector, Kind.NUMBER, plan, rows)
    return tuple(int(c) if isinstance(c, float) and c.is_integer() else c for c in cells)


def _integers(values: Array) -> list[Cell]:
    """Whole doubles as Python's integers: by way of 64 bits, which is faster, where they fit."""
    if (np.abs(values) < 2.0**63).all():
        return values.astype(np.int64).tolist()  # type: ignore[no-any-return]
    return [int(value) for value in values.tolist()]
