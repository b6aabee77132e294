"""Numbers that are exact: how they are read, written and put on a grid."""

from __future__ import annotations

import datetime
import re
from fractions import Fraction

_EPOCH = datetime.date(1970, 1, 1)
MAGNITUDE_LIMIT = 2**53
"""No value, in steps of its grid, is larger: all are exact both as int64 and as double."""
_HUGE = Fraction(10) ** 300
"""Doubles reach to 1.8e308."""
_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]{1,3})?")


def exact_number(text: str) -> Fraction | None:
    """The number that `text` writes, exactly; None if it is none, or absurdly long."""
    if len(text) > 4_200 or not _NUMBER.fullmatch(text):
        return None
    return Fraction(text)


def grid_step(lower: Fraction, upper: Fraction) -> Fraction:
    """The grid for values in [lower, upper] where none is declared.

    A power of ten that leaves nine or ten significant digits: far below any
    noise, and far from the magnitude limit.
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


def iso_date(days: int) -> str:
    """The date `days` after 1970-01-01, written YYYY-MM-DD.

    Raises OverflowError for a date outside the years 1 to 9999.
    """
    return (_EPOCH + datetime.timedelta(days=days)).isoformat()


def decimal(value: Fraction, digits: int = 10) -> str:
    """A fraction as people write it."""
    return f"{float(value):.{digits}g}"
