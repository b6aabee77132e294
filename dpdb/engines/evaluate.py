"""The evaluator: expressions over columns, total and row by row.

No row can raise: what is undefined, overflows or cannot be read is NULL.
Arithmetic is in double precision, a function of the one row alone; what is
aggregated is put on a public grid afterwards.
"""

from __future__ import annotations

import datetime
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import reduce
from typing import Any

import numpy as np

from dpdb.engines import cells
from dpdb.engines.columns import Codes, Numbers
from dpdb.engines.like import matches
from dpdb.engines.vectors import (
    AnyVector,
    Array,
    Bools,
    TextVector,
    Vector,
    constant,
    either,
    finite,
    text_merge,
    truth,
)
from dpdb.policy import EPOCH, MAGNITUDE_LIMIT, Kind
from dpdb.sql.query import (
    Arithmetic,
    Call,
    Case,
    Cast,
    ColumnRef,
    Compare,
    Expr,
    InList,
    IsNull,
    Like,
    Literal,
    Logic,
    Not,
    Slot,
    children,
)

_COMPARE: dict[str, Callable[[Any, Any], Any]] = {
    "=": operator.eq,
    "<>": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
}
_ARITHMETIC: dict[str, Callable[[Array, Array], Array]] = {
    "+": np.add,
    "-": np.subtract,
    "*": np.multiply,
    "/": np.divide,
    "%": np.fmod,
}


@dataclass(frozen=True, repr=False)
class Frame:
    """Rows to evaluate over: columns by name, and the values of slots."""

    columns: Mapping[str, Numbers | Codes]
    slots: Mapping[Slot, AnyVector] = field(default_factory=dict)


def evaluate(expression: Expr, frame: Frame) -> AnyVector:
    """The value of `expression` on every row."""
    only = _only_column(expression)
    if only is not None and not isinstance(expression, ColumnRef):
        column = frame.columns[only]
        if isinstance(column, Codes):
            return _through_dictionary(expression, only, column, frame)
    with np.errstate(all="ignore"):
        return _evaluate(expression, frame)


def _only_column(expression: Expr) -> str | None:
    """The name of the column if `expression` reads just one."""
    names = _columns(expression)
    return next(iter(names)) if len(names) == 1 else None


def _columns(expression: Expr) -> set[str]:
    if isinstance(expression, ColumnRef):
        return {expression.column.name}
    return set().union(*(_columns(child) for child in children(expression)))


def _through_dictionary(expression: Expr, name: str, column: Codes, frame: Frame) -> AnyVector:
    """The value on each distinct value of the column, then spread over the rows."""
    each = Codes(np.arange(len(column.values) + 1), column.values)
    with np.errstate(all="ignore"):
        small = _evaluate(expression, Frame({name: each}, frame.slots))
    if isinstance(small, Vector) and small.values.dtype == bool and small.null is None:
        true = np.flatnonzero(small.values)
        if len(true) == 1:
            return Vector(column.codes == true[0])
    return small.take(column.codes)


def _evaluate(expression: Expr, frame: Frame) -> AnyVector:
    match expression:
        case Literal(value=value):
            return constant(value)
        case ColumnRef():
            return _column(frame.columns[expression.column.name], expression.kind)
        case Slot():
            return frame.slots[expression]
        case Cast(operand=operand, kind=kind):
            return _cast(evaluate(operand, frame), operand.kind, kind)
        case Case():
            return _case(expression, frame)
        case Call(name=name, arguments=arguments):
            return _call(name, [evaluate(a, frame) for a in arguments], expression)
        case Arithmetic(operator=symbol, left=left, right=right):
            a, b = _numbers(left, frame), _numbers(right, frame)
            null = either(a.null, b.null)
            return finite(_ARITHMETIC[symbol](_doubles(a), _doubles(b)), null)
    return _condition(expression, frame)


def _condition(expression: Expr, frame: Frame) -> Vector:
    match expression:
        case Compare(operator=symbol, left=left, right=right):
            return _compare(_COMPARE[symbol], evaluate(left, frame), evaluate(right, frame))
        case Logic(operator="and", operands=operands):
            return reduce(_and, (_truth(operand, frame) for operand in operands))
        case Logic(operands=operands):
            return reduce(_or, (_truth(operand, frame) for operand in operands))
        case Not(operand=operand):
            inner = _truth(operand, frame)
            return truth(~inner.values, inner.null)
        case IsNull(operand=operand):
            return _is_null(evaluate(operand, frame))
        case InList():
            return _in_list(expression, frame)
        case Like(operand=operand, pattern=pattern):
            texts = evaluate(operand, frame)
            if isinstance(texts, TextVector):
                found = texts.look_up(lambda text: matches(text, pattern), bool)
                return truth(found.values, found.null)
            return truth(np.zeros(1, dtype=bool), np.ones(1, dtype=bool))
    raise AssertionError(type(expression))


