"""The scalar functions, over vectors.

What numpy finds for a real function of a double can depend on the doubles beside it, as it works on
several at once and takes other ways for hard ones. So each double is handed to the C library by
itself; only square roots, which are correctly rounded, are numpy's. The functions of dates and
timestamps work on whole numbers, for all rows alike.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from functools import reduce
from typing import Any

import numpy as np

from dpdb.errors import InternalError
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
from dpdb.plan.expressions.functions import CALLS, TEXT_CALLS
from dpdb.plan.expressions.text_functions import text_function
from dpdb.policy.catalog import Kind
from dpdb.policy.numbers import CALENDAR
from dpdb.policy.timestamps import DAY, TIMESTAMPS
from dpdb.vectors.magnitudes import stays_finite
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
    numbers,
    one_zero,
    outside,
    pair,
)

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


_LARGEST_EXPONENT = 709.78
"""The exponentials of larger numbers are no doubles."""
_LARGEST_LOGARITHM = 1023.0
"""Powers whose logarithm to the base 2 is above this are taken to be too large for a double."""

_EVERYWHERE: dict[str, Callable[[float], float]] = {
    "cbrt": math.cbrt,
    "sin": math.sin,
    "cos": math.cos,
    "tan": math.tan,
    "atan": math.atan,
}
"""The functions that are defined for every number."""
_ABOVE_ZERO: dict[str, Callable[[float], float]] = {
    "ln": math.log,
    "log2": math.log2,
    "log10": math.log10,
}
_WITHIN_ONE: dict[str, Callable[[float], float]] = {"asin": math.asin, "acos": math.acos}
REAL_CALLS = frozenset((*_EVERYWHERE, *_ABOVE_ZERO, *_WITHIN_ONE, "sqrt", "exp", "atan2", "power"))


def real_call(name: str, first: Array, rest: list[Array], null: Bools | None) -> Vector:
    """The value of a call; NULL where the function has none, or none that is a double."""
    if name in _EVERYWHERE:
        return finite(_each(_EVERYWHERE[name], first), null)
    if name in _ABOVE_ZERO:
        return _within(first > 0, _ABOVE_ZERO[name], first, 1.0, null)
    if name in _WITHIN_ONE:
        return _within(np.abs(first) <= 1, _WITHIN_ONE[name], first, 0.0, null)
    match name:
        case "sqrt":
            inside = first >= 0
            return finite(np.sqrt(np.where(inside, first, 0.0)), either(null, ~inside))
        case "exp":
            return _within(first <= _LARGEST_EXPONENT, math.exp, first, 0.0, null)
        case "atan2":
            return finite(_each_pair(math.atan2, first, rest[0]), null)
        case "power":
            return _power(first, rest[0], null)
    raise InternalError(f"{name} is no function of real numbers")


def _each(function: Callable[[float], float], values: Array) -> Array:
    return np.array([function(value) for value in values.tolist()])


def _each_pair(function: Callable[[float, float], float], first: Array, second: Array) -> Array:
    first, second = np.broadcast_arrays(first, second)
    pairs = zip(first.tolist(), second.tolist(), strict=True)
    return np.array([function(a, b) for a, b in pairs])


def _within(
    inside: Bools,
    function: Callable[[float], float],
    values: Array,
    filler: float,
    null: Bools | None,
) -> Vector:
    """The function of the numbers inside its domain, NULL outside; it has a value at `filler`."""
    result = _each(function, np.where(inside, values, filler))
    return finite(result, either(null, ~inside))


def _power(base: Array, exponent: Array, null: Bools | None) -> Vector:
    """Powers; NULL for 0 to a negative one, and for roots of negative numbers."""
    size = np.abs(base)
    bits = _each(math.log2, np.where(size > 0, size, 1.0))
    undefined = (base == 0) & (exponent < 0)
    undefined |= (base < 0) & (exponent != np.trunc(exponent))
    undefined |= exponent * bits > _LARGEST_LOGARITHM
    safe = np.where(undefined, 1.0, base), np.where(undefined, 1.0, exponent)
    return finite(_each_pair(math.pow, *safe), either(null, undefined))


Meaning = Callable[[Call, list[AnyVector]], AnyVector]


def apply(call: Call, arguments: list[AnyVector]) -> AnyVector:
    """The value of a call, from the values of its arguments."""
    return MEANINGS[call.name](call, arguments)


def _tuple(_: Call, arguments: list[AnyVector]) -> AnyVector:
    """A text for each different tuple of texts; NULL is a part like any other."""
    return reduce(pair, [v for v in arguments if isinstance(v, TextVector)])


def _nullif(call: Call, arguments: list[AnyVector]) -> AnyVector:
    equal = compare(operator.eq, *arguments)
    return choose(equal.values, *alike([constant(None, call.kind), arguments[0]]))


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
    "coalesce": lambda _, arguments: reduce(_first_known, alike(arguments)),
    "concat": lambda _, arguments: reduce(
        join, [v for v in arguments if isinstance(v, TextVector)]
    ),
    "nullif": _nullif,
    "tuple": _tuple,
    **dict.fromkeys(
        _LIMITS,
        lambda call, arguments: reduce(
            _LIMITS[call.name], [v for v in arguments if isinstance(v, Vector)]
        ),
    ),
    **dict.fromkeys(TEXT_CALLS, _text_call),
    **dict.fromkeys(TIMESTAMP_CALLS, _of_numbers(timestamp_call)),
    **dict.fromkeys(DATE_CALLS, _of_numbers(date_call)),
    **dict.fromkeys(_NUMBER_CALLS, _of_numbers(_number_call)),
}
"""The function that evaluates a call, by the name of the called function."""
if MEANINGS.keys() != CALLS:
    raise InternalError(f"without a meaning: {sorted(MEANINGS.keys() ^ CALLS)}")
