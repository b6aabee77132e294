"""The ranges of the scalar functions, from the ranges of their arguments."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

from dpdb.plan.calendar import CYCLES, PARTS, STARTS, months_later
from dpdb.plan.clock import CLOCK, CLOCK_CYCLES
from dpdb.plan.intervals import EVERYTHING, INFINITY, Bound, Interval, absolute, around, rounded
from dpdb.plan.timestamp_ranges import MOMENTS
from dpdb.policy.numbers import CALENDAR

_SLACK = Fraction(1, 2**40)
"""More than the relative error of a function in doubles."""
_LARGEST_EXPONENT = 690
"""Above this the exponential function is near the largest double."""
_ZERO, _ONE = Fraction(0), Fraction(1)
_TURN = Fraction(math.pi) * (1 + _SLACK)
"""A little more than half a turn, π."""
DATES = Interval(*map(Fraction, CALENDAR))
"""The dates of the years 1 to 9999. Functions of other dates are NULL."""

_DOMAINS = {
    "sqrt": Interval(lower=_ZERO),
    "ln": Interval(lower=_ZERO),
    "log2": Interval(lower=_ZERO),
    "log10": Interval(lower=_ZERO),
    "asin": Interval(-_ONE, _ONE),
    "acos": Interval(-_ONE, _ONE),
    "exp": Interval(upper=Fraction(_LARGEST_EXPONENT)),
}
"""The numbers for which a function is not NULL, where that is not all of them.

Logarithms of 0, and numbers near the largest double as powers, are NULL, too.
"""
RISING: dict[str, Callable[[float], float]] = {
    "sqrt": math.sqrt,
    "cbrt": math.cbrt,
    "exp": math.exp,
    "ln": math.log,
    "log2": math.log2,
    "log10": math.log10,
    "asin": math.asin,
    "atan": math.atan,
}
"""The functions that never fall as their argument rises."""
_VALUES = {
    "sin": Interval(-_ONE, _ONE),
    "cos": Interval(-_ONE, _ONE),
    "acos": Interval(_ZERO, _TURN),
    "atan2": Interval(-_TURN, _TURN),
    "sign": Interval(-_ONE, _ONE),
}
"""The values of functions that are bounded, whatever their arguments are."""


def is_total(name: str, argument: Interval) -> bool:
    """Whether the function is never NULL for a number or date of the interval."""
    if name in ("ln", "log2", "log10"):
        return argument.lower > 0
    domain = _domain(name)
    return domain.lower <= argument.lower and argument.upper <= domain.upper


def _domain(name: str) -> Interval:
    if name in CLOCK or name == "timestamp_trunc":
        return MOMENTS
    return DATES if name in PARTS or name == "date_trunc" else _DOMAINS.get(name, EVERYTHING)


def function_range(name: str, argument: Interval) -> Interval:
    """The values of a function of one number, date or timestamp."""
    if name in _VALUES:
        return _VALUES[name]
    if (cycle := CYCLES.get(name, CLOCK_CYCLES.get(name))) is not None:
        return Interval(*map(Fraction, cycle))
    inside = argument.meet(_domain(name))
    if inside.empty:
        return EVERYTHING
    if (part := PARTS.get(name, CLOCK.get(name))) is not None:
        return rounded(inside, lambda end: int(part(math.floor(end))))
    if name in RISING:
        rising = RISING[name]
        return around(_end(rising, inside.lower, -1), _end(rising, inside.upper, 1))
    return EVERYTHING


def start_range(unit: str, date: Interval) -> Interval:
    """The first days of the years, quarters, months or weeks of some dates."""
    inside = date.meet(DATES)
    if inside.empty:
        return EVERYTHING
    return rounded(inside, lambda end: int(STARTS[unit](math.floor(end))))


def later_range(date: Interval, months: int) -> Interval:
    """The dates so many months later."""
    inside = date.meet(DATES)
    if inside.empty:
        return EVERYTHING
    return rounded(inside, lambda end: int(months_later(math.floor(end), months)))


def power_range(base: Interval, exponent: Interval) -> Interval:
    """The powers of numbers: for bases that may be negative, of one whole exponent alone."""
    whole = exponent.lower if exponent.lower == exponent.upper else None
    if base.lower < 0 and isinstance(whole, Fraction) and whole.denominator == 1 and whole >= 0:
        if whole % 2 == 0:
            return power_range(absolute(base), exponent)
        high = power_range(Interval(_ZERO, max(base.upper, _ZERO)), exponent)
        low = power_range(Interval(_ZERO, -base.lower), exponent)
        return Interval(-low.upper, high.upper)
    if base.lower < 0:
        return EVERYTHING
    exponents = (exponent.lower, exponent.upper)
    corners = [_power(b, e) for b in (base.lower, base.upper) for e in exponents]
    return around(min(corners) * (1 - _SLACK), max(corners) * (1 + _SLACK))


def _power(base: Bound, exponent: Bound) -> Bound:
    """A power of a number that is not negative; infinite where it is too large for a double."""
    try:
        value = math.pow(base, exponent)
    except (ValueError, OverflowError):  # 0 to a negative power, or beyond the largest double
        return INFINITY
    return Fraction(value) if math.isfinite(value) else INFINITY


def _end(rising: Callable[[float], float], end: Bound, outward: int) -> Bound:
    """The end of a range, moved outward by more than the function's rounding error."""
    try:
        value = rising(float(end))
    except ValueError:  # the logarithm of 0
        return -INFINITY
    if not math.isfinite(value):
        return value
    return Fraction(value) + outward * abs(Fraction(value)) * _SLACK