def _truth(expression: Expr, frame: Frame) -> Vector:
    found = evaluate(expression, frame)
    assert isinstance(found, Vector)
    return truth(found.values.astype(bool, copy=False), found.null)


def _numbers(expression: Expr, frame: Frame) -> Vector:
    found = evaluate(expression, frame)
    assert isinstance(found, Vector)
    return found


def _doubles(vector: Vector) -> Array:
    return vector.values.astype(np.float64, copy=False)


def _column(column: Numbers | Codes, kind: Kind) -> AnyVector:
    if isinstance(column, Numbers):
        return Vector(_unscaled(column), column.null)
    if kind is Kind.TEXT:
        return TextVector(column.codes, tuple(str(v) for v in column.values))
    if kind is Kind.BOOLEAN:
        table = np.array([*column.values, False], dtype=bool)
    else:
        whole = kind is not Kind.NUMBER
        table = np.array([*column.values, 0], dtype=np.int64 if whole else np.float64)
    null = column.codes == len(column.values)
    return Vector(table[column.codes], null if null.any() else None)


def _unscaled(column: Numbers) -> Array:
    """The numbers themselves: for decimal steps, the doubles nearest to them."""
    if column.step is None or column.step == 1:
        return column.units
    scaled = column.units * float(column.step.numerator)
    return np.asarray(scaled / float(column.step.denominator))


def _compare(compare: Callable[[Any, Any], Any], left: AnyVector, right: AnyVector) -> Vector:
    null = either(left.null, right.null)
    if isinstance(left, TextVector) and isinstance(right, TextVector):
        return truth(np.asarray(compare(left.texts(), right.texts()), dtype=bool), null)
    if isinstance(left, Vector) and isinstance(right, Vector):
        return truth(compare(_exact(left.values), _exact(right.values)), null)
    return truth(np.zeros(1, dtype=bool), np.ones(1, dtype=bool))


def _exact(values: Array) -> Array | float:
    """One value as a Python number, which compares exactly with any integer type."""
    return values[0].item() if len(values) == 1 else values


def _and(left: Vector, right: Vector) -> Vector:
    both = left.values & right.values
    if left.null is None and right.null is None:
        return Vector(both)
    false = _false(left) | _false(right)
    return Vector(both, ~both & ~false)


def _or(left: Vector, right: Vector) -> Vector:
    one = left.values | right.values
    null = either(left.null, right.null)
    return Vector(one, None if null is None else null & ~one)


def _false(vector: Vector) -> Bools:
    return ~vector.values if vector.null is None else ~vector.values & ~vector.null


def _is_null(vector: AnyVector) -> Vector:
    if vector.null is None:
        return Vector(np.zeros(len(vector.values) if isinstance(vector, Vector) else 1, dtype=bool))
    return Vector(vector.null)


def _in_list(expression: InList, frame: Frame) -> Vector:
    operand = evaluate(expression.operand, frame)
    if isinstance(operand, TextVector):
        wanted = frozenset(expression.values)
        found = operand.look_up(lambda text: text in wanted, bool)
    else:
        listed = np.array([float(v) for v in expression.values])
        found = Vector(np.isin(_doubles(operand), listed), operand.null)
    missing = ~found.values if expression.null else None
    return truth(found.values, either(found.null, missing))


def _case(expression: Case, frame: Frame) -> AnyVector:
    values = [evaluate(value, frame) for _, value in expression.branches]
    default = evaluate(expression.default, frame)
    conditions = [_truth(condition, frame).values for condition, _ in expression.branches]
    *values, result = _alike([*values, default])
    for condition, value in zip(reversed(conditions), reversed(values), strict=True):
        result = _where(condition, value, result)
    return result


def _alike(vectors: list[AnyVector]) -> list[AnyVector]:
    """Texts over one dictionary; a NULL constant among texts becomes a text."""
    if not any(isinstance(vector, TextVector) for vector in vectors):
        return vectors
    texts = [v if isinstance(v, TextVector) else TextVector(np.zeros(1, int), ()) for v in vectors]
    return list(text_merge(texts))


def _where(condition: Bools, yes: AnyVector, no: AnyVector) -> AnyVector:
    if isinstance(yes, TextVector) and isinstance(no, TextVector):
        return TextVector(np.where(condition, yes.codes, no.codes), yes.dictionary)
    assert isinstance(yes, Vector)
    assert isinstance(no, Vector)
    null = None
    if yes.null is not None or no.null is not None:
        yes_null = False if yes.null is None else yes.null
        null = np.where(condition, yes_null, False if no.null is None else no.null)
    return Vector(np.where(condition, yes.values, no.values), null)


