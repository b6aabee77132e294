"""The ranges of the functions of timestamps, from the ranges of their arguments."""

from __future__ import annotations

import math
from fractions import Fraction

from dpdb.plan.clock import days_months_later, elapsed, unit_start
from dpdb.plan.intervals import EVERYTHING, Interval, rounded
from dpdb.policy.timestamps import DAY, TIMESTAMPS

MOMENTS = Interval(*map(Fraction, TIMESTAMPS))
"""The timestamps there are. Functions of others are NULL."""


def day_range(moments: Interval) -> Interval:
    """The dates of some timestamps."""
    inside = moments.meet(MOMENTS)
    return EVERYTHING if inside.empty else rounded(inside, lambda end: math.floor(end / DAY))


def midnight_range(dates: Interval) -> Interval:
    """The midnights with which some dates begin, as timestamps."""
    inside = Interval(dates.lower * DAY, dates.upper * DAY).meet(MOMENTS)
    return EVERYTHING if inside.empty else inside


def unit_start_range(unit: str, moments: Interval) -> Interval:
    """When the units of time began that some timestamps are in."""
    inside = moments.meet(MOMENTS)
    if inside.empty:
        return EVERYTHING
    return rounded(inside, lambda end: int(unit_start(unit, math.floor(end))))


def moments_later_range(moments: Interval, months: int) -> Interval:
    """The timestamps so many months later: on the days of the ends, whatever the time is."""
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
