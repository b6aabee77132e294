"""The functions of dates and timestamps, over vectors: whole numbers, for all rows alike."""

from __future__ import annotations

import numpy as np

from dpdb.plan.expressions.calendar import (
    CLOCK,
    PARTS,
    STARTS,
    days_months_later,
    elapsed,
    months_later,
    unit_start,
)
from dpdb.plan.expressions.expressions import Call, Literal
from dpdb.policy.numbers import CALENDAR
from dpdb.policy.timestamps import DAY, TIMESTAMPS
from dpdb.vectors.vector import Array, Bools, Vector, either, numbers, outside

DATE_CALLS = frozenset((*PARTS, "date_trunc", "months_later"))


def date_call(call: Call, arguments: list[Vector]) -> Vector:
    """The value of a call; NULL for dates outside the years 1 to 9999."""
    date = arguments[-1] if call.name == "date_trunc" else arguments[0]
    lost = outside(date.values, CALENDAR)
    days = np.where(lost, 0.0, date.values).astype(np.int64)
    return numbers(_result(call, days).astype(np.float64), either(date.null, lost))


def _result(call: Call, days: Array) -> Array:
    match call.name, call.arguments:
        case "date_trunc", (Literal(value=unit), _):
            values = STARTS[str(unit)](days)
        case "months_later", (_, Literal(value=int(months))):
            values = months_later(days, months)
        case _:
            values = PARTS[call.name](days)
    return np.asarray(values)


TIMESTAMP_CALLS = frozenset((*CLOCK, "timestamp_trunc", "timestamp_months_later", "elapsed"))


def timestamp_call(call: Call, arguments: list[Vector]) -> Vector:
    """The value of a call; NULL for timestamps outside their years."""
    match call.name, call.arguments:
        case "elapsed", (Literal(value=unit), _, _):
            starts, early = _moments(arguments[0])
            ends, late = _moments(arguments[1])
            null = either(either(arguments[0].null, early), either(arguments[1].null, late))
            return _vector(elapsed(str(unit), starts, ends), null)
        case "timestamp_trunc", (Literal(value=unit), _):
            moments, lost = _moments(arguments[0])
            return _vector(unit_start(str(unit), moments), either(arguments[0].null, lost))
        case "timestamp_months_later", (_, Literal(value=int(months))):
            return _months_later(arguments[0], months)
    moments, lost = _moments(arguments[0])
    return _vector(CLOCK[call.name](moments), either(arguments[0].null, lost))


def _months_later(timestamps: Vector, months: int) -> Vector:
    """The timestamps at the same time of a day so many months later."""
    moments, lost = _moments(timestamps)
    days = np.asarray(days_months_later(moments, months))
    first, last = TIMESTAMPS
    beyond = outside(days, (first // DAY, last // DAY))
    later = np.where(beyond, 0, days) * DAY + moments % DAY
    return _vector(later, either(timestamps.null, lost | beyond))


def _moments(timestamps: Vector) -> tuple[Array, Bools]:
    """Timestamps as whole numbers, with 1970 for those that are outside their years."""
    lost = outside(timestamps.values, TIMESTAMPS)
    return np.where(lost, 0.0, timestamps.values).astype(np.int64), lost


def _vector(values: Array, null: Bools | None) -> Vector:
    return numbers(np.asarray(values).astype(np.float64), null)