def _call(name: str, arguments: list[AnyVector], call: Call) -> AnyVector:
    match name:
        case "coalesce":
            return reduce(_first_known, _alike(arguments))
        case "nullif":
            equal = _compare(operator.eq, *arguments)
            return _where(equal.values, *_alike([constant(None), arguments[0]]))
        case "lower" | "upper" | "substr" | "length":
            return _text_call(name, arguments[0], call)
        case "least" | "greatest":
            return reduce(_LIMITS[name], [v for v in arguments if isinstance(v, Vector)])
    first, *rest = [_doubles(v) for v in arguments if isinstance(v, Vector)]
    null = reduce(either, [v.null for v in arguments])
    match name:
        case "abs":
            result = np.abs(first)
        case "floor":
            result = np.floor(first)
        case "ceil":
            result = np.ceil(first)
        case "round":
            result = _round(first, int(rest[0][0]))
        case _:
            assert name == "clamp"
            result = np.minimum(np.maximum(first, rest[0]), rest[1])
    return finite(result, null)


def _first_known(first: AnyVector, second: AnyVector) -> AnyVector:
    return first if first.null is None else _where(first.null, second, first)


def _extreme(better: Callable[[Any, Any], Any]) -> Callable[[Vector, Vector], Vector]:
    """LEAST and GREATEST pass over NULLs, as in PostgreSQL and DuckDB."""

    def choose(first: Vector, second: Vector) -> Vector:
        second_wins = better(second.values, first.values)
        if first.null is not None:
            second_wins = second_wins | first.null
        if second.null is not None:
            second_wins = second_wins & ~second.null
        chosen = _where(second_wins, second, first)
        assert isinstance(chosen, Vector)
        return chosen

    return choose


_LIMITS = {"least": _extreme(operator.lt), "greatest": _extreme(operator.gt)}


def _round(values: Array, digits: int) -> Array:
    """Half away from zero, as SQL rounds."""
    unit = 10.0 ** abs(digits)
    scaled = values * unit if digits >= 0 else values / unit
    whole = np.copysign(np.floor(np.abs(scaled) + 0.5), scaled)
    return whole / unit if digits >= 0 else whole * unit


def _text_call(name: str, operand: AnyVector, call: Call) -> AnyVector:
    if not isinstance(operand, TextVector):
        return constant(None)
    match name:
        case "lower":
            return operand.map(str.lower)
        case "upper":
            return operand.map(str.upper)
        case "length":
            return operand.look_up(len, np.int64)
    start, *length = [a.value for a in call.arguments[1:] if isinstance(a, Literal)]
    assert isinstance(start, int)
    begin = max(start - 1, 0)
    end = None if not length else max(begin, start - 1 + max(0, int(length[0] or 0)))
    return operand.map(lambda text: text[begin:end])


def _cast(vector: AnyVector, source: Kind, target: Kind) -> AnyVector:
    if isinstance(vector, TextVector):
        return _read(vector, target)
    match target:
        case Kind.TEXT:
            return _written(vector, source)
        case Kind.BOOLEAN:
            return truth(vector.values != 0, vector.null)
        case Kind.INTEGER | Kind.DATE:
            whole = np.rint(_doubles(vector))
            outside = np.abs(whole) > MAGNITUDE_LIMIT
            return Vector(np.where(outside, 0.0, whole), either(vector.null, outside))
    return Vector(_doubles(vector), vector.null)


def _read(vector: TextVector, target: Kind) -> AnyVector:
    match target:
        case Kind.NUMBER:
            return vector.look_up(cells.number, np.float64)
        case Kind.INTEGER:
            return _cast(vector.look_up(cells.number, np.float64), Kind.NUMBER, Kind.INTEGER)
        case Kind.DATE:
            return vector.look_up(cells.date, np.int64)
        case Kind.BOOLEAN:
            found = vector.look_up(cells.boolean, bool)
            return truth(found.values, found.null)
    return vector


def _written(vector: Vector, source: Kind) -> TextVector:
    """Numbers, dates and booleans as text: each different value is written once."""
    distinct, codes = np.unique(vector.values, return_inverse=True)
    match source:
        case Kind.BOOLEAN:
            texts = ["true" if value else "false" for value in distinct]
        case Kind.DATE:
            texts = [_date_text(int(value)) for value in distinct]
        case Kind.INTEGER:
            texts = [str(int(value)) for value in distinct]
        case _:
            texts = [repr(float(value)) for value in distinct]
    if vector.null is not None:
        codes = np.where(vector.null, len(texts), codes)
    return TextVector(codes, tuple(texts))


def _date_text(days: int) -> str:
    """A date as text; the empty string beyond the calendar's years."""
    try:
        return (EPOCH + datetime.timedelta(days=days)).isoformat()
    except OverflowError:
        return ""
