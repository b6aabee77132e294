"""The functions of timestamps, over vectors: whole numbers, computed for all rows alike."""

from __future__ import annotations

import numpy as np

from dpdb.plan.expressions.calendar import CLOCK, days_months_later, elapsed, unit_start
from dpdb.plan.expressions.expressions import Call, Literal
from dpdb.policy.timestamps import DAY, TIMESTAMPS
from dpdb.vectors.vector import Array, Bools, Vector, either, numbers, outside

TIMESTAMP_CALLS = frozenset((*CLOCK, "timestamp_trunc", "timestamp_months_later", "elapsed"))


def timestamp_call(call: Call, arguments: list[Vector]) -> Vector:
    """The value of a call; NULL for what is outside the years of timestamps."""
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
    """Timestamps as whole numbers, and which are outside their years: for these stands 1970."""
    lost = outside(timestamps.values, TIMESTAMPS)
    return np.where(lost, 0.0, timestamps.values).astype(np.int64), lost


def _vector(values: Array, null: Bools | None) -> Vector:
    return numbers(np.asarray(values).astype(np.float64), null)
