"""SQL's logic of three values: true, false and NULL."""

from __future__ import annotations

import numpy as np

from dpdb.vectors.vector import AnyVector, Bools, Vector, either


def conjunction(left: Vector, right: Vector) -> Vector:
    """AND: false where one of them is, whatever the other."""
    true = left.values & right.values
    if left.null is None and right.null is None:
        return Vector(true)
    false = _false(left) | _false(right)
    return Vector(true, ~true & ~false)


def disjunction(left: Vector, right: Vector) -> Vector:
    """OR: true where one of them is, whatever the other."""
    true = left.values | right.values
    null = either(left.null, right.null)
    return Vector(true, None if null is None else null & ~true)


def is_null(vector: AnyVector) -> Vector:
    """IS NULL: true or false, never NULL."""
    if vector.null is None:
        return Vector(np.zeros(1, dtype=np.bool_))
    return Vector(vector.null)


def _false(vector: Vector) -> Bools:
    return ~vector.values if vector.null is None else ~vector.values & ~vector.null
