"""Functions of numpy for single numbers, under the same names.

A formula that is given this module or numpy serves single numbers and arrays alike. For a few
numbers Python's own arithmetic is many times faster than that of arrays with few elements.
"""

from __future__ import annotations

from math import copysign, exp, expm1, log, log1p, sqrt

__all__ = [
    "copysign",
    "count_nonzero",
    "exp",
    "expm1",
    "log",
    "log1p",
    "maximum",
    "minimum",
    "sqrt",
    "where",
]

maximum, minimum, count_nonzero = max, min, int


def where(condition: bool, true: float, false: float) -> float:
    """`true` if the condition holds, else `false`."""
    return true if condition else false
