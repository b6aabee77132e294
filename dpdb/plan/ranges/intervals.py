"""Intervals of numbers, and interval arithmetic on them ([Moo66] chapter 2).

An interval that is computed holds every result of an operation on numbers of its operands.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction

from dpdb.errors import InternalError
from dpdb.records import dataclass

Bound = Fraction | float
"""A finite bound is a Fraction, an infinite one a float."""

INFINITY = math.inf
_LARGEST = Fraction(10) ** 290
"""A bound beyond this becomes infinite: doubles overflow soon, and overflow is NULL."""
_FINEST = 10**400
"""The largest denominator of a bound, which limits the digits of products."""


@dataclass(frozen=True)
class Interval:
    """The numbers from `lower` to `upper`, both included."""

    lower: Bound = -INFINITY
    upper: Bound = INFINITY

    @property
    def bounded(self) -> bool:
        """Whether both ends are finite."""
        return isinstance(self.lower, Fraction) and isinstance(self.upper, Fraction)

    @property
    def empty(self) -> bool:
        """Whether no number is inside, as where conditions exclude each other."""
        return self.lower > self.upper

    def meet(self, other: Interval) -> Interval:
        """The interval of the numbers in both."""
        return Interval(max(self.lower, other.lower), min(self.upper, other.upper))

    def join(self, other: Interval) -> Interval:
        """The smallest interval around both."""
        return Interval(min(self.lower, other.lower), max(self.upper, other.upper))


EVERYTHING = Interval()


def hull(intervals: Sequence[Interval]) -> Interval:
    """The smallest interval around all intervals."""
    result = intervals[0]
    for other in intervals[1:]:
        result = result.join(other)
    return result


def arithmetic(operator: str, left: Interval, right: Interval) -> Interval:
    """The results of `+`, `-`, `*`, `/` or `%`; division by an interval with 0 has no bounds."""
    match operator:
        case "+":
            return around(left.lower + right.lower, left.upper + right.upper)
        case "-":
            return around(left.lower - right.upper, left.upper - right.lower)
        case "*":
            return _corners(left, right, _times)
        case "/":
            apart = not right.empty and (right.lower > 0 or right.upper < 0)
            return _corners(left, right, _over) if apart else EVERYTHING
        case "%":
            return _remainder(left, right)
    raise InternalError(f"there is no operator {operator}")


def _corners(left: Interval, right: Interval, combine: Callable[[Bound, Bound], Bound]) -> Interval:
    """The range of an operation that is monotone in each operand."""
    ends = [combine(a, b) for a in (left.lower, left.upper) for b in (right.lower, right.upper)]
    return around(min(ends), max(ends))


def around(lower: Bound, upper: Bound) -> Interval:
    """An interval around `lower` and `upper` whose ends have few digits."""
    return Interval(_short(lower, math.floor), _short(upper, math.ceil))


def _short(bound: Bound, to: Callable[[Fraction], int]) -> Bound:
    """The bound; infinite if it is too large for doubles, rounded if it has very many digits."""
    if isinstance(bound, float):
        return bound
    if abs(bound) > _LARGEST:
        return INFINITY if bound > 0 else -INFINITY
    if bound.denominator > _FINEST:
        return Fraction(to(bound * _FINEST), _FINEST)
    return bound


def _times(a: Bound, b: Bound) -> Bound:
    """a·b, where 0·∞ is 0."""
    return Fraction(0) if a == 0 or b == 0 else a * b


def _over(a: Bound, b: Bound) -> Bound:
    """a/b for b other than 0; a finite number over an infinite one is 0."""
    if isinstance(b, float):
        return Fraction(0) if isinstance(a, Fraction) else a * math.copysign(1, b)
    return a / b


def _remainder(left: Interval, right: Interval) -> Interval:
    """`a % b` has the sign of `a` and is smaller than both in magnitude, as in SQL."""
    limit: Bound = max(-right.lower, right.upper)
    lower = max(left.lower, -limit) if left.lower < 0 else Fraction(0)
    upper = min(left.upper, limit) if left.upper > 0 else Fraction(0)
    return Interval(lower, upper)


def rounded(inner: Interval, to: Callable[[Bound], int]) -> Interval:
    """The interval with its finite ends rounded by `to`, a monotone rounding."""
    lower = Fraction(to(inner.lower)) if isinstance(inner.lower, Fraction) else inner.lower
    upper = Fraction(to(inner.upper)) if isinstance(inner.upper, Fraction) else inner.upper
    return Interval(lower, upper)


def absolute(inner: Interval) -> Interval:
    """The absolute values of the numbers in the interval."""
    # |x| is at least the distance from 0 to the interval, and at most that to its farther end.
    return Interval(max(Fraction(0), inner.lower, -inner.upper), max(-inner.lower, inner.upper))


def clamped(inner: Interval, low: Interval, high: Interval) -> Interval:
    """The results of CLAMP(x, low, high), which rise with each argument."""
    lower = min(max(inner.lower, low.lower), high.lower)
    return Interval(lower, min(max(inner.upper, low.upper), high.upper))
