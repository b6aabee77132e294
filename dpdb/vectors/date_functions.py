"""The functions of dates, over vectors: whole numbers, computed for all rows alike."""

from __future__ import annotations

import numpy as np

from dpdb.plan.expressions.calendar import PARTS, STARTS, months_later
from dpdb.plan.expressions.expressions import Call, Literal
from dpdb.policy.numbers import CALENDAR
from dpdb.vectors.vector import Array, Vector, either, numbers, outside

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
