"""The scalar functions, over vectors."""

from __future__ import annotations

import operator
from collections.abc import Callable
from functools import reduce
from typing import Any

import numpy as np

from dpdb.plan.expressions import Call, Literal
from dpdb.plan.folding import lower, upper
from dpdb.policy.catalog import Kind
from dpdb.vectors.magnitudes import stays_finite
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
        case "lower" | "upper" | "substr" | "length":
            return _text_call(name, arguments[0], call)
        case "least" | "greatest":
            return reduce(_LIMITS[name], [v for v in arguments if isinstance(v, Vector)])
    first, *rest = [v.values for v in arguments if isinstance(v, Vector)]
    null = reduce(either, [v.null for v in arguments])
    match name:
        case "abs":
            return Vector(np.abs(first), null)
        case "floor":
            return Vector(np.floor(first), null)
        case "ceil":
            return Vector(one_zero(np.ceil(first)), null)
        case "clamp":
            return Vector(np.minimum(np.maximum(first, rest[0]), rest[1]), null)
    assert name == "round"
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


def _text_call(name: str, operand: AnyVector, call: Call) -> AnyVector:
    assert isinstance(operand, TextVector)
    match name:
        case "lower":
            return operand.map(lower)
        case "upper":
            return operand.map(upper)
        case "length":
            return operand.look_up(len, Kind.INTEGER)
    start, *length = [a.value for a in call.arguments[1:] if isinstance(a, Literal)]
    assert isinstance(start, int)
    begin = max(start - 1, 0)
    end = None if not length else max(begin, start - 1 + max(0, int(length[0] or 0)))
    return operand.map(lambda text: text[begin:end])
