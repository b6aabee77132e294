"""The values that a key or an expression can have, as the policy and WHERE say; no data is read."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable, Iterator
from fractions import Fraction
from functools import lru_cache
from itertools import islice, product

from dpdb.errors import Unsupported
from dpdb.plan.expressions.calendar import CLOCK_CYCLES, CYCLES, STARTS, months_later
from dpdb.plan.expressions.expressions import (
    Arithmetic,
    Call,
    Case,
    Cast,
    ColumnRef,
    Compare,
    Expr,
    InList,
    IsNull,
    Literal,
    Logic,
    Not,
    children,
)
from dpdb.plan.expressions.functions import TEXT_CALLS
from dpdb.plan.expressions.text_functions import text_function
from dpdb.plan.ranges.function_ranges import DATES, day_range, starts_within, timestamp_step
from dpdb.plan.ranges.intervals import Interval
from dpdb.plan.ranges.ranges import Environment, interval, narrow, nullable
from dpdb.policy.catalog import Column, Kind, Value
from dpdb.policy.numbers import CALENDAR
from dpdb.policy.timestamps import DAY, TIMESTAMPS, iso_text

MAX_RANGE = 10_000
"""The most values of a column of whole numbers that is grouped by its bounds."""


def key_values(key: Expr, where: Expr | None, known: Environment) -> Values:
    """The values of `key` that rows for which `where` is true can have, by the policy.

    If the policy declares no values, `where` may list them with `key IN (…)` or `key = …`.
    Raises Unsupported where neither does.
    """
    try:
        return _declared_values(key, where, known)
    except Unsupported:
        if values := _listed(key, where):
            return values
        raise


def _declared_values(key: Expr, where: Expr | None, known: Environment) -> Values:
    """The values of `key` by the policy."""
    if isinstance(key, ColumnRef):
        return _column_values(key, where, known)

    def of_column(column: ColumnRef) -> Values | None:
        try:
            return _column_values(column, where, known)
        except Unsupported:
            return None

    inside = narrow(where, known)
    if any(limits.empty for limits in inside.values()):
        inside = known  # No row passes, so any values will do.
    values = possible_values(key, of_column, inside)
    if not values or (len(values) > _MOST_YEARS and _in_any_year(key, inside)):
        raise Unsupported(
            "the policy does not say which values this expression can have",
            hint="group by a CASE with constants, by FLOOR(x / 10) or YEAR(d) of a column with"
            " bounds, or by functions of declared values",
        )
    return _admitted(key, where, values) or values


def _column_values(key: ColumnRef, where: Expr | None, known: Environment) -> Values:
    """The declared values of a column that rows for which `where` is true can have."""
    declared = interval(key, known)
    inside = interval(key, narrow(where, known)) if key.kind.ordinal else declared
    if inside.empty or not _declared(key, inside):
        # The conditions leave the column no value, so no row passes, and any values will do.
        inside = declared
    values = _declared(key, inside)
    narrowed = _admitted(key, where, values)
    if inside != declared:
        narrowed = tuple(v for v in narrowed if inside.lower <= Fraction(v) <= inside.upper)
    return narrowed or values


def _listed(key: Expr, where: Expr | None) -> Values:
    """The values to which `where` restricts `key`, each once and in ascending order."""
    first = next(_equalities(key, where), ())
    values = (v for v in first if not (key.kind.whole and isinstance(v, Fraction)))
    return _admitted(key, where, tuple(sorted(set(values))))


def _admitted(key: Expr, where: Expr | None, values: Values) -> Values:
    """The values that are in every list of constants to which `where` restricts `key`."""
    lists = [set(constants) for constants in _equalities(key, where)]
    if not lists:
        return values
    return tuple(value for value in values if all(value in constants for constants in lists))


def has_key_values(column: Column) -> bool:
    """Whether rows can be grouped by the column without any filter."""
    return not is_found(ColumnRef(column), None)


def leaves_no_null(key: Expr, where: Expr | None) -> bool:
    """Whether no row for which `where` is true has NULL as its `key`."""
    if not nullable(key):
        return True
    match where:
        case Logic(operator="and", operands=operands):
            return any(leaves_no_null(key, each) for each in operands)
        case Logic(operator="or", operands=operands):
            return all(leaves_no_null(key, each) for each in operands)
        case Not(operand=IsNull(operand=operand)) | InList(operand=operand):
            return operand == key
        case Compare(left=left, right=right):
            return key in (left, right)
    return False


@lru_cache(maxsize=256)
def is_found(key: Expr, where: Expr | None) -> bool:
    """Whether a key's values must be found in the data, as neither policy nor WHERE lists them."""
    try:
        key_values(key, where, {})
    except Unsupported:
        return True
    return False


