"""The evaluator: expressions over columns, total and row by row.

No row can raise: what is undefined, overflows or cannot be read is NULL.
Arithmetic is in double precision, a function of the one row alone; what is
aggregated is put on a public grid afterwards. Which steps are taken follows
from the expression and the policy; none is left out because of what rows hold.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from dataclasses import field
from functools import reduce
from typing import Any

import numpy as np

from dpdb.plan.expressions.expressions import (
    Arithmetic,
    Call,
    Case,
    Cast,
    ColumnRef,
    Compare,
    Expr,
    InList,
    IntervalEnd,
    IsNull,
    Like,
    Literal,
    Logic,
    Not,
    Slot,
    columns_of,
)
from dpdb.policy.catalog import Column, Kind
from dpdb.records import dataclass
from dpdb.vectors.cast import cast
from dpdb.vectors.columns import FEW, Codes, Numbers, among, equal_to_any, tested, with_any_code
from dpdb.vectors.functions import apply
from dpdb.vectors.magnitudes import stays_finite
from dpdb.vectors.stored_texts import StoredTexts, fitting, is_tested_as_stored, stored_test
from dpdb.vectors.vector import (
    AnyVector,
    Array,
    Bools,
    TextVector,
    Vector,
    alike,
    array,
    choose,
    compare,
    conjunction,
    constant,
    disjunction,
    either,
    finite,
    is_null,
    one_zero,
    truth,
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
    ends: Mapping[IntervalEnd, AnyVector] = field(default_factory=dict)
    """The ends of intervals, in an answer."""

    def within(self, rows: slice) -> Frame:
        """The frame with the columns cut to `rows`."""
        return Frame({name: c.within(rows) for name, c in self.columns.items()}, self.slots)


def evaluate(expression: Expr, frame: Frame) -> AnyVector:
    """The value of `expression` on every row."""
    only = _only_dictionary(expression, frame)
    if only is not None:
        column, held = only
        return _on_dictionary(expression, column, held, frame).take(held.codes)
    return _evaluate(expression, frame)


def holds(condition: Expr, frame: Frame) -> Bools:
    """The rows where `condition` is true; false and NULL are not told apart, which is faster."""
    only = _only_dictionary(condition, frame)
    if only is not None:
        column, held = only
        small = _on_dictionary(condition, column, held, frame)
        assert isinstance(small, Vector)
        if public_dictionary(column):
            return with_any_code(small.values, held)
        return small.take(held.codes).values
    match condition:
        case Logic(operator="and", operands=operands):
            return reduce(operator.and_, (holds(operand, frame) for operand in operands))
        case Logic(operands=operands):
            return reduce(operator.or_, (holds(operand, frame) for operand in operands))
    return _vector(condition, frame).values


def true_rows(condition: Expr, frame: Frame, rows: int) -> Array:
    """The rows of a frame for which `condition` is true; `rows` is the number of all."""
    return np.flatnonzero(np.broadcast_to(holds(condition, frame), rows))


def public_dictionary(column: Column) -> bool:
    """Whether the policy gives all of the column's values; texts read from a file are private."""
    return column.values is not None or column.kind is Kind.BOOLEAN


def _only_dictionary(expression: Expr, frame: Frame) -> tuple[Column, Codes] | None:
    """The only column that an operation reads, if it is held as codes of a dictionary."""
    if isinstance(expression, Literal | ColumnRef | Slot):
        return None
    columns = list(columns_of(expression).values())
    if len(columns) != 1:
        return None
    held = frame.columns[columns[0].name]
    if isinstance(held, StoredTexts) and is_tested_as_stored(expression):
        return None
    return (columns[0], held) if isinstance(held, Codes) else None


def _on_dictionary(expression: Expr, column: Column, held: Codes, frame: Frame) -> AnyVector:
    """The value of `expression` for each value that the column can have, and last for NULL.

    NULL is there twice, as a vector of one row would be taken for a constant.
    """
    number = len(held.values)
    each = Codes(np.append(np.arange(number + 1), number), held.values)
    return _evaluate(expression, Frame({column.name: each}, frame.slots))


def _evaluate(expression: Expr, frame: Frame) -> AnyVector:
    match expression:
        case Literal(value=value, kind=kind):
            return constant(value, kind)
        case ColumnRef(column=column):
            return _column(frame.columns[column.name], column)
        case Slot():
            return frame.slots[expression]
        case IntervalEnd():
            return frame.ends[expression]
        case Cast(operand=operand, kind=kind):
            return cast(evaluate(operand, frame), operand.kind, kind)
        case Case():
            return _case(expression, frame)
        case Call(arguments=arguments):
            if (stored := _as_stored(expression, frame)) is not None:
                return stored
            return apply(expression, [evaluate(a, frame) for a in arguments])
        case Arithmetic(operator=symbol, left=left, right=right):
            a, b = _vector(left, frame), _vector(right, frame)
            result, null = _ARITHMETIC[symbol](a.values, b.values), either(a.null, b.null)
            if not stays_finite(expression):
                return finite(result, null)
            # Sums and differences of numbers other than -0.0 are never -0.0 (IEEE 754, 6.3).
            return Vector(result if symbol in "+-" else one_zero(result), null)
    return _condition(expression, frame)


