"""Noisy results into an answer: post-processing only.

Everything here is computed from noisy values, public scales and the plan, so
it can give away nothing more (Dwork and Roth 2014, Proposition 2.1).
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt

from dpdb.answer import CONFIDENCE, Cell, Range
from dpdb.engines.evaluate import Frame, evaluate
from dpdb.engines.vectors import AnyVector, TextVector, Vector, constant
from dpdb.plan import Estimate, Plan, Release, Total
from dpdb.policy import EPOCH, Kind, Value
from dpdb.privacy.mechanisms import Laplace
from dpdb.sql.query import Expr, Function, Output, Slot, slots

Array = npt.NDArray[Any]
Draws = Sequence[Array]
"""For each release its noisy values: grid steps, a value for each cell."""

MAX_CORNERS = 8
"""An expression over more aggregates than this gets no interval."""


@dataclass(frozen=True)
class Page:
    """The rows of an answer."""

    rows: tuple[tuple[Cell, ...], ...]
    intervals: tuple[tuple[Range, ...], ...]


def page(plan: Plan, draws: Draws, subqueries: Mapping[Slot, AnyVector]) -> Page:
    """The answer's rows: computed, kept by HAVING, sorted and cut."""
    frame = Frame({}, {**subqueries, **_keys(plan), **_points(plan, draws)})
    number = len(plan.cells)
    columns = [
        _listed(evaluate(output.expression, frame), output.expression.kind, number)
        for output in plan.outputs
    ]
    ranges = [_ranges(plan, draws, output, frame) for output in plan.outputs]
    kept = _sorted(plan, frame, _having(plan, frame))
    kept = kept[plan.offset : None if plan.limit is None else plan.offset + plan.limit]
    return Page(
        tuple(tuple(column[i] for column in columns) for i in kept),
        tuple(tuple(column[i] for column in ranges) for i in kept),
    )


def scalar(plan: Plan, draws: Draws, subqueries: Mapping[Slot, AnyVector]) -> AnyVector:
    """The value of a scalar subquery, for the query around it."""
    frame = Frame({}, {**subqueries, **_points(plan, draws)})
    return evaluate(plan.outputs[0].expression, frame)


def _keys(plan: Plan) -> dict[Slot, AnyVector]:
    return {
        Slot("key", i, key.kind): _vector([cell[i] for cell in plan.cells], key.kind)
        for i, key in enumerate(plan.keys)
    }


def _vector(values: Sequence[Value], kind: Kind) -> AnyVector:
    if kind is Kind.TEXT:
        dictionary = tuple(dict.fromkeys(str(value) for value in values))
        index = {text: i for i, text in enumerate(dictionary)}
        return TextVector(np.array([index[str(value)] for value in values], int), dictionary)
    if kind is Kind.NUMBER:
        return Vector(np.array([float(value) for value in values]))
    return Vector(np.array(values, dtype=bool if kind is Kind.BOOLEAN else np.int64))


def _points(plan: Plan, draws: Draws) -> dict[Slot, AnyVector]:
    return {
        Slot("aggregate", i, estimate.aggregate.kind): _point(estimate, plan, draws)
        for i, estimate in enumerate(plan.estimates)
    }


def _point(estimate: Estimate, plan: Plan, draws: Draws) -> AnyVector:
    """An aggregate's value in each cell, from the noisy values."""
    own = [draws[index] for index in estimate.releases]
    releases = [plan.releases[index] for index in estimate.releases]
    match estimate.aggregate.function:
        case Function.COUNT if estimate.rows is not None:
            return constant(estimate.rows)
        case Function.MODE:
            values = releases[0].statistic.values  # type: ignore[union-attr]
            return _vector([values[i] for i in own[0]], estimate.aggregate.kind)
        case Function.AVG:
            return Vector(_average(own, releases[0], estimate))
        case Function.VAR_POP | Function.VAR_SAMP | Function.STDDEV_POP | Function.STDDEV_SAMP:
            return Vector(_variance(own, releases[0], estimate))
    return Vector(_scaled(own[0], _step(releases[0])))


def _step(release: Release) -> Fraction:
    statistic = release.statistic
    return Fraction(1) if not hasattr(statistic, "grid") else statistic.grid.step


