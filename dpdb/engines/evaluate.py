"""The evaluator: expressions over columns, total and row by row.

No row can raise: what is undefined, overflows or cannot be read is NULL.
Arithmetic is in double precision, a function of the one row alone; what is
aggregated is put on a public grid afterwards.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import reduce
from typing import Any

import numpy as np

from dpdb.engines.casting import cast
from dpdb.engines.columns import Codes, Numbers
from dpdb.engines.functions import apply
from dpdb.engines.like import matches
from dpdb.engines.vectors import (
    AnyVector,
    Array,
    Bools,
    TextVector,
    Vector,
    alike,
    choose,
    compare,
    constant,
    doubles,
    either,
    finite,
    truth,
)
from dpdb.policy import Kind
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

    def within(self, rows: slice) -> Frame:
        """Some of the rows."""
        return Frame({name: c.within(rows) for name, c in self.columns.items()}, self.slots)


def evaluate(expression: Expr, frame: Frame) -> AnyVector:
    """The value of `expression` on every row."""
    only = _only_column(expression)
    if only is not None and not isinstance(expression, ColumnRef):
        column = frame.columns[only]
        if isinstance(column, Codes):
            return _through_dictionary(expression, only, column, frame)
    return _evaluate(expression, frame)


def holds(condition: Expr, frame: Frame) -> Bools:
    """Where `condition` is true. That asks less than telling false from NULL."""
    only = _only_column(condition)
    if only is not None and not isinstance(condition, ColumnRef):
        column = frame.columns[only]
        if isinstance(column, Codes):
            small = _on_dictionary(condition, only, column, frame)
            assert isinstance(small, Vector)
            return _spread(small.values.astype(bool, copy=False), column.codes)
    match condition:
        case Logic(operator="and", operands=operands):
            return reduce(operator.and_, (holds(operand, frame) for operand in operands))
        case Logic(operands=operands):
            return reduce(operator.or_, (holds(operand, frame) for operand in operands))
    return _truth(condition, frame).values


def _spread(chosen: Bools, codes: Array) -> Bools:
    """Whether each code is one of the chosen; comparing is faster than looking up."""
    if len(chosen) == 1:  # a constant, whatever the code
        return chosen
    true = np.flatnonzero(chosen)
    if len(true) == 0:
        return np.zeros(1, dtype=bool)
    first, last = int(true[0]), int(true[-1])
    if first == last:
        return np.asarray(codes == first)
    if last - first + 1 == len(true):
        return np.asarray((codes >= first) & (codes <= last))
    return chosen.take(codes)


def _only_column(expression: Expr) -> str | None:
    """The name of the column if `expression` reads just one."""
    names = _columns(expression)
    return next(iter(names)) if len(names) == 1 else None


def longest_dictionary(expression: Expr, frame: Frame) -> int:
    """How many values are worked through before the first row, at most."""
    read = (frame.columns[name] for name in _columns(expression))
    return max((len(c.values) for c in read if isinstance(c, Codes)), default=0)


def _columns(expression: Expr) -> set[str]:
    if isinstance(expression, ColumnRef):
        return {expression.column.name}
    return set().union(*(_columns(child) for child in children(expression)))


def _through_dictionary(expression: Expr, name: str, column: Codes, frame: Frame) -> AnyVector:
    """The value on each distinct value of the column, then spread over the rows."""
    return _on_dictionary(expression, name, column, frame).take(column.codes)


def _on_dictionary(expression: Expr, name: str, column: Codes, frame: Frame) -> AnyVector:
    each = Codes(np.arange(len(column.values) + 1), column.values)
    return _evaluate(expression, Frame({name: each}, frame.slots))


def _evaluate(expression: Expr, frame: Frame) -> AnyVector:
    match expression:
        case Literal(value=value):
            return constant(value)
        case ColumnRef():
            return _column(frame.columns[expression.column.name], expression.kind)
        case Slot():
            return frame.slots[expression]
        case Cast(operand=operand, kind=kind):
            return cast(evaluate(operand, frame), operand.kind, kind)
        case Case():
            return _case(expression, frame)
        case Call(arguments=arguments):
            return apply(expression, [evaluate(a, frame) for a in arguments])
        case Arithmetic(operator=symbol, left=left, right=right):
            a, b = _numbers(left, frame), _numbers(right, frame)
            null = either(a.null, b.null)
            return finite(_ARITHMETIC[symbol](doubles(a), doubles(b)), null)
    return _condition(expression, frame)


def _condition(expression: Expr, frame: Frame) -> Vector:
    match expression:
        case Compare(operator=symbol, left=left, right=right):
            return compare(_COMPARE[symbol], evaluate(left, frame), evaluate(right, frame))
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
    elif expression.operand.kind is Kind.TEXT:
        return truth(np.zeros(1, dtype=bool), np.ones(1, dtype=bool))  # a NULL constant
    else:
        listed = np.array([float(v) for v in expression.values])
        found = Vector(np.isin(doubles(operand), listed), operand.null)
    missing = ~found.values if expression.null else None
    return truth(found.values, either(found.null, missing))


def _case(expression: Case, frame: Frame) -> AnyVector:
    values = [evaluate(value, frame) for _, value in expression.branches]
    default = evaluate(expression.default, frame)
    conditions = [_truth(condition, frame).values for condition, _ in expression.branches]
    *values, result = alike([*values, default])
    for condition, value in zip(reversed(conditions), reversed(values), strict=True):
        result = choose(condition, value, result)
    return result
