"""The rows of an answer, from noisy results: computed, chosen by HAVING, sorted and cut.

Everything here is computed from noisy values, public scales and the plan. That is
post-processing, which gives nothing more away ([DR14] Proposition 2.1).
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial, reduce

import numpy as np

from dpdb.answers.estimates import Noisy, SlotVectors, vector
from dpdb.answers.intervals.confidence_intervals import confidence_intervals
from dpdb.answers.record import Detail
from dpdb.answers.tables.groups import group_order, key_vectors
from dpdb.answers.tables.noisy_table import (
    Accuracy,
    Ends,
    NoisyColumn,
    NoisyTable,
    RowIndices,
    in_order,
)
from dpdb.plan.expressions.expressions import IntervalEnd
from dpdb.plan.logical.query import Output, ends_asked_for
from dpdb.plan.physical.plan import Plan
from dpdb.privacy.mechanisms.mechanism import GridSelection, IntervalSelection, Mechanism
from dpdb.vectors.evaluate import Frame, evaluate, holds
from dpdb.vectors.keys import spread
from dpdb.vectors.vector import AnyVector, Bools, Vector, constant, either

_ROUNDING = 1e-9
"""An interval may fall short of its bounds by this part of their width, for rounding."""


@np.errstate(all="ignore")
def answer_table(
    plan: Plan, points: SlotVectors, subqueries: SlotVectors, noisy: Noisy | None
) -> NoisyTable:
    """The rows of the answer, from the estimates `points` and the subqueries' values.

    Without `noisy`, as in teaching mode, no cell has an interval.
    """
    frame = Frame({}, {**subqueries, **key_vectors(plan), **points})
    if ends := _interval_ends(plan, noisy, frame):
        frame = replace(frame, ends=ends)
    rows = in_order(plan.order, frame, _having(plan, frame), plan.cells)
    rows = rows[plan.offset : None if plan.limit is None else plan.offset + plan.limit]
    columns = (_column(plan, noisy, output, frame, rows) for output in plan.outputs)
    return NoisyTable(tuple(columns), len(rows))


def empty_table(plan: Plan) -> NoisyTable:
    """The answer if no key that was found is shown."""
    return NoisyTable(tuple(_empty(plan, output) for output in plan.outputs), 0)


def _empty(plan: Plan, output: Output) -> NoisyColumn:
    kind, nothing = output.expression.kind, Vector(np.zeros(0))
    accuracy = Accuracy((nothing, nothing)) if plan.has_noise(output) and kind.ordinal else None
    return NoisyColumn(vector((), kind), kind, Detail.of(accuracy))


def _interval_ends(plan: Plan, noisy: Noisy | None, frame: Frame) -> dict[IntervalEnd, AnyVector]:
    """The ends of intervals that the columns, HAVING and ORDER BY ask for; NULL without any."""
    vectors: dict[IntervalEnd, AnyVector] = {}
    for end in ends_asked_for(plan.outputs, plan.having, plan.order):
        ends = None
        if noisy is not None:
            _, ends = _intervals(plan, noisy, Output("", end.operand), frame)
        vectors[end] = constant(None, end.kind) if ends is None else ends[end.upper]
    return vectors


def _intervals(
    plan: Plan, noisy: Noisy, output: Output, frame: Frame
) -> tuple[Ends | None, Ends | None]:
    """The intervals of a column in all groups, as they are and with uninformative ends NULL."""
    ends = confidence_intervals(plan, noisy, output, frame)
    if ends is None or not _has_one_end(plan, output):
        return ends, ends
    farther = confidence_intervals(plan, noisy, output, frame, farther=True)
    assert farther is not None
    return ends, _opened(plan, output, ends, farther)


def _mechanisms(plan: Plan, output: Output) -> list[Mechanism]:
    """The mechanisms behind an output."""
    used = [plan.releases[index] for index in plan.released_for(output)]
    for index in plan.noisy_subqueries(output):
        used += plan.subplans[index].every_release
    return [release.mechanism for release in used]


def _has_one_end(plan: Plan, output: Output) -> bool:
    """Whether the intervals of an output have one end."""
    return any(isinstance(each, GridSelection) for each in _mechanisms(plan, output))


def _having(plan: Plan, frame: Frame) -> RowIndices:
    """The groups for which HAVING is true."""
    if plan.having is None:
        return group_order(plan)
    order = group_order(plan)
    return np.extract(spread(holds(plan.having, frame), plan.cells)[order], order)


def _column(
    plan: Plan, noisy: Noisy | None, output: Output, frame: Frame, rows: RowIndices
) -> NoisyColumn:
    """A column of the answer in the groups `rows`, with its intervals."""
    values = evaluate(output.expression, frame).take(rows)
    accuracy = Detail(partial(_accuracy, plan, noisy, output, frame, rows))
    return NoisyColumn(values, output.expression.kind, accuracy)


@np.errstate(all="ignore")
def _accuracy(
    plan: Plan, noisy: Noisy | None, output: Output, frame: Frame, rows: RowIndices
) -> Accuracy | None:
    """The accuracy of a column in the groups `rows`; None without intervals."""
    if noisy is None:
        return None
    ends, opened = _intervals(plan, noisy, output, frame)
    if ends is None or opened is None:
        return None
    if _has_one_end(plan, output):
        only_noise = _without_ends(plan, output, ends, opened)
    else:
        only_noise = _as_wide_as_bounds(plan, output, *ends)
    if any(isinstance(each, IntervalSelection) for each in _mechanisms(plan, output)):
        return Accuracy(opened, unknown=only_noise).take(rows)
    return Accuracy(opened, only_noise).take(rows)


def _opened(plan: Plan, output: Output, ends: Ends, farther: Ends) -> Ends:
    """The ends of intervals, NULL if they are uninformative.

    An uninformative end moves if the bounds of a walk are `farther` out, or is a bound itself.
    """
    bounds, (low, high) = plan.interval_of(output), ends
    at_bounds = low.values <= float(bounds.lower), high.values >= float(bounds.upper)
    low, high = (
        Vector(end.values, reduce(either, (end.null, far.null, at, end.values != far.values)))
        for end, far, at in zip(ends, farther, at_bounds, strict=True)
    )
    return low, high


def _without_ends(plan: Plan, output: Output, ends: Ends, opened: Ends) -> Bools | None:
    """For each interval, whether both of its ends are uninformative."""
    bounds = plan.interval_of(output)
    if bounds.lower >= bounds.upper:
        return None
    undefined, low, high = (spread(e.null, plan.cells) for e in (ends[0], *opened))
    return np.asarray(low & high & ~undefined)


def _as_wide_as_bounds(plan: Plan, output: Output, low: Vector, high: Vector) -> Bools | None:
    """For each interval, whether it is as wide as the bounds, but for the rounding of doubles."""
    bounds = plan.interval_of(output)
    if not bounds.bounded or bounds.lower >= bounds.upper:
        return None
    rounding = float(bounds.upper - bounds.lower) * _ROUNDING
    least, most = float(bounds.lower) + rounding, float(bounds.upper) - rounding
    wide = (low.values <= least) & (high.values >= most)
    null = spread(low.null, plan.cells) | spread(high.null, plan.cells)
    return np.asarray(wide & ~null)
