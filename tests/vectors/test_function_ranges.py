"""The range that a plan gives a function holds every value that the evaluator finds."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from dpdb.plan.ranges.function_ranges import power_range
from dpdb.plan.ranges.intervals import Interval
from dpdb.plan.ranges.ranges import interval, nullable
from dpdb.vectors.evaluate import evaluate
from dpdb.vectors.vector import Vector
from tests.support.row_expressions import frame_of, parsed, random_cells

FUNCTIONS = [
    "SQRT(n)", "CBRT(n)", "EXP(n / 9)", "LN(n + 60)", "LOG2(n)", "LOG10(j + 4)", "LOG(3, j + 4)",
    "SIN(n)", "COS(n)", "ASIN(n / 99)", "ACOS(n)", "ATAN(n)", "ATAN2(n, j)", "SIGN(n)", "TRUNC(n)",
    "POWER(n, 2)", "POWER(n, 3)", "POWER(j, -1)", "POWER(2, j)", "POWER(ABS(n), j / 7)",
    "POWER(j + 4, 0 - 2)", "DEGREES(n)", "YEAR(d)", "QUARTER(d)", "MONTH(d)", "WEEK(d)", "DAY(d)",
    "DAYOFWEEK(d)", "ISODOW(d)", "DAYOFYEAR(d)", "DATE_TRUNC('quarter', d)", "LAST_DAY(d)",
    "DATE_TRUNC('week', d)", "d + INTERVAL 13 MONTH", "d - INTERVAL 1 YEAR",
    "DATE_DIFF('week', d, DATE '2020-02-29')", "DATE_DIFF('month', DATE '2000-01-31', d)",
    "YEAR(p)", "HOUR(p)", "MINUTE(q)", "SECOND(p)", "EPOCH(p)", "UNIX_SECONDS(p)", "WEEK(q)",
    *[f"DATE_TRUNC('{unit}', p)" for unit in ("year", "week", "day", "hour", "millisecond")],
    "CAST(p AS DATE)", "CAST(d AS TIMESTAMP)", "p + INTERVAL 13 MONTH", "q - INTERVAL 90 MINUTE",
    "p - INTERVAL 499 YEAR", "DATE_DIFF('hour', p, q)", "DATE_DIFF('month', q, d)",
    "TIMESTAMP_DIFF(p, q, DAY)", "TIMESTAMP_DIFF(TIMESTAMP '2020-02-29 12:00:00', q, HOUR)",
    "CLAMP(p, '2000-01-01', '2020-02-29 12:00:00')", "COALESCE(p, d)",
]  # fmt: skip


@pytest.mark.parametrize("text", FUNCTIONS)
def test_a_function_stays_within_its_interval(text: str) -> None:
    """Of random cells none is outside, and where none can be NULL by the plan, none is."""
    expression = parsed(text)
    limits = interval(expression, {})
    for seed in range(4):
        with np.errstate(all="ignore"):
            found = evaluate(expression, frame_of(random_cells(seed)))
        assert isinstance(found, Vector)
        null = np.zeros(len(found.values), bool) if found.null is None else found.null
        assert nullable(expression) or not null.any()
        for value in found.values[~null].tolist():
            assert limits.lower <= value <= limits.upper, (text, value)


def test_powers_of_negative_numbers() -> None:
    """Even powers are positive; powers that are not whole have no range."""
    base = Interval(Fraction(-3), Fraction(2))
    square, cube, root = (
        power_range(base, Interval(exponent, exponent))
        for exponent in (Fraction(2), Fraction(3), Fraction(1, 2))
    )
    assert square.lower == 0
    assert cube.lower < -26
    assert not root.bounded
