"""Exact numbers and dates: reading, writing, and the step of a grid."""

from __future__ import annotations

import datetime
import re
from fractions import Fraction

_EPOCH = datetime.date(1970, 1, 1)
MAGNITUDE_LIMIT = 2**53
"""No value, in steps of its grid, is larger: all are exact both as int64 and as double."""
Number = int | float | str | Fraction
"""A number as a program may give it."""

_HUGE = Fraction(10) ** 300
"""Doubles reach to 1.8e308."""
_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]{1,3})?")


def exact_number(text: str) -> Fraction | None:
    """The exact number that `text` writes; None if it is not a number, or is absurdly long."""
    if len(text) > 4_200 or not _NUMBER.fullmatch(text):
        return None
    return Fraction(int(text)) if text.isdigit() else Fraction(text)


_RATIO = re.compile(r"-?[0-9]{1,4300}(?:/[0-9]{1,4300})?")


def ratio(text: str) -> Fraction:
    """The fraction that `str` has written, 3/4 or 7; raises ValueError for any other text."""
    if not _RATIO.fullmatch(text):
        raise ValueError("no fraction")
    try:
        return Fraction(text)
    except ZeroDivisionError:
        raise ValueError("no fraction") from None


def as_written(value: Number) -> Fraction | None:
    """The number that a program's argument writes: 0.1 is a tenth; None if it is no number."""
    match value:
        case bool():
            return None
        case int() | Fraction():
            return Fraction(value)
        case float():
            return exact_number(float.__repr__(value))
        case str():
            return exact_number(value)
    return None


def grid_step(lower: Fraction, upper: Fraction) -> Fraction:
    """The step of the grid for values in [lower, upper] where the policy declares none.

    It is a power of ten that leaves nine or ten significant digits, which is far finer than any
    noise, and far from MAGNITUDE_LIMIT.
    """
    magnitude = max(abs(lower), abs(upper), Fraction(1, 10**9))
    exponent = len(str(magnitude.numerator // magnitude.denominator)) if magnitude >= 1 else 0
    return Fraction(10) ** (exponent - 10)


def fits_doubles(lower: Fraction, upper: Fraction, step: Fraction) -> bool:
    """Whether every multiple of `step` within the bounds is a finite double.

    So must be the products on the way to it: steps times the step's numerator, and numbers
    times its denominator. Otherwise large values alone would be infinite, or raise.
    """
    largest = max(Fraction(1), abs(lower), abs(upper))
    return largest * step.denominator < _HUGE and step.numerator < _HUGE


def days_of(date: datetime.date) -> int:
    """The number of days from 1970-01-01 to `date`: dates are whole numbers everywhere in dpdb."""
    return (date - _EPOCH).days


CALENDAR = days_of(datetime.date.min), days_of(datetime.date.max)
"""The first and the last day that a date can be."""


def iso_date(days: int) -> str:
    """The date `days` after 1970-01-01, written YYYY-MM-DD.

    Raises OverflowError for a date outside the years 1 to 9999.
    """
    return (_EPOCH + datetime.timedelta(days=days)).isoformat()


def decimal(value: Fraction, digits: int = 10) -> str:
    """A fraction in decimal digits, rounded to `digits` significant digits."""
    return f"{float(value):.{digits}g}"
