"""Interval arithmetic against the operations themselves, on numbers inside the intervals."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from fractions import Fraction
from itertools import combinations_with_replacement, product

import pytest

from dpdb.plan.ranges.intervals import (
    EVERYTHING,
    Interval,
    absolute,
    arithmetic,
    clamped,
    hull,
    rounded,
)

ENDS = [Fraction(end) for end in (-3, -1, 0, Fraction(1, 2), 2)]
INTERVALS = [Interval(*ends) for ends in combinations_with_replacement(ENDS, 2)]


def inside(interval: Interval) -> list[Fraction]:
    """Some numbers of the interval, its ends among them."""
    middle = (interval.lower + interval.upper) / 2
    return sorted({interval.lower, middle, interval.upper})


@pytest.mark.parametrize(
    ("sign", "operation"),
    [("+", operator.add), ("-", operator.sub), ("*", operator.mul), ("/", operator.truediv),
     ("%", lambda a, b: a - b * math.trunc(a / b))],
)  # fmt: skip
def test_every_result_is_held(sign: str, operation: Callable[..., Fraction]) -> None:
    for left, right in product(INTERVALS, INTERVALS):
        held = arithmetic(sign, left, right)
        for a, b in product(inside(left), inside(right)):
            if b or sign not in "/%":
                assert held.lower <= operation(a, b) <= held.upper, (left, right, a, b)


def test_ends_are_reached() -> None:
    assert arithmetic(
        "*", Interval(Fraction(-2), Fraction(3)), Interval(Fraction(4), Fraction(5))
    ) == (Interval(Fraction(-10), Fraction(15)))
    assert (
        arithmetic("/", Interval(Fraction(1), Fraction(2)), Interval(Fraction(-1), Fraction(1)))
        == EVERYTHING
    )


def test_functions_of_one_number() -> None:
    for interval in INTERVALS:
        low, high = Interval(Fraction(-2), Fraction(-1)), Interval(Fraction(0), Fraction(1))
        for x in inside(interval):
            assert absolute(interval).lower <= abs(x) <= absolute(interval).upper
            assert rounded(interval, math.floor).lower <= math.floor(x)
            assert rounded(interval, math.ceil).upper >= math.ceil(x)
            for a, b in product(inside(low), inside(high)):
                held = clamped(interval, low, high)
                assert held.lower <= min(max(x, a), b) <= held.upper


def test_bounds_that_doubles_cannot_hold_become_infinite() -> None:
    large = Interval(Fraction(-(10**200)), Fraction(10**200))
    assert arithmetic("*", large, large) == EVERYTHING


def test_a_bound_with_very_many_digits_is_rounded_outwards() -> None:
    fine = Fraction(1, 3**500)
    held = arithmetic("*", Interval(fine, fine), Interval(fine, fine))
    assert held.lower <= fine * fine <= held.upper
    assert held.upper.denominator <= 10**400


def test_the_hull_is_the_smallest_interval_around_all() -> None:
    assert hull([Interval(Fraction(2), Fraction(3)), Interval(Fraction(-1), Fraction(0))]) == (
        Interval(Fraction(-1), Fraction(3))
    )
