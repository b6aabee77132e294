"""The ranges of functions, from those of their arguments; the common step of timestamps."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from fractions import Fraction

from dpdb.plan.expressions.calendar import (
    CLOCK,
    CLOCK_CYCLES,
    CYCLES,
    PARTS,
    STARTS,
    UNITS,
    days_months_later,
    elapsed,
    months_later,
    unit_start,
)
from dpdb.plan.expressions.expressions import Arithmetic, Call, Case, Cast, ColumnRef, Expr, Literal
from dpdb.plan.expressions.functions import MAY_BE_NULL
from dpdb.plan.ranges.intervals import (
    EVERYTHING,
    INFINITY,
    Bound,
    Interval,
    absolute,
    around,
    rounded,
)
from dpdb.policy.catalog import Kind
from dpdb.policy.cell_format import date_pattern
from dpdb.policy.numbers import CALENDAR
from dpdb.policy.timestamps import DAY, TIMESTAMPS

MOMENTS = Interval(*map(Fraction, TIMESTAMPS))
"""The timestamps of the years 1 to 9999. Functions of other timestamps are NULL."""


def day_range(moments: Interval) -> Interval:
    """The dates of some timestamps."""
    inside = moments.meet(MOMENTS)
    return EVERYTHING if inside.empty else rounded(inside, lambda end: math.floor(end / DAY))


def midnight_range(dates: Interval) -> Interval:
    """The midnights with which some dates begin, as timestamps."""
    inside = Interval(dates.lower * DAY, dates.upper * DAY).meet(MOMENTS)
    return EVERYTHING if inside.empty else inside


def unit_start_range(unit: str, moments: Interval) -> Interval:
    """DATE_TRUNC of the timestamps: the starts of their hours, days, months, …"""
    inside = moments.meet(MOMENTS)
    if inside.empty:
        return EVERYTHING
    return rounded(inside, lambda end: int(unit_start(unit, math.floor(end))))


def moments_later_range(moments: Interval, months: int) -> Interval:
    """The timestamps `months` later, at any time of day between the days of the ends."""
    inside = moments.meet(MOMENTS)
    if inside.empty:
        return EVERYTHING
    days = rounded(inside, lambda end: int(days_months_later(math.floor(end), months)))
    later = Interval(days.lower * DAY, days.upper * DAY + DAY - 1).meet(MOMENTS)
    return EVERYTHING if later.empty else later


def elapsed_range(unit: str, start: Interval, end: Interval) -> Interval:
    """The numbers of whole units of time between some timestamps."""
    start, end = start.meet(MOMENTS), end.meet(MOMENTS)
    if start.empty or end.empty:
        return EVERYTHING
    least = elapsed(unit, math.ceil(start.upper), math.floor(end.lower))
    most = elapsed(unit, math.floor(start.lower), math.ceil(end.upper))
    return Interval(Fraction(least), Fraction(most))


_CHOOSING = ("coalesce", "least", "greatest", "clamp", "nullif")
"""Functions whose result is always one of their arguments."""


def timestamp_step(expression: Expr) -> Fraction:
    """The step of timestamps, in microseconds; no step is more than a day."""
    return Fraction(_step(expression))


def _step(expression: Expr) -> int:
    match expression:
        case Literal(value=value):
            return DAY if value is None else math.gcd(int(value), DAY)
        case ColumnRef(column=column) if column.values is not None:
            return math.gcd(DAY, *map(int, column.values))
        case ColumnRef(column=column):
            return math.gcd(int(column.step), DAY)
        case Cast(operand=operand) if operand.kind is Kind.DATE:
            return DAY
        case Case(branches=branches, default=default):
            return _common([*(value for _, value in branches), default])
        case Call(name="strptime", arguments=(_, Literal(value=form))):
            fields = date_pattern(str(form)).groupindex
            return DAY if {"hour", "half_hour"}.isdisjoint(fields) else 1
        case Call(name="timestamp_trunc", arguments=(Literal(value=unit), _)):
            return UNITS.get(str(unit), DAY)
        case Call(name="timestamp_months_later", arguments=(moment, _)):
            return _step(moment)
        case Call(name=name, arguments=arguments) if name in _CHOOSING:
            return _common(arguments)
        case Arithmetic(left=left, right=right):
            return _common([left, right])
    return 1


def _common(parts: Iterable[Expr]) -> int:
    return math.gcd(*map(_step, parts))


_SLACK = Fraction(1, 2**40)
"""More than the relative error of a function in doubles."""
_LARGEST_EXPONENT = 690
"""EXP of a larger number is near the largest double."""
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
"""The domains of functions that are NULL for some numbers.

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
    if domain is EVERYTHING:
        return name not in MAY_BE_NULL
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


_LONGEST = {"year": 366, "quarter": 92, "month": 31, "week": 7}
"""The days of the longest year, quarter, month and week."""


def starts_within(unit: str, dates: Interval) -> Iterator[int]:
    """The first days of all years, quarters, months or weeks that some dates are in."""
    start, last = STARTS[unit], math.floor(dates.upper)
    day = start(math.ceil(dates.lower))
    while day <= last:
        yield day
        # The day `step` days after a start lies in the next year, quarter, month or week.
        day = start(day + _LONGEST[unit])


def later_range(date: Interval, months: int) -> Interval:
    """The dates `months` later."""
    inside = date.meet(DATES)
    if inside.empty:
        return EVERYTHING
    return rounded(inside, lambda end: int(months_later(math.floor(end), months)))


def power_range(base: Interval, exponent: Interval) -> Interval:
    """The range of POWER; unbounded if the base may be negative and the exponent is not whole."""
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
