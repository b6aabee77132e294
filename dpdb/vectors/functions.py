"""The scalar functions, over vectors."""

from __future__ import annotations

import operator
from collections.abc import Callable
from functools import reduce
from typing import Any

import numpy as np

from dpdb.plan.expressions import Call
from dpdb.vectors.date_functions import DATE_CALLS, date_call
from dpdb.vectors.magnitudes import stays_finite
from dpdb.vectors.real_functions import real_call
from dpdb.vectors.text_functions import TEXT_CALLS, text_call
from dpdb.vectors.timestamp_functions import TIMESTAMP_CALLS, timestamp_call
from dpdb.vectors.vector import (
    AnyVector,
    Array,
    TextVector,
    Vector,
    alike,
    choose,
    compare,
    constant,
    either,
    finite,
    join,
    one_zero,
)


def apply(call: Call, arguments: list[AnyVector]) -> AnyVector:
    """The value of a call, from the values of its arguments."""
    name = call.name
    match name:
        case "coalesce":
            return reduce(_first_known, alike(arguments))
        case "concat":
            return reduce(join, [v for v in arguments if isinstance(v, TextVector)])
        case "nullif":
            equal = compare(operator.eq, *arguments)
            return choose(equal.values, *alike([constant(None, call.kind), arguments[0]]))
        case "least" | "greatest":
            return reduce(_LIMITS[name], [v for v in arguments if isinstance(v, Vector)])
    if name in TEXT_CALLS:
        return text_call(call, arguments[0])
    numbers = [v for v in arguments if isinstance(v, Vector)]
    if name in TIMESTAMP_CALLS:
        return timestamp_call(call, numbers)
    return date_call(call, numbers) if name in DATE_CALLS else _number_call(call, numbers)


def _number_call(call: Call, arguments: list[Vector]) -> Vector:
    name, (first, *rest) = call.name, [v.values for v in arguments]
    null = reduce(either, [v.null for v in arguments])
    match name:
        case "abs":
            return Vector(np.abs(first), null)
        case "floor":
            return Vector(np.floor(first), null)
        case "ceil":
            return Vector(one_zero(np.ceil(first)), null)
        case "trunc":
            return Vector(one_zero(np.trunc(first)), null)
        case "sign":
            return Vector(np.sign(first), null)
        case "clamp":
            return Vector(np.minimum(np.maximum(first, rest[0]), rest[1]), null)
    if name != "round":
        return real_call(name, first, rest, null)
    rounded = _round(first, int(rest[0][0]))
    return Vector(one_zero(rounded), null) if stays_finite(call) else finite(rounded, null)


def _first_known(first: AnyVector, second: AnyVector) -> AnyVector:
    if first.null is None:
        return first
    if isinstance(first, Vector) and isinstance(second, Vector):
        # Both are NULL, or it is not: no case is left where the chosen one alone says so.
        null = None if second.null is None else first.null & second.null
        return Vector(np.where(first.null, second.values, first.values), null)
    return choose(first.null, second, first)


def _extreme(better: Callable[[Any, Any], Any]) -> Callable[[Vector, Vector], Vector]:
    """LEAST and GREATEST pass over NULLs, as in PostgreSQL and DuckDB."""

    def pick(first: Vector, second: Vector) -> Vector:
        second_wins = better(second.values, first.values)
        if first.null is not None:
            second_wins = second_wins | first.null
        if second.null is not None:
            second_wins = second_wins & ~second.null
        chosen = choose(second_wins, second, first)
        assert isinstance(chosen, Vector)
        return chosen

    return pick


_LIMITS = {"least": _extreme(operator.lt), "greatest": _extreme(operator.gt)}


def _round(values: Array, digits: int) -> Array:
    """Half away from zero, as DuckDB rounds, and PostgreSQL its decimals."""
    unit = 10.0 ** abs(digits)
    scaled = values * unit if digits >= 0 else values / unit
    toward_zero = np.trunc(scaled)
    # The distance is exact; adding a half before cutting off would round once more.
    away = np.abs(scaled - toward_zero) >= 0.5
    whole = toward_zero + np.copysign(away, scaled)
    return whole / unit if digits >= 0 else whole * unit