def _scaled(units: Array, step: Fraction) -> Array:
    """Grid steps in the analyst's unit: whole numbers stay whole, decimals as written."""
    if step == 1:
        return units
    return np.asarray(units.astype(np.float64) * float(step.numerator) / float(step.denominator))


def _counts(own: Draws, estimate: Estimate, position: int) -> Array:
    """The number of rows to divide by: at least one, however the noise fell."""
    counts = own[position] if estimate.rows is None else np.array([estimate.rows])
    return np.maximum(counts.astype(np.float64), 1.0)


def _clamped(values: Array, estimate: Estimate) -> Array:
    return np.clip(values, float(estimate.interval.lower), float(estimate.interval.upper))


def _average(own: Draws, release: Release, estimate: Estimate) -> Array:
    """The centre of the bounds plus the mean distance from it."""
    assert isinstance(release.statistic, Total)
    offset = own[0].astype(np.float64) / _counts(own, estimate, 1)
    mean = (offset + release.statistic.centre) * float(release.statistic.grid.step)
    return _clamped(mean, estimate)


def _variance(own: Draws, release: Release, estimate: Estimate) -> Array:
    """offset + Z/N - (Y/N)², times N/(N-1) for a sample's, from squares Z and sum Y."""
    squares, total = (values.astype(np.float64) for values in own[:2])
    return _deviation(squares, total, _counts(own, estimate, 2), release, estimate)


def _deviation(
    squares: Array, total: Array, counts: Array, release: Release, estimate: Estimate
) -> Array:
    statistic = release.statistic
    assert isinstance(statistic, Total)
    variance = statistic.offset + squares / counts - (total / counts) ** 2
    variance = np.maximum(variance, 0) * float(statistic.grid.step) ** 2
    function = estimate.aggregate.function
    if function in (Function.VAR_SAMP, Function.STDDEV_SAMP):
        variance = variance * counts / np.maximum(counts - 1, 1)
    if function in (Function.STDDEV_POP, Function.STDDEV_SAMP):
        variance = np.sqrt(variance)
    return _clamped(variance, estimate)


def _ranges(plan: Plan, draws: Draws, output: Output, frame: Frame) -> list[Range]:
    """A CONFIDENCE interval for each cell of a column, None where nothing is noisy.

    The noises behind a column are independent, so each is held to the power of
    CONFIDENCE that makes all of them hold at once; the interval is the range
    of the expression over the corners of that box. It covers at least CONFIDENCE.
    """
    number = len(plan.cells)
    used = sorted(slots(output.expression, "aggregate"))
    involved = plan.released_for(output)
    if not involved or output.expression.kind not in (Kind.INTEGER, Kind.NUMBER, Kind.DATE):
        return [None] * number
    if len(used) > MAX_CORNERS:
        return [None] * number
    each = CONFIDENCE ** (1 / len(involved))
    boxes = [_box(plan.estimates[index], plan, draws, each) for index in used]
    if any(box is None for box in boxes):
        return [None] * number
    lows, highs = _corners(plan, output.expression, frame, used, boxes)
    kind = output.expression.kind
    return list(zip(_listed(lows, kind, number), _listed(highs, kind, number), strict=True))


def _corners(
    plan: Plan, expression: Expr, frame: Frame, used: list[int], boxes: list[Any]
) -> tuple[Vector, Vector]:
    """The least and greatest value of `expression` over the corners of the boxes."""
    names = [Slot("aggregate", index, plan.estimates[index].aggregate.kind) for index in used]
    if isinstance(expression, Slot):
        return Vector(boxes[0][0]), Vector(boxes[0][1])
    found = []
    for corner in product((0, 1), repeat=len(used)):
        ends = {name: Vector(box[end]) for name, box, end in zip(names, boxes, corner, strict=True)}
        value = evaluate(expression, Frame({}, {**frame.slots, **ends}))
        assert isinstance(value, Vector)
        missing = np.zeros(1, dtype=bool) if value.null is None else value.null
        found.append(np.where(missing, np.nan, value.values.astype(np.float64)))
    stacked = np.stack(np.broadcast_arrays(*found))
    undefined = np.isnan(stacked).any(axis=0)
    return Vector(stacked.min(axis=0), undefined), Vector(stacked.max(axis=0), undefined)


