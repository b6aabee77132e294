"""The values that a GROUP BY key can have, as declared in the policy; no data is read."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from functools import lru_cache

from dpdb.errors import Unsupported
from dpdb.plan.expressions.expressions import ColumnRef, Compare, Expr, InList, Literal, Logic
from dpdb.plan.ranges.intervals import Interval
from dpdb.plan.ranges.possible_values import possible_values
from dpdb.plan.ranges.ranges import Environment, interval, narrow
from dpdb.policy.catalog import Column, Kind, Value

MAX_RANGE = 10_000
"""The most values of a column of whole numbers that is grouped by its bounds."""


def key_values(key: Expr, where: Expr | None, known: Environment) -> tuple[Value, ...]:
    """The values of `key` that rows for which `where` is true can have, by the policy.

    If the policy declares no values, `where` may list them with `key IN (…)` or `key = …`.
    Raises Unsupported where neither does.
    """
    try:
        return _declared_values(key, where, known)
    except Unsupported:
        values = _listed(key, where)
        if not values:
            raise
        return values


def _declared_values(key: Expr, where: Expr | None, known: Environment) -> tuple[Value, ...]:
    """The values of `key` by the policy."""
    if isinstance(key, ColumnRef):
        return _column_values(key, where, known)

    def of_column(column: ColumnRef) -> tuple[Value, ...] | None:
        try:
            return _column_values(column, where, known)
        except Unsupported:
            return None

    inside = narrow(where, known)
    if any(limits.empty for limits in inside.values()):
        inside = known  # No row passes, so any values will do.
    values = possible_values(key, of_column, inside)
    if not values:
        raise Unsupported(
            "the policy does not say which values this expression can have",
            hint="group by a CASE with constants, by FLOOR(x / 10) or YEAR(d) of a column with"
            " bounds, or by functions of declared values",
        )
    return _admitted(key, where, values) or values


def _column_values(key: ColumnRef, where: Expr | None, known: Environment) -> tuple[Value, ...]:
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


def _listed(key: Expr, where: Expr | None) -> tuple[Value, ...]:
    """The values to which `where` restricts `key`, each once and in ascending order."""
    lists = list(_equalities(key, where))
    if not lists:
        return ()
    values = (v for v in lists[0] if not (key.kind.whole and isinstance(v, Fraction)))
    return _admitted(key, where, tuple(sorted(set(values))))


def _admitted(key: Expr, where: Expr | None, values: tuple[Value, ...]) -> tuple[Value, ...]:
    """The values that are in every list of constants to which `where` restricts `key`."""
    lists = [set(constants) for constants in _equalities(key, where)]
    if not lists:
        return values
    return tuple(value for value in values if all(value in constants for constants in lists))


def has_key_values(column: Column) -> bool:
    """Whether rows can be grouped by the column without any filter."""
    return not is_found(ColumnRef(column), None)


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


def _declared(key: ColumnRef, inside: Interval) -> tuple[Value, ...]:
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
        f"{column.called} has no declared values to group by",
        hint="which values occur may itself be private: list them in the policy as `values`",
    )


def _equalities(key: Expr, where: Expr | None) -> Iterator[tuple[Value, ...]]:
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
