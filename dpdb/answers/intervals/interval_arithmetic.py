"""Interval arithmetic over the cells of an answer.

`plan.ranges.ranges` does it once, for all rows of a table; here it is done for each cell, with the
intervals of the cell's aggregates ([Moo66] chapter 2).
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce

import numpy as np

from dpdb.plan.expressions.expressions import Arithmetic, Call, Expr, Literal, Slot
from dpdb.plan.ranges.function_ranges import RISING
from dpdb.policy.catalog import Kind
from dpdb.vectors.evaluate import Frame
from dpdb.vectors.functions import apply
from dpdb.vectors.vector import Array, Vector, constant

Bounds = tuple[Array, Array]
"""The lower and the upper ends, one of each for every cell."""

_NEVER_FALLING = frozenset((*RISING, "round", "floor", "ceil", "trunc", "clamp"))
"""The functions that never fall as their first argument rises."""


def bounds_of(expression: Expr, known: Mapping[Slot, Bounds], frame: Frame) -> Bounds | None:
    """The bounds of `expression` in each cell; None if it has a part that has no rule here.

    Where an end is not finite, the expression may be undefined in that cell.
    """
    match expression:
        case Slot() if expression in known:
            return known[expression]
        case Slot():
            fixed = frame.slots[expression]
            if not isinstance(fixed, Vector):
                return None
            return fixed.values, fixed.values
        case Literal(value=value, kind=Kind.INTEGER | Kind.NUMBER as kind) if value is not None:
            point = constant(value, kind)
            assert isinstance(point, Vector)
            return point.values, point.values
        case Arithmetic(operator=operator, left=left, right=right):
            sides = bounds_of(left, known, frame), bounds_of(right, known, frame)
            return None if None in sides else _arithmetic(operator, *sides)  # type: ignore[arg-type]
        case Call(arguments=arguments):
            parts = [bounds_of(argument, known, frame) for argument in arguments]
            known_parts = [part for part in parts if part is not None]
            return _call(expression, known_parts) if len(known_parts) == len(parts) else None
    return None


def _arithmetic(operator: str, left: Bounds, right: Bounds) -> Bounds | None:
    (a, b), (c, d) = left, right
    match operator:
        case "+":
            return a + c, b + d
        case "-":
            return a - d, b - c
        case "*":
            return _around(a * c, a * d, b * c, b * d)
        case "/":
            # Where the divisor may be zero the quotient may be anything.
            crossing = (c <= 0) & (d >= 0)
            low, high = _around(a / c, a / d, b / c, b / d)
            return np.where(crossing, -np.inf, low), np.where(crossing, np.inf, high)
    return None


def _call(call: Call, parts: list[Bounds]) -> Bounds | None:
    lows, highs = [low for low, _ in parts], [high for _, high in parts]
    if call.name in _NEVER_FALLING:
        return _end(call, lows, -np.inf), _end(call, highs, np.inf)
    match call.name:
        case "abs":
            [(low, high)] = parts
            return np.maximum(0, np.maximum(low, -high)), np.maximum(-low, high)
        case "least":
            return reduce(np.minimum, lows), reduce(np.minimum, highs)
        case "greatest":
            return reduce(np.maximum, lows), reduce(np.maximum, highs)
    return None


def _end(call: Call, ends: list[Array], nothing: float) -> Array:
    """The call of ends of bounds; `nothing` where it has no value."""
    value = apply(call, [Vector(end) for end in ends])
    assert isinstance(value, Vector)
    return value.values if value.null is None else np.where(value.null, nothing, value.values)


def _around(*ends: Array) -> Bounds:
    return reduce(np.minimum, ends), reduce(np.maximum, ends)