def _box(
    estimate: Estimate, plan: Plan, draws: Draws, confidence: float
) -> tuple[Array, Array] | None:
    """Where an aggregate's exact value lies, if each of its noises is within its quantile."""
    function = estimate.aggregate.function
    if function is Function.MODE:
        return None
    if estimate.rows is not None and not estimate.releases:
        return np.array([estimate.rows]), np.array([estimate.rows])
    own = [draws[index] for index in estimate.releases]
    releases = [plan.releases[index] for index in estimate.releases]
    ends = []
    for values, release in zip(own, releases, strict=True):
        if not isinstance(release.mechanism, Laplace):
            return _declared(estimate, len(values))
        margin = int(release.mechanism.quantile(confidence))
        ends.append((values - margin, values + margin))
    match function:
        case Function.AVG:
            means = [_average(corner, releases[0], estimate) for corner in product(*ends)]
            return np.minimum.reduce(means), np.maximum.reduce(means)
        case Function.VAR_POP | Function.VAR_SAMP | Function.STDDEV_POP | Function.STDDEV_SAMP:
            return _variance_box(ends, releases[0], estimate)
    low, high = (_scaled(end, _step(releases[0])) for end in ends[0])
    return low, high


def _declared(estimate: Estimate, number: int) -> tuple[Array, Array]:
    """Of a selected value only its bounds are known: how far apart the data lie is secret."""
    whole = estimate.aggregate.kind is not Kind.NUMBER
    lower, upper = (
        int(bound) if whole else float(bound)
        for bound in (estimate.interval.lower, estimate.interval.upper)
    )
    return np.full(number, lower), np.full(number, upper)


def _variance_box(
    ends: list[tuple[Array, Array]], release: Release, estimate: Estimate
) -> tuple[Array, Array]:
    """The variance grows with the squares and falls with the sum's distance from zero."""
    floats = [(low.astype(np.float64), high.astype(np.float64)) for low, high in ends]
    (squares_low, squares_high), (total_low, total_high) = floats[:2]
    far = np.maximum(np.abs(total_low), np.abs(total_high))
    near = np.where(
        (total_low <= 0) & (total_high >= 0), 0, np.minimum(np.abs(total_low), np.abs(total_high))
    )
    counts = floats[2] if estimate.rows is None else (np.array([float(estimate.rows)]),)
    corners = [
        _deviation(squares, total, np.maximum(count, 1.0), release, estimate)
        for squares, total in ((squares_low, far), (squares_high, near))
        for count in counts
    ]
    return np.minimum.reduce(corners), np.maximum.reduce(corners)


def _having(plan: Plan, frame: Frame) -> list[int]:
    if plan.having is None:
        return list(range(len(plan.cells)))
    kept = evaluate(plan.having, frame)
    assert isinstance(kept, Vector)
    return [int(i) for i in np.flatnonzero(np.broadcast_to(kept.values, len(plan.cells)))]


def _sorted(plan: Plan, frame: Frame, kept: list[int]) -> list[int]:
    for ordering in reversed(plan.order):
        expression = ordering.expression
        values = _listed(evaluate(expression, frame), expression.kind, len(plan.cells))
        known = [i for i in kept if values[i] is not None]
        known.sort(key=lambda i: values[i], reverse=ordering.descending)  # type: ignore[arg-type,return-value]
        unknown = [i for i in kept if values[i] is None]
        kept = unknown + known if ordering.nulls_first else known + unknown
    return kept


def _listed(vector: AnyVector, kind: Kind, number: int) -> list[Cell]:
    """A vector as plain Python values, None for NULL."""
    if isinstance(vector, TextVector):
        texts: list[Cell] = [*vector.dictionary, None]
        return [texts[code] for code in np.broadcast_to(vector.codes, number).tolist()]
    values = np.broadcast_to(vector.values, number).tolist()
    if kind is Kind.DATE:
        values = [_date(value) for value in values]
    elif kind is Kind.INTEGER:
        values = [None if math.isnan(value) else int(value) for value in values]
    if vector.null is None:
        return list(values)
    null = np.broadcast_to(vector.null, number).tolist()
    return [None if missing else value for value, missing in zip(values, null, strict=True)]


def _date(days: float) -> str | None:
    try:
        return (EPOCH + datetime.timedelta(days=round(days))).isoformat()
    except (OverflowError, ValueError):
        return None
