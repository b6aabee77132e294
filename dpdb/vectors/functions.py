"""The scalar functions, over vectors."""

from __future__ import annotations

import operator
from collections.abc import Callable
from functools import reduce
from typing import Any

import numpy as np

from dpdb.errors import InternalError
from dpdb.plan.expressions.expressions import Call
from dpdb.plan.expressions.functions import CALLS, TEXT_CALLS
from dpdb.plan.expressions.text_functions import text_function
from dpdb.policy.catalog import Kind
from dpdb.vectors.calendar_functions import DATE_CALLS, TIMESTAMP_CALLS, date_call, timestamp_call
from dpdb.vectors.magnitudes import stays_finite
from dpdb.vectors.real_functions import REAL_CALLS, real_call
from dpdb.vectors.vector import (
    AnyVector,
    Array,
    Bools,
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
    pair,
)

Meaning = Callable[[Call, list[AnyVector]], AnyVector]


def apply(call: Call, arguments: list[AnyVector]) -> AnyVector:
    """The value of a call, from the values of its arguments."""
    return MEANINGS[call.name](call, arguments)


def _coalesce(_: Call, arguments: list[AnyVector]) -> AnyVector:
    return reduce(_first_known, alike(arguments))


def _concat(_: Call, arguments: list[AnyVector]) -> AnyVector:
    return reduce(join, [v for v in arguments if isinstance(v, TextVector)])


def _tuple(_: Call, arguments: list[AnyVector]) -> AnyVector:
    """A text for each different tuple of texts; NULL is a part like any other."""
    return reduce(pair, [v for v in arguments if isinstance(v, TextVector)])


def _nullif(call: Call, arguments: list[AnyVector]) -> AnyVector:
    equal = compare(operator.eq, *arguments)
    return choose(equal.values, *alike([constant(None, call.kind), arguments[0]]))


def _limit(call: Call, arguments: list[AnyVector]) -> AnyVector:
    return reduce(_LIMITS[call.name], [v for v in arguments if isinstance(v, Vector)])


def _of_numbers(meaning: Callable[[Call, list[Vector]], Vector]) -> Meaning:
    """The meaning of a function whose arguments are no texts, but for the name of a unit."""
    return lambda call, arguments: meaning(call, [v for v in arguments if isinstance(v, Vector)])


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
        case "round":
            return _rounded(call, first, rest, null)
    return real_call(name, first, rest, null)


def _rounded(call: Call, first: Array, rest: list[Array], null: Bools | None) -> Vector:
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


def _text_call(call: Call, arguments: list[AnyVector]) -> AnyVector:
    """The value of a call of a text and constants, worked out once for each text."""
    operand = arguments[0]
    assert isinstance(operand, TextVector)
    function: Callable[[str], Any] = text_function(call)
    return operand.map(function) if call.kind is Kind.TEXT else operand.look_up(function, call.kind)


_NUMBER_CALLS = ("abs", "floor", "ceil", "trunc", "sign", "clamp", "round", *REAL_CALLS)
MEANINGS: dict[str, Meaning] = {
    "coalesce": _coalesce,
    "concat": _concat,
    "nullif": _nullif,
    "tuple": _tuple,
    **dict.fromkeys(_LIMITS, _limit),
    **dict.fromkeys(TEXT_CALLS, _text_call),
    **dict.fromkeys(TIMESTAMP_CALLS, _of_numbers(timestamp_call)),
    **dict.fromkeys(DATE_CALLS, _of_numbers(date_call)),
    **dict.fromkeys(_NUMBER_CALLS, _of_numbers(_number_call)),
}
"""The function that evaluates a call, by the name of the called function."""
if MEANINGS.keys() != CALLS:
    raise InternalError(f"without a meaning: {sorted(MEANINGS.keys() ^ CALLS)}")