def found_places(keys: tuple[Expr, ...], where: Expr | None) -> tuple[int, ...]:
    """The indices of the keys that are found in the data."""
    return tuple(place for place, key in enumerate(keys) if is_found(key, where))


def _declared(key: ColumnRef, inside: Interval) -> Values:
    """The declared list of values, or all multiples of the step in the interval `inside`."""
    column = key.column
    if column.values is not None:
        return column.values
    if key.kind is Kind.BOOLEAN:
        return (False, True)
    if key.kind.whole and column.bounds is not None:
        assert isinstance(inside.lower, Fraction)
        assert isinstance(inside.upper, Fraction)
        step = int(column.step)
        lower, upper = math.ceil(inside.lower / step), math.floor(inside.upper / step)
        if upper - lower < MAX_RANGE:
            return tuple(place * step for place in range(lower, upper + 1))
    raise Unsupported(
        f"the policy lists no values of {column.called}",
        hint="list them in the policy as `values`; those that occur may be private themselves",
    )


def _equalities(key: Expr, where: Expr | None) -> Iterator[Values]:
    """The constants of each list to which a conjunct of `where` restricts `key`."""
    match where:
        case Logic(operator="and", operands=operands):
            for operand in operands:
                yield from _equalities(key, operand)
        case Logic(operator="or", operands=operands):
            of_each = [tuple(_equalities(key, operand)) for operand in operands]
            if all(of_each):
                yield tuple(dict.fromkeys(value for lists in of_each for value in lists[0]))
        case Compare(operator="=", left=left, right=right):
            for side, other in ((left, right), (right, left)):
                if side == key and isinstance(other, Literal) and other.value is not None:
                    yield (other.value,)
        case InList(operand=operand, values=values) if operand == key:
            yield values


MAX_VALUES = 10_000
"""The most values of one expression."""
_MOST_YEARS = 100
"""The most values of an expression that counts years which only the calendar bounds."""

Values = tuple[Value, ...]
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
    """Every value that is not NULL, and perhaps more; None if there may be too many.

    `of_column` returns the values of a column, and `known` has the intervals of columns.
    """

    def of(part: Expr) -> Values | None:
        return possible_values(part, of_column, known)

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
        case Call(name=name, arguments=(text, *_), kind=kind) if (
            name in TEXT_CALLS and kind is not Kind.BOOLEAN
        ):
            values = _changed(of(text), text_function(expression))
            values = _within(values, interval(expression, known)) if kind.whole else values
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


def _changed(texts: Values | None, function: Callable[[str], Value | None]) -> Values | None:
    """The values of a function of texts."""
    if texts is None:
        return None
    changed = [function(str(text)) for text in texts]
    return tuple(dict.fromkeys(value for value in changed if value is not None))


def _starts(unit: str, kind: Kind, limits: Interval) -> Values | None:
    """The starts of all years, quarters, months or weeks that touch the `limits`."""
    stamped = kind is Kind.TIMESTAMP
    dates = day_range(limits) if stamped else limits.meet(DATES)
    if unit not in STARTS or not dates.bounded:
        return None
    starts = islice(starts_within(unit, dates), MAX_VALUES + 1)
    return tuple(day * DAY if stamped else day for day in starts)


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
