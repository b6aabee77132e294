"""Filters that no row can pass, recognised from their text and the policy alone.

An aggregate under such a filter is answered exactly and costs nothing, so no file may have a row
that passes. This follows from `regions`, which hold every row for which the engine evaluates a
condition to true. Undeclared columns are never limited, so they are never a contradiction.
"""

from __future__ import annotations

from collections.abc import Iterator

from dpdb.errors import did_you_mean
from dpdb.plan.expressions.expressions import (
    ColumnRef,
    Compare,
    Expr,
    InList,
    Literal,
    Logic,
    children,
    columns_of,
)
from dpdb.plan.relations.regions import region
from dpdb.plan.relations.relations import Source
from dpdb.policy.catalog import Column, Value
from dpdb.policy.names import quoted_text
from dpdb.records import dataclass

MAX_VALUES = 10_000
"""The most declared values that are compared with a misspelt value."""


@dataclass(frozen=True)
class Contradiction:
    """Why no row can pass a filter: the filter wants values of `column` outside its declaration.

    `column` is None where the filter is the constant FALSE or NULL.
    """

    column: Column | None = None


def contradiction(table: Source, condition: Expr | None) -> Contradiction | None:
    """The reason why no row of `table` can pass `condition`; None if a row might pass."""
    match condition:
        case None:
            return None
        case Literal():
            return None if condition.value else Contradiction()
        case Logic(operator="or", operands=operands):
            contradictions = [contradiction(table, operand) for operand in operands]
            return None if None in contradictions else contradictions[0]
    limits = region(table, condition).limits
    column = next((limit.column for limit in limits.values() if not limit.possible), None)
    if column is not None:
        # Limits are cached and may carry the column's label of another statement.
        return Contradiction(columns_of(condition)[column.name])
    if isinstance(condition, Logic):
        # The limits know nothing of constants, nor of an OR over several columns.
        others = (each for each in condition.operands if isinstance(each, Literal | Logic))
        return next(filter(None, (contradiction(table, each) for each in others)), None)
    return None


def hint(column: Column, condition: Expr) -> str | None:
    """A hint at the declared value that the condition seems to misspell; None if there is none."""
    known = [_written(value) for value in (column.values or ())[:MAX_VALUES]]
    constants = [_written(value) for value in _constants(column, condition)]
    undeclared = next((constant for constant in constants if constant not in known), None)
    return None if undeclared is None else did_you_mean(undeclared, known)


def _constants(column: Column, condition: Expr) -> Iterator[Value]:
    """The constants that the column is compared with."""
    match condition:
        case Compare(left=left, right=right):
            for side, other in ((left, right), (right, left)):
                if (
                    side == ColumnRef(column)
                    and isinstance(other, Literal)
                    and other.value is not None
                ):
                    yield other.value
        case InList(operand=operand, values=values) if operand == ColumnRef(column):
            yield from values
    for child in children(condition):
        yield from _constants(column, child)


def _written(value: Value) -> str:
    """A value as SQL has it."""
    return quoted_text(value) if isinstance(value, str) else str(value)
