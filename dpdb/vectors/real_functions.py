"""The elementary functions of real numbers, over vectors.

What numpy finds for a double can depend on the doubles beside it, as it works on several at once
and takes other ways for hard ones. So each double is handed to the C library by itself; only square
roots, which are correctly rounded, are numpy's.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from dpdb.errors import InternalError
from dpdb.vectors.vector import Array, Bools, Vector, either, finite

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
