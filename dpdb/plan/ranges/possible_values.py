"""The possible values of an expression, as far as they follow from the policy and the text."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable, Iterator
from fractions import Fraction
from itertools import product

from dpdb.plan.expressions.calendar import CLOCK_CYCLES, CYCLES, STARTS, months_later
from dpdb.plan.expressions.expressions import (
    Arithmetic,
    Call,
    Case,
    Cast,
    ColumnRef,
    Expr,
    Literal,
    children,
)
from dpdb.plan.expressions.text_functions import TEXT_CHANGES, text_change
from dpdb.plan.ranges.function_ranges import DATES, day_range, timestamp_step
from dpdb.plan.ranges.intervals import Interval
from dpdb.plan.ranges.ranges import Environment, interval
from dpdb.policy.catalog import Kind, Value
from dpdb.policy.numbers import CALENDAR
from dpdb.policy.timestamps import DAY, TIMESTAMPS, iso_text

MAX_VALUES = 10_000
"""The most values of one expression."""
_MOST_YEARS = 100
"""The most values of an expression that counts years which only the calendar bounds."""

Values = tuple[Value, ...]
_LONGEST = {"year": 366, "quarter": 92, "month": 31, "week": 7}
"""The days of the longest year, quarter, month and week."""
_OPERATORS: dict[str, Callable[[float, float], float]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "%": math.fmod,
}


def possible_values(
    expression: Expr, of_column: Callable[[ColumnRef], Values | None], known: Environment
) -> Values | None:
    """Every value that is not NULL, and perhaps more; None where there may be too many.

    `of_column` gives the values of a column, and `known` the intervals of columns.
    """

    values = _possible_values(expression, of_column, known)
    if values and len(values) > _MOST_YEARS and _in_any_year(expression, known):
        return None
    return values


def _possible_values(
    expression: Expr, of_column: Callable[[ColumnRef], Values | None], known: Environment
) -> Values | None:
    def of(part: Expr) -> Values | None:
        return _possible_values(part, of_column, known)

    values: Values | None = None
    match expression:
        case Literal(value=value):
            values = () if value is None else (value,)
        case ColumnRef():
            values = of_column(expression)
        case Case(branches=branches, default=default):
            values = _union(of(part) for part in (*(value for _, value in branches), default))
        case Call(name="coalesce" | "least" | "greatest", arguments=arguments, kind=kind):
            values = _union(map(of, arguments))
            values = _within(values, interval(expression, known)) if kind.whole else values
        case Call(name="nullif" | "months_later" as name, arguments=(first, second)):
            values = _without(of(first), second) if name == "nullif" else _later(of(first), second)
        case Call(name=name, arguments=(text, *constants)) if name in TEXT_CHANGES:
            values = _changed(of(text), name, constants)
        case Call(name="date_trunc" | "timestamp_trunc", arguments=(Literal(value=unit), date)):
            values = _starts(str(unit), date.kind, interval(date, known))
        case Call(name="round", arguments=(_, Literal(value=int(digits)))) if digits < 0:
            values = _multiples(10**-digits, interval(expression, known))
        case Arithmetic(operator=symbol, left=left, right=right):
            values = _combined(symbol, of(left), of(right), expression.kind)
        case Cast(operand=operand, kind=Kind.TEXT):
            values = _written(of(operand), operand.kind)
    if values is None and expression.kind is Kind.BOOLEAN:
        return False, True
    if values is None and expression.kind.whole:
        stamped = expression.kind is Kind.TIMESTAMP
        step = int(timestamp_step(expression)) if stamped else 1
        values = _multiples(step, interval(expression, known))
    return values if values is None or len(values) <= MAX_VALUES else None


def _in_any_year(expression: Expr, known: Environment) -> bool:
    """Whether the expression counts years of dates that only the calendar bounds."""
    if isinstance(expression, Call) and expression.name in CYCLES | CLOCK_CYCLES:
        return False
    parts = children(expression)
    if expression.kind.temporal and not any(part.kind.temporal for part in parts):
        return not interval(expression, known).bounded
    return any(_in_any_year(part, known) for part in parts)


def _union(parts: Iterable[Values | None]) -> Values | None:
    values: dict[Value, None] = {}
    for part in parts:
        if part is None:
            return None
        values.update(dict.fromkeys(part))
    return tuple(values)


def _within(values: Values | None, limits: Interval) -> Values | None:
    """The whole numbers in an interval, in ascending order."""
    if values is None:
        return None
    return tuple(sorted(v for v in values if limits.lower <= int(v) <= limits.upper))


def _without(values: Values | None, second: Expr) -> Values | None:
    """The values of NULLIF: those of its first operand but the second, where that is a constant."""
    if values is None or not isinstance(second, Literal):
        return values
    return tuple(value for value in values if value != second.value)


def _later(dates: Values | None, months: Expr) -> Values | None:
    """The dates `months` later."""
    if dates is None or not isinstance(months, Literal) or months.value is None:
        return None
    later = dict.fromkeys(months_later(int(date), int(months.value)) for date in dates)
    return tuple(date for date in later if _exists(date, Kind.DATE))


def _changed(texts: Values | None, name: str, constants: list[Expr]) -> Values | None:
    """The texts after a function."""
    if texts is None:
        return None
    values = [each.value for each in constants if isinstance(each, Literal)]
    change = text_change(name, [value for value in values if value is not None])
    changed = [change(str(text)) for text in texts]
    return tuple(dict.fromkeys(text for text in changed if text is not None))


def _starts(unit: str, kind: Kind, limits: Interval) -> Values | None:
    """The starts of all years, quarters, months or weeks that touch the `limits`."""
    stamped = kind is Kind.TIMESTAMP
    dates = day_range(limits) if stamped else limits.meet(DATES)
    if unit not in STARTS or not dates.bounded:
        return None
    return tuple(day * DAY if stamped else day for day in _each_start(unit, dates))


def _each_start(unit: str, dates: Interval) -> Iterator[int]:
    start, step = STARTS[unit], _LONGEST[unit]
    day, last = start(math.ceil(dates.lower)), math.floor(dates.upper)
    for _ in range(MAX_VALUES + 1):
        if day > last:
            return
        yield day
        # The day `step` days after a start lies in the next year, quarter, month or week.
        day = start(day + step)


def _multiples(unit: int, limits: Interval) -> Values | None:
    """The multiples of a unit within an interval."""
    if not limits.bounded:
        return None
    first, last = math.ceil(limits.lower / unit), math.floor(limits.upper / unit)
    return None if last - first >= MAX_VALUES else tuple(n * unit for n in range(first, last + 1))


def _combined(symbol: str, left: Values | None, right: Values | None, kind: Kind) -> Values | None:
    """The results for all pairs in ascending order, in doubles as the evaluator computes."""
    if left is None or right is None or len(left) * len(right) > MAX_VALUES:
        return None
    results = set()
    for a, b in product(left, right):
        try:
            results.add(_OPERATORS[symbol](float(a), float(b)))
        except (ZeroDivisionError, ValueError, OverflowError):  # NULL
            continue
    finite = sorted(filter(math.isfinite, results))
    return tuple(int(value) if kind is not Kind.NUMBER else Fraction(value) for value in finite)


def _exists(value: Value, kind: Kind) -> bool:
    """Whether the calendar has this date or timestamp."""
    first, last = CALENDAR if kind is Kind.DATE else TIMESTAMPS
    return first <= int(value) <= last


def _written(values: Values | None, kind: Kind) -> Values | None:
    """Whole numbers, dates, timestamps and booleans as texts."""
    if values is None or kind is Kind.NUMBER:
        return None
    match kind:
        case Kind.BOOLEAN:
            return tuple("true" if value else "false" for value in values)
        case Kind.DATE | Kind.TIMESTAMP:
            return tuple(iso_text(int(value), kind) for value in values if _exists(value, kind))
    return tuple(map(str, values))