def _as_stored(condition: Expr, frame: Frame) -> Vector | None:
    """The truth of a condition on texts as a source has them; None where it is no such one."""
    if (stored := stored_test(condition)) is not None:
        read, test = stored
        if isinstance(texts := frame.columns[read.column.name], StoredTexts):
            return test(texts)
    return None


def _condition(expression: Expr, frame: Frame) -> Vector:
    if (found := _as_stored(expression, frame)) is not None:
        return found
    match expression:
        case Compare():
            return _compared(expression, frame)
        case Logic(operator="and", operands=operands):
            return reduce(conjunction, (_vector(operand, frame) for operand in operands))
        case Logic(operands=operands):
            return reduce(disjunction, (_vector(operand, frame) for operand in operands))
        case Not(operand=operand):
            inner = _vector(operand, frame)
            return truth(~inner.values, inner.null)
        case IsNull(operand=operand):
            return is_null(evaluate(operand, frame))
        case InList():
            return _in_list(expression, frame)
    assert isinstance(expression, Like)
    matched = evaluate(expression.operand, frame)
    assert isinstance(matched, TextVector)
    return matched.look_up(fitting(expression.pattern), Kind.BOOLEAN)


def _compared(comparison: Compare, frame: Frame) -> Vector:
    test = _COMPARE[comparison.operator]
    match comparison.left, comparison.right:
        case ColumnRef(column=column), Literal(value=int(value)):
            if (held := _whole_numbers(column, frame)) is not None:
                limit = int(float(value))
                return tested(held, lambda units: test(units, limit))
        case Literal(value=int(value)), ColumnRef(column=column):
            if (held := _whole_numbers(column, frame)) is not None:
                limit = int(float(value))
                return tested(held, lambda units: test(limit, units))
    return compare(test, evaluate(comparison.left, frame), evaluate(comparison.right, frame))


def _whole_numbers(column: Column, frame: Frame) -> Numbers | None:
    """The column if it is held as whole numbers, which are compared as they are.

    Each of them is a double, too, and so is the constant beside it: the answer is
    the same, without the work of making doubles.
    """
    held = frame.columns[column.name]
    return held if isinstance(held, Numbers) and held.step == 1 else None


def _vector(expression: Expr, frame: Frame) -> Vector:
    """The value of an expression that is no text."""
    vector = evaluate(expression, frame)
    assert isinstance(vector, Vector)
    return vector


def _column(held: Numbers | Codes, column: Column) -> AnyVector:
    if isinstance(held, Numbers):
        return Vector(_unscaled(held), held.null)
    if column.kind is Kind.TEXT:
        return TextVector(held.codes, tuple(map(str, held.values)))
    table = array([*held.values, 0], column.kind)
    null = held.null if column.nullable else None
    return Vector(table[held.codes], null)


def _unscaled(column: Numbers) -> Array:
    """The numbers of the column; where the step is a decimal, the doubles nearest to them."""
    if column.step is None or column.step == 1:
        return column.units.astype(np.float64, copy=False)
    scaled = column.units
    if column.step.numerator != 1:
        scaled = scaled * float(column.step.numerator)
    return np.asarray(scaled / float(column.step.denominator))


def _in_list(expression: InList, frame: Frame) -> Vector:
    listed = _listed(expression, frame)
    # Beside a NULL in the list, what is not listed is NULL.
    return Vector(listed.values, ~listed.values) if expression.null else listed


def _listed(expression: InList, frame: Frame) -> Vector:
    """Whether a value is among the constants, false where it is NULL."""
    if isinstance(expression.operand, ColumnRef) and expression.operand.kind.ordinal:
        held = _whole_numbers(expression.operand.column, frame)
        if held is not None and len(expression.values) <= FEW:
            doubles = map(float, expression.values)
            whole = [int(value) for value in doubles if value.is_integer()]
            return tested(held, lambda units: equal_to_any(units, whole))
    operand = evaluate(expression.operand, frame)
    if isinstance(operand, TextVector):
        wanted = frozenset(expression.values)
        return operand.look_up(lambda text: text in wanted, Kind.BOOLEAN)
    listed = np.sort(array(expression.values, expression.operand.kind))
    return truth(among(operand.values, listed), operand.null)


def _case(expression: Case, frame: Frame) -> AnyVector:
    values = [evaluate(value, frame) for _, value in expression.branches]
    default = evaluate(expression.default, frame)
    conditions = [_vector(condition, frame).values for condition, _ in expression.branches]
    *values, result = alike([*values, default])
    for condition, value in zip(reversed(conditions), reversed(values), strict=True):
        result = choose(condition, value, result)
    return result
